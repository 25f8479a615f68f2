//===- Catalog.h - The kernel catalog as the compiler sees it ---*- C++ -*-===//
#ifndef MPC_COMPILER_CATALOG_CATALOG_H
#define MPC_COMPILER_CATALOG_CATALOG_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

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

/// Returns true if the rows of `device` say that with `features` it runs the
/// kernel natively on what the catalog calls `type`, which may be tf32. What a
/// device computes in altogether, its Backend says.
bool kernelComputesIn(llvm::StringRef name, llvm::StringRef device,
                      llvm::StringRef type,
                      llvm::ArrayRef<llvm::StringRef> features);

/// Returns true if some device, with all the features that it may have, runs
/// the kernel natively on what the catalog calls `type`.
bool isComputedSomewhere(llvm::StringRef name, llvm::StringRef type);

} // namespace mpc

#endif // MPC_COMPILER_CATALOG_CATALOG_H
