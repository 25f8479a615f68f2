//===- Elementwise.cpp - Import of elementwise ops ------------------------===//

#include "compiler/Import/Graph/Elements.h"
#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Import/Ops/Math/Fold.h"
#include "compiler/Import/Ops/Math/Power.h"

#include "mlir/Dialect/Traits.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpc;

template <typename OpTy> static LogicalResult importUnary(ImportedNode &node) {
  return node.setOutput(0, node.emit<OpTy>(node.floatInput(0)));
}

/// Imports an op on two floats or two integers.
template <typename OpTy, train::IntegerOperation kind>
static Value arithmetic(ImportedNode &node, Value lhs, Value rhs) {
  if (node.failed())
    return nullptr;
  if (getElementTypeOrSelf(lhs) != getElementTypeOrSelf(rhs)) {
    node.shapeError() << "the inputs must have one element type";
    return nullptr;
  }
  return isFloat(lhs) ? node.emit<OpTy>({lhs, rhs})
                      : node.integerOp(kind, lhs, rhs);
}

template <typename OpTy, train::IntegerOperation kind>
static LogicalResult importBinary(ImportedNode &node) {
  Value lhs = node.numberInput(0), rhs = node.numberInput(1);
  return node.setOutput(0, arithmetic<OpTy, kind>(node, lhs, rhs));
}

/// -x, also for integers.
static LogicalResult importNeg(ImportedNode &node) {
  Value input = node.numberInput(0);
  if (!input || isFloat(input))
    return node.setOutput(0, node.emit<train::NegOp>(input));
  return node.setOutput(0, node.integerOp(train::IntegerOperation::Sub,
                                          node.numberLike(input, 0), input));
}

/// The remainder of a division: with the sign of the divisor, or with `fmod`,
/// which floats require, with that of the dividend.
static LogicalResult importMod(ImportedNode &node) {
  using train::IntegerOperation;
  Value lhs = node.numberInput(0), rhs = node.numberInput(1);
  bool fmod = node.boolAttr("fmod", false);
  if (node.failed())
    return failure();
  if (!isFloat(lhs))
    return node.setOutput(
        0, node.integerOp(fmod ? IntegerOperation::Rem : IntegerOperation::Mod,
                          lhs, rhs));
  Value quotient = node.emit<train::DivOp>({lhs, rhs});
  Value whole = node.emit<train::FloorOp>(quotient);
  if (fmod) { // Rounds toward zero.
    Value isBelow =
        node.compare(quotient, node.scalar(0), train::Comparison::Less);
    whole = node.emit<train::SelectOp>(
        {isBelow, node.emit<train::CeilOp>(quotient), whole});
  }
  Value rest =
      node.emit<train::SubOp>({lhs, node.emit<train::MulOp>({whole, rhs})});
  // For an infinite divisor the remainder is the number itself, or the divisor
  // if that has the required sign.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value isWide = node.compare(node.emit<train::AbsOp>(rhs),
                              node.scalar(infinity), train::Comparison::Equal);
  Value isFinite = node.compare(node.emit<train::SubOp>({lhs, lhs}),
                                node.scalar(0), train::Comparison::Equal);
  Value ofWide = lhs;
  if (!fmod) {
    Value isApart = node.compare(node.emit<train::MulOp>({lhs, rhs}),
                                 node.scalar(0), train::Comparison::Less);
    ofWide = node.emit<train::SelectOp>({isApart, rhs, lhs});
  }
  return node.setOutput(
      0, node.emit<train::SelectOp>(
             {node.emit<train::AndOp>({isWide, isFinite}), ofWide, rest}));
}

static LogicalResult importGelu(ImportedNode &node) {
  Value input = node.floatInput(0);
  std::string form = node.stringAttr("approximate", "none");
  if (form != "none" && form != "tanh")
    return node.error() << Fault::BadAttribute
                        << "attribute 'approximate' must be 'none' or 'tanh', "
                           "but is '"
                        << form << "'";
  SmallVector<NamedAttribute> attributes;
  if (form == "tanh")
    attributes.push_back(node.flag("approximate"));
  return node.setOutput(0, node.emit<train::GeluOp>(input, attributes));
}

/// The 16-bit float of an ONNX data type, null for other types.
static FloatType narrowFloat(int32_t dataType, OpBuilder &builder) {
  if (dataType == onnx::TensorProto::FLOAT16)
    return builder.getF16Type();
  if (dataType == onnx::TensorProto::BFLOAT16)
    return builder.getBF16Type();
  return nullptr;
}

