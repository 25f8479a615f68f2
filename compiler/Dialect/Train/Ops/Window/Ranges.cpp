//===- Ranges.cpp - Ranges of windowed ops --------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

void UnfoldOp::inferRanges(Ranges operands, Results results) {
  double padding = getPadding().convertToDouble();
  NumberRange border = NumberRange::within(padding, padding);
  border.mayBeNan = std::isnan(padding);
  results[0] = amp::hullOf(operands[0], border).withoutRows();
}

void MaxPoolOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0].withoutRows();
}

void AveragePoolOp::inferRanges(Ranges operands, Results results) {
  double count = 1;
  for (int64_t extent : getKernelShape())
    count *= extent;
  results[0] = includingZero(meanOf(count, operands[0])).withoutRows();
  results[0].least = 0; // Padding zeros are part of the sums.
}

void GlobalAveragePoolOp::inferRanges(Ranges operands, Results results) {
  results[0] = meanOf(double(countElements(getInput())) /
                          std::max<int64_t>(countElements(getResult()), 1),
                      operands[0]);
}
