//===- Reduction.cpp - Import of reductions -------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Import/Ops/Math/Power.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mpc;

namespace {

/// What a node reduces over.
struct Axes {
  SmallVector<int64_t> dims; ///< Sorted.
  bool keepDims;

  template <typename OpTy> Value reduce(ImportedNode &node, Value input) const {
    SmallVector<NamedAttribute> attributes = {node.i64s("axes", dims)};
    if (keepDims)
      attributes.push_back(node.flag("keepdims"));
    return node.emit<OpTy>(input, attributes);
  }

  Value reduceBy(ImportedNode &node, Value input,
                 train::IntegerOperation kind) const {
    SmallVector<NamedAttribute> attributes = {
        node.i64s("axes", dims),
        node.attr("kind", train::IntegerOperationAttr::get(
                              node.graph.builder.getContext(), kind))};
    if (keepDims)
      attributes.push_back(node.flag("keepdims"));
    return node.emit<train::ReduceByOp>(input, attributes);
  }
};

} // namespace

/// The axes of a node; they are an input since opset `axesInput`. Nothing for a
/// node that reduces nothing, or after an error.
static std::optional<Axes> axesOf(ImportedNode &node, Value input,
                                  int64_t axesInput) {
  std::optional<SmallVector<int64_t>> axes;
  bool emptyMeansNone = false;
  if (node.graph.opset < axesInput) {
    axes = node.intsAttr("axes");
  } else {
    if (node.hasInput(1))
      axes = node.knownInts(1);
    emptyMeansNone = node.boolAttr("noop_with_empty_axes", false);
  }
  bool keepDims = node.boolAttr("keepdims", true);
  if (node.failed())
    return std::nullopt;
  int64_t rank = shapeOf(input).size();
  bool isEmpty = !axes || axes->empty();
  if (isEmpty && emptyMeansNone)
    return std::nullopt;
  if (isEmpty) {
    axes.emplace(rank);
    std::iota(axes->begin(), axes->end(), 0);
  }
  for (int64_t &axis : *axes)
    axis = node.normalizeAxis(axis, rank, "an entry of 'axes'");
  llvm::sort(*axes);
  if (!node.failed() && llvm::adjacent_find(*axes) != axes->end())
    node.error() << "'axes' names a dimension twice";
  if (node.failed())
    return std::nullopt;
  return Axes{*axes, keepDims};
}

/// Imports an op that is `formula` of its input and axes, or `single` of each
/// element if there are no axes. Integers are reduced by `ofIntegers`, an
/// IntegerOperation; a negative number rejects them.
using Formula = Value (*)(ImportedNode &, Value, const Axes &);
using Single = Value (*)(ImportedNode &, Value);

template <Formula formula, int64_t axesInput, Single single,
          int ofIntegers = -1>
static LogicalResult import(ImportedNode &node) {
  Value input = ofIntegers >= 0 ? node.input(0) : node.floatInput(0);
  if (node.failed())
    return failure();
  Type type = getElementTypeOrSelf(input.getType());
  bool isFloat = isa<FloatType>(type);
  if (std::optional<Axes> axes = axesOf(node, input, axesInput)) {
    if (isFloat)
      return node.setOutput(0, formula(node, input, *axes));
    // Bools are 0 and 1: their maximum tells whether any is set.
    Value numbers = type.isInteger(1)
                        ? node.castTo(input, node.graph.builder.getI32Type())
                        : input;
    Value result = axes->reduceBy(
        node, numbers, static_cast<train::IntegerOperation>(ofIntegers));
    return node.setOutput(0, node.castTo(result, type));
  }
  if (node.failed())
    return failure();
  return node.setOutput(0, single(node, input));
}

static Value asIs(ImportedNode &, Value x) { return x; }

static Value square(ImportedNode &node, Value x) {
  return node.emit<train::MulOp>({x, x});
}

template <typename OpTy> static Value apply(ImportedNode &node, Value x) {
  return node.emit<OpTy>(x);
}

template <typename OpTy>
static Value reduce(ImportedNode &node, Value x, const Axes &axes) {
  return axes.reduce<OpTy>(node, x);
}

static Value sum(ImportedNode &node, Value x, const Axes &axes) {
  return axes.reduce<train::ReduceSumOp>(node, x);
}

static Value productOf(ImportedNode &node, Value x, const Axes &axes) {
  return axes.reduceBy(node, x, train::IntegerOperation::Mul);
}

static Value minimum(ImportedNode &node, Value x, const Axes &axes) {
  Value largest =
      axes.reduce<train::ReduceMaxOp>(node, node.emit<train::NegOp>(x));
  return node.emit<train::NegOp>(largest);
}