namespace {

struct CastTarget {
  Type type;
  FloatType narrow;  ///< Null unless the cast rounds to 16 bit.
  int64_t low, high; ///< Range of integers with fewer than 32 bits, else 0.
};

} // namespace

static std::optional<CastTarget> castTarget(ImportedNode &node) {
  node.boolAttr("saturate", true); // Applies only to 8-bit floats.
  if (!node.hasAttr("to"))
    node.error() << Fault::BadAttribute << "attribute 'to' is missing";
  int64_t dataType = node.failed() ? 0 : node.intAttr("to", 0);
  if (node.failed())
    return std::nullopt;
  // Short integers are stored in 32 bits.
  static constexpr struct {
    int32_t dataType;
    int64_t low, high;
  } shorts[] = {{onnx::TensorProto::UINT8, 0, 255},
                {onnx::TensorProto::INT8, -128, 127},
                {onnx::TensorProto::UINT16, 0, 65535},
                {onnx::TensorProto::INT16, -32768, 32767}};
  for (const auto &range : shorts)
    if (dataType == range.dataType)
      return CastTarget{
          node.graph.builder.getI32Type(), {}, range.low, range.high};
  bool isType = dataType > 0 && dataType < 1000;
  Type to = isType ? elementTypeFor(dataType, node.graph.floatType) : Type();
  if (to)
    return CastTarget{to, narrowFloat(dataType, node.graph.builder), 0, 0};
  node.error()
      << Fault::UnsupportedType << "casts to "
      << dataTypeName(isType ? dataType : -1)
      << "; supported are floats, bool, and integers except uint32 and uint64";
  return std::nullopt;
}

/// Wraps integers to the range [low, high], like a cast to their lowest bits.
static Value wrapShort(ImportedNode &node, Value value, int64_t low,
                       int64_t high) {
  using train::IntegerOperation;
  Value offset = node.numberLike(value, low);
  Value shifted = node.integerOp(IntegerOperation::Sub, value, offset);
  Value rest = node.integerOp(IntegerOperation::Mod, shifted,
                              node.numberLike(value, high - low + 1));
  return node.integerOp(IntegerOperation::Add, rest, offset);
}

static LogicalResult importCast(ImportedNode &node) {
  std::optional<CastTarget> target = castTarget(node);
  Value value = target ? node.input(0) : Value();
  if (!value)
    return failure();
  // All floats have one type at import: a cast to a wider type is the identity,
  // and a cast to a narrower type rounds, in whatever type values are stored
  // later.
  auto [to, narrow, low, high] = *target;
  bool converts = getElementTypeOrSelf(value.getType()) != to;
  if (!converts && !narrow && low == high)
    return node.forwardInput();
  if (converts)
    value = node.emit<train::CastOp>(value, node.attr("to", TypeAttr::get(to)));
  if (low != high)
    value = wrapShort(node, value, low, high);
  if (narrow)
    value = node.emit<train::RoundToOp>(value,
                                        node.attr("to", TypeAttr::get(narrow)));
  return node.setOutput(0, value);
}

static LogicalResult importWhere(ImportedNode &node) {
  Value condition = node.input(0), onTrue = node.input(1),
        onFalse = node.input(2);
  if (node.failed())
    return failure();
  if (!getElementTypeOrSelf(condition.getType()).isInteger(1))
    return node.shapeError() << "input 0, the condition, must be bool";
  return node.setOutput(
      0, node.emit<train::SelectOp>({condition, onTrue, onFalse}));
}

/// Compares the first two inputs by `order`, in reverse order if `swapped`.
template <train::Comparison order, bool swapped = false>
static LogicalResult importComparison(ImportedNode &node) {
  Value lhs = node.input(0), rhs = node.input(1);
  if (node.failed())
    return failure();
  if (getElementTypeOrSelf(lhs.getType()) !=
      getElementTypeOrSelf(rhs.getType()))
    return node.shapeError() << "must compare elements of one type";
  if (swapped)
    std::swap(lhs, rhs);
  return node.setOutput(0, node.compare(lhs, rhs, order));
}

/// And, Or, Xor, Not.
template <typename OpTy> static LogicalResult importLogic(ImportedNode &node) {
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    inputs.push_back(node.input(i));
  if (node.failed())
    return failure();
  for (Value input : inputs)
    if (!getElementTypeOrSelf(input.getType()).isInteger(1))
      return node.shapeError() << "the inputs must be bool";
  return node.setOutput(0, node.emit<OpTy>(inputs));
}

