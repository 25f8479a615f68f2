//===- ValueBlob.h - Memory for values of states and constants --*- C++ -*-===//
#ifndef MPC_PASSES_VALUEBLOB_H
#define MPC_PASSES_VALUEBLOB_H

#include "mlir/IR/AsmState.h"

namespace mpc {

/// Allocates `bytes` of memory for a resource, aligned like values in a
/// package.
inline mlir::AsmResourceBlob allocateValueBlob(size_t bytes) {
  constexpr size_t kAlignment = 64;
  return mlir::HeapAsmResourceBlob::allocate(bytes, kAlignment);
}

} // namespace mpc

#endif // MPC_PASSES_VALUEBLOB_H
