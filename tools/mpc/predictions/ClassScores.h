//===- ClassScores.h - Probabilities and classes of outputs -----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_PREDICTIONS_CLASSSCORES_H
#define MPC_TOOLS_MPC_PREDICTIONS_CLASSSCORES_H

#include "tools/npz/Npz.h"

namespace mpc::tool {

/// Replaces the scores of classes along a dimension by their softmax. Throws a
/// Failure if the array does not contain floats of 32 or 64 bits.
void applySoftmax(npz::Array &array, size_t axis);

/// Replaces the scores by the number of the class with the highest, int64, and
/// drops the dimension. The first of equal scores counts; a nan counts as the
/// highest, as in NumPy.
void applyArgmax(npz::Array &array, size_t axis);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_PREDICTIONS_CLASSSCORES_H
