//===- Elementwise.cpp - Elementwise ops ----------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ScalarMath.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include "mlir/Dialect/Traits.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>
#include <optional>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Classes, costs, reasons
//===----------------------------------------------------------------------===//

// A transcendental function counts ten operations: about the length of the
// polynomial that computes it.
#define MPC_ELEMENTWISE(OP, CLASS, PER_ELEMENT, REASON)                        \
  MPC_OP_FACTS(OP, CLASS, PER_ELEMENT *countElements(getResult()), REASON)

MPC_ELEMENTWISE(AddOp, Follow, 1, "follows the format of its operands")
MPC_ELEMENTWISE(SubOp, Follow, 1, "follows the format of its operands")
MPC_ELEMENTWISE(NegOp, Transparent, 1, "commutes exactly with a cast")
MPC_ELEMENTWISE(ReluOp, Transparent, 1, "commutes exactly with a cast")
MPC_ELEMENTWISE(ReluGradOp, Follow, 1, "passes the gradient or zero")
MPC_ELEMENTWISE(StopGradientOp, Internal, 0, "removed before types are chosen")
MPC_ELEMENTWISE(RoundToOp, Internal, 1, "rounds once, as the model requests")

MPC_ELEMENTWISE(MaximumOp, Follow, 1, "passes one of its operands")
MPC_ELEMENTWISE(MinimumOp, Follow, 1, "passes one of its operands")
MPC_ELEMENTWISE(CompareOp, Sensitive, 1,
                "rounding may make unequal values equal and flip a decision")
MPC_ELEMENTWISE(AndOp, Internal, 0, "no floats")
MPC_ELEMENTWISE(OrOp, Internal, 0, "no floats")
MPC_ELEMENTWISE(XorOp, Internal, 0, "no floats")
MPC_ELEMENTWISE(NotOp, Internal, 0, "no floats")

#undef MPC_ELEMENTWISE

static bool isFloat(Value tensor) {
  return isa<FloatType>(getElementTypeOrSelf(tensor.getType()));
}

/// Scalar constants of the model (epsilons, factors) are read once per kernel:
/// rounding them would cost accuracy and save nothing.
static bool isScalarConstant(Value value) {
  return value.getDefiningOp<ConstantOp>() && countElements(value) == 1;
}

/// Follow in a type with the range of f32, Sensitive in f16: there a square
/// overflows from 256 on, a reciprocal below 1.5e-5, and norms and powers that
/// a model writes out are made of these.
static amp::PrecisionClass followIfInRange(FloatType low) {
  using llvm::APFloat;
  bool reaches =
      low && APFloat::semanticsMaxExponent(low.getFloatSemantics()) >=
                 APFloat::semanticsMaxExponent(APFloat::IEEEsingle());
  return reaches ? amp::PrecisionClass::Follow : amp::PrecisionClass::Sensitive;
}

static constexpr const char *kRoundsOnce = "follows the format of its operands";

static StringRef explainRange(FloatType low, StringRef danger) {
  return followIfInRange(low) == amp::PrecisionClass::Follow ? kRoundsOnce
                                                             : danger;
}

amp::PrecisionClass MulOp::getPrecisionClass(FloatType low) {
  return getLhs() == getRhs() ? followIfInRange(low)
                              : amp::PrecisionClass::Follow;
}

StringRef MulOp::getPrecisionReason(FloatType low) {
  return getLhs() == getRhs()
             ? explainRange(low, "a square exceeds f16 from 256 on")
             : kRoundsOnce;
}

int64_t MulOp::getFlops() { return countElements(getResult()); }

amp::PrecisionClass DivOp::getPrecisionClass(FloatType low) {
  return isScalarConstant(getLhs()) ? followIfInRange(low)
                                    : amp::PrecisionClass::Follow;
}

StringRef DivOp::getPrecisionReason(FloatType low) {
  return isScalarConstant(getLhs())
             ? explainRange(low, "the reciprocal of a value that may be small")
             : kRoundsOnce;
}

int64_t DivOp::getFlops() { return countElements(getResult()); }

