//===- StateNames.h - Names that mpc gives itself ---------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_STATENAMES_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_STATENAMES_H

#include "llvm/ADT/StringRef.h"

namespace mpc::train {

/// Whether a state or function that mpc adds to a module has this name, or a
/// checkpoint stores what belongs to a weight under it ("ema/fc.weight").
/// Initializers of a model may not have such names. Whatever creates a state
/// asserts that its name is one of these.
bool isReservedName(llvm::StringRef name);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_STATENAMES_H
