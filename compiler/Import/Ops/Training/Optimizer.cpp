//===- Optimizer.cpp - Import of weight updates in models -----------------===//
//
// Adagrad, Momentum and Adam of ai.onnx.preview.training, as elementary ops:
// their formulas differ from PyTorch's in the places of epsilon and decay.
// Inputs are the rate, the number of updates, and then all tensors, all
// gradients, and all states of each kind. Source: onnx/defs/training/defs.cc,
// version 1.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

#include <charconv>

using namespace mlir;
using namespace mpc;

namespace {

/// The common part of the updates of one node, and short names for formulas.
class Update {
public:
  /// Each tensor has `kinds` inputs.
  Update(ImportedNode &node, unsigned kinds);

  unsigned size() const { return count; }
  Value input(unsigned kind, unsigned i) {
    return node.floatInput(2 + kind * count + i);
  }
  LogicalResult setOutput(unsigned kind, unsigned i, Value value) {
    return node.setOutput(kind * count + i, value);
  }

  Value add(Value a, Value b) { return node.emit<train::AddOp>({a, b}); }
  Value sub(Value a, Value b) { return node.emit<train::SubOp>({a, b}); }
  Value mul(Value a, Value b) { return node.emit<train::MulOp>({a, b}); }
  Value div(Value a, Value b) { return node.emit<train::DivOp>({a, b}); }
  Value scale(double factor, Value a) {
    return factor == 1 ? a : mul(node.scalar(factor), a);
  }
  Value root(Value a) { return node.emit<train::SqrtOp>(a); }
  /// a x + b y, built in separate statements, so that the order of ops is
  /// defined.
  Value sum(double a, Value x, double b, Value y) {
    Value first = scale(a, x), second = scale(b, y);
    return add(first, second);
  }
  Value rootPlus(Value square, double epsilon) {
    Value sqrt = root(square);
    return add(sqrt, node.scalar(epsilon));
  }
  /// `yes` from the second update on, else `no`.
  Value ifLater(Value yes, Value no) {
    return node.emit<train::SelectOp>({isLater, yes, no});
  }
  /// 1 - beta^T.
  Value correction(double beta);
  /// G + norm_coefficient X.
  Value gradient(unsigned i);

  ImportedNode &node;
  Value rate, time; ///< Tensors of rank 0.

private:
  unsigned count = 0;
  double decay;
  Value isLater;
};

} // namespace

Update::Update(ImportedNode &node, unsigned kinds)
    : node(node), decay(node.floatAttr("norm_coefficient", 0)) {
  unsigned tensors = node.numInputs() - 2;
  if (tensors == 0 || tensors % kinds != 0)
    node.error() << Fault::OperandCount << "has " << tensors
                 << " inputs after the first two, which "
                 << "is not a multiple of " << kinds;
  count = tensors / kinds;
  unsigned given = node.proto.output_size();
  if (!node.failed() && given > (kinds - 1) * count) // Gradients have none.
    node.error() << Fault::OperandCount << "has " << given
                 << " outputs, but gives " << (kinds - 1) * count;
  rate = node.floatInput(0);
  time = node.intInput(1);
  if (node.failed())
    return;
  if (product(shapeOf(rate)) != 1 || product(shapeOf(time)) != 1) {
    node.shapeError() << "the first two inputs must be one number each";
    return;
  }
  rate = node.reshape(rate, {});
  time = node.reshape(time, {});
  isLater =
      node.compare(node.numberLike(time, 0), time, train::Comparison::Less);
}

Value Update::correction(double beta) {
  if (!(beta >= 0 && beta < 1)) {
    node.error() << Fault::BadAttribute
                 << "attributes 'alpha' and 'beta' must lie in [0, 1), but "
                 << std::to_string(beta) << " does not";
    return nullptr;
  }
  // bias_correction counts steps from 0.
  Value before = node.integerOp(train::IntegerOperation::Sub, time,
                                node.numberLike(time, 1));
  OpBuilder &builder = node.graph.builder;
  Value result = node.emit<train::BiasCorrectionOp>(
      before, {node.attr("beta", builder.getF64FloatAttr(beta))});
  return node.castTo(result, node.graph.floatType);
}

Value Update::gradient(unsigned i) {
  Value gradient = input(1, i);
  return decay == 0 ? gradient : sum(decay, input(0, i), 1, gradient);
}

/// r = R / (1 + T decay_factor), H' = H + G^2, X' = X - r G / (sqrt(H') +
/// epsilon)
static LogicalResult importAdagrad(ImportedNode &node) {
  Update u(node, 3);
  double epsilon = node.floatAttr("epsilon", 1e-6);
  double decay = node.floatAttr("decay_factor", 0);
  Value rate = u.rate;
  if (decay != 0 && !node.failed()) {
    Value time = node.castTo(u.time, node.graph.floatType);
    rate = u.div(rate, u.add(node.scalar(1), u.scale(decay, time)));
  }
  for (unsigned i = 0; i < u.size() && !node.failed(); ++i) {
    Value gradient = u.gradient(i);
    Value before = u.input(2, i);
    Value squares = u.add(before, u.mul(gradient, gradient));
    Value divisor = u.rootPlus(squares, epsilon);
    Value step = u.div(u.mul(rate, gradient), divisor);
    if (failed(u.setOutput(0, i, u.sub(u.input(0, i), step))) ||
        failed(u.setOutput(1, i, squares)))
      return failure();
  }
  return success(!node.failed());
}

