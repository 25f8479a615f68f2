//===- LossParts.h - What the loss compares, for packages -------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_LOSSPARTS_H
#define MPC_PASSES_GRAD_LOSS_LOSSPARTS_H

#include "passes/Grad/Loss/ChooseLoss.h"

#include <string>
#include <vector>

namespace mpc {

/// What exports and metrics need to know about the loss: its kind, the output
/// that it is computed from (or that it is), the input that it is compared with
/// and the dimension of classes; "sum" for a sum of losses. Lines that follow
/// these four describe `predict`, which must still be as imported:
///
///   scores ACTIVATION OUTPUT   the output is computed by sigmoid, softmax or
///                              log-softmax
///   kind KIND                  for a loss in the graph that compares an output
///   prediction OUTPUT          of `predict` with an input: what `kind` and the
///   target INPUT               first lines state for other losses
///   axis DIMENSION
std::vector<std::string> describeLossParts(mlir::func::FuncOp predict,
                                           const LossSum &sum);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSPARTS_H
