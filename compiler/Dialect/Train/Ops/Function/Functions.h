//===- Functions.h - Unary functions ----------------------------*- C++ -*-===//
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

/// A row of the table: an op of FunctionOps.td.
struct Function {
  /// The value that the derivative is computed from.
  enum From { Input, Output, Nothing };
  using Formula = mlir::Value (*)(ScalarMath &, mlir::Value, Parameters);

  llvm::StringLiteral name; ///< Name of the op, without the dialect.
  amp::PrecisionClass precision;
  llvm::StringLiteral reason;
  bool isBounded;
  int64_t flops, gradFlops; ///< Per element; 10 for a transcendental function.
  Formula value;            ///< The function of the input.
  From from;
  Formula derivative; ///< The derivative, as a function of input or output;
                      ///< null if it is 0 everywhere.
  /// The function selects its input or a constant. Where the derivative is 0,
  /// the input's gradient is 0 even if the incoming one is infinite or NaN.
  bool isChoice = false;
};

/// The natural logarithm, also of subnormal numbers.
mlir::Value emitLog(ScalarMath &m, mlir::Value x);

/// The row of an op: "train.exp" or "exp". There must be one.
const Function &findFunction(llvm::StringRef op);

/// The gradient of an op of the table.
mlir::Value buildFunctionGradient(mlir::Operation *op, mlir::OpBuilder &builder,
                                  mlir::Value grad);

/// The attributes of an op of the table.
llvm::SmallVector<double> parametersOf(mlir::Operation *op);

/// The range of the result of an op of the table (Ranges.cpp).
amp::NumberRange rangeOfFunction(mlir::Operation *op,
                                 const amp::NumberRange &input);

/// Lowers an op of the table.
mlir::Value lowerFunction(mlir::Operation *op, mlir::OpBuilder &builder);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_FUNCTION_FUNCTIONS_H