amp::PrecisionClass SqrtOp::getPrecisionClass(FloatType low) {
  return followIfInRange(low);
}

StringRef SqrtOp::getPrecisionReason(FloatType low) {
  return explainRange(low, "the root of a value that may exceed 16 bit");
}

int64_t SqrtOp::getFlops() { return 5 * countElements(getResult()); }

amp::PrecisionClass CastOp::getPrecisionClass(FloatType) {
  return isFloat(getInput()) && isFloat(getResult())
             ? amp::PrecisionClass::Transparent
             : amp::PrecisionClass::Sensitive;
}

StringRef CastOp::getPrecisionReason(FloatType low) {
  return getPrecisionClass(low) == amp::PrecisionClass::Transparent
             ? "the identity between float types"
             : "integers above 256 have no 16-bit float";
}

bool CastOp::isBounded() {
  return getElementTypeOrSelf(getInput()).isInteger(1);
}

bool CastOp::isIndexLike(unsigned) {
  Type to = getType().getElementType();
  return isFloat(getInput()) && isa<IntegerType>(to) && !to.isInteger(1);
}

Move CastOp::getMove() { return Move::InOrder; }

int64_t CastOp::getFlops() { return countElements(getResult()); }

bool CastOp::isIdentity() {
  Type from = getInput().getType().getElementType();
  Type to = getType().getElementType();
  if (isa<FloatType>(from) || isa<FloatType>(to))
    return isa<FloatType>(from) && isa<FloatType>(to);
  return !from.isInteger(1) && !to.isInteger(1);
}

amp::PrecisionClass SelectOp::getPrecisionClass(FloatType) {
  Type type = getType();
  return getOnTrue().getType() == type && getOnFalse().getType() == type
             ? amp::PrecisionClass::Transparent
             : amp::PrecisionClass::Follow;
}

StringRef SelectOp::getPrecisionReason(FloatType low) {
  return getPrecisionClass(low) == amp::PrecisionClass::Transparent
             ? "moves elements bit for bit"
             : "follows the format of its operands";
}

int64_t SelectOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The broadcast shape of `operands` with the element type of `like`.
static LogicalResult inferBroadcast(ValueRange operands, Value like,
                                    const OpError &error,
                                    SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  for (Value operand : operands) {
    SmallVector<int64_t> before = shape;
    if (!OpTrait::util::getBroadcastedShape(before, shapeOf(operand), shape)) {
      std::string list;
      llvm::raw_string_ostream os(list);
      llvm::interleave(
          operands.getTypes(), os, [&](Type type) { os << "'" << type << "'"; },
          " and ");
      return error("shapes must broadcast, but are ", list);
    }
  }
  types.push_back(RankedTensorType::get(shape, elementOf(like)));
  return success();
}

template <typename Adaptor>
static LogicalResult inferBinary(Adaptor op, const OpError &error,
                                 SmallVectorImpl<Type> &types) { // binary_c1
  return inferBroadcast(op.getOperands(), op.getLhs(), error, types);
}

static LogicalResult inferTypes(SelectOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) { // select_c1
  Type onTrue = elementOf(op.getOnTrue()), onFalse = elementOf(op.getOnFalse());
  if (onTrue != onFalse &&
      !(isa<FloatType>(onTrue) && isa<FloatType>(onFalse))) // select_c2
    return error("must select between elements of one type, but they are ",
                 onTrue, " and ", onFalse);
  return inferBroadcast(op.getOperands(), op.getOnTrue(), error, types);
}

static LogicalResult inferTypes(CompareOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) { // compare_c1
  if (failed(inferBinary(op, error, types)))
    return failure();
  auto type = cast<RankedTensorType>(types[0]);
  types[0] = type.clone(IntegerType::get(type.getContext(), 1));
  return success();
}

static LogicalResult inferTypes(CastOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  Type to = op.getTo();
  if (!TensorType::isValidElementType(to)) // cast_c1
    return error("'to' must be an element type, but is ", to);
  types.push_back(cast<RankedTensorType>(op.getInput().getType()).clone(to));
  return success();
}