/// Only NaN is not equal to itself.
static LogicalResult importIsNaN(ImportedNode &node) {
  Value input = node.floatInput(0);
  Value isNumber = node.compare(input, input, train::Comparison::Equal);
  return node.setOutput(0, node.emit<train::NotOp>(isNumber));
}

static LogicalResult importIsInf(ImportedNode &node) {
  Value input = node.floatInput(0);
  bool positive = node.boolAttr("detect_positive", true);
  bool negative = node.boolAttr("detect_negative", true);
  if (!node.failed() && !positive && !negative)
    return node.error()
           << "must detect at least one of positive and negative infinity";
  if (!node.failed() && positive && negative)
    input = node.emit<train::AbsOp>(input);
  double infinity = std::numeric_limits<double>::infinity();
  Value wanted = node.scalar(positive ? infinity : -infinity);
  return node.setOutput(0,
                        node.compare(input, wanted, train::Comparison::Equal));
}

/// Max or Min of floats and a number: PyTorch's exporter writes clamp in this
/// form. Its gradient at the bound is not divided.
static Value clampByNumber(ImportedNode &node, bool isLow) {
  for (unsigned i : {1u, 0u}) {
    if (node.numInputs() != 2 || !node.isNumber(i) || node.isNumber(1 - i) ||
        product(node.shapeOfInput(i)) != 1 ||
        !isa_and_present<FloatType>(node.typeOfInput(i)) ||
        node.shapeOfInput(i).size() > node.shapeOfInput(1 - i).size())
      continue;
    double bound = node.knownScalar(i), none = INFINITY;
    OpBuilder &builder = node.graph.builder;
    return node.emit<train::ClipOp>(
        node.floatInput(1 - i),
        {node.attr("low", builder.getF64FloatAttr(isLow ? bound : -none)),
         node.attr("high", builder.getF64FloatAttr(isLow ? none : bound))});
  }
  return nullptr;
}

/// Combines the first two inputs, then each of the others.
template <typename OpTy, train::IntegerOperation kind>
static LogicalResult importExtreme(ImportedNode &node) {
  constexpr bool isLow = std::is_same_v<OpTy, train::MaximumOp>;
  if (Value clamped = clampByNumber(node, isLow))
    return node.setOutput(0, clamped);
  Value result = node.numberInput(0);
  for (unsigned i = 1; i < node.numInputs(); ++i)
    result = arithmetic<OpTy, kind>(node, result, node.numberInput(i));
  return node.setOutput(0, result);
}

static Value sumOfInputs(ImportedNode &node) {
  Value result = node.floatInput(0);
  for (unsigned i = 1; i < node.numInputs(); ++i)
    result = node.emit<train::AddOp>({result, node.floatInput(i)});
  return result;
}

static LogicalResult importSum(ImportedNode &node) {
  return node.setOutput(0, sumOfInputs(node));
}

static LogicalResult importMean(ImportedNode &node) {
  Value sum = sumOfInputs(node), count = node.scalar(node.numInputs());
  return node.setOutput(0, node.emit<train::DivOp>({sum, count}));
}

/// x above 0, else slope x, also for the derivative at 0.
static LogicalResult importPRelu(ImportedNode &node) {
  Value input = node.floatInput(0), slope = node.floatInput(1);
  Value zero = node.scalar(0.0);
  if (node.failed())
    return failure();
  Value isAbove = node.compare(zero, input, train::Comparison::Less);
  Value below = node.emit<train::MulOp>({slope, input});
  return node.setOutput(0, node.emit<train::SelectOp>({isAbove, input, below}));
}

//===----------------------------------------------------------------------===//
// Constant folding
//===----------------------------------------------------------------------===//

using Float = double;
using Int = int64_t;
using Bits = uint64_t;

static constexpr Rule add = {
    [](Float a, Float b) { return a + b; },
    [](Int a, Int b) { return Int(Bits(a) + Bits(b)); }};
static constexpr Rule sub = {
    [](Float a, Float b) { return a - b; },
    [](Int a, Int b) { return Int(Bits(a) - Bits(b)); }};
static constexpr Rule mul = {
    [](Float a, Float b) { return a * b; },
    [](Int a, Int b) { return Int(Bits(a) * Bits(b)); }};
