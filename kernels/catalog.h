// The rows of catalog.def that say what devices compute natively.

#ifndef MPC_KERNELS_CATALOG_H_
#define MPC_KERNELS_CATALOG_H_

#include <charconv>
#include <optional>
#include <string_view>

namespace mpc::kernels {

// One MPC_KERNEL_TYPE.
struct KernelType {
  std::string_view kernel, device, type, feature;
};

inline constexpr KernelType kKernelTypes[] = {
#define MPC_KERNEL_TYPE(name, device, dtype, feature) \
  {#name, #device, #dtype, feature},
#include "kernels/catalog.def"
};

// The least compute capability, 80 for sm_80, of GPUs that run the kernel on
// what the catalog calls `type`: 0 if all do, none if no GPU does.
inline std::optional<unsigned> first_architecture(std::string_view kernel,
                                                  std::string_view type) {
  constexpr std::string_view kPrefix = "sm_";
  std::optional<unsigned> first;
  for (const KernelType& row : kKernelTypes) {
    if (row.kernel != kernel || row.device != "cuda" || row.type != type)
      continue;
    unsigned capability = 0;
    std::string_view feature = row.feature;
    if (feature.substr(0, kPrefix.size()) == kPrefix)
      std::from_chars(feature.data() + kPrefix.size(),
                      feature.data() + feature.size(), capability);
    if (!first || capability < *first) first = capability;
  }
  return first;
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CATALOG_H_
