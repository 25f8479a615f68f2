//===- ClassWeights.h - Class weights from a data set -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMMANDS_CLASSWEIGHTS_H
#define MPC_TOOLS_MPC_COMMANDS_CLASSWEIGHTS_H

#include "passes/Options/Options.h"
#include "tools/mpc/data/DataOptions.h"

namespace mpc::tool {

/// If the class weights are to be balanced, computes them from the labels in
/// `data`, whose path is "" if there is none, and prints a note
/// with them. The weight of a class is n / (k count): n labels count, k classes
/// occur in them, and the class occurs `count` times, as in scikit-learn's
/// compute_class_weight. Classes that do not occur have weight 1.
void balanceClasses(const DataOptions &data, CompileOptions &compile);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMMANDS_CLASSWEIGHTS_H
