//===- Ranges.cpp - Ranges of recurrent layers ----------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// Within [-most, most]; NaN or infinite only if an operand is, or if the sums
/// before the activations overflow. The operands are those of an op: input,
/// recurrence, bias, states.
static NumberRange bounded(double most, Value recurrence,
                           ArrayRef<NumberRange> operands) {
  NumberRange range =
      amp::withRoundingError(NumberRange::within(-most, most, operands));
  const double state = std::max(1.0, operands[3].maxMagnitude());
  const NumberRange products = amp::sumOf(
      lastExtent(recurrence),
      amp::productOf(operands[1], NumberRange::within(-state, state)));
  const NumberRange sums =
      amp::sumOf(amp::sumOf(operands[0], operands[2]), products);
  range.mayBeNan |= !sums.isFinite();
  return range;
}

/// Products of a sigmoid and a tanh. Each step adds at most 1 to the magnitude
/// of a cell.
void LstmOp::inferRanges(Ranges operands, Results results) {
  double cell = operands[4].maxMagnitude() + shapeOf(getInput())[0];
  results[0] = results[2] = bounded(1, getRecurrence(), operands);
  results[1] = results[3] = bounded(cell, getRecurrence(), operands);
}

/// Each state lies between the candidate and the state before.
void GruOp::inferRanges(Ranges operands, Results results) {
  results[0] = bounded(std::max(1.0, operands[3].maxMagnitude()),
                       getRecurrence(), operands);
  results[1] = bounded(1, getRecurrence(), operands);
}
