//===- JoinBatches.h - One program for several batch sizes ------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_JOINBATCHES_H
#define MPC_PASSES_DRIVER_JOINBATCHES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mpc {

/// A model compiled for one more batch size, up to the precision stage.
struct OtherBatch {
  int64_t size;
  bool trains; ///< Whether it is for training, or only evaluates and predicts.
  mlir::ModuleOp module;
};

/// Adds the entry points of `others` to `module`, the same model for the
/// program's own batch size. All have the same states afterwards, and every
/// update writes all copies of the weights that any entry point reads.
/// Functions that do not depend on the batch, such as `apply`, occur once.
/// Changes `others`.
///
/// Fails, with an error that names the state or the entry point, if the sizes
/// cannot share it.
llvm::LogicalResult joinBatches(mlir::ModuleOp module,
                                llvm::ArrayRef<OtherBatch> others);

/// Whether two notes differ in numbers only: the note about one batch size then
/// says all.
bool haveSameWords(llvm::StringRef note, llvm::StringRef other);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_JOINBATCHES_H
