//===- Ranges.cpp - Ranges of recurrent layers ----------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// Products of a sigmoid and a tanh. Each step adds at most 1 to the magnitude
/// of a cell.
void LstmOp::inferRanges(Ranges operands, Results results) {
  auto bounded = [&](double most) {
    return amp::withRoundingError(NumberRange::within(-most, most, operands));
  };
  double cell = operands[4].maxMagnitude() + shapeOf(getInput())[0];
  results[0] = results[2] = bounded(1);
  results[1] = results[3] = bounded(cell);
}

/// Each state lies between the candidate and the state before.
void GruOp::inferRanges(Ranges operands, Results results) {
  auto bounded = [&](double most) {
    return amp::withRoundingError(NumberRange::within(-most, most, operands));
  };
  results[0] = bounded(std::max(1.0, operands[3].maxMagnitude()));
  results[1] = bounded(1);
}
