//===- Decision.cpp - Decisions about the types of ops --------------------===//

#include "compiler/Dialect/Amp/IR/Decision.h"

#include "compiler/Attributes/Attributes.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::amp;

LogicalResult DecisionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef id,
                                   ArrayRef<Attribute> arguments) {
  std::optional<Rule> rule = ruleOf(id);
  if (!rule)
    return emitError() << "'" << id << "' is not a rule in Rules.def";
  if (arguments.size() != numArgumentsOf(*rule))
    return emitError() << "rule '" << id << "' has " << numArgumentsOf(*rule)
                       << " arguments, but found " << arguments.size();
  for (Attribute argument : arguments)
    if (!isa<StringAttr, IntegerAttr, FloatAttr, TypeAttr>(argument))
      return emitError() << "an argument must be a string, an integer, a float "
                            "or a type, but found "
                         << argument;
  return success();
}

void mpc::amp::setDecision(Operation *op, const Decision &decision) {
  op->setAttr(kDecisionAttr,
              DecisionAttr::get(op->getContext(), idOf(decision.rule),
                                decision.arguments));
}

DecisionAttr mpc::amp::getDecision(Operation *op) {
  return op->getAttrOfType<DecisionAttr>(kDecisionAttr);
}
