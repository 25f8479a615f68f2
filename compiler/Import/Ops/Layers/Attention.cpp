//===- Attention.cpp - Import of attention --------------------------------===//
//
// Becomes one op, with masks as biases (AttentionMask.h). If the scores are an
// output, it becomes products and a softmax. Keys and values of earlier calls
// precede those of this call.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Ops/Layers/AttentionMask.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpc;

namespace {

/// Inputs as [batch, heads, length, depth], including those of earlier calls.
struct Heads {
  Value query, key, value;
  /// The number of keys from earlier calls.
  int64_t past = 0;
  /// The inputs have heads and depth in one dimension, and so has the result.
  bool wereJoined = false;
};

} // namespace

/// Turns [batch, length, heads x depth] into [batch, heads, length, depth];
/// null after an error.
static Value splitHeads(ImportedNode &node, unsigned index, Value input,
                        int64_t heads) {
  ArrayRef<int64_t> shape = shapeOf(input);
  if (heads < 1 || shape[2] % heads != 0) {
    node.shapeError() << "input " << index << " has " << shape[2]
                      << " channels, which cannot be split into " << heads
                      << " heads";
    return nullptr;
  }
  Value split =
      node.reshape(input, {shape[0], shape[1], heads, shape[2] / heads});
  return node.emit<train::TransposeOp>(split,
                                       node.i64s("permutation", {0, 2, 1, 3}));
}

/// Puts the keys and values of earlier calls before the others.
static void addPast(ImportedNode &node, Heads &heads) {
  Value keys = node.floatInput(4), values = node.floatInput(5);
  if (node.failed())
    return;
  if (shapeOf(keys).size() != 4 || shapeOf(values).size() != 4) {
    node.shapeError() << "inputs 4 and 5, keys and values of earlier calls, "
                         "must have 4 dimensions";
    return;
  }
  heads.past = shapeOf(keys)[2];
  heads.key =
      node.emit<train::ConcatOp>({keys, heads.key}, node.i64("axis", 2));
  heads.value =
      node.emit<train::ConcatOp>({values, heads.value}, node.i64("axis", 2));
}

/// Reads the inputs and the numbers of heads.
static Heads readHeads(ImportedNode &node) {
  Value inputs[] = {node.floatInput(0), node.floatInput(1), node.floatInput(2)};
  int64_t heads = node.intAttr("q_num_heads", 0);
  int64_t keyHeads = node.intAttr("kv_num_heads", 0);
  if (node.failed())
    return {};
  size_t rank = shapeOf(inputs[0]).size();
  for (Value input : inputs)
    if (shapeOf(input).size() != rank || rank < 3 || rank > 4) {
      node.shapeError() << "query, key and value must all have 3 or all have 4 "
                           "dimensions";
      return {};
    }
  if (rank == 3 && (heads < 1 || keyHeads < 1)) {
    node.error() << Fault::BadAttribute
                 << "attributes 'q_num_heads' and 'kv_num_heads' must be "
                    "positive where inputs have 3 dimensions, but are "
                 << heads << " and " << keyHeads;
    return {};
  }
  if (rank == 3)
    for (auto [index, input] : llvm::enumerate(inputs))
      if (!(input = splitHeads(node, index, input, index ? keyHeads : heads)))
        return {};
  if ((heads && heads != shapeOf(inputs[0])[1]) ||
      (keyHeads && keyHeads != shapeOf(inputs[1])[1])) {
    node.shapeError() << "attributes 'q_num_heads' and 'kv_num_heads', "
                      << heads << " and " << keyHeads
                      << ", must be dimension 1 of the inputs";
    return {};
  }
  Heads result{inputs[0], inputs[1], inputs[2], 0, rank == 3};
  if (node.hasInput(4) != node.hasInput(5))
    node.error() << "inputs 4 and 5, keys and values of earlier calls, must "
                    "both be given or both be left out";
  else if (node.hasInput(4))
    addPast(node, result);
  return result;
}

/// Turns a value into [batch, key heads, heads / key heads, ...], or back.
static Value regroup(ImportedNode &node, Value value, int64_t outer,
                     int64_t inner) {
  SmallVector<int64_t> shape(shapeOf(value));
  bool grouped = shape.size() == 5;
  if (grouped)
    shape.erase(shape.begin() + 2);
  else
    shape.insert(shape.begin() + 2, inner);
  shape[1] = outer;
  return node.reshape(value, shape);
}

namespace {

/// The processing of the scores.
struct ScoreOptions {
  AttentionMask seen;
  double scale = 1.0, softcap = 0.0;
  /// The stage of the scores that output 3 is, if it is used: 0 the product, 1
  /// after softcap, 2 masked, 3 after the softmax.
  std::optional<int64_t> wantedStage;
};

} // namespace

