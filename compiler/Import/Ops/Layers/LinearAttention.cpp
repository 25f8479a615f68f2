//===- LinearAttention.cpp - Import of linear attention -------------------===//
//
// LinearAttention and the convolution that precedes it. Time steps are
// unrolled, like those of recurrent ops.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

namespace {

/// LinearAttention: a state [batch, heads, depth, width] that each step
/// updates.
class StateAttention {
public:
  explicit StateAttention(ImportedNode &node) : node(node) {}

  bool read();
  LogicalResult run();

private:
  bool readRule();
  Value unpack(unsigned index, Value packed, ArrayRef<int64_t> inner);
  Value at(Value all, int64_t step);
  Value step(Value state, int64_t i);

  Value add(Value a, Value b) { return node.emit<train::AddOp>({a, b}); }
  Value mul(Value a, Value b) { return node.emit<train::MulOp>({a, b}); }

  ImportedNode &node;
  bool isGated = false, isDelta = false;
  int64_t batch = 0, steps = 0, heads = 0, group = 0, depth = 0, width = 0;
  double scale = 0;
  /// Values for all steps: [steps, batch, heads, ...].
  Value query, key, value, decay, beta;
};

} // namespace

bool StateAttention::readRule() {
  std::string rule = node.stringAttr("update_rule", "gated_delta");
  // Only a hint for other implementations.
  node.intAttr("chunk_size", 64);
  isGated = rule == "gated" || rule == "gated_delta";
  isDelta = rule == "delta" || rule == "gated_delta";
  if (!node.failed() && !isGated && !isDelta && rule != "linear")
    node.error() << Fault::BadAttribute << "attribute 'update_rule' is '"
                 << rule
                 << "'; supported are 'linear', 'gated', 'delta' and "
                    "'gated_delta'";
  for (auto [index, isNeeded] :
       {std::pair(4u, isGated), std::pair(5u, isDelta)})
    if (!node.failed() && isNeeded && !node.hasInput(index))
      node.error() << Fault::OperandCount << "input " << index
                   << " is missing, which update rule '" << rule << "' needs";
  return !node.failed();
}

/// Turns [batch, steps, inner...], flattened after the steps, into
/// [steps, batch, inner...].
Value StateAttention::unpack(unsigned index, Value packed,
                             ArrayRef<int64_t> inner) {
  if (!packed)
    return nullptr;
  if (shapeOf(packed) != ArrayRef<int64_t>({batch, steps, product(inner)})) {
    node.shapeError() << "input " << index << " must be [" << batch << ", "
                      << steps << ", " << product(inner) << "]";
    return nullptr;
  }
  SmallVector<int64_t> shape = {batch, steps}, order = {1, 0};
  llvm::append_range(shape, inner);
  for (size_t i = 0; i < inner.size(); ++i)
    order.push_back(2 + i);
  return node.transpose(node.reshape(packed, shape), order);
}

/// The last extent; 0 for rank 0, which unpack rejects.
static int64_t lastOf(Value value) {
  return shapeOf(value).empty() ? 0 : shapeOf(value).back();
}

bool StateAttention::read() {
  Value inputs[] = {node.floatInput(0), node.floatInput(1), node.floatInput(2)};
  int64_t queryHeads = node.intAttr("q_num_heads", 0);
  heads = node.intAttr("kv_num_heads", 0);
  scale = node.floatAttr("scale", 0.0);
  if (node.failed() || !readRule())
    return false;
  for (Value input : inputs)
    if (shapeOf(input).size() != 3) {
      node.shapeError() << "query, key and value must have 3 dimensions";
      return false;
    }
  ArrayRef<int64_t> shape = shapeOf(inputs[0]), values = shapeOf(inputs[2]);
  batch = shape[0];
  steps = shape[1];
  if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0 ||
      shape[2] % queryHeads != 0 || values[2] % heads != 0) {
    node.shapeError() << "attributes 'q_num_heads' and 'kv_num_heads', "
                      << queryHeads << " and " << heads
                      << ", must be positive and divide the channels, and the "
                         "second must divide the first";
    return false;
  }
  group = queryHeads / heads;
  depth = shape[2] / queryHeads;
  width = values[2] / heads;
  if (scale == 0.0)
    scale = 1.0 / std::sqrt(double(depth));
  query = unpack(0, inputs[0], {heads, group, depth});
  key = unpack(1, inputs[1], {heads, depth, 1});
  value = unpack(2, inputs[2], {heads, 1, width});
  if (isGated) {
    Value input = node.floatInput(4);
    bool isPerHead = input && lastOf(input) == heads;
    decay = unpack(4, input, {heads, isPerHead ? 1 : depth, 1});
    decay = node.emit<train::ExpOp>(decay);
  }
  if (isDelta) {
    Value input = node.floatInput(5);
    bool isShared = input && lastOf(input) == 1;
    beta = unpack(5, input, {isShared ? 1 : heads, 1, 1});
  }
  return !node.failed();
}

/// The values of one step.
Value StateAttention::at(Value all, int64_t step) {
  Value own = node.part(all, 0, step, 1);
  return own ? node.reshape(own, shapeOf(own).drop_front()) : own;
}

