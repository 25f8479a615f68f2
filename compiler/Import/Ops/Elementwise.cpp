//===- Elementwise.cpp - Import of elementwise ops ------------------------===//

#include "compiler/Import/Elements.h"
#include "compiler/Import/ImportedNode.h"

#include "mlir/Dialect/Traits.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

template <typename OpTy> static LogicalResult importUnary(ImportedNode &node) {
  return node.setOutput(0, node.emit<OpTy>(node.floatInput(0)));
}

template <typename OpTy> static LogicalResult importBinary(ImportedNode &node) {
  Value lhs = node.floatInput(0), rhs = node.floatInput(1);
  return node.setOutput(0, node.emit<OpTy>({lhs, rhs}));
}

static LogicalResult importGelu(ImportedNode &node) {
  Value input = node.floatInput(0);
  std::string form = node.stringAttr("approximate", "none");
  if (form != "none" && form != "tanh")
    return node.error() << "attribute 'approximate' must be 'none' or 'tanh', "
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
  FloatType narrow; ///< Null unless the model rounds.
};

} // namespace

static std::optional<CastTarget> castTarget(ImportedNode &node) {
  node.boolAttr("saturate", true); // Concerns 8-bit floats only.
  if (!node.hasAttr("to"))
    node.error() << "attribute 'to' is missing";
  int64_t dataType = node.failed() ? 0 : node.intAttr("to", 0);
  if (node.failed())
    return std::nullopt;
  bool isType = dataType > 0 && dataType < 1000;
  Type to = isType ? elementTypeFor(dataType, node.graph.floatType) : Type();
  if (to)
    return CastTarget{to, narrowFloat(dataType, node.graph.builder)};
  node.error() << "casts to " << dataTypeName(isType ? dataType : -1)
               << "; supported are floats, int32, int64 and bool";
  return std::nullopt;
}

static LogicalResult importCast(ImportedNode &node) {
  std::optional<CastTarget> target = castTarget(node);
  Value value = target ? node.input(0) : Value();
  if (!value)
    return failure();
  // All floats have one type here: to a wider one nothing happens, and to a
  // narrower one the model rounds, whatever its values are stored in later.
  auto [to, narrow] = *target;
  bool converts = getElementTypeOrSelf(value.getType()) != to;
  if (!converts && !narrow)
    return node.forwardInput();
  if (converts)
    value = node.emit<train::CastOp>(value, node.attr("to", TypeAttr::get(to)));
  if (narrow)
    value = node.emit<train::RoundToOp>(value,
                                        node.attr("to", TypeAttr::get(narrow)));
  return node.setOutput(0, value);
}

/// x^exponent by products and a square root: numbers of halves alone.
static LogicalResult importPow(ImportedNode &node) {
  Value input = node.floatInput(0);
  double exponent = node.knownScalar(1), twice = 2 * std::abs(exponent);
  constexpr double most = 64;
  if (node.failed())
    return failure();
  if (exponent == 0 || !(twice <= most) || twice != std::floor(twice))
    return node.error() << "the exponent is " << exponent
                        << "; on data 0.5, 1, 1.5, ... " << most / 2
                        << " and their negatives are supported";
  if (exponent == 1)
    return node.forwardInput();
  Value result, power = input;
  for (int64_t left = twice / 2; left > 0; left /= 2) {
    if (left % 2 == 1)
      result = result ? node.emit<train::MulOp>({result, power}) : power;
    if (left > 1)
      power = node.emit<train::MulOp>({power, power});
  }
  if (std::fmod(twice, 2) != 0) {
    Value root = node.emit<train::SqrtOp>(input);
    result = result ? node.emit<train::MulOp>({result, root}) : root;
  }
  if (exponent < 0)
    result = node.emit<train::DivOp>({node.scalar(1.0), result});
  return node.setOutput(0, result);
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

//===----------------------------------------------------------------------===//
// On constants
//===----------------------------------------------------------------------===//

/// All inputs, broadcast to one shape; nothing after an error.
static SmallVector<KnownTensor> broadcastConstants(ImportedNode &node) {
  SmallVector<KnownTensor> inputs;
  SmallVector<int64_t> shape;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    SmallVector<int64_t> before = shape;
    if (!node.failed() && !OpTrait::util::getBroadcastedShape(
                              before, node.shapeOfInput(i), shape))
      node.shapeError() << "the shapes of the inputs do not broadcast";
  }
  if (!node.fitsConstant(shape))
    return {};
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    KnownTensor value = node.constant(i);
    if (node.failed())
      return {};
    inputs.push_back(value.broadcastTo(shape));
  }
  return inputs;
}

namespace {

/// What a constant's element is computed from: those of both inputs, or twice
/// that of the only one. A null function refuses such elements.
struct Rule {
  double (*ofFloats)(double, double);
  int64_t (*ofInts)(int64_t, int64_t); ///< Integers wrap around.
  bool takesBools = false;             ///< As integers.
  bool makesBools = false;
};

} // namespace

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
    [](Int a, Int b) { return b == -1 ? Int(-Bits(a)) : a / b; }};
static constexpr Rule power = {[](Float a, Float b) { return std::pow(a, b); },
                               nullptr};
static constexpr Rule negative = {[](Float a, Float) { return -a; },
                                  [](Int a, Int) { return Int(-Bits(a)); }};
static constexpr Rule squareRoot = {[](Float a, Float) { return std::sqrt(a); },
                                    nullptr};

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

/// For bools alone, which importers of logical ops make sure of.
static constexpr Rule both = {nullptr, [](Int a, Int b) { return a & b; },
                              /*takesBools=*/true, /*makesBools=*/true};
