//===- UpdateFormula.cpp - Elementwise update of a weight -----------------===//

#include "passes/Grad/Update/UpdateFormula.h"

#include "passes/Grad/EntryPoints.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// The write of another state in the function of `like`.
static train::WriteOp findWrite(train::WriteOp like, StringRef state) {
  for (auto write : like->getBlock()->getOps<train::WriteOp>())
    if (write.getState() == state)
      return write;
  return nullptr;
}

Value mpc::findNumber(Value value) {
  while (auto repeat = value.getDefiningOp<train::BroadcastToOp>())
    value = repeat.getInput();
  if (typeOf(value).getNumElements() == 1)
    return value;
  return nullptr;
}

/// Whether each element of the result depends on one element of each operand.
static bool isElementwise(Operation *op) {
  return isa_and_nonnull<train::AdamOp>(op) ||
         (op && op->getNumResults() == 1 &&
          op->hasTrait<train::ElementByElement>());
}

UpdateFormula::UpdateFormula(Value weight, train::WriteOp write,
                             const llvm::DenseSet<Value> &known,
                             bool hasNoKnownGradient)
    : write(write), weight(weight), known(&known),
      type(typeOf(write.getValue())), hasNoKnownGradient(hasNoKnownGradient) {
  visit(write.getValue());
  for (unsigned i = 0; i < states.size();
       ++i) { // Visiting their writes may find more.
    stateWrites.push_back(findWrite(write, states[i].getSymName()));
    if (stateWrites.back())
      visit(stateWrites.back().getValue());
  }
  packable &= !(gradients.empty() && others.empty()) && isSafeAtZero();
  llvm::raw_string_ostream(text) << write->getAttr(kUpdateAttr);
}

/// The role of `value` if the formula ends there; none for values that are
/// computed elementwise.
std::optional<UpdateFormula::Role> UpdateFormula::leafRole(Value value) {
  if (value == weight)
    return Role::Weight;
  RankedTensorType own = typeOf(value);
  bool fits = own.getShape() == type.getShape();
  auto read = value.getDefiningOp<train::ReadOp>();
  if (read && own == type) {
    auto state = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
        read, read.getStateAttr());
    if (state.getKind() == train::StateKind::Optimizer) {
      states.push_back(state);
      return Role::State;
    }
  }
  if (fits && known->contains(value)) {
    gradients.push_back(value);
    return Role::Gradient;
  }
  // The new value of a one-element weight also looks like a number.
  if (findNumber(value) && !(fits && isOwn(value)))
    return Role::Number;
  Operation *op = value.getDefiningOp();
  if (fits && isElementwise(op))
    return std::nullopt;
  bool isComputed = op && !isa<train::ReadOp, train::ConstantOp>(op);
  packable &= own == type && isComputed;
  bool isGradient = hasNoKnownGradient && own == type && (!op || isComputed);
  (isGradient ? gradients : others).push_back(value);
  return isGradient ? Role::Gradient : Role::Other;
}

/// Whether a number is computed, element by element, from the weight or its
/// gradient.
bool UpdateFormula::isOwn(Value value) const {
  bool found = false;
  walkOperands(value, [&](Value next) {
    found |= known->contains(next) || next == weight;
    return !found && isElementwise(next.getDefiningOp());
  });
  return found;
}

void UpdateFormula::visit(Value value) {
  if (ids.contains(value))
    return;
  llvm::raw_string_ostream os(text);
  std::optional<Role> leaf = leafRole(value);
  if (!leaf)
    for (Value operand : value.getDefiningOp()->getOperands())
      visit(operand);
  ids.insert({value, ids.size()});
  roles.insert({value, leaf.value_or(Role::Computed)});
  if (leaf) {
    os << char('a' + int(*leaf));
    if (*leaf == Role::Number)
      os << findNumber(value).getAsOpaquePointer();
  } else {
    Operation *op = value.getDefiningOp();
    os << op->getName() << op->getAttrDictionary()
       << cast<OpResult>(value).getResultNumber()
       << typeOf(value).getElementType();
    for (Value operand : op->getOperands())
      os << "," << ids.lookup(operand);
  }
  os << ";";
}

