//===- Catalog.h - The kernel catalog as the compiler sees it ---*- C++ -*-===//
#ifndef MPC_COMPILER_CATALOG_CATALOG_H
#define MPC_COMPILER_CATALOG_CATALOG_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace mpc {

/// The number packages store for a kernel of kernels/catalog.def.
std::optional<uint32_t> kernelId(llvm::StringRef name);

/// Returns true if a device ("cpu", "cuda") with `features` runs the kernel
/// natively on `element`.
bool kernelComputesIn(llvm::StringRef name, llvm::StringRef device,
                      mlir::Type element,
                      llvm::ArrayRef<llvm::StringRef> features);

} // namespace mpc

#endif // MPC_COMPILER_CATALOG_CATALOG_H
