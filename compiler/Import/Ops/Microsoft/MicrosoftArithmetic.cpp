//===- MicrosoftArithmetic.cpp - com.microsoft arithmetic -----------------===//
//
// Ops that ONNX Runtime's gradient builder writes other than gradients:
// products, scales, sums, and checks of gradients for mixed precision. Source:
// onnxruntime, orttraining/core/graph/training_op_defs.cc and
// core/graph/contrib_ops/contrib_defs.cc.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Ops/Math/Power.h"
#include "compiler/Import/Ops/Training/Backward.h"

#include <limits>

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Moves the first dimension after those of the batch.
static Value moveBatch(ImportedNode &node, Value value) {
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(value).size()));
  std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  return node.transpose(value, order);
}

/// alpha A' B', where a vector is a matrix whose extra dimension is removed
/// afterwards.
static LogicalResult importFusedMatMul(ImportedNode &node) {
  Value operands[] = {node.floatInput(0), node.floatInput(1)};
  double alpha = node.floatAttr("alpha", 1.0);
  bool transposes[] = {node.boolAttr("transA", false),
                       node.boolAttr("transB", false)};
  bool movesBatch[] = {node.boolAttr("transBatchA", false),
                       node.boolAttr("transBatchB", false)};
  if (node.failed())
    return failure();
  bool isVector[2];
  for (int i : {0, 1}) {
    ArrayRef<int64_t> shape = shapeOf(operands[i]);
    if (shape.empty())
      return node.shapeError() << "inputs must have at least one dimension";
    isVector[i] = shape.size() == 1;
    transposes[i] &= !isVector[i];
    if (isVector[i])
      operands[i] = node.reshape(operands[i], i == 0 ? ArrayRef{1L, shape[0]}
                                                     : ArrayRef{shape[0], 1L});
    else if (movesBatch[i] && shape.size() > 2)
      operands[i] = moveBatch(node, operands[i]);
  }
  SmallVector<NamedAttribute> attributes;
  if (transposes[0])
    attributes.push_back(node.flag("transpose_lhs"));
  if (transposes[1])
    attributes.push_back(node.flag("transpose_rhs"));
  Value result =
      node.emit<train::MatmulOp>({operands[0], operands[1]}, attributes);
  if (!result)
    return failure();
  if (alpha != 1.0)
    result = node.emit<train::MulOp>({result, node.scalar(alpha)});
  if (!result)
    return failure();
  SmallVector<int64_t> shape(shapeOf(result));
  if (isVector[1])
    shape.pop_back();
  if (isVector[0])
    shape.erase(shape.end() - (isVector[1] ? 1 : 2));
  return node.setOutput(0, node.reshape(result, shape));
}

//===----------------------------------------------------------------------===//
// Quotients and scales
//===----------------------------------------------------------------------===//

/// Inputs dY, A and B; gradients of broadcast operands are summed.
static LogicalResult importDivGrad(ImportedNode &node) {
  Value grad = node.floatInput(0);
  SmallVector<Value> leaves = {leaf(node, node.floatInput(1)),
                               leaf(node, node.floatInput(2))};
  Value quotient = node.emit<train::DivOp>(leaves);
  SmallVector<Value> gradients = gradientsOf(node, quotient, grad, leaves);
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (node.failed() ||
        (node.isOutputUsed(i) && failed(node.setOutput(i, gradient))))
      return failure();
  return success();
}

/// Computes the dimensions that are broadcast in each of two shapes, from the
/// last one on.
static LogicalResult foldBroadcastArgs(ImportedNode &node) {
  SmallVector<int64_t> shapes[] = {node.knownInts(0), node.knownInts(1)};
  if (node.failed())
    return failure();
  size_t rank = std::max(shapes[0].size(), shapes[1].size());
  if (rank > kMaxRank)
    return node.error() << "the shapes have up to " << rank
                        << " dimensions; at most " << kMaxRank
                        << " are supported";
  KnownTensor axes[2] = {{node.graph.builder.getI64Type(), {}, {}, {}},
                         {node.graph.builder.getI64Type(), {}, {}, {}}};
  for (size_t back = 1; back <= rank; ++back) {
    int64_t extents[2];
    for (int i : {0, 1})
      extents[i] =
          back <= shapes[i].size() ? shapes[i][shapes[i].size() - back] : 1;
    if (extents[0] != extents[1] && extents[0] != 1 && extents[1] != 1)
      return node.error() << Fault::ShapeMismatch << "the shapes ["
                          << ArrayRef(shapes[0]) << "] and ["
                          << ArrayRef(shapes[1]) << "] do not broadcast";
    // A dimension that a shape lacks is summed, too, with any extent.
    for (int i : {0, 1})
      if (back > shapes[i].size() || (extents[i] == 1 && extents[1 - i] != 1))
        axes[i].ints.push_back(rank - back);
  }
  for (unsigned i : {0, 1}) {
    axes[i].shape = {axes[i].size()};
    if (failed(node.setKnown(axes[i], i)))
      return failure();
  }
  return success();
}