/// A number that is known at compile time.
static std::optional<double> knownNumber(Value value) {
  auto constant = value.getDefiningOp<train::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                           : DenseFPElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// Whether the formula is finite in the padding of packs, where all values are
/// zero. Unknown numbers are assumed not to be zero.
bool UpdateFormula::isSafeAtZero() const {
  llvm::DenseMap<Value, std::optional<double>> at;
  for (auto [value, role] : roles) {
    if (role == Role::Number) {
      at[value] = knownNumber(findNumber(value));
      continue;
    }
    if (role != Role::Computed) {
      at[value] = 0;
      continue;
    }
    Operation *op = value.getDefiningOp();
    SmallVector<std::optional<double>> in;
    for (Value operand : op->getOperands())
      in.push_back(at.lookup(operand));
    auto both = [&](auto combine) -> std::optional<double> {
      if (in[0] && in[1])
        return combine(*in[0], *in[1]);
      return std::nullopt;
    };
    std::optional<double> result;
    if (isa<train::AddOp>(op))
      result = both([](double a, double b) { return a + b; });
    else if (isa<train::SubOp>(op))
      result = both([](double a, double b) { return a - b; });
    else if (isa<train::MulOp>(op))
      result = in[0] == 0 || in[1] == 0
                   ? 0
                   : both([](double a, double b) { return a * b; });
    else if (isa<train::SqrtOp>(op) && in[0])
      result = std::sqrt(*in[0]);
    else if (isa<train::DivOp>(op)) {
      if (in[1] == 0)
        return false;
      result = in[0] == 0 ? 0 : both([](double a, double b) { return a / b; });
    } else if (auto adam = dyn_cast<train::AdamOp>(op)) {
      if (adam.getEpsilon().isZero())
        return false;
      result = 0;
    } else if (!isa<train::NegOp, train::AbsOp, train::SelectOp,
                    train::CompareOp, train::MinimumOp, train::MaximumOp,
                    train::CastOp>(op) &&
               llvm::is_contained(in, std::optional<double>(0))) {
      return false; // A logarithm, a power, a reciprocal.
    } else if (isa<train::NegOp, train::AbsOp>(op)) {
      result = in[0];
    }
    at[value] = result;
  }
  return true;
}

/// Reshapes a number to rank 0, so that it broadcasts to every shape.
static Value toScalar(OpBuilder &builder, Value number) {
  RankedTensorType type = typeOf(number);
  if (type.getRank() == 0)
    return number;
  return train::ReshapeOp::create(builder, number.getLoc(),
                                  type.clone(ArrayRef<int64_t>()), number);
}

SmallVector<Value> UpdateFormula::build(OpBuilder &builder, Value weights,
                                        ValueRange gradientPacks,
                                        ValueRange otherPacks,
                                        ValueRange statePacks) {
  IRMapping mapping;
  unsigned gradient = 0, other = 0, state = 0;
  for (auto [value, role] : roles) {
    switch (role) {
    case Role::Weight:
      mapping.map(value, weights);
      break;
    case Role::State:
      mapping.map(value, statePacks[state++]);
      break;
    case Role::Gradient:
      mapping.map(value, gradientPacks[gradient++]);
      break;
    case Role::Other:
      mapping.map(value, otherPacks[other++]);
      break;
    case Role::Number:
      mapping.map(value, toScalar(builder, findNumber(value)));
      break;
    case Role::Computed:
      if (mapping.contains(value)) // Built for another result of its op.
        break;
      Operation *copy = builder.clone(*value.getDefiningOp(), mapping);
      for (Value result : copy->getResults())
        result.setType(typeOf(result).clone(typeOf(weights).getShape()));
      break;
    }
  }
  SmallVector<Value> results = {mapping.lookup(write.getValue())};
  for (train::WriteOp own : stateWrites)
    if (own)
      results.push_back(mapping.lookup(own.getValue()));
  return results;
}
