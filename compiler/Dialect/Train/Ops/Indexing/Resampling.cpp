//===- Resampling.cpp - Weighted sums of elements at constant places ------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ElementBody.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using Values = ElementBody::Values;

/// The number of elements that are added up for one element of the result.
static int64_t countTaps(ResampleOp op) { return shapeOf(op.getPlaces())[1]; }

static bool isMove(ResampleOp op) {
  return !op.getWeights() && countTaps(op) == 1;
}

amp::PrecisionClass ResampleOp::getPrecisionClass(FloatType) {
  return isMove(*this) ? amp::PrecisionClass::Transparent
                       : amp::PrecisionClass::Follow;
}
StringRef ResampleOp::getPrecisionReason(FloatType) {
  return isMove(*this) ? "only moves elements"
                       : "sums of a few elements, taken in f32";
}
int64_t ResampleOp::getFlops() {
  return isMove(*this) ? 0 : 2 * countElements(getResult()) * countTaps(*this);
}
bool ResampleOp::isOperandPinned(unsigned index) { return index == 2; }
bool ResampleOp::isResultPinned(unsigned) { return false; }

static LogicalResult inferTypes(ResampleOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape(shapeOf(op.getInput()));
  auto axis = static_cast<int64_t>(op.getAxis());
  if (failed(checkAxis(axis, shape.size(), error))) // resample_c1
    return failure();
  ArrayRef<int64_t> places = shapeOf(op.getPlaces());
  if (places.size() != 2) // resample_c2
    return error("'places' must have rank 2, but has shape [", places, "]");
  if (op.getWeights() && shapeOf(op.getWeights()) != places) // resample_c3
    return error("'weights' must have the shape of 'places', [", places,
                 "], but has [", shapeOf(op.getWeights()), "]");
  shape[axis] = places[0];
  types.push_back(RankedTensorType::get(shape, elementOf(op.getInput())));
  return success();
}
MPC_INFER(ResampleOp, inferTypes)

/// The elements of a constant operand; null for any other.
static DenseElementsAttr constantOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                  : DenseElementsAttr();
}

LogicalResult ResampleOp::verify() {
  DenseElementsAttr places = constantOf(getPlaces());
  // Type inference reports these errors.
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (getAxis() >= shape.size() || shapeOf(getPlaces()).size() != 2)
    return success();
  if (!places) // resample_c2
    return emitOpError("'places' must be a constant");
  int64_t extent = shape[getAxis()];
  for (int64_t place : places.getValues<int64_t>())
    if (place < -1 || place >= extent) // resample_c2
      return emitOpError("places must lie in [-1, ")
             << extent << "), but one is " << place;
  if (getWeights() && !constantOf(getWeights())) // resample_c3
    return emitOpError("'weights' must be a constant");
  bool isFloat = isa<FloatType>(elementOf(getInput()));
  if (!isFloat && !isMove(*this)) // resample_c3
    return emitOpError("only floats can be added up, but the elements are ")
           << elementOf(getInput());
  return success();
}

/// Each element gathers from the results that it went into: builds the table of
/// the transposed sum.
LogicalResult ResampleOp::buildGradient(OpBuilder &builder,
                                        ValueRange resultGrads,
                                        ArrayRef<bool> needed,
                                        MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  int64_t extent = shapeOf(getInput())[getAxis()];
  int64_t taps = shapeOf(getPlaces())[1];
  struct Tap {
    int64_t place;
    APFloat weight;
  };
  Type weightType = builder.getF32Type();
  SmallVector<APFloat> weights;
  if (getWeights()) {
    weightType = elementOf(getWeights());
    llvm::append_range(weights, constantOf(getWeights()).getValues<APFloat>());
  }
  std::vector<SmallVector<Tap, 2>> users(extent);
  for (auto [i, place] :
       llvm::enumerate(constantOf(getPlaces()).getValues<int64_t>()))
    if (place >= 0)
      users[place].push_back(
          {int64_t(i) / taps, weights.empty() ? APFloat(1.0f) : weights[i]});
  size_t most = 1;
  for (const auto &list : users)
    most = std::max(most, list.size());
  std::vector<int64_t> places;
  std::vector<APFloat> factors;
  APFloat zero =
      APFloat::getZero(cast<FloatType>(weightType).getFloatSemantics());
  for (const auto &list : users)
    for (size_t i = 0; i < most; ++i) {
      places.push_back(i < list.size() ? list[i].place : -1);
      factors.push_back(i < list.size() ? list[i].weight : zero);
    }
  Location loc = gradientLoc(getLoc());
  SmallVector<int64_t> shape = {extent, int64_t(most)};
  auto constant = [&](Type type, auto &elements) -> Value {
    auto tensor = RankedTensorType::get(shape, type);
    return ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            tensor,
            ArrayRef<typename std::decay_t<decltype(elements)>::value_type>(
                elements)));
  };
  operandGrads[0] = ResampleOp::create(
      builder, loc, resultGrads[0], constant(builder.getI64Type(), places),
      getWeights() ? constant(weightType, factors) : Value(), getAxis());
  return success();
}

LogicalResult ResampleOp::lowerToLinalg(OpBuilder &builder,
                                        SmallVectorImpl<Value> &results) {
  Value input = getInput(), places = getPlaces(), weights = getWeights();
  int64_t axis = getAxis(), taps = shapeOf(places)[1];
  int64_t rank = getType().getRank(), extent = shapeOf(input)[axis];
  Type element = elementOf(input);
  FloatType compute = getComputeType(input, getType());
  results = emitComputed(
      builder, getLoc(), TypeRange(getType()), {}, compute,
      [&](ElementBody body, ValueRange) -> Values {
        Value own = body.position(axis);
        auto elementAt = [&](Value tap, Value none) {
          Value from = body.toIndex(body.read(places, {own, tap}));
          Values at;
          for (int64_t dim = 0; dim < rank; ++dim)
            at.push_back(dim == axis ? from : body.position(dim));
          return body.readIf(body.isWithin(from, extent), input, at, none);
        };
        if (!isa<FloatType>(element))
          return {elementAt(body.indexConstant(0), body.zero(element))};
        Value zero = body.number(0);
        auto term = [&](Value tap) {
          Value value = elementAt(tap, zero);
          return weights ? body.mul(body.read(weights, {own, tap}), value)
                         : value;
        };
        if (taps == 1)
          return {term(body.indexConstant(0))};
        return body.loop(taps, zero, [&](Value tap, ValueRange sum) -> Values {
          return {body.add(sum[0], term(tap))};
        });
      });
  return success();
}