MPC_INFER(MaximumOp, inferBinary)
MPC_INFER(MinimumOp, inferBinary)
MPC_INFER(CompareOp, inferTypes)
MPC_INFER(AndOp, inferBinary)
MPC_INFER(OrOp, inferBinary)
MPC_INFER(XorOp, inferBinary)
MPC_INFER(NotOp, inferSame)
MPC_INFER(AddOp, inferBinary)
MPC_INFER(SubOp, inferBinary)
MPC_INFER(MulOp, inferBinary)
MPC_INFER(DivOp, inferBinary)
MPC_INFER(PowOp, inferBinary)
MPC_INFER(NegOp, inferSame)
MPC_INFER(ReluOp, inferSame)
MPC_INFER(SqrtOp, inferSame)
MPC_INFER(ReluGradOp, inferUnaryGrad)
MPC_INFER(RoundToOp, inferSame)
MPC_INFER(StopGradientOp, inferSame) // stop_gradient_c1
MPC_INFER(SelectOp, inferTypes)
MPC_INFER(CastOp, inferTypes)

bool CastOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  Type wanted = getElementTypeOrSelf(inferred[0]);
  Type found = getElementTypeOrSelf(actual[0]);
  return haveSameShapes(inferred, actual) &&
         (found == wanted || (isa<FloatType>(found) && isa<FloatType>(wanted)));
}

LogicalResult RoundToOp::verify() {
  if (!getTo().isF16() && !getTo().isBF16()) // round_to_c1
    return emitOpError("'to' must be f16 or bf16, but is ") << getTo();
  return success();
}

LogicalResult CompareOp::verify() {
  Type lhs = elementOf(getLhs()), rhs = elementOf(getRhs());
  if (lhs != rhs && !(isa<FloatType>(lhs) && isa<FloatType>(rhs))) // compare_c2
    return emitOpError("must compare elements of one type, but they are ")
           << lhs << " and " << rhs;
  if (lhs.isInteger(1) && getComparison() != Comparison::Equal) // compare_c3
    return emitOpError("must compare bools for equality only");
  return success();
}

//===----------------------------------------------------------------------===//
// Error propagation
//===----------------------------------------------------------------------===//

ErrorPropagation AddOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Added;
}
ErrorPropagation SubOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Added;
}
ErrorPropagation MulOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Scaled;
}
ErrorPropagation DivOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Divided;
}
ErrorPropagation SelectOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Moved;
}

//===----------------------------------------------------------------------===//
// Affine functions
//===----------------------------------------------------------------------===//

bool NegOp::isAffineIn(unsigned) { return true; }
bool NegOp::isLinearIn(unsigned) { return true; }
std::optional<Epilogue> AddOp::getEpilogue() { return Epilogue::Sum; }

bool AddOp::isAffineIn(unsigned) { return true; }
bool AddOp::isLinearIn(unsigned) { return false; }
bool SubOp::isAffineIn(unsigned) { return true; }
bool SubOp::isLinearIn(unsigned) { return false; }
bool MulOp::isAffineIn(unsigned) { return true; }
bool MulOp::isLinearIn(unsigned) { return true; }
bool DivOp::isAffineIn(unsigned operand) { return operand == 0; }
bool DivOp::isLinearIn(unsigned operand) { return operand == 0; }

//===----------------------------------------------------------------------===//
// Pins
//===----------------------------------------------------------------------===//

#define MPC_PIN_CONSTANTS(OP)                                                  \
  bool OP::isOperandPinned(unsigned index) {                                   \
    return isScalarConstant(getOperand(index));                                \
  }                                                                            \
  bool OP::isResultPinned(unsigned) { return false; }
MPC_PIN_CONSTANTS(AddOp)
MPC_PIN_CONSTANTS(SubOp)
MPC_PIN_CONSTANTS(MulOp)
MPC_PIN_CONSTANTS(DivOp)
MPC_PIN_CONSTANTS(SelectOp)
MPC_PIN_CONSTANTS(MaximumOp)
MPC_PIN_CONSTANTS(MinimumOp)
#undef MPC_PIN_CONSTANTS

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// Larger constants are computed at run time.
static constexpr int64_t kMaxFolded = 4096;

