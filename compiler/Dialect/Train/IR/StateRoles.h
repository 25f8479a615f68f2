//===- StateRoles.h - Kinds and names of states -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_STATEROLES_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_STATEROLES_H

#include "llvm/ADT/StringRef.h"

namespace mpc::train {

enum class StateRole : uint32_t;

/// The class of a state, which follows from its role. It decides which file of
/// a checkpoint the state goes to and how the runtime treats it. The values are
/// those of packages (program.fbs).
enum class StateKind {
  Parameter = 0,   ///< Trained.
  Statistic = 1,   ///< Belongs to the model; training changes it.
  Constant = 2,    ///< Belongs to the model; nothing changes it.
  Optimizer = 3,   ///< Kept by the optimizer between updates.
  WorkingCopy = 4, ///< Weights in 16 bit, rounded from parameters or constants.
  Control = 5,     ///< A single number.
  Derived = 6,     ///< Computed from the weights by the entry `derive`.
};

StateKind kindOf(StateRole role);

/// The name of a state of this role in packages and checkpoints, unless the
/// model has a state of that name (Program::freeName); "" for roles whose
/// states have individual names.
llvm::StringRef usualName(StateRole role);

/// Returns true if a program has at most one state of this role.
bool isUnique(StateRole role);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_STATEROLES_H