static Value sumOfMagnitudes(ImportedNode &node, Value x, const Axes &axes) {
  return sum(node, node.emit<train::AbsOp>(x), axes);
}

static Value sumOfSquares(ImportedNode &node, Value x, const Axes &axes) {
  return sum(node, square(node, x), axes);
}

static Value isEqual(ImportedNode &node, Value x, double number) {
  return node.compare(x, node.scalar(number), train::Comparison::Equal);
}

static Value norm(ImportedNode &node, Value x, const Axes &axes) {
  return emitRoot(node, sumOfSquares(node, x, axes));
}

static Value logOfSum(ImportedNode &node, Value x, const Axes &axes) {
  return node.emit<train::LogOp>(sum(node, x, axes));
}

/// m + log(sum(exp(x - m))) for the largest element m, or 0 if that is
/// infinite.
static Value logOfSumOfExp(ImportedNode &node, Value x, const Axes &axes) {
  Axes kept = {axes.dims, /*keepDims=*/true};
  Value largest = kept.reduce<train::ReduceMaxOp>(node, x);
  if (!largest)
    return nullptr;
  Value isInfinite = isEqual(node, node.emit<train::AbsOp>(largest),
                             std::numeric_limits<double>::infinity());
  largest = node.emit<train::SelectOp>({isInfinite, node.scalar(0), largest});
  Value exp = node.emit<train::ExpOp>(node.emit<train::SubOp>({x, largest}));
  Value log = node.emit<train::LogOp>(sum(node, exp, kept));
  Value result = node.emit<train::AddOp>({largest, log});
  if (!result || axes.keepDims)
    return result;
  SmallVector<int64_t> shape;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(result)))
    if (!llvm::is_contained(axes.dims, int64_t(dim)))
      shape.push_back(extent);
  return node.reshape(result, shape);
}

ArrayRef<OpRow> mpc::reductionOps() {
  constexpr int kAdd = int(train::IntegerOperation::Add),
                kMul = int(train::IntegerOperation::Mul),
                kMax = int(train::IntegerOperation::Max),
                kMin = int(train::IntegerOperation::Min);
  using namespace mpc::train;
  static const OpRow rows[] = {
      {"ReduceSum", 13, 1, 2, 1, import <sum, 13, asIs, kAdd>},
      {"com.microsoft.ReduceSumTraining", 1, 2, 2, 1,
       import <sum, 13, asIs, kAdd>},
      {"ReduceMean", 11, 1, 1, 1, import <reduce<ReduceMeanOp>, 18, asIs>},
      {"ReduceMean", 18, 1, 2, 1, import <reduce<ReduceMeanOp>, 18, asIs>},
      {"ReduceMax", 11, 1, 1, 1, import <reduce<ReduceMaxOp>, 18, asIs, kMax>},
      {"ReduceMax", 18, 1, 2, 1, import <reduce<ReduceMaxOp>, 18, asIs, kMax>},
      {"ReduceMin", 11, 1, 1, 1, import <minimum, 18, asIs, kMin>},
      {"ReduceMin", 18, 1, 2, 1, import <minimum, 18, asIs, kMin>},
      {"ReduceProd", 11, 1, 1, 1, import <productOf, 18, asIs, kMul>},
      {"ReduceProd", 18, 1, 2, 1, import <productOf, 18, asIs, kMul>},
      {"ReduceL1", 11, 1, 1, 1, import <sumOfMagnitudes, 18, apply<AbsOp>>},
      {"ReduceL1", 18, 1, 2, 1, import <sumOfMagnitudes, 18, apply<AbsOp>>},
      {"ReduceL2", 11, 1, 1, 1, import <norm, 18, apply<AbsOp>>},
      {"ReduceL2", 18, 1, 2, 1, import <norm, 18, apply<AbsOp>>},
      {"ReduceSumSquare", 11, 1, 1, 1, import <sumOfSquares, 18, square>},
      {"ReduceSumSquare", 18, 1, 2, 1, import <sumOfSquares, 18, square>},
      {"ReduceLogSum", 11, 1, 1, 1, import <logOfSum, 18, apply<LogOp>>},
      {"ReduceLogSum", 18, 1, 2, 1, import <logOfSum, 18, apply<LogOp>>},
      {"ReduceLogSumExp", 11, 1, 1, 1, import <logOfSumOfExp, 18, asIs>},
      {"ReduceLogSumExp", 18, 1, 2, 1, import <logOfSumOfExp, 18, asIs>},
  };
  return rows;
}
