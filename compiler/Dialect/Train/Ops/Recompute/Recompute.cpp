//===- Recompute.cpp - Values that are computed twice ---------------------===//

#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"

using namespace mlir;
using namespace mpc::train;

#define GET_OP_CLASSES
#include "compiler/Dialect/Train/IR/RecomputeOps.cpp.inc"

Value mpc::train::skipBarriers(Value value) {
  while (auto barrier = value.getDefiningOp<RematBarrierOp>())
    value = barrier.getValue();
  return value;
}
