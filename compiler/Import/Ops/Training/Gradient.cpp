//===- Gradient.cpp - Import of gradients in models -----------------------===//
//
// The Gradient of ai.onnx.preview.training differentiates the preceding nodes,
// which compute `y` from the tensors `xs` and `zs`, given by name. Its inputs
// are the values at which the gradient is taken; if these are other tensors
// than the named ones, the ops between are copied for them. Source:
// onnx/defs/training/defs.cc, Gradient-1.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Transforms/Differentiate.h"
#include "compiler/Import/Graph/ImportedNode.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;

static constexpr StringLiteral kPath = "'xs' and 'y'";

/// The ops that compute `y` from `from`, in order.
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

/// Rejects ops with a training form: the gradient would be that of the
/// inference form, but the loss that of the training form.
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

/// Returns true if no op of the function computes the value.
static bool isLeaf(Value value) {
  return isa<BlockArgument>(value) || value.getDefiningOp<train::ReadOp>();
}

/// For an own step: the gradient is taken later, after passes have transformed
/// the forward pass.
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

/// Copies the ops that compute `y`, with other values. Gradients that would be
/// taken later are taken now, so that they can be differentiated themselves.
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
    return node.error() << Fault::BadAttribute
                        << "needs the attributes 'xs' and 'y'";
  if (node.numInputs() != xs.size() + zs.size() ||
      unsigned(node.proto.output_size()) > xs.size())
    return node.error() << Fault::OperandCount << "has " << node.numInputs()
                        << " inputs and " << node.proto.output_size()
                        << " outputs, but 'xs' and "
                        << "'zs' name " << xs.size() << " and " << zs.size();

  SmallVector<Value> names, values;
  for (StringRef name : llvm::concat<StringRef>(xs, zs)) {
    names.push_back(named(node, name));
    values.push_back(node.input(values.size()));
    if (node.failed())
      return failure();
    if (names.back().getType() != values.back().getType())
      return node.error() << Fault::ShapeMismatch << "input "
                          << values.size() - 1 << " is "
                          << typeText(values.back().getType()) << ", but '"
                          << name << "' is "
                          << typeText(names.back().getType());
  }
  Value y = named(node, yName);
  if (node.failed())
    return failure();
  if (!isFloat(y))
    return node.error() << Fault::UnsupportedType << "'" << yName << "' is "
                        << typeText(y.getType())
                        << "; only floats have gradients";
  for (auto [name, value] : llvm::zip(xs, values))
    if (!isFloat(value))
      return node.error() << Fault::UnsupportedType << "'" << name << "' is "
                          << typeText(value.getType())
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
  // One value may be computed from another, but as variables they are
  // independent.
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
