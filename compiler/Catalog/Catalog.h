//===- Catalog.h - The compiler's view of the kernel catalog ----*- C++ -*-===//
#ifndef MPC_COMPILER_CATALOG_CATALOG_H
#define MPC_COMPILER_CATALOG_CATALOG_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace mpc {

/// The alignment in bytes of every buffer that is passed to a kernel; only
/// `copy` and `zero` accept any.
#define MPC_KERNEL_ALIGNMENT(bytes) constexpr int64_t kBufferAlignment = bytes;
#include "kernels/catalog.def"

/// The number that packages store for a kernel of kernels/catalog.def.
std::optional<uint32_t> kernelId(llvm::StringRef name);

/// The number of operands of a kernel that are inputs. They come first.
std::optional<unsigned> kernelInputs(llvm::StringRef name);

/// The input whose memory the first result of a kernel may take; none if it
/// must have memory of its own.
std::optional<unsigned> kernelInPlaceInput(llvm::StringRef name);

/// Returns true if the catalog's rows of `device` say that a device with
/// `features` runs the kernel natively on `type` (a name of the catalog, which
/// includes tf32). The Backend says which types a device computes in at all.
bool kernelComputesIn(llvm::StringRef name, llvm::StringRef device,
                      llvm::StringRef type,
                      llvm::ArrayRef<llvm::StringRef> features);

/// Returns true if some device, with all the features that it may have, runs
/// the kernel natively on `type` (a name of the catalog).
bool isComputedSomewhere(llvm::StringRef name, llvm::StringRef type);

} // namespace mpc

#endif // MPC_COMPILER_CATALOG_CATALOG_H