/// Returns true if all elements of the constant are `value`, sign included.
static bool isSplatOf(Attribute constant, double value) {
  auto elements = dyn_cast_or_null<DenseFPElementsAttr>(constant);
  if (!elements || !elements.isSplat())
    return false;
  APFloat splat = elements.getSplatValue<APFloat>();
  APFloat wanted(value);
  bool lossy;
  wanted.convert(splat.getSemantics(), APFloat::rmNearestTiesToEven, &lossy);
  return !lossy && splat.bitwiseIsEqual(wanted);
}

/// The index in a constant of element `index` of `shape`, to which the constant
/// broadcasts.
static int64_t broadcastIndex(int64_t index, ArrayRef<int64_t> shape,
                              ArrayRef<int64_t> operand) {
  int64_t result = 0, stride = 1;
  for (size_t back = 1; back <= operand.size(); ++back) {
    int64_t extent = shape[shape.size() - back];
    int64_t own = operand[operand.size() - back];
    result += own == 1 ? 0 : (index % extent) * stride;
    stride *= own;
    index /= extent;
  }
  return result;
}

/// Folds an op on small constants. For + - * /, computing in f64 and rounding
/// once gives the correctly rounded result in every narrower type.
static Attribute foldConstants(Operation *op, ArrayRef<Attribute> operands,
                               function_ref<double(double, double)> compute) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto lhs = dyn_cast_or_null<DenseFPElementsAttr>(operands[0]);
  auto rhs = dyn_cast_or_null<DenseFPElementsAttr>(operands[1]);
  if (!lhs || !rhs || type.getNumElements() > kMaxFolded)
    return nullptr;

  auto load = [](DenseFPElementsAttr from, int64_t index) {
    APFloat value = from.getValues<APFloat>()[index];
    bool lossy;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    return value.convertToDouble();
  };
  auto element = cast<FloatType>(type.getElementType());
  SmallVector<APFloat> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    APFloat value(compute(
        load(lhs, broadcastIndex(i, type.getShape(), lhs.getType().getShape())),
        load(rhs,
             broadcastIndex(i, type.getShape(), rhs.getType().getShape()))));
    bool lossy;
    value.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &lossy);
    values.push_back(value);
  }
  return DenseElementsAttr::get(type, values);
}

// x + 0 is not x for x = -0, so only x + (-0) folds.
OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), -0.0) && getLhs().getType() == getType())
    return getLhs();
  if (isSplatOf(adaptor.getLhs(), -0.0) && getRhs().getType() == getType())
    return getRhs();
  return foldConstants(*this, adaptor.getOperands(), std::plus<double>());
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0.0) && getLhs().getType() == getType())
    return getLhs();
  return foldConstants(*this, adaptor.getOperands(), std::minus<double>());
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0) && getLhs().getType() == getType())
    return getLhs();
  if (isSplatOf(adaptor.getLhs(), 1.0) && getRhs().getType() == getType())
    return getRhs();
  return foldConstants(*this, adaptor.getOperands(), std::multiplies<double>());
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0) && getLhs().getType() == getType())
    return getLhs();
  return foldConstants(*this, adaptor.getOperands(), std::divides<double>());
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  // A cast to the same type is the identity.
  if (getInput().getType() == getType())
    return getInput();
  return nullptr;
}

OpFoldResult StopGradientOp::fold(FoldAdaptor) {
  // A second stop_gradient is redundant.
  return getInput().getDefiningOp<StopGradientOp>() ? getInput() : Value();
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  bool isOne =
      getOnTrue() == getOnFalse() && getOnTrue().getType() == getType();
  return isOne ? getOnTrue() : Value();
}

