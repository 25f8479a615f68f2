//===- EntryPoints.h - Inputs and outputs of entry points -------*- C++ -*-===//
//
// Helpers to edit functions that are entry points: one block, named arguments,
// named results.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_ENTRYPOINTS_H
#define MPC_PASSES_GRAD_ENTRYPOINTS_H

#include "compiler/Dialect/Train/IR/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

using train::EntryRole;
using train::Program;
using train::StateRole;

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The user-visible name of argument or result `index`.
llvm::StringRef argumentName(mlir::func::FuncOp func, unsigned index);
llvm::StringRef resultName(mlir::func::FuncOp func, unsigned index);

/// One result of an entry point.
struct Output {
  mlir::Value value;
  mlir::DictionaryAttr attributes;
};

/// The attributes of a result called `name`; `batchDim` may be null.
mlir::DictionaryAttr outputAttributes(mlir::MLIRContext *context,
                                      llvm::StringRef name,
                                      mlir::Attribute batchDim = nullptr);

/// Whether `predict` is to be the only entry point (kPredictOnlyAttr).
bool predictsOnly(mlir::ModuleOp module);

/// Whether the model brings its own training step.
inline bool hasImportedStep(mlir::ModuleOp module) {
  return module->hasAttr(kImportedStepAttr);
}

mlir::func::ReturnOp getReturn(mlir::func::FuncOp func);

/// What the gradient of a parameter, input or output is called where it is an
/// input or an output itself: "gradient:fc1.weight".
std::string gradientName(llvm::StringRef name);

/// The present results of a function with their attributes.
llvm::SmallVector<Output> getOutputs(mlir::func::FuncOp func);

/// Makes the function return exactly `outputs`, and updates its type.
void setOutputs(mlir::func::FuncOp func, llvm::ArrayRef<Output> outputs);

/// The value that `func` returns under this name; null if there is none.
mlir::Value outputNamed(mlir::func::FuncOp func, llvm::StringRef name);

/// Makes the function return one more value.
void addOutput(mlir::func::FuncOp func, mlir::Value value,
               llvm::StringRef name);

/// Follows `value` back through identity ops: they compute nothing, and pass
/// gradients on unchanged.
mlir::Value skipIdentities(mlir::Value value);

/// Calls `visit` once on `value` and on each value that it is computed from. If
/// `visit` returns false, the walk skips the operands of that value.
void walkOperands(mlir::Value value,
                  llvm::function_ref<bool(mlir::Value)> visit);

/// Erases unused ops without side effects.
void eraseDeadOps(mlir::func::FuncOp func);

/// A rank-0 constant of a float type.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type type, double value);

} // namespace mpc

#endif // MPC_PASSES_GRAD_ENTRYPOINTS_H
