//===- Catalog.cpp - The compiler's view of the kernel catalog ------------===//

#include "compiler/Catalog/Catalog.h"

#include "kernels/catalog.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

std::optional<uint32_t> mpc::kernelId(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<uint32_t>>(name)
#define MPC_KERNEL(name, id, inputs, outputs, attributes) .Case(#name, id)
#include "kernels/catalog.def"
      .Default(std::nullopt);
}

std::optional<unsigned> mpc::kernelInputs(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<unsigned>>(name)
#define MPC_KERNEL(name, id, inputs, outputs, attributes) .Case(#name, inputs)
#include "kernels/catalog.def"
      .Default(std::nullopt);
}

std::optional<unsigned> mpc::kernelInPlaceInput(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<unsigned>>(name)
#define MPC_KERNEL_IN_PLACE(name, input) .Case(#name, input)
#include "kernels/catalog.def"
      .Default(std::nullopt);
}

bool mpc::kernelComputesIn(llvm::StringRef name, llvm::StringRef device,
                           llvm::StringRef type,
                           llvm::ArrayRef<llvm::StringRef> features) {
  return llvm::any_of(kernels::kKernelTypes, [&](const auto &row) {
    llvm::StringRef feature = row.feature;
    return row.kernel == std::string_view(name) &&
           row.device == std::string_view(device) &&
           row.type == std::string_view(type) &&
           (feature.empty() || llvm::is_contained(features, feature));
  });
}

bool mpc::isComputedSomewhere(llvm::StringRef name, llvm::StringRef type) {
  return llvm::any_of(kernels::kKernelTypes, [&](const auto &row) {
    return row.kernel == std::string_view(name) &&
           row.type == std::string_view(type);
  });
}
