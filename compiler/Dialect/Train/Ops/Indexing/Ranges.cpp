//===- Ranges.cpp - Ranges of indexing ops --------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

// Rows of a table; for floats an index out of range gives NaN.
void GatherOp::inferRanges(Ranges operands, Results results) {
  results[0] = includingZero(operands[0]).withoutRows();
  results[0].mayBeNan = true;
}

void EmbeddingOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0].withoutRows();
  results[0].mayBeNan = true;
}

/// Without weights the op moves or adds elements; with weights it computes
/// weighted sums.
void ResampleOp::inferRanges(Ranges operands, Results results) {
  if (!getWeights()) {
    results[0] = includingZero(operands[0]).withoutRows();
    return;
  }
  double most = operands[0].maxMagnitude() * operands[2].rowSum;
  if (!std::isnan(most))
    results[0] =
        amp::withRoundingError(NumberRange::within(-most, most, operands[0]));
}