/// Multiplies by a number of any type, or by its reciprocal.
static LogicalResult importScale(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.numberInput(1);
  bool divides = node.boolAttr("scale_down", false);
  if (node.failed())
    return failure();
  if (product(shapeOf(scale)) != 1)
    return node.shapeError() << "input 1 must be one number";
  scale = node.castTo(node.reshape(scale, {}), node.graph.floatType);
  return node.setOutput(0, divides ? node.emit<train::DivOp>({input, scale})
                                   : node.emit<train::MulOp>({input, scale}));
}

static Value scaleBy(ImportedNode &node, Value value, unsigned i) {
  std::string name = "scale_" + std::to_string(i);
  if (!node.failed() && !node.hasAttr(name))
    node.error() << Fault::BadAttribute << "attribute '" << name
                 << "' is missing";
  double scale = node.failed() ? 0 : node.floatAttr(name, 1);
  return scale == 1 ? value
                    : node.emit<train::MulOp>({value, node.scalar(scale)});
}

static LogicalResult importScaledSum(ImportedNode &node) {
  Value sum;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    Value term = scaleBy(node, node.floatInput(i), i);
    if (node.failed())
      return failure();
    if (sum && sum.getType() != term.getType())
      return node.shapeError() << "the inputs must have one shape";
    sum = sum ? node.emit<train::AddOp>({sum, term}) : term;
  }
  if (node.numInputs() < 3)
    node.hasAttr("scale_2"); // Belongs to an input that is missing.
  return node.setOutput(0, sum);
}

static LogicalResult importBatchScale(ImportedNode &node) {
  Value input = node.floatInput(0);
  for (int i = 0; i < node.proto.output_size(); ++i)
    if (failed(node.setOutput(i, scaleBy(node, input, i))))
      return failure();
  if (node.proto.output_size() < 3)
    node.hasAttr("scale_2");
  return success();
}

//===----------------------------------------------------------------------===//
// Checks and norms of all gradients
//===----------------------------------------------------------------------===//

/// All dimensions of `value`.
static NamedAttribute allAxes(ImportedNode &node, Value value) {
  return node.i64s(
      "axes", llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(value).size())));
}

/// The norm of all inputs as one vector.
static LogicalResult importReduceAllL2(ImportedNode &node) {
  Value sum;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    Value input = node.floatInput(i);
    Value squares = node.emit<train::MulOp>({input, input});
    if (!squares)
      return failure();
    Value own = node.emit<train::ReduceSumOp>(squares, allAxes(node, squares));
    sum = sum ? node.emit<train::AddOp>({sum, own}) : own;
  }
  return node.setOutput(0, emitRoot(node, sum));
}

/// True where |x| equals infinity.
static Value isInfinite(ImportedNode &node, Value input) {
  return node.compare(node.emit<train::AbsOp>(input),
                      node.scalar(std::numeric_limits<double>::infinity()),
                      train::Comparison::Equal);
}

static Value isNaN(ImportedNode &node, Value input) {
  return node.emit<train::NotOp>(
      node.compare(input, input, train::Comparison::Equal));
}

static LogicalResult importIsFinite(ImportedNode &node) {
  Value input = node.floatInput(0);
  Value isOff =
      node.emit<train::OrOp>({isInfinite(node, input), isNaN(node, input)});
  return node.setOutput(0, node.emit<train::NotOp>(isOff));
}

/// True if a condition holds for any element.
static Value isAnywhere(ImportedNode &node, Value condition) {
  Value numbers = node.castTo(condition, node.graph.builder.getI32Type());
  if (!numbers)
    return nullptr;
  auto max = train::IntegerOperationAttr::get(node.graph.builder.getContext(),
                                              train::IntegerOperation::Max);
  Value largest = node.emit<train::ReduceByOp>(
      numbers, {allAxes(node, numbers), node.attr("kind", max)});
  return node.castTo(largest, node.graph.builder.getI1Type());
}

