// The rows of catalog.def that list which types devices support.

#ifndef MPC_KERNELS_CATALOG_H_
#define MPC_KERNELS_CATALOG_H_

#include <optional>
#include <string_view>

#include "kernels/devices.h"

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

// The number of the first architecture of the device, 80 for sm_80, that runs
// the kernel on `type` of the catalog: 0 if all do, none if none does.
inline std::optional<unsigned> first_architecture(std::string_view device,
                                                  std::string_view kernel,
                                                  std::string_view type) {
  std::optional<unsigned> first;
  for (const KernelType& row : kKernelTypes) {
    if (row.kernel != kernel || row.device != device || row.type != type)
      continue;
    const unsigned number = architecture_number(row.feature);
    if (!first || number < *first) first = number;
  }
  return first;
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CATALOG_H_
