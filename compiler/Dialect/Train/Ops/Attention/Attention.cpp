//===- Attention.cpp - Fused attention ------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Support/Locations.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// The extents [B, H, T, D] of an operand or result, from or to its shape.
template <typename Adaptor>
static SmallVector<int64_t> reordered(Adaptor op, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> extents(shape);
  if (op.getBshd() && extents.size() == 4)
    std::swap(extents[1], extents[2]);
  return extents;
}

/// Checks the operands that both ops have and computes the extents [B, H, T, D]
/// of the result.
template <typename Adaptor>
static LogicalResult checkAttention(Adaptor op, const OpError &error,
                                    SmallVectorImpl<int64_t> &result) {
  SmallVector<int64_t> query = reordered(op, shapeOf(op.getQuery()));
  SmallVector<int64_t> key = reordered(op, shapeOf(op.getKey()));
  SmallVector<int64_t> value = reordered(op, shapeOf(op.getValue()));
  if (query.size() != 4 || key.size() != 4 || value.size() != 4) // attention_c1
    return error("query, key and value must have rank 4, but have ranks ",
                 query.size(), ", ", key.size(), " and ", value.size());
  if (key[0] != query[0] || key[3] != query[3] ||
      ArrayRef<int64_t>(key).drop_back() !=
          ArrayRef<int64_t>(value).drop_back()) // attention_c2
    return error(
        "a query of [", shapeOf(op.getQuery()), "] needs a key of [", query[0],
        op.getBshd() ? ", length, heads, " : ", heads, length, ", query[3],
        "] and a value that differs in the last extent at most, but "
        "they are [",
        shapeOf(op.getKey()), "] and [", shapeOf(op.getValue()), "]");
  if (query[1] % key[1] != 0) // attention_c3
    return error("the ", key[1],
                 " heads of the key must divide those of the query, ",
                 query[1]);
  if (!op.getScale().isFinite()) // attention_c4
    return error("'scale' must be finite");
  if (op.getBiases().size() > 2) // attention_c6
    return error("has at most two biases, but found ", op.getBiases().size());
  if (op.getBshd() && !op.getBiases().empty()) // attention_c7
    return error("'bshd' excludes biases");
  for (Value bias : op.getBiases()) { // attention_c5
    int64_t scores[] = {query[0], query[1], query[2], key[2]};
    ArrayRef<int64_t> shape = shapeOf(bias);
    bool fits = shape.size() == 4 && shape[3] == scores[3];
    for (size_t i = 0; fits && i < 3; ++i)
      fits = shape[i] == 1 || shape[i] == scores[i];
    if (!fits)
      return error("a bias must have the extents of the scores, [",
                   ArrayRef<int64_t>(scores),
                   "], or 1 except for the last, but has [", shape, "]");
  }
  result.assign({query[0], query[1], query[2], value[3]});
  return success();
}

/// The shape of `log_sum_exp`, two numbers for each row of the result.
static SmallVector<int64_t> sumsShape(ArrayRef<int64_t> result) {
  return {2, result[0], result[1], result[2]};
}

/// The number of pairs of a query and a key that it attends to, over all heads.
template <typename Op> static int64_t countPairs(Op op) {
  SmallVector<int64_t> query = reordered(op, shapeOf(op.getQuery()));
  int64_t rows = query[2], keys = reordered(op, shapeOf(op.getKey()))[2];
  int64_t triangle = std::min(rows, keys);
  int64_t seen = op.getCausal()
                     ? triangle * (triangle + 1) / 2 + (rows - triangle) * keys
                     : rows * keys;
  return query[0] * query[1] * seen;
}

/// The attributes of the catalog's kernel.
template <typename Op> static SmallVector<int64_t> kernelAttributes(Op op) {
  return {op.getCausal(),
          int64_t(llvm::bit_cast<uint32_t>(op.getScale().convertToFloat()))};
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(AttentionOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> result;
  if (failed(checkAttention(op, error, result)))
    return failure();
  types.push_back(
      RankedTensorType::get(reordered(op, result), elementOf(op.getQuery())));
  types.push_back(pinnedType(sumsShape(result), op.getQuery()));
  return success();
}
MPC_INFER(AttentionOp, inferTypes)

LogicalResult AttentionOp::buildGradient(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  if (resultGrads[1])
    return emitOpError("has no gradient through 'log_sum_exp'; only its first "
                       "result may lead to the loss");
  SmallVector<Value> biases(getBiases());
  auto build = [&](bool needsBias) {
    return AttentionGradOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], getQuery(), getKey(),
        getValue(), getResult(), getLogSumExp(), biases, getScaleAttr(),
        getCausalAttr(), needsBias ? builder.getUnitAttr() : UnitAttr(),
        getBshdAttr());
  };
  auto grad = build(!biases.empty() && needed[3]);
  for (auto [i, result] : llvm::enumerate(grad->getResults()))
    if (needed[i])
      operandGrads[i] = result;
  // A kernel computes the gradient of one bias. Both are rarely learned.
  if (biases.size() == 2 && needed[4]) {
    std::swap(biases[0], biases[1]);
    operandGrads[4] = build(true).getBiasGrad();
  }
  return success();
}

