//===- Ranges.cpp - Ranges of losses --------------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// Without class weights, which may have any sign, -log of a probability is not
/// negative.
void SoftmaxCrossEntropyOp::inferRanges(Ranges, Results results) {
  if (!getWeight())
    results[0].low = 0;
}

void NllLossOp::inferRanges(Ranges, Results) {}

void ElementLossOp::inferRanges(Ranges, Results results) {
  if (getKind() != ElementLoss::BinaryCrossEntropyWithLogits)
    results[0].low = 0;
}

void IsCorrectOp::inferRanges(Ranges, Results results) {
  results[0] = NumberRange::within(0, 1);
  results[0].least = 1;
}
