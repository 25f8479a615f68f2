//===- Gradient.cpp - Import of gradients that the model takes ------------===//
//
// The Gradient of ai.onnx.preview.training differentiates what stands before
// it: the tensors `xs` and `zs` lead to `y`, by names of the graph. Its inputs
// are the values to take it at; those of other tensors than the named ones get
// a copy of what leads from them to y.
// Source: onnx/defs/training/defs.cc, Gradient-1.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Transforms/Differentiate.h"
#include "compiler/Import/Graph/ImportedNode.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;

static constexpr StringLiteral kPath = "'xs' and 'y'";

/// What y is computed by from `from`, in order.
static SmallVector<Operation *> opsBetween(ValueRange from, Value y,
                                           Block &block) {
  llvm::DenseSet<Value> start(from.begin(), from.end()), needed = {y};
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(block)) {
    bool isNeeded = llvm::any_of(op.getResults(), [&](Value result) {
      return needed.contains(result) && !start.contains(result);
    });
    if (!isNeeded)
      continue;
    needed.insert(op.operand_begin(), op.operand_end());
    ops.push_back(&op);
  }
  std::reverse(ops.begin(), ops.end());
  llvm::erase_if(ops, [&](Operation *op) {
    bool depends = llvm::any_of(op->getOperands(), [&](Value operand) {
      return start.contains(operand);
    });
    if (depends)
      start.insert(op->result_begin(), op->result_end());
    return !depends;
  });
  return ops;
}

/// The gradient would be of the form of inference, the loss of another one.
static LogicalResult checkForms(ImportedNode &node, ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    auto form = dyn_cast<train::TrainingFormOpInterface>(op);
    if (form && !form.keepsFormInTraining()) {
      InFlightDiagnostic error = node.error();
      error << "passes through an op that behaves differently in training and "
               "at inference; freeze it or remove it";
      error.attachNote(op->getLoc()) << "this one";
      return error;
    }
  }
  return success();
}

/// The tensor that an attribute names, as data.
static Value named(ImportedNode &node, StringRef name) {
  if (node.failed())
    return nullptr;
  Value value = node.graph.materialize(node.graph.lookup(name));
  if (!value)
    node.fail();
  return value;
}

/// Whether a value comes from nowhere in the function.
static bool isLeaf(Value value) {
  return isa<BlockArgument>(value) || value.getDefiningOp<train::ReadOp>();
}

/// For a model's own step: the gradient is taken once passes have made the
/// forward pass what it is to be.
static LogicalResult setLater(ImportedNode &node, Value y, ValueRange xs) {
  auto op = train::GradientOp::create(node.graph.builder, node.loc,
                                      xs.getTypes(), y, xs);
  for (auto [i, gradient] : llvm::enumerate(op.getGradients())) {
    node.graph.addGradient(xs[i], gradient);
    if (failed(node.setOutput(i, gradient)))
      return failure();
  }
  return success();
}

/// What leads to `y` at other values, with the gradients that are taken later
/// taken now: who takes the gradient of one needs to see what it is.
static FailureOr<Value> copyPath(ImportedNode &node, Value y,
                                 ArrayRef<Operation *> ops, ValueRange names,
                                 ValueRange values) {
  OpBuilder &builder = node.graph.builder;
  IRMapping mapping;
  mapping.map(names, values);
  for (Operation *op : ops) {
    auto gradient = dyn_cast<train::GradientOp>(op);
    if (!gradient) {
      builder.clone(*op, mapping);
      continue;
    }
    SmallVector<Value> xs;
    for (Value x : gradient.getXs())
      xs.push_back(mapping.lookupOrDefault(x));
    auto taken = train::differentiateSum(
        builder, mapping.lookupOrDefault(gradient.getY()), xs, op->getLoc(),
        kPath);
    if (failed(taken))
      return failure();
    mapping.map(gradient.getGradients(), *taken);
  }
  return mapping.lookupOrDefault(y);
}