/// V' = alpha V + beta G, without beta in the first update; X' = X - R V', or
/// Nesterov's X - R (G + alpha V')
static LogicalResult importMomentum(ImportedNode &node) {
  Update u(node, 3);
  for (StringRef name : {"alpha", "beta", "norm_coefficient", "mode"})
    if (!node.failed() && !node.hasAttr(name))
      node.error() << Fault::BadAttribute << "attribute '" << name
                   << "' is missing";
  double alpha = node.floatAttr("alpha", 0), beta = node.floatAttr("beta", 0);
  std::string mode = node.stringAttr("mode", "");
  if (!node.failed() && mode != "standard" && mode != "nesterov")
    node.error() << Fault::BadAttribute << "attribute 'mode' is '" << mode
                 << "'; known are standard and nesterov";
  if (node.failed())
    return failure();
  Value share = u.ifLater(node.scalar(beta), node.scalar(1));
  for (unsigned i = 0; i < u.size() && !node.failed(); ++i) {
    Value gradient = u.gradient(i);
    Value kept = u.scale(alpha, u.input(2, i));
    Value velocity = u.add(kept, u.mul(share, gradient));
    Value direction = mode == "nesterov"
                          ? u.add(gradient, u.scale(alpha, velocity))
                          : velocity;
    Value step = u.mul(u.rate, direction);
    if (failed(u.setOutput(0, i, u.sub(u.input(0, i), step))) ||
        failed(u.setOutput(1, i, velocity)))
      return failure();
  }
  return success(!node.failed());
}

/// V' = alpha V + (1 - alpha) G, H' = beta H + (1 - beta) G^2, r = R sqrt(1 -
/// beta^T) / (1 - alpha^T), or R in the first update, X' = (1 -
/// norm_coefficient_post) (X - r V' / (sqrt(H') + epsilon))
static LogicalResult importAdam(ImportedNode &node) {
  Update u(node, 4);
  double alpha = node.floatAttr("alpha", 0.9);
  double beta = node.floatAttr("beta", 0.999);
  double epsilon = node.floatAttr("epsilon", 1e-6);
  double shrink = 1 - node.floatAttr("norm_coefficient_post", 0);
  if (node.failed())
    return failure();
  Value root = u.root(u.correction(beta));
  Value ratio = u.div(root, u.correction(alpha));
  Value rate = u.ifLater(u.mul(u.rate, ratio), u.rate);
  for (unsigned i = 0; i < u.size() && !node.failed(); ++i) {
    Value gradient = u.gradient(i);
    Value first = u.sum(alpha, u.input(2, i), 1 - alpha, gradient);
    Value square = u.mul(gradient, gradient);
    Value second = u.sum(beta, u.input(3, i), 1 - beta, square);
    Value divisor = u.rootPlus(second, epsilon);
    Value step = u.div(u.mul(rate, first), divisor);
    Value tensor = u.scale(shrink, u.sub(u.input(0, i), step));
    if (failed(u.setOutput(0, i, tensor)) || failed(u.setOutput(1, i, first)) ||
        failed(u.setOutput(2, i, second)))
      return failure();
  }
  return success(!node.failed());
}

/// The decimal number that a float stands for: 0.9, not the float next to it.
static double decimalOf(double value) {
  char text[32];
  auto end =
      std::to_chars(text, text + sizeof(text) - 1, static_cast<float>(value));
  *end.ptr = 0;
  return std::strtod(text, nullptr);
}

/// Imports PyTorch's Adam and AdamW, as `mpc export --training` writes them, as
/// mpc's own ops; the function body in the model is for other runtimes.
template <bool decoupled>
static LogicalResult importOwnAdam(ImportedNode &node) {
  double beta1 = node.floatAttr("beta1", 0.9);
  double beta2 = node.floatAttr("beta2", 0.999);
  double epsilon = node.floatAttr("epsilon", 1e-8);
  double decay = node.floatAttr("weight_decay", 0);
  Value rate = node.floatInput(0), count = node.intInput(1);
  SmallVector<Value> operands;
  for (unsigned i : {2, 3, 4, 5})
    operands.push_back(node.floatInput(i));
  if (node.failed())
    return failure();
  for (double beta : {beta1, beta2})
    if (!(beta >= 0 && beta < 1))
      return node.error() << "betas must lie in [0, 1), but one is "
                          << std::to_string(beta);
  if (product(shapeOf(rate)) != 1 || product(shapeOf(count)) != 1)
    return node.shapeError() << "the first two inputs must be one number each";
  operands.push_back(node.reshape(rate, {}));
  OpBuilder &builder = node.graph.builder;
  for (double beta : {beta1, beta2}) {
    Value correction = node.emit<train::BiasCorrectionOp>(
        node.reshape(count, {}),
        {node.attr("beta", builder.getF64FloatAttr(decimalOf(beta)))});
    operands.push_back(node.castTo(correction, node.graph.floatType));
  }
  SmallVector<NamedAttribute> attributes = {
      node.f32("beta1", beta1), node.f32("beta2", beta2),
      node.f32("epsilon", epsilon), node.f32("weight_decay", decay)};
  if (decoupled)
    attributes.push_back(node.flag("decoupled"));
  Operation *op = node.emitOp<train::AdamOp>(operands, attributes);
  for (unsigned i : {0, 1, 2})
    if (!op || failed(node.setOutput(i, op->getResult(i))))
      return failure();
  return success();
}

ArrayRef<OpRow> mpc::optimizerOps() {
  static const OpRow rows[] = {
      {"ai.onnx.preview.training.Adagrad", 1, 5, kAnyNumber, kAnyNumber,
       importAdagrad},
      {"ai.onnx.preview.training.Momentum", 1, 5, kAnyNumber, kAnyNumber,
       importMomentum},
      {"ai.onnx.preview.training.Adam", 1, 6, kAnyNumber, kAnyNumber,
       importAdam},
      {"mpc.Adam", 1, 6, 6, 3, importOwnAdam<false>},
      {"mpc.AdamW", 1, 6, 6, 3, importOwnAdam<true>},
  };
  return rows;
}
