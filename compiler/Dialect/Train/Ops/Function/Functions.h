//===- Functions.h - Functions of one number --------------------*- C++ -*-===//
//
// For sources of this folder only.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_FUNCTION_FUNCTIONS_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_FUNCTION_FUNCTIONS_H

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ScalarMath.h"

namespace mpc::train {

/// The attributes of an op of FunctionOps.td, in the order of their names.
using Parameters = llvm::ArrayRef<double>;

/// A row of the table: what an op of FunctionOps.td is.
struct Function {
  /// What the derivative is computed from.
  enum From { Input, Output, Nothing };
  using Formula = mlir::Value (*)(ScalarMath &, mlir::Value, Parameters);

  llvm::StringLiteral name; ///< Name of the op, without the dialect.
  amp::PrecisionClass precision;
  llvm::StringLiteral reason;
  bool isBounded;
  int64_t flops, gradFlops; ///< Per element; a transcendental function has 10.
  Formula value;            ///< The function of the input.
  From from;
  Formula derivative; ///< The derivative, from input or output; null if it is 0
                      ///< everywhere.
  /// Where the derivative is 0 nothing passes, be the gradient infinite or NaN:
  /// the function chooses its input or a number.
  bool isChoice = false;
};

/// The natural logarithm, of subnormal numbers too.
mlir::Value emitLog(ScalarMath &m, mlir::Value x);

/// The row of an op: "train.exp" or "exp". There must be one.
const Function &findFunction(llvm::StringRef op);

/// The gradient of an op of the table.
mlir::Value buildFunctionGradient(mlir::Operation *op, mlir::OpBuilder &builder,
                                  mlir::Value grad);

/// The attributes of an op of the table.
llvm::SmallVector<double> parametersOf(mlir::Operation *op);

/// What the results of an op of the table can be (Ranges.cpp).
amp::NumberRange rangeOfFunction(mlir::Operation *op,
                                 const amp::NumberRange &input);

/// What an op of the table computes.
mlir::Value lowerFunction(mlir::Operation *op, mlir::OpBuilder &builder);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_FUNCTION_FUNCTIONS_H
