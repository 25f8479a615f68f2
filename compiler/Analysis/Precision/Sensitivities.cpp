//===- Sensitivities.cpp - What rounding a tensor does to the loss --------===//

#include "compiler/Analysis/Precision/Sensitivities.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using llvm::Twine;

/// What no gradient is known of counts as insensitive.
static Sensitivity sensitivityOf(const ProfiledTensor &tensor) {
  return tensor.sensitivity.value_or(Sensitivity());
}

/// What mixed precision adds is in no fp32 program.
static bool isMeasured(Operation *op) {
  return isObserved(op) && !isa<amp::AmpDialect>(op->getDialect());
}

/// A weight of the model, not the pack that holds all.
static bool isWeightItself(Value value) {
  return getWeightState(value) &&
         llvm::none_of(value.getUsers(), llvm::IsaPred<train::UnpackOp>);
}

void Sensitivities::addState(Value value, StringRef name) {
  ArrayRef<ProfiledTensor> tensors = profile.find(name);
  const bool isWeight = isWeightItself(value);
  numForward += isWeight;
  if (tensors.empty()) {
    // Moments and the like are f32 whatever they hold.
    if (isWeight)
      addMissing(value, name);
    return;
  }
  known[value] = sensitivityOf(tensors.front());
  uint64_t measured = tensors.front().elements,
           elements = cast<ShapedType>(value.getType()).getNumElements();
  if (measured != elements && wrongWeight.empty())
    wrongWeight = ("its '" + name + "' has " + Twine(measured) +
                   " elements, not " + Twine(elements))
                      .str();
}

void Sensitivities::addMissing(Value value, StringRef name) {
  if (numMissing++ == 0)
    firstMissing = name;
  known[value] = Sensitivity::unknown();
}

void Sensitivities::addForward(Value value, const ProfiledTensor *tensor,
                               StringRef node) {
  // The loss depends on options.
  bool isModels = node != kLossNode;
  numForward += isModels;
  if (!tensor) {
    if (isModels)
      addMissing(value, node);
    known[value] = ofNodes[node] = Sensitivity::unknown();
    return;
  }
  known[value] = sensitivityOf(*tensor);
  // That of the loss itself is no tensor's.
  if (cast<ShapedType>(value.getType()).getNumElements() > 1)
    ofNodes.try_emplace(node, sensitivityOf(*tensor));
}

Sensitivities::Sensitivities(const Profile &profile, func::FuncOp func)
    : profile(profile) {
  // How many results of a node and op were met.
  llvm::StringMap<unsigned> met;
  auto find = [&](StringRef name, StringRef op) -> const ProfiledTensor * {
    unsigned skipped = met[(name + "\n" + op).str()]++;
    for (const ProfiledTensor &tensor : profile.find(name))
      if (tensor.op == op && skipped-- == 0)
        return &tensor;
    return nullptr;
  };
  for (Operation &op : func.front()) {
    StringRef mnemonic = op.getName().getStringRef();
    StringRef name = nodeName(op.getLoc());
    bool isGradient = name.consume_back(kGradientSuffix);
    for (Value result : op.getResults()) {
      if (!getFloatElementType(result.getType()))
        continue;
      if (StringRef state = stateName(result); !state.empty())
        addState(result, state);
      else if (name.empty() || name == kOptimizerNode)
        continue;
      else if (isGradient)
        known[result] = ofNodes.lookup(name);
      else if (isMeasured(&op))
        addForward(result, find(name, mnemonic), name);
    }
  }
}

std::string Sensitivities::lacks() const {
  if (numMissing == 0)
    return "";
  return (Twine(numMissing) + " of " + Twine(numForward) +
          " tensors of the forward pass, such as '" + firstMissing + "'")
      .str();
}

llvm::Error Sensitivities::check() const {
  if (2 * numMissing > numForward)
    return profile.refuse("it lacks " + lacks());
  if (!wrongWeight.empty())
    return profile.refuse(wrongWeight);
  return llvm::Error::success();
}
