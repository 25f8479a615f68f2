//===- DecisionText.cpp - Decisions as text -------------------------------===//

#include "passes/Precision/Report/DecisionText.h"

#include "compiler/Report/Model/Reasons.h"
#include "compiler/Support/UserInput/Json.h"

using namespace mlir;
using namespace mpc;

static report::Argument argumentOf(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return utf8(text.getValue());
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  std::string text;
  llvm::raw_string_ostream(text) << cast<TypeAttr>(attribute).getValue();
  return text;
}

static SmallVector<report::Argument>
argumentsOf(ArrayRef<Attribute> attributes) {
  return llvm::map_to_vector(attributes, argumentOf);
}

std::string mpc::textOf(const amp::Decision &decision) {
  return report::textOf(decision.rule, argumentsOf(decision.arguments));
}

std::string mpc::reasonOf(amp::DecisionAttr decision, StringRef own) {
  // The attribute's verifier has checked that the rule exists.
  return report::reasonOf(ruleOf(decision.getRule()).value(),
                          argumentsOf(decision.getArguments()), own);
}
