//===- Catalog.cpp - The kernel catalog as the compiler sees it -----------===//

#include "compiler/Catalog/Catalog.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

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

namespace {
struct Row {
  llvm::StringRef kernel, device, type, feature;
};
} // namespace

static const Row rows[] = {
#define MPC_KERNEL_TYPE(name, device, dtype, feature)                          \
  {#name, #device, #dtype, feature},
#include "kernels/catalog.def"
};

bool mpc::kernelComputesIn(llvm::StringRef name, llvm::StringRef device,
                           Type element,
                           llvm::ArrayRef<llvm::StringRef> features) {
  std::string type;
  llvm::raw_string_ostream(type) << element;
  return kernelComputesIn(name, device, type, features);
}

bool mpc::kernelComputesIn(llvm::StringRef name, llvm::StringRef device,
                           llvm::StringRef type,
                           llvm::ArrayRef<llvm::StringRef> features) {
  return llvm::any_of(rows, [&](const Row &row) {
    return row.kernel == name && row.device == device && row.type == type &&
           (row.feature.empty() || llvm::is_contained(features, row.feature));
  });
}

std::optional<unsigned> mpc::firstArchitecture(llvm::StringRef name,
                                               llvm::StringRef type) {
  std::optional<unsigned> first;
  for (const Row &row : rows) {
    if (row.kernel != name || row.device != "cuda" || row.type != type)
      continue;
    llvm::StringRef feature = row.feature;
    unsigned capability = 0;
    if (feature.consume_front("sm_"))
      feature.getAsInteger(10, capability);
    first = std::min(first.value_or(capability), capability);
  }
  return first;
}