static constexpr Rule quotient = {
    [](Float a, Float b) { return a / b; },
    [](Int a, Int b) { return b == -1 ? Int(-Bits(a)) : a / b; },
    /*takesBools=*/false, /*makesBools=*/false, /*divides=*/true};
static constexpr Rule negative = {[](Float a, Float) { return -a; },
                                  [](Int a, Int) { return Int(-Bits(a)); }};
static constexpr Rule squareRoot = {[](Float a, Float) { return std::sqrt(a); },
                                    nullptr};

static constexpr Rule larger = {
    [](Float a, Float b) { return std::isnan(a) || a > b ? a : b; },
    [](Int a, Int b) { return std::max(a, b); }};
static constexpr Rule smaller = {
    [](Float a, Float b) { return std::isnan(a) || a < b ? a : b; },
    [](Int a, Int b) { return std::min(a, b); }};

static constexpr Rule equal = {[](Float a, Float b) { return Float(a == b); },
                               [](Int a, Int b) { return Int(a == b); },
                               /*takesBools=*/true, /*makesBools=*/true};
static constexpr Rule greater = {[](Float a, Float b) { return Float(a > b); },
                                 [](Int a, Int b) { return Int(a > b); },
                                 /*takesBools=*/false, /*makesBools=*/true};
static constexpr Rule greaterOrEqual = {
    [](Float a, Float b) { return Float(a >= b); },
    [](Int a, Int b) { return Int(a >= b); },
    /*takesBools=*/false, /*makesBools=*/true};
static constexpr Rule less = {[](Float a, Float b) { return Float(a < b); },
                              [](Int a, Int b) { return Int(a < b); },
                              /*takesBools=*/false, /*makesBools=*/true};
static constexpr Rule lessOrEqual = {
    [](Float a, Float b) { return Float(a <= b); },
    [](Int a, Int b) { return Int(a <= b); },
    /*takesBools=*/false, /*makesBools=*/true};

/// For bools only, which the import functions of logical ops check.
static constexpr Rule andOf = {nullptr, [](Int a, Int b) { return a & b; },
                               /*takesBools=*/true, /*makesBools=*/true};
static constexpr Rule orOf = {nullptr, [](Int a, Int b) { return a | b; },
                              /*takesBools=*/true, /*makesBools=*/true};
static constexpr Rule xorOf = {nullptr, [](Int a, Int b) { return a ^ b; },
                               /*takesBools=*/true, /*makesBools=*/true};
static constexpr Rule notOf = {nullptr, [](Int a, Int) { return 1 - a; },
                               /*takesBools=*/true, /*makesBools=*/true};

/// Like importMod.
static constexpr Rule floorRest = {
    [](Float a, Float b) { return a - std::floor(a / b) * b; },
    [](Int a, Int b) {
      Int rest = b == -1 ? 0 : a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    },
    /*takesBools=*/false, /*makesBools=*/false, /*divides=*/true};
static constexpr Rule rest = {[](Float a, Float b) { return std::fmod(a, b); },
                              [](Int a, Int b) { return b == -1 ? 0 : a % b; },
                              /*takesBools=*/false, /*makesBools=*/false,
                              /*divides=*/true};

static LogicalResult foldMod(ImportedNode &node) {
  return foldBy(node.boolAttr("fmod", false) ? rest : floorRest, node);
}

static LogicalResult foldWhere(ImportedNode &node) {
  SmallVector<KnownTensor> in = broadcastConstants(node);
  if (in.empty())
    return failure();
  if (!in[0].isBool() || in[1].elementType != in[2].elementType)
    return node.error() << Fault::UnsupportedType
                        << "must select by bools between elements of one type, "
                           "but selects by "
                        << in[0].elementType << " between " << in[1].elementType
                        << " and " << in[2].elementType;
  KnownTensor out = in[2];
  for (int64_t i = 0, count = out.size(); i < count; ++i) {
    if (!in[0].ints[i])
      continue;
    if (out.isFloat())
      out.floats[i] = in[1].floats[i];
    else
      out.ints[i] = in[1].ints[i];
  }
  return node.setKnown(out);
}

static LogicalResult foldCast(ImportedNode &node) {
  std::optional<CastTarget> target = castTarget(node);
  KnownTensor from = node.constant(0);
  if (!target || node.failed())
    return failure();
  KnownTensor to = from.castTo(target->type, target->narrow);
  if (int64_t range = target->high - target->low)
    for (int64_t &number : to.ints) {
      int64_t rest = (number - target->low) % (range + 1);
      number = target->low + (rest < 0 ? rest + range + 1 : rest);
    }
  return node.setKnown(to);
}

