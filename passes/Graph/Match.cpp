//===- Match.cpp - Helpers for passes that recognise patterns -------------===//

#include "passes/Graph/Match.h"

#include "compiler/Dialect/Train/Ops/Gradient.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value mpc::beforeBroadcast(Value value) {
  while (auto broadcast = value.getDefiningOp<train::BroadcastToOp>())
    value = broadcast.getInput();
  return value;
}

std::optional<double> mpc::numberOf(Value value) {
  auto constant = value.getDefiningOp<train::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat())
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

Value mpc::besideNumber(Operation *op, double *number, unsigned *index) {
  for (unsigned i : {1, 0}) {
    Value other = op->getOperand(1 - i);
    std::optional<double> found = numberOf(op->getOperand(i));
    if (found && other.getType() == op->getResult(0).getType()) {
      *number = *found;
      if (index)
        *index = i;
      return other;
    }
  }
  return nullptr;
}

bool mpc::isNear(double found, double wanted, Value like) {
  auto element = cast<FloatType>(getElementTypeOrSelf(like.getType()));
  int digits = APFloat::semanticsPrecision(element.getFloatSemantics());
  return std::fabs(found - wanted) <=
         4 * std::ldexp(std::fabs(wanted), -digits);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static int64_t countElements(Value value) {
  return ShapedType::getNumElements(shapeOf(value));
}

bool Parts::areUsedElsewhere(Value input) const {
  int64_t size = countElements(input);
  return llvm::any_of(ops.getArrayRef().drop_front(), [&](Operation *op) {
    return countElements(op->getResult(0)) >= size &&
           llvm::any_of(op->getUsers(),
                        [&](Operation *user) { return !ops.contains(user); });
  });
}

Location Parts::getLoc() const {
  SmallVector<Location> locations;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  return FusedLoc::get(last()->getContext(), locations);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Product Product::of(Parts &parts) {
  Value whole = parts.last()->getResult(0);
  int64_t size = countElements(whole);
  Product product;
  SmallVector<std::pair<Value, bool>> left{{whole, false}};
  while (!left.empty()) {
    auto [value, divides] = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    // Long chains are not a function that any recogniser looks for.
    size_t count = product.factors.size() + product.divisors.size();
    bool isOwn =
        value == whole || value.hasOneUse() || countElements(value) < size;
    if (!isa_and_present<train::MulOp, train::DivOp>(op) || !isOwn ||
        count + left.size() > 8) {
      (divides ? product.divisors : product.factors).push_back(value);
      continue;
    }
    bool isQuotient = isa<train::DivOp>(op);
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    double number;
    unsigned index;
    Value other = besideNumber(op, &number, &index);
    if (other && number != 0 && std::isfinite(number)) {
      bool numberDivides = divides != (isQuotient && index == 1);
      product.number *= numberDivides ? 1 / number : number;
      left.push_back({other, divides != (isQuotient && index == 0)});
    } else {
      left.push_back({rhs, divides != isQuotient});
      left.push_back({lhs, divides});
    }
    parts.add(op);
  }
  return product;
}

Value Product::multiply(RewriterBase &rewriter, Location loc,
                        Value value) const {
  for (Value factor : factors)
    value = train::MulOp::create(rewriter, loc, value, factor);
  for (Value divisor : divisors)
    value = train::DivOp::create(rewriter, loc, value, divisor);
  if (number != 1)
    value = train::MulOp::create(
        rewriter, loc, value,
        train::createScalarLike(rewriter, loc, value, number));
  return value;
}