MPC_OP_FACTS(AttentionOp, Low,
             countPairs(*this) *
                 (2 * (shapeOf(getQuery())[3] + shapeOf(getValue())[3]) + 14),
             "16-bit operands; sums, softmax and its logarithms in f32")
bool AttentionOp::isOperandPinned(unsigned index) { return index >= 3; }
bool AttentionOp::isResultPinned(unsigned index) { return index == 1; }

StringRef AttentionOp::getKernelName() {
  if (getBshd())
    return "attention_bshd";
  StringRef names[] = {"attention", "biased_attention",
                       "twice_biased_attention"};
  return names[getBiases().size()];
}
SmallVector<int64_t> AttentionOp::getKernelAttributes() {
  return kernelAttributes(*this);
}

// The biases follow.
MutableArrayRef<OpOperand> AttentionOp::getOperandsWithHeads() {
  return getOperation()->getOpOperands().take_front(3);
}
ResultRange AttentionOp::getResultsWithHeads() {
  return getOperation()->getResults().take_front(1);
}
StringRef AttentionOp::getBshdKernelName() {
  return getBshd() || !getBiases().empty() ? "" : "attention_bshd";
}
void AttentionOp::setBshdLayout() { setBshd(true); }

//===----------------------------------------------------------------------===//
// AttentionGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(AttentionGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> result;
  if (failed(checkAttention(op, error, result)) ||
      failed(checkShape("grad", op.getGrad(), reordered(op, result), error)) ||
      failed(
          checkShape("result", op.getResult(), reordered(op, result), error)) ||
      failed(checkShape("log_sum_exp", op.getLogSumExp(), sumsShape(result),
                        error)))
    return failure();
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
    types.push_back(
        RankedTensorType::get(shapeOf(operand), elementOf(op.getGrad())));
  if (!op.getNeedsBias())
    return success();
  if (op.getBiases().empty()) // attention_grad_c1
    return error("'needs_bias' requires a bias");
  types.push_back(pinnedType(shapeOf(op.getBiases()[0]), op.getGrad()));
  return success();
}
MPC_INFER(AttentionGradOp, inferTypes)

// Two products compute scores and gradients of probabilities, three the
// results.
MPC_OP_FACTS(AttentionGradOp, Low,
             countPairs(*this) *
                 (6 * shapeOf(getQuery())[3] + 4 * shapeOf(getValue())[3] + 16),
             "16-bit operands; sums and softmax in f32")
bool AttentionGradOp::isOperandPinned(unsigned index) { return index >= 5; }
bool AttentionGradOp::isResultPinned(unsigned index) { return index == 3; }

StringRef AttentionGradOp::getKernelName() {
  bool needsBias = getNeedsBias();
  switch (getBiases().size()) {
  case 0:
    return getBshd() ? "attention_grad_bshd" : "attention_grad";
  case 1:
    return needsBias ? "biased_attention_grad_all" : "biased_attention_grad";
  default:
    return needsBias ? "twice_biased_attention_grad_all"
                     : "twice_biased_attention_grad";
  }
}
SmallVector<int64_t> AttentionGradOp::getKernelAttributes() {
  return kernelAttributes(*this);
}

// `log_sum_exp` and the biases follow.
MutableArrayRef<OpOperand> AttentionGradOp::getOperandsWithHeads() {
  return getOperation()->getOpOperands().take_front(5);
}
ResultRange AttentionGradOp::getResultsWithHeads() {
  return getOperation()->getResults().take_front(3);
}
StringRef AttentionGradOp::getBshdKernelName() {
  return getBshd() || !getBiases().empty() ? "" : "attention_grad_bshd";
}
void AttentionGradOp::setBshdLayout() { setBshd(true); }
