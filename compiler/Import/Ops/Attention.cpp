//===- Attention.cpp - Import of attention --------------------------------===//
//
// One op where the scores are only scaled and masked causally. What else may
// happen to them (a mask as an input, softcap) is written out as products and a
// softmax.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/ImportedNode.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpc;

namespace {

/// Inputs as [batch, heads, length, depth].
struct Heads {
  Value query, key, value;
  /// They came with the heads side by side, and so the result goes.
  bool wereJoined;
};

} // namespace

/// [batch, length, heads x depth] as [batch, heads, length, depth]; null after
/// an error.
static Value splitHeads(ImportedNode &node, unsigned index, Value input,
                        int64_t heads) {
  ArrayRef<int64_t> shape = shapeOf(input);
  if (heads < 1 || shape[2] % heads != 0) {
    node.shapeError() << "input " << index << " has " << shape[2]
                      << " channels, which do not make " << heads << " heads";
    return nullptr;
  }
  Value split =
      node.reshape(input, {shape[0], shape[1], heads, shape[2] / heads});
  return node.emit<train::TransposeOp>(split,
                                       node.i64s("permutation", {0, 2, 1, 3}));
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
    node.error() << "attributes 'q_num_heads' and 'kv_num_heads' must be "
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
  return {inputs[0], inputs[1], inputs[2], rank == 3};
}

/// 0 where query i sees key j, minus infinity elsewhere.
static Value causalMask(ImportedNode &node, int64_t rows, int64_t columns,
                        Type element) {
  SmallVector<APFloat> values;
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values.push_back(j <= i ? APFloat::getZero(semantics)
                              : APFloat::getInf(semantics, /*Negative=*/true));
  auto type = RankedTensorType::get({rows, columns}, element);
  return train::ConstantOp::create(
      node.graph.builder, node.loc,
      ElementsAttr(DenseElementsAttr::get(type, values)));
}

static bool isBool(Value mask) {
  return getElementTypeOrSelf(mask.getType()).isInteger(1);
}

/// The scores as ONNX defines them, in [batch, heads, queries, keys].
static Value maskScores(ImportedNode &node, Value scores, Value mask,
                        double softcap, bool causal) {
  SmallVector<int64_t> shape(shapeOf(scores));
  if (softcap != 0.0) {
    Value bent = node.emit<train::TanhOp>(
        node.emit<train::DivOp>({scores, node.scalar(softcap)}));
    scores = node.emit<train::MulOp>({bent, node.scalar(softcap)});
  }
  if (mask && isBool(mask))
    scores = node.emit<train::SelectOp>(
        {mask, scores, node.scalar(-std::numeric_limits<double>::infinity())});
  else if (mask)
    scores = node.emit<train::AddOp>({scores, mask});
  if (scores && ArrayRef<int64_t>(shape) != shapeOf(scores)) {
    node.shapeError() << "input 3, the mask, must broadcast to the scores, "
                      << shape[0] << "x" << shape[1] << "x" << shape[2] << "x"
                      << shape[3];
    return nullptr;
  }
  if (causal && scores)
    scores = node.emit<train::AddOp>(
        {scores, causalMask(node, shape[2], shape[3],
                            getElementTypeOrSelf(scores.getType()))});
  return scores;
}

/// A value as [batch, key heads, heads / key heads, ...], or back.
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

static Value writeOut(ImportedNode &node, const Heads &heads, Value mask,
                      double scale, double softcap, bool causal) {
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
  Value scores = node.emit<train::MulOp>(
      {regroup(node, product, query[1], 1), node.scalar(scale)});
  scores = maskScores(node, scores, mask, softcap, causal);
  Value weights = node.emit<train::SoftmaxOp>(
      scores, {node.i64("axis", 3), node.flag("zero_empty")});
  if (!weights)
    return nullptr;
  Value result =
      node.emit<train::MatmulOp>({regroup(node, weights, outer, inner),
                                  regroup(node, heads.value, outer, 1)});
  return result ? regroup(node, result, query[1], 1) : Value();
}

/// Reads what changes the scores beyond their scale; null if there is no mask.
static Value readMask(ImportedNode &node) {
  for (unsigned i : {4, 5})
    if (node.hasInput(i)) {
      node.error() << "input " << i << " '" << node.proto.input(i)
                   << "' holds keys or values of earlier calls, which training "
                      "does not have; export the model without a cache";
      return nullptr;
    }
  if (!node.hasInput(3))
    return nullptr;
  Value mask = node.input(3);
  if (mask && !isBool(mask) &&
      !isa<FloatType>(getElementTypeOrSelf(mask.getType()))) {
    node.error() << "input 3, the mask, is " << typeText(mask.getType())
                 << "; supported are bool, true where a query sees a key, and "
                    "floats that are added to the scores";
    return nullptr;
  }
  if (mask && shapeOf(mask).size() > 4) {
    node.shapeError() << "input 3, the mask, must have at most 4 dimensions";
    return nullptr;
  }
  return mask;
}

static LogicalResult importAttention(ImportedNode &node) {
  Heads heads = readHeads(node);
  if (node.failed())
    return failure();
  Value mask = readMask(node);
  bool causal = node.boolAttr("is_causal", false);
  double depth = shapeOf(heads.query)[3];
  double scale = node.floatAttr("scale", 1.0 / std::sqrt(depth));
  double softcap = node.floatAttr("softcap", 0.0);
  // The softmax is computed in f32, or f64 with everything else.
  node.intAttr("softmax_precision", 1);
  node.intAttr("qk_matmul_output_mode", 0);
  node.refuseOutput(3, "is used; the scores of Attention are not stored");
  if (node.failed())
    return failure();
  if (!(scale > 0.0) || scale > std::numeric_limits<float>::max())
    return node.error() << "attribute 'scale' must be positive and finite, but "
                           "is "
                        << std::to_string(scale);
  if (!(softcap >= 0.0) || softcap > std::numeric_limits<float>::max())
    return node.error() << "attribute 'softcap' must be 0 or positive, but is "
                        << std::to_string(softcap);

  Value result;
  if (mask || softcap != 0.0) {
    result = writeOut(node, heads, mask, scale, softcap, causal);
  } else {
    SmallVector<NamedAttribute> attributes = {node.f32("scale", scale)};
    if (causal)
      attributes.push_back(node.flag("causal"));
    result = node.emit<train::AttentionOp>(
        {heads.query, heads.key, heads.value}, attributes);
  }
  if (!result)
    return failure();
  if (heads.wereJoined) {
    SmallVector<int64_t> shape(shapeOf(result));
    result = node.emit<train::TransposeOp>(
        result, node.i64s("permutation", {0, 2, 1, 3}));
    result = node.reshape(result, {shape[0], shape[2], shape[1] * shape[3]});
  }
  // Without a cache the present is what came in.
  for (auto [index, present] :
       {std::pair(1u, heads.key), std::pair(2u, heads.value)})
    if (node.isOutputUsed(index) && failed(node.setOutput(index, present)))
      return failure();
  return node.setOutput(0, result);
}

ArrayRef<OpRow> mpc::attentionOps() {
  static const OpRow rows[] = {
      {"Attention", 23, 3, 6, 4, importAttention},
  };
  return rows;
}