static LogicalResult importGradient(ImportedNode &node) {
  SmallVector<StringRef> xs = node.stringsAttr("xs"),
                         zs = node.stringsAttr("zs");
  std::string yName = node.stringAttr("y", "");
  if (node.failed())
    return failure();
  if (xs.empty() || yName.empty())
    return node.error() << "needs the attributes 'xs' and 'y'";
  if (node.numInputs() != xs.size() + zs.size() ||
      unsigned(node.proto.output_size()) > xs.size())
    return node.error() << "has " << node.numInputs() << " inputs and "
                        << node.proto.output_size() << " outputs, but 'xs' and "
                        << "'zs' name " << xs.size() << " and " << zs.size();

  SmallVector<Value> names, values;
  for (StringRef name : llvm::concat<StringRef>(xs, zs)) {
    names.push_back(named(node, name));
    values.push_back(node.input(values.size()));
    if (node.failed())
      return failure();
    if (names.back().getType() != values.back().getType())
      return node.error() << "input " << values.size() - 1 << " is "
                          << typeText(values.back().getType()) << ", but '"
                          << name << "' is "
                          << typeText(names.back().getType());
  }
  Value y = named(node, yName);
  if (node.failed())
    return failure();
  if (!isFloat(y))
    return node.error() << "'" << yName << "' is " << typeText(y.getType())
                        << "; only floats have gradients";
  for (auto [name, value] : llvm::zip(xs, values))
    if (!isFloat(value))
      return node.error() << "'" << name << "' is " << typeText(value.getType())
                          << "; only floats have gradients";

  OpBuilder &builder = node.graph.builder;
  ArrayRef<Value> leaves = ArrayRef(names).take_front(xs.size());
  const bool isElsewhere = names != values;
  if (node.graph.form != GraphImporter::Form::Either && !isElsewhere &&
      llvm::all_of(leaves, isLeaf)) {
    node.graph.useInGradient(y);
    return setLater(node, y, leaves);
  }
  SmallVector<Operation *> ops =
      opsBetween(names, y, *builder.getInsertionBlock());
  if (failed(checkForms(node, ops)))
    return failure();
  node.graph.useInGradient(y);
  for (Value value : values)
    node.graph.useInGradient(value);
  bool takesGradients = llvm::any_of(
      ops, [](Operation *op) { return isa<train::GradientOp>(op); });
  FailureOr<Value> sum = y;
  // One value may be computed from another; as variables they have nothing to
  // do with each other.
  SmallVector<Value> points = values;
  if (isElsewhere)
    for (Value &point : points)
      if (isFloat(point))
        point = train::StopGradientOp::create(builder, node.loc,
                                              point.getType(), point);
  if (isElsewhere || takesGradients)
    sum = copyPath(node, y, ops, names, points);
  ValueRange variables = ArrayRef<Value>(points).take_front(xs.size());
  FailureOr<SmallVector<Value>> gradients = failure();
  if (succeeded(sum))
    gradients =
        train::differentiateSum(builder, *sum, variables, node.loc, kPath);
  for (auto [point, value] : llvm::zip_equal(points, values))
    if (point != value) {
      point.replaceAllUsesWith(value);
      if (succeeded(gradients))
        llvm::replace(*gradients, point, value);
      point.getDefiningOp()->erase();
    }
  if (failed(gradients)) {
    node.fail();
    return failure();
  }
  // Gradients of gradients grow fast.
  if (failed(node.graph.checkOps(node.loc))) {
    node.fail();
    return failure();
  }
  for (auto [i, gradient] : llvm::enumerate(*gradients)) {
    node.graph.addGradient(values[i], gradient);
    if (failed(node.setOutput(i, gradient)))
      return failure();
  }
  return success();
}

ArrayRef<OpRow> mpc::gradientOps() {
  static const OpRow rows[] = {
      {"ai.onnx.preview.training.Gradient", 1, 1, kAnyNumber, kAnyNumber,
       importGradient},
  };
  return rows;
}
