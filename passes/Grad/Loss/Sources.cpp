//===- Sources.cpp - Dependence on data and parameters --------------------===//

#include "passes/Grad/Loss/Sources.h"

using namespace mlir;
using namespace mpc;

Sources::Sources(Block &entry) {
  for (Value argument : entry.getArguments())
    known[argument] = {/*data=*/true, /*parameters=*/false};
  for (Operation &op : entry) {
    Found found = findOf(&op);
    for (Value result : op.getResults())
      known[result] = found;
  }
}

Sources::Found Sources::findOf(Operation *op) const {
  if (op->getNumRegions() > 0)
    return {true, true};
  Found found = {false, false};
  for (Value operand : op->getOperands()) {
    found.data |= hasData(operand);
    found.parameters |= hasParameters(operand);
  }
  if (auto read = dyn_cast<train::ReadOp>(op)) {
    auto state = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
        read, read.getStateAttr());
    found.parameters |=
        !state || state.getKind() == train::StateKind::Parameter;
  }
  return found;
}
