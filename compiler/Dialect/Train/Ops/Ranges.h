//===- Ranges.h - Helpers for ranges of results -----------------*- C++ -*-===//
//
// The Ranges.cpp of each op family proves ranges of its results
// (RangeOpInterface) for all data and all weights. Results of an op without
// ranges may hold anything.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_RANGES_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_RANGES_H

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/Train.h"

namespace mpc::train {

using amp::NumberRange;
using Ranges = llvm::ArrayRef<NumberRange>;
using Results = llvm::MutableArrayRef<NumberRange>;

inline constexpr double kInfinity = NumberRange::kInfinity;

/// The factor by which storing a row in 16 bit may increase its norms.
inline constexpr double kRounding = 1 + 0x1p-8;

/// The length of a row; 1 for a scalar.
int64_t lastExtent(mlir::Value value);

/// The range of elements that are those of an operand, or 0.
NumberRange includingZero(const NumberRange &range);

/// Limits the norms of `range`, whose rows are `rows` times factors of no more
/// than `most`.
void scaleRows(NumberRange &range, const NumberRange &rows, double most);

/// The mean of `count` elements; unknown for none, whose mean is 0 / 0.
NumberRange meanOf(double count, const NumberRange &range);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_RANGES_H