/// Tests all inputs; a node may test only for infinity or only for NaN.
static LogicalResult importIsAllFinite(ImportedNode &node) {
  bool infinityAlone = node.boolAttr("isinf_only", false);
  bool nanAlone = node.boolAttr("isnan_only", false);
  if (!node.failed() && infinityAlone && nanAlone)
    return node.error() << Fault::BadAttribute
                        << "attributes 'isinf_only' and 'isnan_only' exclude "
                           "each other";
  Value isOff;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    Value input = node.floatInput(i);
    Value own = nanAlone ? isNaN(node, input) : isInfinite(node, input);
    if (!nanAlone && !infinityAlone)
      own = node.emit<train::OrOp>({own, isNaN(node, input)});
    own = isAnywhere(node, own);
    isOff = isOff ? node.emit<train::OrOp>({isOff, own}) : own;
  }
  return node.setOutput(0, node.emit<train::NotOp>(isOff));
}

static LogicalResult importAll(ImportedNode &node) {
  Value input = node.input(0);
  if (node.failed())
    return failure();
  if (!getElementTypeOrSelf(input.getType()).isInteger(1))
    return node.shapeError() << "the input must be bool";
  Value isOff = isAnywhere(node, node.emit<train::NotOp>(input));
  return node.setOutput(0, node.reshape(node.emit<train::NotOp>(isOff), {1}));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult importPassThrough(ImportedNode &node) {
  unsigned count = node.proto.output_size();
  if (count != node.numInputs())
    return node.error() << Fault::OperandCount << "has " << node.numInputs()
                        << " inputs and " << count << " outputs";
  for (unsigned i = 0; i < count; ++i)
    if (!node.hasInput(i) ||
        failed(node.setShared(i, node.graph.share(node.proto.input(i)))))
      return node.failed()
                 ? failure()
                 : node.error() << Fault::OperandCount << "lacks an input";
  return success();
}

/// Splits one buffer into tensors of the shapes in the other inputs.
static LogicalResult importView(ImportedNode &node) {
  Value input = node.floatInput(0);
  int count = node.proto.output_size();
  if (node.failed())
    return failure();
  if (count + 1 != int(node.numInputs()))
    return node.error() << "must have a shape for each of its " << count
                        << " outputs";
  int64_t size = product(shapeOf(input)), begin = 0;
  Value flat = node.reshape(input, size);
  for (int i = 0; i < count; ++i) {
    SmallVector<int64_t> shape = knownShape(node, i + 1);
    if (node.failed())
      return failure();
    int64_t length = product(shape);
    if (length > size - begin)
      return node.shapeError() << "the shapes have more elements than input 0";
    if (failed(node.setOutput(
            i, node.reshape(node.part(flat, 0, begin, length), shape))))
      return failure();
    begin += length;
  }
  return success();
}

ArrayRef<OpRow> mpc::microsoftArithmeticOps() {
  static const OpRow rows[] = {
      {"com.microsoft.FusedMatMul", 1, 2, 2, 1, importFusedMatMul},
      {"com.microsoft.DivGrad", 1, 3, 3, 2, importDivGrad},
      {"com.microsoft.BroadcastGradientArgs", 1, 2, 2, 2, requireConstants,
       foldBroadcastArgs},
      {"com.microsoft.Scale", 1, 2, 2, 1, importScale},
      {"com.microsoft.ScaledSum", 1, 2, 3, 1, importScaledSum},
      {"com.microsoft.BatchScale", 1, 1, 1, 3, importBatchScale},
      {"com.microsoft.ReduceAllL2", 1, 1, kAnyNumber, 1, importReduceAllL2},
      {"com.microsoft.IsFinite", 1, 1, 1, 1, importIsFinite},
      {"com.microsoft.IsAllFinite", 1, 1, kAnyNumber, 1, importIsAllFinite},
      {"com.microsoft.All", 1, 1, 1, 1, importAll},
      {"com.microsoft.PassThrough", 1, 1, kAnyNumber, kAnyNumber,
       importPassThrough},
      {"com.microsoft.View", 1, 2, kAnyNumber, kAnyNumber, importView},
  };
  return rows;
}
