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
#include "compiler/Import/ImportedNode.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;

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
      error << "leads through an op that is another in training than at "
               "inference; freeze it or take it out";
      error.attachNote(op->getLoc()) << "this one";
      return error;
    }
  }
  return success();
}

/// What gradients of gradients grow to; its nodes may be few.
static LogicalResult checkSize(ImportedNode &node) {
  constexpr int64_t kMostOps = 1'000'000;
  Block &block = *node.graph.builder.getInsertionBlock();
  if (int64_t(llvm::range_size(block)) <= kMostOps)
    return success();
  return node.error() << "with this gradient the program has more than "
                      << kMostOps << " operations";
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
  SmallVector<Operation *> ops =
      opsBetween(names, y, *builder.getInsertionBlock());
  if (failed(checkForms(node, ops)))
    return failure();
  if (names != values) {
    IRMapping mapping;
    mapping.map(names, values);
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    y = mapping.lookupOrDefault(y);
  }
  Value one = node.broadcast(node.scalar(1), shapeOf(y));
  if (node.failed())
    return failure();
  ValueRange variables = ArrayRef<Value>(values).take_front(xs.size());
  auto gradients = train::differentiate(builder, y, one, variables, node.loc,
                                        "'xs' and 'y'");
  if (failed(gradients)) {
    node.fail();
    return failure();
  }
  if (failed(checkSize(node)))
    return failure();
  for (auto [i, gradient] : llvm::enumerate(*gradients)) {
    if (!gradient) // y does not depend on it.
      gradient = node.broadcast(node.scalar(0), shapeOf(values[i]));
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
