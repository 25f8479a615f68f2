//===- PrecisionFacts.h - What the precision passes agree on ----*- C++ -*-===//
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

/// True for reads of weights: masters, copies, and what is derived from them.
bool readsWeights(mlir::Operation *op);

/// True for an op that gives a state its value for the next step.
bool writesState(mlir::Operation *op);

/// "bf16"
std::string typeName(mlir::FloatType type);

/// Says with an error of a verifier which pass has to see to that. Fails.
mlir::LogicalResult blame(mlir::InFlightDiagnostic &&error, mlir::Operation *op,
                          llvm::StringRef pass);

/// The element type if `type` is a tensor of floats, else null.
mlir::FloatType getFloatElementType(mlir::Type type);

/// True for tensors of f16 or bf16; true for tensors of f32.
bool isLowTensor(mlir::Type type);
bool isF32Tensor(mlir::Type type);

/// True for ops that read 16 bit by their class: products and convolutions.
bool isLowOp(mlir::Operation *op);

/// True for ops by whose class rounding their results rounds nothing that their
/// operands are not.
bool isTransparent(mlir::Operation *op);

/// The class of `op` in a program of `low`. Where an op is sensitive because
/// f16 does not reach as far as f32, but what it reads and makes is proven to
/// fit, it is what it would be if f16 did.
amp::PrecisionClass classWithin(amp::PrecisionOpInterface op,
                                mlir::FloatType low, const Ranges &ranges);

/// The class of `op` in a type that reaches as far as f32.
amp::PrecisionClass classInReach(amp::PrecisionOpInterface op);

/// The type to which the minimum cut narrows tensors in this precision; null if
/// it narrows none.
mlir::FloatType getLowType(mlir::MLIRContext *context,
                           llvm::StringRef precision);

/// The state of kind parameter or constant whose value, or a tensor packed in
/// it, `value` is; null for any other value. Such a value has a 16-bit copy
/// that no cast in the function makes.
train::StateOp getWeightState(mlir::Value value);

/// The tensor of the model that `value` is, or lies in, as the file calls it;
/// "" if it is none of a state. A working copy goes by its original.
llvm::StringRef stateName(mlir::Value value);

/// True if `func` trains: writes a state of kind parameter.
bool updatesParameters(mlir::func::FuncOp func);

/// The states that functions write which update no parameters: they carry sums
/// from micro-batch to update, and begin anew with each update, made or not.
llvm::StringSet<> findCarriedStates(mlir::ModuleOp module);

/// True if `op` has a line in the report: it has a class and works on floats.
/// Parts of packed states are read in place and have none.
bool isReported(mlir::Operation *op);

/// True if profiles and --check-numerics look at what `op` makes: false if it
/// computes no number, or none that was not finite before.
bool computesNumbers(mlir::Operation *op);

/// The gradients of parameters that `func` packs
/// (passes/Grad/Update/Packing.h), in order.
llvm::SmallVector<mlir::Value> findGradientPacks(mlir::func::FuncOp func);

/// True if the user chose the types of `op`, over its class.
bool isUsersChoice(mlir::Operation *op);

/// Why `type` cannot hold what `facts` say of a value.
amp::Decision explainExcess(const TensorFacts &facts, mlir::FloatType type);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_PRECISIONFACTS_H
