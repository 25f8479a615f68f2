//===- OwnStep.h - Training steps that models bring -------------*- C++ -*-===//
//
// What the importer says of them to the passes. Such a module has `predict`,
// `evaluate`, which gives the loss, and `train`, which gives the loss and the
// gradients of parameters, and writes the states that the step changes. Where
// it writes no parameters, the update is left to mpc-add-optimizer. It may have
// `initialize`, which takes nothing and gives, under the names of states, what
// each session begins them with.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_OWNSTEP_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_OWNSTEP_H

#include "llvm/ADT/StringRef.h"

namespace mpc::train {

/// Of the module: the step is the model's own; the name of its loss.
inline constexpr llvm::StringLiteral kOwnStepAttr = "mpc.own_step";
/// Of the module: the states that say how far updates go, if it knows any.
inline constexpr llvm::StringLiteral kLearningRatesAttr = "mpc.learning_rates";
/// Of a result of `train`: the parameter that it is a gradient of.
inline constexpr llvm::StringLiteral kGradientOfAttr = "mpc.gradient_of";
/// Of a write in `train`: the number of the update that it belongs to.
inline constexpr llvm::StringLiteral kUpdateAttr = "mpc.update";

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_OWNSTEP_H
