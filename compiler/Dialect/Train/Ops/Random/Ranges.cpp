//===- Ranges.cpp - Ranges of random ops ----------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

void DropoutOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0];
}

void DropoutTrainingOp::inferRanges(Ranges operands, Results results) {
  double scale = 1 / (1 - getRatio().convertToDouble());
  NumberRange kept = includingZero(operands[0]);
  results[0] = amp::productOf(kept, NumberRange::within(scale, scale));
  scaleRows(results[0], kept, scale);
}

/// A normal number is computed from a uniform number of limited resolution that
/// is never 0, which bounds its magnitude.
void RandomOp::inferRanges(Ranges, Results results) {
  double most = std::sqrt(2 * 33 * M_LN2);
  results[0] = getNormal() ? NumberRange::within(-most, most)
                           : NumberRange::within(0, 1);
}
