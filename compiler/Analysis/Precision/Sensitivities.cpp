//===- Sensitivities.cpp - Sensitivities of values ------------------------===//

#include "compiler/Analysis/Precision/Sensitivities.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using llvm::Twine;

/// A tensor without a known gradient counts as insensitive.
static Sensitivity sensitivityOf(const ProfiledTensor &tensor) {
  return tensor.sensitivity.value_or(Sensitivity());
}

/// Ops that mixed precision adds are not in fp32 programs, which profiles
/// measure.
static bool isMeasured(Operation *op) {
  return computesNumbers(op) && !isa<amp::AmpDialect>(op->getDialect());
}

/// True for a weight of the model, but not for the pack of all weights.
static bool isWeightItself(Value value) {
  return getWeightState(value) &&
         llvm::none_of(value.getUsers(), llvm::IsaPred<train::UnpackOp>);
}

/// The node of a measured op of the forward pass; "" for any other op.
static StringRef forwardNode(Operation &op) {
  StringRef name = nodeName(op.getLoc());
  bool isForward = isMeasured(&op) && name != kOptimizerNode &&
                   !name.ends_with(kGradientSuffix);
  return isForward ? name : StringRef();
}

/// The results of an op that profiles contain.
static SmallVector<Value> measuredResults(Operation &op) {
  SmallVector<Value> results;
  for (Value result : op.getResults())
    if (getFloatElementType(result.getType()) && stateName(result).empty())
      results.push_back(result);
  return results;
}

/// Has one entry for each op, so that indices in it are those in `profiled`.
static std::vector<ProfiledOp> listOps(func::FuncOp func) {
  std::vector<ProfiledOp> ops;
  for (Operation &op : func.front())
    ops.push_back({forwardNode(op), op.getName().getStringRef(),
                   unsigned(measuredResults(op).size())});
  return ops;
}

void Sensitivities::addState(const Profile &profile, Value value,
                             StringRef name) {
  ArrayRef<ProfiledTensor> tensors = profile.find(name);
  const bool isWeight = isWeightItself(value);
  if (isWeight)
    profiled.countWeight(name,
                         cast<ShapedType>(value.getType()).getNumElements());
  if (!tensors.empty())
    known[value] = sensitivityOf(tensors.front());
  else if (isWeight) // Moments and similar states are always f32.
    known[value] = Sensitivity::unknown();
}

void Sensitivities::addForward(Value value, const ProfiledTensor *tensor,
                               StringRef node) {
  // The loss depends on options, so it may be missing.
  if (node != kLossNode)
    profiled.count(tensor, node);
  if (!tensor) {
    known[value] = ofNodes[node] = Sensitivity::unknown();
    return;
  }
  known[value] = sensitivityOf(*tensor);
  // The loss itself is a single number and does not count.
  if (cast<ShapedType>(value.getType()).getNumElements() > 1)
    ofNodes.try_emplace(node, sensitivityOf(*tensor));
}

Sensitivities::Sensitivities(const Profile &profile, func::FuncOp func)
    : profiled(profile, listOps(func)) {
  for (auto [index, op] : llvm::enumerate(func.front())) {
    for (Value result : op.getResults())
      if (StringRef state = stateName(result); !state.empty())
        addState(profile, result, state);
    StringRef name = nodeName(op.getLoc());
    bool isGradient = name.consume_back(kGradientSuffix);
    bool isForward = !forwardNode(op).empty();
    ArrayRef<const ProfiledTensor *> tensors = profiled.resultsOf(index);
    for (auto [i, result] : llvm::enumerate(measuredResults(op)))
      if (isGradient && !name.empty())
        known[result] = ofNodes.lookup(name);
      else if (isForward)
        addForward(result, i < tensors.size() ? tensors[i] : nullptr, name);
  }
}
