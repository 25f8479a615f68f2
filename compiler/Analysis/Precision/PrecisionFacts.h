//===- PrecisionFacts.h - Helpers of the precision passes -------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_PRECISIONFACTS_H
#define MPC_COMPILER_ANALYSIS_PRECISION_PRECISIONFACTS_H

#include "compiler/Analysis/Ranges.h"
#include "compiler/Dialect/Amp/IR/Decision.h"
#include "compiler/Dialect/Amp/IR/Format.h"
#include "compiler/Dialect/Train/IR/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {

/// True for reads of weights: masters, working copies and derived states.
bool readsWeights(mlir::Operation *op);

/// True for an op that writes the next value of a state.
bool writesState(mlir::Operation *op);

/// "bf16"
std::string typeName(mlir::FloatType type);

/// Adds the responsible pass to an error of a verifier. Returns failure.
mlir::LogicalResult nameResponsiblePass(mlir::InFlightDiagnostic &&error,
                                        mlir::Operation *op,
                                        llvm::StringRef pass);

/// The element type if `type` is a tensor of floats, else null.
mlir::FloatType getFloatElementType(mlir::Type type);

/// True for tensors of f16 or bf16, and for tensors of f32, respectively.
bool isLowTensor(mlir::Type type);
bool isF32Tensor(mlir::Type type);

/// True for ops of class `low`, which read 16 bit: products and convolutions.
bool isLowOp(mlir::Operation *op);

/// True for ops of class `transparent`, which commute with rounding.
bool isTransparent(mlir::Operation *op);

/// The class of `op` in a program whose 16-bit type is `low`. If an op is
/// sensitive only because of the range of f16, but its operands and results are
/// proven to fit, returns its class in a type with the range of f32.
amp::PrecisionClass classForRange(amp::PrecisionOpInterface op,
                                  mlir::FloatType low, const Ranges &ranges);

/// The class of `op` in a type with the range of f32.
amp::PrecisionClass classInFullRange(amp::PrecisionOpInterface op);

/// The type to which the minimum cut narrows tensors in this precision; null if
/// it narrows none.
mlir::FloatType getLowType(mlir::MLIRContext *context,
                           llvm::StringRef precision);

/// The state of kind parameter or constant that `value` is read or unpacked
/// from; null for any other value. The 16-bit copy of such a value needs no
/// cast in the function.
train::StateOp getWeightState(mlir::Value value);

/// The model's name of the tensor that `value` is read or unpacked from; "" if
/// it does not come from a state. A working copy has the name of its original.
llvm::StringRef stateName(mlir::Value value);

/// True if `func` trains: writes a state of kind parameter.
bool updatesParameters(mlir::func::FuncOp func);

/// The states that are written by functions which update no parameters: they
/// carry sums from micro-batches to the update, and restart after each update,
/// whether it was applied or skipped.
llvm::StringSet<> findCarriedStates(mlir::ModuleOp module);

/// True if `op` has a line in the report: it has a class and works on floats.
/// Parts of packed states are read in place and have none.
bool isReported(mlir::Operation *op);

/// True if profiles and --check-numerics observe the results of `op`: false if
/// it computes no new numbers.
bool computesNumbers(mlir::Operation *op);

/// The gradients of parameters that `func` packs
/// (passes/Grad/Update/Packing.h), in order.
llvm::SmallVector<mlir::Value> findGradientPacks(mlir::func::FuncOp func);

/// True if the user chose the types of `op`, over its class.
bool isUserChosen(mlir::Operation *op);

/// Explains why `type` cannot represent a value with these facts.
amp::Decision explainExcess(const TensorFacts &facts, mlir::FloatType type);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_PRECISIONFACTS_H