OpFoldResult RoundToOp::fold(FoldAdaptor adaptor) {
  // Rounding a second time changes nothing.
  auto before = getInput().getDefiningOp<RoundToOp>();
  if (before && before.getTo() == getTo() && before.getType() == getType())
    return getInput();

  auto elements = dyn_cast_or_null<DenseFPElementsAttr>(adaptor.getInput());
  if (!elements || elements.getType() != getType() ||
      elements.getNumElements() > kMaxFolded)
    return nullptr;
  auto element = cast<FloatType>(getType().getElementType());
  auto narrow = cast<FloatType>(getTo());
  return elements.mapValues(element, [&](const APFloat &number) {
    APFloat rounded = number;
    for (const llvm::fltSemantics *type :
         {&narrow.getFloatSemantics(), &element.getFloatSemantics()}) {
      bool lossy;
      rounded.convert(*type, APFloat::rmNearestTiesToEven, &lossy);
    }
    return rounded.bitcastToAPInt();
  });
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult AddOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  for (auto [index, operand] : llvm::enumerate(getOperands()))
    if (needed[index])
      operandGrads[index] =
          sumToShape(builder, loc, resultGrads[0], shapeOf(operand));
  return success();
}

LogicalResult SubOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  for (auto [index, operand] : llvm::enumerate(getOperands()))
    if (needed[index])
      operandGrads[index] =
          sumToShape(builder, loc, resultGrads[0], shapeOf(operand));
  // Negates after the sum, which has fewer elements.
  if (needed[1])
    operandGrads[1] = NegOp::create(builder, loc, operandGrads[1]);
  return success();
}

LogicalResult MulOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  for (unsigned index : {0u, 1u})
    if (needed[index]) {
      Value product =
          MulOp::create(builder, loc, resultGrads[0], getOperand(1 - index));
      operandGrads[index] =
          sumToShape(builder, loc, product, shapeOf(getOperand(index)));
    }
  return success();
}

LogicalResult DivOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  Value quotient = DivOp::create(builder, loc, resultGrads[0], getRhs());
  if (needed[0])
    operandGrads[0] = sumToShape(builder, loc, quotient, shapeOf(getLhs()));
  if (needed[1]) { // d(a/b)/db = -(a/b)/b
    Value product = MulOp::create(builder, loc, quotient, getResult());
    Value sum = sumToShape(builder, loc, product, shapeOf(getRhs()));
    operandGrads[1] = NegOp::create(builder, loc, sum);
  }
  return success();
}

LogicalResult NegOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] =
        NegOp::create(builder, gradientLoc(getLoc()), resultGrads[0]);
  return success();
}

// The gradient is computed from the output, which the next op usually keeps
// anyway.
LogicalResult ReluOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = ReluGradOp::create(builder, gradientLoc(getLoc()),
                                         resultGrads[0], getResult());
  return success();
}

LogicalResult ReluGradOp::buildGradient(OpBuilder &builder,
                                        ValueRange resultGrads,
                                        ArrayRef<bool> needed,
                                        MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  if (needed[0])
    operandGrads[0] =
        ReluGradOp::create(builder, loc, resultGrads[0], getOutput());
  if (needed[1])
    operandGrads[1] = createZeros(builder, loc, getOutput());
  return success();
}

/// The gradient of a maximum or minimum with respect to `operand`: the whole
/// gradient where only `operand` is the result, half of it where both are. NaN
/// counts as equal.
static Value extremeGradient(OpBuilder &builder, Location loc, Value grad,
                             Value operand, Value other, bool isMaximum) {
  Value low = isMaximum ? operand : other, high = isMaximum ? other : operand;
  auto compare = [&](Value lhs, Value rhs, Comparison comparison) -> Value {
    return CompareOp::create(builder, loc, lhs, rhs, comparison);
  };
  Value zero = createScalarLike(builder, loc, grad, 0);
  Value half = MulOp::create(builder, loc, grad,
                             createScalarLike(builder, loc, grad, 0.5));
  Value isTie = compare(operand, other, Comparison::Equal);
  Value shared = SelectOp::create(builder, loc, isTie, half, grad);
  Value isLost = compare(low, high, Comparison::Less);
  Value passed = SelectOp::create(builder, loc, isLost, zero, shared);
  return sumToShape(builder, loc, passed, shapeOf(operand));
}