static constexpr Rule either = {nullptr, [](Int a, Int b) { return a | b; },
                                /*takesBools=*/true, /*makesBools=*/true};
static constexpr Rule inverse = {nullptr, [](Int a, Int) { return 1 - a; },
                                 /*takesBools=*/true, /*makesBools=*/true};

static bool takes(const Rule &rule, const KnownTensor &input) {
  if (input.isFloat())
    return rule.ofFloats;
  bool logical = !rule.ofFloats;
  return input.isBool() ? rule.takesBools : rule.ofInts && !logical;
}

/// Arithmetic in f64 rounded once gives for + - * / and the square root the
/// correctly rounded f32.
template <const Rule &rule> static LogicalResult fold(ImportedNode &node) {
  SmallVector<KnownTensor> in = broadcastConstants(node);
  if (in.empty())
    return failure();
  const KnownTensor &lhs = in.front(), &rhs = in.back();
  // Only a power may have an exponent of another type.
  if (!takes(rule, lhs) || (rule.ofInts && !takes(rule, rhs)) ||
      (rule.ofInts && lhs.elementType != rhs.elementType))
    return node.error() << "is not defined for elements of type "
                        << lhs.elementType << (in.size() == 1 ? "" : " and ")
                        << (in.size() == 1 ? Type() : rhs.elementType);
  bool divides = rule.ofInts == quotient.ofInts && !lhs.isFloat();
  if (divides && llvm::is_contained(rhs.ints, 0))
    return node.error() << "divides an integer by 0";

  KnownTensor out{lhs.elementType, lhs.shape, {}, {}};
  auto type = dyn_cast<FloatType>(lhs.elementType);
  for (int64_t i = 0, count = lhs.size(); i < count; ++i) {
    if (!type)
      out.ints.push_back(
          wrapTo(lhs.elementType, rule.ofInts(lhs.ints[i], rhs.ints[i])));
    else if (rule.makesBools)
      out.ints.push_back(rule.ofFloats(lhs.floats[i], rhs.floats[i]) != 0);
    else
      out.floats.push_back(
          roundTo(type, rule.ofFloats(lhs.floats[i], rhs.number(i))));
  }
  if (rule.makesBools)
    out.elementType = node.graph.builder.getI1Type();
  return node.setKnown(out);
}

static LogicalResult foldWhere(ImportedNode &node) {
  SmallVector<KnownTensor> in = broadcastConstants(node);
  if (in.empty())
    return failure();
  if (!in[0].isBool() || in[1].elementType != in[2].elementType)
    return node.error() << "must choose by bools between elements of one type, "
                           "but chooses by "
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
  KnownTensor to{target->type, from.shape, {}, {}};
  auto type = dyn_cast<FloatType>(to.elementType);
  for (int64_t i = 0, count = from.size(); i < count; ++i) {
    double number = from.number(i);
    if (type) {
      if (target->narrow)
        number = roundTo(target->narrow, number);
      to.floats.push_back(roundTo(type, number));
    } else if (to.isBool()) {
      to.ints.push_back(number != 0); // NaN is not zero.
    } else if (!from.isFloat()) {
      to.ints.push_back(wrapTo(to.elementType, from.ints[i]));
    } else {
      double limit = std::ldexp(1.0, to.elementType.isInteger(32) ? 31 : 63);
      if (!(number >= -limit && number < limit))
        return node.error() << "casts " << number << " to " << to.elementType
                            << ", which has no such number";
      to.ints.push_back(number);
    }
  }
  return node.setKnown(to);
}

ArrayRef<OpRow> mpc::elementwiseOps() {
  static const OpRow rows[] = {
      {"Add", 7, 2, 2, 1, importBinary<train::AddOp>, fold<add>},
      {"Sub", 7, 2, 2, 1, importBinary<train::SubOp>, fold<sub>},
      {"Mul", 7, 2, 2, 1, importBinary<train::MulOp>, fold<mul>},
      {"Div", 7, 2, 2, 1, importBinary<train::DivOp>, fold<quotient>},
      {"Pow", 7, 2, 2, 1, importPow, fold<power>},
      {"Neg", 6, 1, 1, 1, importUnary<train::NegOp>, fold<negative>},
      {"Sqrt", 6, 1, 1, 1, importUnary<train::SqrtOp>, fold<squareRoot>},
      {"Relu", 6, 1, 1, 1, importUnary<train::ReluOp>},
      {"Tanh", 6, 1, 1, 1, importUnary<train::TanhOp>},
      {"Sigmoid", 6, 1, 1, 1, importUnary<train::SigmoidOp>},
      {"Softsign", 1, 1, 1, 1, importUnary<train::SoftsignOp>},
      {"Gelu", 20, 1, 1, 1, importGelu},
      {"Cast", 9, 1, 1, 1, importCast, foldCast},
      {"Where", 9, 3, 3, 1, importWhere, foldWhere},
      {"Equal", 11, 2, 2, 1, refuseData, fold<equal>},
      {"Greater", 9, 2, 2, 1, refuseData, fold<greater>},
      {"GreaterOrEqual", 12, 2, 2, 1, refuseData, fold<greaterOrEqual>},
      {"Less", 9, 2, 2, 1, refuseData, fold<less>},
      {"LessOrEqual", 12, 2, 2, 1, refuseData, fold<lessOrEqual>},
      {"And", 7, 2, 2, 1, refuseData, fold<both>},
      {"Or", 7, 2, 2, 1, refuseData, fold<either>},
      {"Not", 1, 1, 1, 1, refuseData, fold<inverse>},
  };
  return rows;
}