/// The state after step `i`.
Value StateAttention::step(Value state, int64_t i) {
  Value newKey = at(key, i), newValue = at(value, i);
  if (state && isGated)
    state = mul(at(decay, i), state);
  if (isDelta) {
    // The value that the state holds for the key is replaced, not added to.
    if (state)
      newValue = node.emit<train::SubOp>(
          {newValue, node.emit<train::MatmulOp>({newKey, state},
                                                node.flag("transpose_lhs"))});
    newValue = mul(at(beta, i), newValue);
  }
  Value added = mul(newKey, newValue);
  return state ? add(state, added) : added;
}

LogicalResult StateAttention::run() {
  constexpr int64_t kMaxSteps = 4096;
  if (steps > kMaxSteps)
    return node.shapeError()
           << "the sequence has " << steps << " steps; at most " << kMaxSteps
           << " are supported";
  Value state;
  if (node.hasInput(3)) {
    state = node.floatInput(3);
    if (state &&
        shapeOf(state) != ArrayRef<int64_t>({batch, heads, depth, width}))
      return node.shapeError()
             << "input 3, the state, must be [" << batch << ", " << heads
             << ", " << depth << ", " << width << "]";
  }
  SmallVector<Value> outputs;
  for (int64_t i = 0; i < steps && !node.failed(); ++i) {
    state = step(state, i);
    Value output = node.emit<train::MatmulOp>({at(query, i), state});
    if (!output)
      return failure();
    outputs.push_back(node.reshape(output, {1, batch, heads * group * width}));
  }
  Value result = node.emit<train::ConcatOp>(outputs, node.i64("axis", 0));
  if (!result)
    return failure();
  result = mul(node.transpose(result, {1, 0, 2}), node.scalar(scale));
  if (node.isOutputUsed(1) && failed(node.setOutput(1, state)))
    return failure();
  return node.setOutput(0, result);
}

static LogicalResult importLinearAttention(ImportedNode &node) {
  StateAttention attention(node);
  return attention.read() ? attention.run() : failure();
}

/// A causal depthwise convolution: a sum of shifted products.
static LogicalResult importCausalConv(ImportedNode &node) {
  Value input = node.floatInput(0), weight = node.floatInput(1);
  std::string activation = node.stringAttr("activation", "none");
  if (node.failed())
    return failure();
  if (activation != "none" && activation != "silu" && activation != "swish")
    return node.error() << Fault::BadAttribute << "attribute 'activation' is '"
                        << activation
                        << "'; supported are 'none', 'silu' and 'swish'";
  SmallVector<int64_t> shape(shapeOf(input)), taps(shapeOf(weight));
  if (shape.size() != 3 || taps.size() != 3 || taps[0] != shape[1] ||
      taps[1] != 1)
    return node.shapeError() << "input 0 must be [batch, channels, length] and "
                                "input 1 [channels, 1, size]";
  constexpr int64_t kMaxTaps = 4096;
  if (taps[2] > kMaxTaps)
    return node.shapeError()
           << "the kernel has " << taps[2] << " taps; at most " << kMaxTaps
           << " are supported";
  int64_t before = taps[2] - 1;
  Value padded = input;
  if (before > 0) {
    SmallVector<int64_t> wanted = {shape[0], shape[1], before};
    Value past = node.hasInput(3)
                     ? node.floatInput(3)
                     : node.broadcast(node.numberLike(input, 0), wanted);
    if (!past)
      return failure();
    if (shapeOf(past) != ArrayRef<int64_t>(wanted))
      return node.shapeError()
             << "input 3, the state, must be [" << ArrayRef(wanted) << "]";
    padded = node.emit<train::ConcatOp>({past, input}, node.i64("axis", 2));
  }
  Value sum;
  for (int64_t tap = 0; tap < taps[2] && !node.failed(); ++tap) {
    Value own = node.reshape(node.part(weight, 2, tap, 1), {taps[0], 1});
    Value product =
        node.emit<train::MulOp>({node.part(padded, 2, tap, shape[2]), own});
    sum = sum ? node.emit<train::AddOp>({sum, product}) : product;
  }
  if (node.hasInput(2)) {
    Value bias = node.floatInput(2);
    if (bias && shapeOf(bias) != ArrayRef<int64_t>({shape[1]}))
      return node.shapeError()
             << "input 2, the bias, must be [" << shape[1] << "]";
    sum =
        bias ? node.emit<train::AddOp>({sum, node.reshape(bias, {shape[1], 1})})
             : bias;
  }
  if (activation != "none")
    sum = node.emit<train::SiluOp>(
        sum, node.attr("alpha", node.graph.builder.getF64FloatAttr(1)));
  if (before == 0)
    node.refuseOutput(1,
                      "is used, but the state of a kernel of size 1 is empty");
  else if (node.isOutputUsed(1) &&
           failed(node.setOutput(1, node.part(padded, 2, shape[2], before))))
    return failure();
  return node.setOutput(0, sum);
}

ArrayRef<OpRow> mpc::linearAttentionOps() {
  static const OpRow rows[] = {
      {"LinearAttention", 27, 3, 6, 2, importLinearAttention},
      {"CausalConvWithState", 27, 2, 4, 2, importCausalConv},
  };
  return rows;
}