template <typename OpTy>
static void buildExtremeGradient(OpTy op, OpBuilder &builder, Value grad,
                                 ArrayRef<bool> needed,
                                 MutableArrayRef<Value> operandGrads) {
  for (unsigned i : {0u, 1u})
    if (needed[i])
      operandGrads[i] = extremeGradient(builder, gradientLoc(op.getLoc()), grad,
                                        op.getOperand(i), op.getOperand(1 - i),
                                        std::is_same_v<OpTy, MaximumOp>);
}

LogicalResult MaximumOp::buildGradient(OpBuilder &builder,
                                       ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  buildExtremeGradient(*this, builder, resultGrads[0], needed, operandGrads);
  return success();
}

LogicalResult MinimumOp::buildGradient(OpBuilder &builder,
                                       ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  buildExtremeGradient(*this, builder, resultGrads[0], needed, operandGrads);
  return success();
}

LogicalResult SqrtOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  Value twice = AddOp::create(builder, loc, getResult(), getResult());
  operandGrads[0] = DivOp::create(builder, loc, resultGrads[0], twice);
  return success();
}

LogicalResult SelectOp::buildGradient(OpBuilder &builder,
                                      ValueRange resultGrads,
                                      ArrayRef<bool> needed,
                                      MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  Value zero;
  for (unsigned index : {1u, 2u}) {
    if (!needed[index])
      continue;
    if (!zero)
      zero = createScalarLike(builder, loc, resultGrads[0], 0.0);
    Value chosen = resultGrads[0], other = zero;
    if (index == 2)
      std::swap(chosen, other);
    Value passed =
        SelectOp::create(builder, loc, getCondition(), chosen, other);
    operandGrads[index] =
        sumToShape(builder, loc, passed, shapeOf(getOperand(index)));
  }
  return success();
}

LogicalResult CastOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  if (!isFloat(getInput()) || !isFloat(getResult()))
    return emitOpError("has no gradient between ")
           << getInput().getType() << " and " << getType();
  operandGrads[0] = resultGrads[0];
  if (resultGrads[0].getType() != getInput().getType())
    operandGrads[0] =
        CastOp::create(builder, gradientLoc(getLoc()), resultGrads[0],
                       getInput().getType().getElementType());
  return success();
}

LogicalResult RoundToOp::buildGradient(OpBuilder &, ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = resultGrads[0];
  return success();
}

//===----------------------------------------------------------------------===//
// StopGradientOp
//===----------------------------------------------------------------------===//

bool StopGradientOp::keepsFormInTraining() { return true; }

LogicalResult StopGradientOp::replaceByTrainingForm(RewriterBase &, int64_t) {
  return success();
}

