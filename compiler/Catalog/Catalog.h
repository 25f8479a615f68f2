//===- Catalog.h - The kernel catalog as the compiler sees it ---*- C++ -*-===//
#ifndef MPC_COMPILER_CATALOG_CATALOG_H
#define MPC_COMPILER_CATALOG_CATALOG_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace mpc {

/// What every buffer that a kernel gets starts at a multiple of, in bytes; only
/// `copy` and `zero` take any.
#define MPC_KERNEL_ALIGNMENT(bytes) constexpr int64_t kBufferAlignment = bytes;
#include "kernels/catalog.def"

/// The number packages store for a kernel of kernels/catalog.def.
std::optional<uint32_t> kernelId(llvm::StringRef name);

/// How many of the operands of a kernel are inputs. They come first.
std::optional<unsigned> kernelInputs(llvm::StringRef name);

/// Returns true if a device ("cpu", "cuda") with `features` runs the kernel
/// natively on `element`.
bool kernelComputesIn(llvm::StringRef name, llvm::StringRef device,
                      mlir::Type element,
                      llvm::ArrayRef<llvm::StringRef> features);

/// The same of what the catalog calls `type`, which may be tf32.
bool kernelComputesIn(llvm::StringRef name, llvm::StringRef device,
                      llvm::StringRef type,
                      llvm::ArrayRef<llvm::StringRef> features);

/// The least compute capability, 80 for sm_80, of GPUs that run the kernel on
/// what the catalog calls `type`; none if no GPU does.
std::optional<unsigned> firstArchitecture(llvm::StringRef name,
                                          llvm::StringRef type);

} // namespace mpc

#endif // MPC_COMPILER_CATALOG_CATALOG_H
