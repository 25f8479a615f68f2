//===- StateRoles.h - Kinds and names of states -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_STATEROLES_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_STATEROLES_H

#include "llvm/ADT/StringRef.h"

namespace mpc::train {

enum class StateRole : uint32_t;

/// What the role of a state makes it: which file of a checkpoint it goes to,
/// and how the runtime treats it. The values are those of packages
/// (program.fbs).
enum class StateKind {
  Parameter = 0,   ///< Trained.
  Statistic = 1,   ///< Belongs to the model; training changes it.
  Constant = 2,    ///< Belongs to the model; nothing changes it.
  Optimizer = 3,   ///< What the update keeps.
  WorkingCopy = 4, ///< Weights in 16 bit, rounded from parameters or constants.
  Control = 5,     ///< One number.
  Derived = 6,     ///< Made of the weights by the entry `derive`.
};

StateKind kindOf(StateRole role);

/// What a state of this role is called, in packages and checkpoints, unless the
/// model has a state of that name (Program::freeName); "" for roles whose
/// states have names of their own.
llvm::StringRef usualName(StateRole role);

/// Whether a program has at most one state of this role.
bool isUnique(StateRole role);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_STATEROLES_H