/// Casts to the type of input 1. A constant stays a constant.
static LogicalResult importCastLike(ImportedNode &node) {
  node.boolAttr("saturate", true);
  node.stringAttr("round_mode", "up");
  if (node.failed())
    return failure();
  Type to = node.typeOfInput(1);
  if (!to)
    return node.error() << Fault::UnsupportedType
                        << "input 1 has a type that is not supported";
  if (node.typeOfInput(0) == to)
    return node.forwardInput();
  if (!node.isConstant(0))
    return node.setOutput(0, node.castTo(node.input(0), to));
  KnownTensor from = node.constant(0);
  if (node.failed())
    return failure();
  return node.setKnown(from.castTo(to));
}

ArrayRef<OpRow> mpc::elementwiseOps() {
  using train::Comparison;
  using Kind = train::IntegerOperation;
  constexpr bool kElementwise = true;
  static const OpRow rows[] = {
      {"Add", 7, 2, 2, 1, importBinary<train::AddOp, Kind::Add>, fold<add>,
       kElementwise},
      {"Sub", 7, 2, 2, 1, importBinary<train::SubOp, Kind::Sub>, fold<sub>,
       kElementwise},
      {"Mul", 7, 2, 2, 1, importBinary<train::MulOp, Kind::Mul>, fold<mul>,
       kElementwise},
      {"Div", 7, 2, 2, 1, importBinary<train::DivOp, Kind::Div>, fold<quotient>,
       kElementwise},
      {"Pow", 7, 2, 2, 1, importPow, foldPow, kElementwise},
      {"Neg", 6, 1, 1, 1, importNeg, fold<negative>, kElementwise},
      {"Mod", 10, 2, 2, 1, importMod, foldMod, kElementwise},
      {"Sqrt", 6, 1, 1, 1, importUnary<train::SqrtOp>, fold<squareRoot>,
       kElementwise},
      {"Relu", 6, 1, 1, 1, importUnary<train::ReluOp>},
      {"Gelu", 20, 1, 1, 1, importGelu},
      {"Cast", 9, 1, 1, 1, importCast, foldCast, kElementwise},
      {"CastLike", 15, 2, 2, 1, importCastLike},
      {"Where", 9, 3, 3, 1, importWhere, foldWhere, kElementwise},
      {"PRelu", 7, 2, 2, 1, importPRelu},
      {"Sum", 8, 1, kAnyNumber, 1, importSum, fold<add>, kElementwise},
      {"Mean", 8, 1, kAnyNumber, 1, importMean},
      {"Max", 8, 1, kAnyNumber, 1, importExtreme<train::MaximumOp, Kind::Max>,
       fold<larger>, kElementwise},
      {"Min", 8, 1, kAnyNumber, 1, importExtreme<train::MinimumOp, Kind::Min>,
       fold<smaller>, kElementwise},
      {"Equal", 11, 2, 2, 1, importComparison<Comparison::Equal>, fold<equal>,
       kElementwise},
      {"Greater", 9, 2, 2, 1, importComparison<Comparison::Less, true>,
       fold<greater>, kElementwise},
      {"GreaterOrEqual", 12, 2, 2, 1,
       importComparison<Comparison::LessOrEqual, true>, fold<greaterOrEqual>,
       kElementwise},
      {"Less", 9, 2, 2, 1, importComparison<Comparison::Less>, fold<less>,
       kElementwise},
      {"LessOrEqual", 12, 2, 2, 1, importComparison<Comparison::LessOrEqual>,
       fold<lessOrEqual>, kElementwise},
      {"And", 7, 2, 2, 1, importLogic<train::AndOp>, fold<andOf>, kElementwise},
      {"Or", 7, 2, 2, 1, importLogic<train::OrOp>, fold<orOf>, kElementwise},
      {"Xor", 7, 2, 2, 1, importLogic<train::XorOp>, fold<xorOf>, kElementwise},
      {"Not", 1, 1, 1, 1, importLogic<train::NotOp>, fold<notOf>, kElementwise},
      {"IsNaN", 9, 1, 1, 1, importIsNaN},
      {"IsInf", 10, 1, 1, 1, importIsInf},
  };
  return rows;
}