static ScoreOptions readScoreOptions(ImportedNode &node, const Heads &heads) {
  ScoreOptions options;
  options.seen = readAttentionMask(node, heads.past);
  double depth = shapeOf(heads.query)[3];
  options.scale = node.floatAttr("scale", 1.0 / std::sqrt(depth));
  options.softcap = node.floatAttr("softcap", 0.0);
  // Ignored: the softmax is computed in f32, or in f64 if everything is.
  node.intAttr("softmax_precision", 1);
  int64_t stage = node.intAttr("qk_matmul_output_mode", 0);
  if (node.isOutputUsed(3))
    options.wantedStage = stage;
  if (node.failed())
    return options;
  double least = std::numeric_limits<float>::min();
  double most = std::numeric_limits<float>::max();
  if (!(options.scale > 0.0) || options.scale > most)
    node.error() << Fault::BadAttribute
                 << "attribute 'scale' must be positive and finite, but is "
                 << std::to_string(options.scale);
  else if (options.softcap != 0.0 &&
           !(options.softcap >= least && options.softcap <= most))
    node.error() << Fault::BadAttribute
                 << "attribute 'softcap' must be 0 or a positive normal "
                    "number, but is "
                 << std::to_string(options.softcap);
  else if (stage < 0 || stage > 3)
    node.error() << Fault::BadAttribute
                 << "attribute 'qk_matmul_output_mode' must lie in [0, 3], but "
                    "is "
                 << stage;
  return options;
}

/// Attention as products and a softmax; sets output 3.
static Value writeOut(ImportedNode &node, const Heads &heads,
                      const ScoreOptions &options) {
  ArrayRef<int64_t> query = shapeOf(heads.query), key = shapeOf(heads.key);
  if (query[1] % key[1] != 0) {
    node.shapeError() << "the " << key[1]
                      << " heads of the key must divide those of the query, "
                      << query[1];
    return nullptr;
  }
  int64_t outer = key[1], inner = query[1] / key[1];
  Value product =
      node.emit<train::MatmulOp>({regroup(node, heads.query, outer, inner),
                                  regroup(node, heads.key, outer, 1)},
                                 node.flag("transpose_rhs"));
  if (!product)
    return nullptr;
  Value stages[4];
  stages[0] = node.emit<train::MulOp>(
      {regroup(node, product, query[1], 1), node.scalar(options.scale)});
  stages[1] = stages[0];
  if (options.softcap != 0.0) {
    Value bent = node.emit<train::TanhOp>(
        node.emit<train::DivOp>({stages[0], node.scalar(options.softcap)}));
    stages[1] = node.emit<train::MulOp>({bent, node.scalar(options.softcap)});
  }
  stages[2] = maskScores(node, stages[1], options.seen);
  stages[3] = node.emit<train::SoftmaxOp>(
      stages[2], {node.i64("axis", 3), node.flag("zero_empty")});
  if (!stages[3] ||
      (options.wantedStage &&
       mlir::failed(node.setOutput(3, stages[*options.wantedStage]))))
    return nullptr;
  Value result =
      node.emit<train::MatmulOp>({regroup(node, stages[3], outer, inner),
                                  regroup(node, heads.value, outer, 1)});
  return result ? regroup(node, result, query[1], 1) : Value();
}

static LogicalResult importAttention(ImportedNode &node) {
  Heads heads = readHeads(node);
  if (node.failed())
    return failure();
  ScoreOptions options = readScoreOptions(node, heads);
  if (node.failed())
    return failure();

  Value result;
  if (!options.wantedStage) {
    SmallVector<int64_t> scores(shapeOf(heads.query));
    scores[3] = shapeOf(heads.key)[2];
    AttentionBiases masks = maskBiases(node, scores, options.seen);
    if (node.failed())
      return failure();
    SmallVector<NamedAttribute> attributes = {node.f32("scale", options.scale)};
    if (masks.isCausal)
      attributes.push_back(node.flag("causal"));
    if (options.softcap != 0.0)
      attributes.push_back(node.f32("softcap", options.softcap));
    SmallVector<Value> operands = {heads.query, heads.key, heads.value};
    llvm::append_range(operands, masks.biases);
    result = node.emit<train::AttentionOp>(operands, attributes);
  } else {
    result = writeOut(node, heads, options);
  }
  if (!result)
    return failure();
  if (heads.wereJoined) {
    SmallVector<int64_t> shape(shapeOf(result));
    result = node.emit<train::TransposeOp>(
        result, node.i64s("permutation", {0, 2, 1, 3}));
    result = node.reshape(result, {shape[0], shape[2], shape[1] * shape[3]});
  }
  for (auto [index, present] :
       {std::pair(1u, heads.key), std::pair(2u, heads.value)})
    if (node.isOutputUsed(index) && failed(node.setOutput(index, present)))
      return failure();
  return node.setOutput(0, result);
}

ArrayRef<OpRow> mpc::attentionOps() {
  static const OpRow rows[] = {
      {"Attention", 23, 3, 7, 4, importAttention},
  };
  return rows;
}
