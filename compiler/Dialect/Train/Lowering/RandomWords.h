//===- RandomWords.h - Random bits of an element ----------------*- C++ -*-===//
//
// For sources of this folder only.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_LOWERING_RANDOMWORDS_H
#define MPC_COMPILER_DIALECT_TRAIN_LOWERING_RANDOMWORDS_H

#include "mlir/IR/Builders.h"

#include <utility>

namespace mpc::train {

/// Emits the two 32-bit words, in i64, that `train.dropout_training` describes,
/// for the current element in the body of a generic over `shape`.
std::pair<mlir::Value, mlir::Value>
randomWords(mlir::OpBuilder &builder, mlir::Location loc,
            llvm::ArrayRef<int64_t> shape, mlir::Value seed, mlir::Value step,
            uint64_t index);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_LOWERING_RANDOMWORDS_H