void StopGradientOp::replaceByInferenceForm(RewriterBase &rewriter) {
  rewriter.replaceOp(*this, getInput());
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

/// False if one is NaN; integers are signed.
static Value compareScalars(ScalarMath &m, Comparison comparison, Value a,
                            Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  switch (comparison) {
  case Comparison::Equal:
    return isFloat ? m.compare(arith::CmpFPredicate::OEQ, a, b)
                   : m.compare(arith::CmpIPredicate::eq, a, b);
  case Comparison::Less:
    return isFloat ? m.compare(arith::CmpFPredicate::OLT, a, b)
                   : m.compare(arith::CmpIPredicate::slt, a, b);
  case Comparison::LessOrEqual:
    return isFloat ? m.compare(arith::CmpFPredicate::OLE, a, b)
                   : m.compare(arith::CmpIPredicate::sle, a, b);
  }
  llvm_unreachable("unknown comparison");
}

#define MPC_LOWER(OP, FORMULA)                                                 \
  LogicalResult OP::lowerToLinalg(OpBuilder &builder,                          \
                                  SmallVectorImpl<Value> &results) {           \
    results.push_back(emitFormula(                                             \
        *this, builder,                                                        \
        [&](ScalarMath &m, ValueRange x) -> Value { return FORMULA; }));       \
    return success();                                                          \
  }

MPC_LOWER(AddOp, m.add(x[0], x[1]))
MPC_LOWER(SubOp, m.sub(x[0], x[1]))
MPC_LOWER(MulOp, m.mul(x[0], x[1]))
MPC_LOWER(DivOp, m.div(x[0], x[1]))
MPC_LOWER(NegOp, m.neg(x[0]))
MPC_LOWER(ReluOp, m.max(x[0], m.constant(0, x[0])))
MPC_LOWER(SqrtOp, m.sqrt(x[0]))
// Unordered or greater: NaN passes the gradient, as in PyTorch.
MPC_LOWER(ReluGradOp, m.select(m.compare(arith::CmpFPredicate::UGT, x[1],
                                         m.constant(0, x[1])),
                               x[0], m.constant(0, x[0])))
MPC_LOWER(SelectOp, m.select(x[0], x[1], x[2]))
MPC_LOWER(MaximumOp, m.max(x[0], x[1]))
MPC_LOWER(MinimumOp, m.min(x[0], x[1]))
MPC_LOWER(CompareOp, compareScalars(m, getComparison(), x[0], x[1]))
MPC_LOWER(AndOp, m.andOf(x[0], x[1]))
MPC_LOWER(OrOp, m.orOf(x[0], x[1]))
MPC_LOWER(XorOp, m.xorOf(x[0], x[1]))
MPC_LOWER(NotOp, m.xorOf(x[0], m.trueLike(x[0])))
#undef MPC_LOWER

/// ONNX Cast of one scalar; float operands and results are in the compute type.
static Value convertScalar(OpBuilder &builder, Location loc, Value x, Type to) {
  Type from = x.getType();
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return x;            // emitElementwise rounds.
  if (to.isInteger(1)) { // NaN is not zero.
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, x,
                                   constantFloat(builder, loc, from, 0));
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(from));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, x,
                                 zero);
  }
  if (isa<FloatType>(from))
    return arith::FPToSIOp::create(builder, loc, to, x);
  bool fromBool = from.isInteger(1); // True is 1, not -1.
  if (isa<FloatType>(to)) {
    Type wide = to.isF64() ? to : builder.getF32Type();
    return fromBool ? arith::UIToFPOp::create(builder, loc, wide, x).getResult()
                    : arith::SIToFPOp::create(builder, loc, wide, x);
  }
  unsigned fromBits = from.getIntOrFloatBitWidth();
  unsigned toBits = to.getIntOrFloatBitWidth();
  if (fromBits > toBits)
    return arith::TruncIOp::create(builder, loc, to, x);
  if (fromBits == toBits)
    return x;
  return fromBool ? arith::ExtUIOp::create(builder, loc, to, x).getResult()
                  : arith::ExtSIOp::create(builder, loc, to, x);
}

LogicalResult CastOp::lowerToLinalg(OpBuilder &builder,
                                    SmallVectorImpl<Value> &results) {
  results = emitElementwise(
      builder, getLoc(), getType(), getInput(),
      [&](OpBuilder &inner, Location loc, ValueRange x) -> SmallVector<Value> {
        return {convertScalar(inner, loc, x[0], getType().getElementType())};
      });
  return success();
}

LogicalResult RoundToOp::lowerToLinalg(OpBuilder &builder,
                                       SmallVectorImpl<Value> &results) {
  results = emitElementwise(
      builder, getLoc(), getType(), getInput(),
      [&](OpBuilder &inner, Location loc, ValueRange x) -> SmallVector<Value> {
        Type compute = x[0].getType(), f32 = inner.getF32Type();
        // Goes through f32, from which hardware has a conversion instruction.
        Value value = x[0];
        if (compute != f32)
          value = arith::TruncFOp::create(inner, loc, f32, value);
        value = arith::TruncFOp::create(inner, loc, getTo(), value);
        return {arith::ExtFOp::create(inner, loc, compute, value)};
      });
  return success();
}
