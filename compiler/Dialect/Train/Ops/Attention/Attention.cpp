//===- Attention.cpp - Fused attention ------------------------------------===//
//
// Attention, attention with a dropout of the probabilities, and the gradients
// of both.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Ops/Random/RandomKey.h"
#include "compiler/Support/Locations.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// For ops with `bshd`.
template <typename Op> using Bshd = decltype(std::declval<Op>().getBshd());

/// Whether heads lie inside the sequence.
template <typename Op> static bool isBshd(Op op) {
  if constexpr (llvm::is_detected<Bshd, Op>::value)
    return op.getBshd();
  else
    return false;
}

/// The extents [B, H, T, D] of an operand or result, from or to its shape.
template <typename Adaptor>
static SmallVector<int64_t> reordered(Adaptor op, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> extents(shape);
  if (isBshd(op) && extents.size() == 4)
    std::swap(extents[1], extents[2]);
  return extents;
}

/// Checks the operands that all ops have and computes the extents [B, H, T, D]
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
        isBshd(op) ? ", length, heads, " : ", heads, length, ", query[3],
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
  if (isBshd(op) && !op.getBiases().empty()) // attention_c7
    return error("'bshd' excludes biases");
  if (std::optional<APFloat> cap = op.getSoftcap();
      cap && !(cap->isNormal() && !cap->isNegative())) // attention_c9
    return error("'softcap' must be a positive normal number");
  if (std::optional<uint64_t> replacing = op.getReplacing();
      replacing && *replacing >= op.getBiases().size()) // attention_c10
    return error("'replacing' must be the number of one of the ",
                 op.getBiases().size(), " biases, but is ",
                 static_cast<int64_t>(*replacing));
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

/// The number of pairs of a query and a key that it attends to, over so many
/// heads.
static int64_t countPairs(int64_t heads, int64_t rows, int64_t keys,
                          bool causal) {
  int64_t triangle = std::min(rows, keys);
  return heads * (causal
                      ? triangle * (triangle + 1) / 2 + (rows - triangle) * keys
                      : rows * keys);
}
template <typename Op> static int64_t countPairs(Op op) {
  SmallVector<int64_t> query = reordered(op, shapeOf(op.getQuery()));
  return countPairs(query[0] * query[1], query[2],
                    reordered(op, shapeOf(op.getKey()))[2], op.getCausal());
}

/// A number as an attribute of a kernel.
static int64_t bitsOf(const APFloat &number) {
  return llvm::bit_cast<uint32_t>(number.convertToFloat());
}

/// The attributes of the catalog's kernel; `more` are those of a dropout.
template <typename Op>
static SmallVector<int64_t> kernelAttributes(Op op,
                                             ArrayRef<int64_t> more = {}) {
  int64_t mask = op.getCausal();
  if (std::optional<int64_t> replacing = op.getReplacing())
    mask += 2 * (*replacing + 1);
  SmallVector<int64_t> attributes = {mask, bitsOf(op.getScale())};
  llvm::append_range(attributes, more);
  if (std::optional<APFloat> cap = op.getSoftcap())
    attributes.push_back(bitsOf(*cap));
  return attributes;
}

/// Whether an op whose heads lie outside the sequence may have them inside.
template <typename Op> static bool hasBshdKernel(Op op) {
  return !op.getBshd() && op.getBiases().empty() && !op.getSoftcap();
}

/// Whether query, key and value of an op may be one tensor.
template <typename Op> static bool hasPackedKernel(Op op) {
  return op.getBiases().empty() && !op.getSoftcap();
}

/// The names of kernels by the number of their biases.
static StringRef nameByBiases(size_t count, ArrayRef<StringRef> names) {
  return names[count];
}

template <typename Adaptor>
static LogicalResult inferForward(Adaptor op, const OpError &error,
                                  SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> result;
  if (failed(checkAttention(op, error, result)))
    return failure();
  types.push_back(
      RankedTensorType::get(reordered(op, result), elementOf(op.getQuery())));
  types.push_back(pinnedType(sumsShape(result), op.getQuery()));
  return success();
}

template <typename Adaptor>
static LogicalResult inferBackward(Adaptor op, const OpError &error,
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

/// Builds the gradient of `op`, whose biases begin with operand `firstBias`.
/// `build` creates the op for a list of biases, the number of the one that
/// replaces scores, and whether the gradient of the first is needed.
template <typename Op, typename Build>
static LogicalResult
buildAttentionGradient(Op op, size_t firstBias, ValueRange resultGrads,
                       ArrayRef<bool> needed,
                       MutableArrayRef<Value> operandGrads, Build build) {
  if (resultGrads[1])
    return op.emitOpError(
        "has no gradient through 'log_sum_exp'; only its first "
        "result may lead to the loss");
  SmallVector<Value> biases(op.getBiases());
  bool needsBias = !biases.empty() && needed[firstBias];
  IntegerAttr replacing = op.getReplacingAttr();
  auto grad = build(biases, replacing, needsBias);
  for (size_t i = 0; i < 3; ++i)
    if (needed[i])
      operandGrads[i] = grad->getResult(i);
  if (needsBias)
    operandGrads[firstBias] = grad.getBiasGrad();
  // A kernel computes the gradient of one bias. Both are rarely learned.
  if (biases.size() == 2 && needed[firstBias + 1]) {
    std::swap(biases[0], biases[1]);
    if (replacing)
      replacing = IntegerAttr::get(replacing.getType(), 1 - replacing.getInt());
    operandGrads[firstBias + 1] = build(biases, replacing, true).getBiasGrad();
  }
  return success();
}

/// The operations of the soft cap of a score, and of its derivative.
constexpr int64_t kSoftcapFlops = 12, kSoftcapSlopeFlops = 3;

/// The operations of attention.
template <typename Op> static int64_t countForward(Op op) {
  int64_t flops =
      2 * (shapeOf(op.getQuery())[3] + shapeOf(op.getValue())[3]) + 14;
  if (op.getSoftcap())
    flops += kSoftcapFlops;
  return countPairs(op) * flops;
}

/// Two products compute scores and gradients of probabilities, three the
/// results.
template <typename Op> static int64_t countBackward(Op op) {
  int64_t flops =
      6 * shapeOf(op.getQuery())[3] + 4 * shapeOf(op.getValue())[3] + 16;
  if (op.getSoftcap())
    flops += kSoftcapFlops + kSoftcapSlopeFlops;
  return countPairs(op) * flops;
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(AttentionOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  if (std::optional<APFloat> dropout = op.getDropout();
      dropout && !isDropoutRatio(*dropout)) // attention_c8
    return error("'dropout' must lie in [0, 1)");
  return inferForward(op, error, types);
}
MPC_INFER(AttentionOp, inferTypes)

LogicalResult AttentionOp::buildGradient(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  return buildAttentionGradient(
      *this, 3, resultGrads, needed, operandGrads,
      [&](ValueRange biases, IntegerAttr replacing, bool needsBias) {
        return AttentionGradOp::create(
            builder, gradientLoc(getLoc()), resultGrads[0], getQuery(),
            getKey(), getValue(), getResult(), getLogSumExp(), biases,
            getScaleAttr(), getCausalAttr(),
            needsBias ? builder.getUnitAttr() : UnitAttr(), getBshdAttr(),
            getSoftcapAttr(), replacing);
      });
}

bool AttentionOp::keepsFormInTraining() { return !getDropout(); }

LogicalResult AttentionOp::replaceByTrainingForm(RewriterBase &rewriter,
                                                 int64_t index) {
  auto [seed, step] = readRandomKey(rewriter, *this);
  rewriter.replaceOpWithNewOp<AttentionDropoutOp>(
      *this, getQuery(), getKey(), getValue(), seed, step, getBiases(),
      getScaleAttr(), getCausalAttr(), getDropoutAttr(),
      rewriter.getI64IntegerAttr(index), getSoftcapAttr(), getReplacingAttr());
  return success();
}

void AttentionOp::replaceByInferenceForm(RewriterBase &rewriter) {
  rewriter.modifyOpInPlace(*this, [&] { removeDropoutAttr(); });
}

MPC_OP_FACTS(AttentionOp, Low, countForward(*this),
             "16-bit operands; sums, softmax and its logarithms in f32")
bool AttentionOp::isOperandPinned(unsigned index) { return index >= 3; }
bool AttentionOp::isResultPinned(unsigned index) { return index == 1; }

StringRef AttentionOp::getKernelName() {
  if (getBshd())
    return "attention_bshd";
  return nameByBiases(getBiases().size(), {"attention", "biased_attention",
                                           "twice_biased_attention"});
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
  return hasBshdKernel(*this) ? "attention_bshd" : "";
}
void AttentionOp::setBshdLayout() { setBshd(true); }

StringRef AttentionOp::getPackedKernelName() {
  return hasPackedKernel(*this) ? "packed_attention" : "";
}
unsigned AttentionOp::getFirstPackedOperand() { return 0; }
Operation *AttentionOp::buildPacked(OpBuilder &builder, ValueRange operands,
                                    bool sequenceFirst) {
  SmallVector<int64_t> shape(shapeOf(operands[0]));
  shape[2] = reordered(*this, shapeOf(getQuery()))[1];
  return PackedAttentionOp::create(
      builder, getLoc(), RankedTensorType::get(shape, elementOf(getResult())),
      getLogSumExp().getType(), operands[0],
      builder.getI64IntegerAttr(reordered(*this, shapeOf(getKey()))[1]),
      getScaleAttr(), getCausalAttr(),
      sequenceFirst ? builder.getUnitAttr() : UnitAttr());
}

//===----------------------------------------------------------------------===//
// AttentionGradOp
//===----------------------------------------------------------------------===//

MPC_INFER(AttentionGradOp, inferBackward<AttentionGradOp::Adaptor>)

MPC_OP_FACTS(AttentionGradOp, Low, countBackward(*this),
             "16-bit operands; sums and softmax in f32")
bool AttentionGradOp::isOperandPinned(unsigned index) { return index >= 5; }
bool AttentionGradOp::isResultPinned(unsigned index) { return index == 3; }

StringRef AttentionGradOp::getKernelName() {
  if (getBshd())
    return "attention_grad_bshd";
  if (getNeedsBias())
    return nameByBiases(
        getBiases().size(),
        {"", "biased_attention_grad_all", "twice_biased_attention_grad_all"});
  return nameByBiases(getBiases().size(),
                      {"attention_grad", "biased_attention_grad",
                       "twice_biased_attention_grad"});
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
  return hasBshdKernel(*this) ? "attention_grad_bshd" : "";
}
void AttentionGradOp::setBshdLayout() { setBshd(true); }

StringRef AttentionGradOp::getPackedKernelName() {
  return hasPackedKernel(*this) ? "packed_attention_grad" : "";
}
unsigned AttentionGradOp::getFirstPackedOperand() { return 1; }
Operation *AttentionGradOp::buildPacked(OpBuilder &builder, ValueRange operands,
                                        bool sequenceFirst) {
  return PackedAttentionGradOp::create(
      builder, getLoc(),
      RankedTensorType::get(shapeOf(operands[1]), elementOf(getQueryGrad())),
      operands[0], operands[1], operands[2], operands[3],
      builder.getI64IntegerAttr(reordered(*this, shapeOf(getKey()))[1]),
      getScaleAttr(), getCausalAttr(),
      sequenceFirst ? builder.getUnitAttr() : UnitAttr());
}

//===----------------------------------------------------------------------===//
// PackedAttentionOp
//===----------------------------------------------------------------------===//

/// Checks the heads and computes the shape of the result.
template <typename Adaptor>
static LogicalResult checkPacked(Adaptor op, const OpError &error,
                                 SmallVectorImpl<int64_t> &result) {
  ArrayRef<int64_t> heads = shapeOf(op.getHeads());
  if (heads.size() != 4) // packed_attention_c1
    return error("'heads' must have rank 4, but has rank ", heads.size());
  int64_t keys = op.getKeyHeads();
  // Not 2 * keys, which could overflow.
  if (keys < 1 || keys >= heads[2] || heads[2] - keys <= keys ||
      (heads[2] - 2 * keys) % keys != 0) // packed_attention_c2
    return error("[", heads, "] must have heads for 'key_heads' = ", keys,
                 ", as many for the value, and a multiple for the query");
  if (!op.getScale().isFinite()) // packed_attention_c3
    return error("'scale' must be finite");
  result.assign({heads[0], heads[1], heads[2] - 2 * keys, heads[3]});
  return success();
}

/// The extents [B, T, H, D] of a result, from its shape.
template <typename Adaptor>
static SmallVector<int64_t> batchFirst(Adaptor op, ArrayRef<int64_t> result) {
  SmallVector<int64_t> extents(result);
  if (op.getSequenceFirst())
    std::swap(extents[0], extents[1]);
  return extents;
}

template <typename Op> static int64_t countPackedPairs(Op op) {
  SmallVector<int64_t> result = batchFirst(op, shapeOf(op.getResult()));
  return countPairs(result[0] * result[2], result[1], result[1],
                    op.getCausal());
}

/// The shape of `log_sum_exp` for a result of this shape.
template <typename Adaptor>
static SmallVector<int64_t> packedSumsShape(Adaptor op,
                                            ArrayRef<int64_t> result) {
  SmallVector<int64_t> extents = batchFirst(op, result);
  return {2, extents[0], extents[2], extents[1]};
}

static LogicalResult inferTypes(PackedAttentionOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> result;
  if (failed(checkPacked(op, error, result)))
    return failure();
  types.push_back(RankedTensorType::get(result, elementOf(op.getHeads())));
  types.push_back(pinnedType(packedSumsShape(op, result), op.getHeads()));
  return success();
}
MPC_INFER(PackedAttentionOp, inferTypes)

MPC_OP_FACTS(PackedAttentionOp, Low,
             countPackedPairs(*this) * (4 * shapeOf(getHeads())[3] + 14),
             "16-bit operands; sums, softmax and its logarithms in f32")
bool PackedAttentionOp::isOperandPinned(unsigned) { return false; }
bool PackedAttentionOp::isResultPinned(unsigned index) { return index == 1; }

StringRef PackedAttentionOp::getKernelName() { return "packed_attention"; }
SmallVector<int64_t> PackedAttentionOp::getKernelAttributes() {
  return {getCausal(), bitsOf(getScale()), getSequenceFirst()};
}

//===----------------------------------------------------------------------===//
// PackedAttentionGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(PackedAttentionGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> result;
  if (failed(checkPacked(op, error, result)) || // packed_attention_grad_c1
      failed(checkShape("grad", op.getGrad(), result, error)) ||
      failed(checkShape("result", op.getResult(), result, error)) ||
      failed(checkShape("log_sum_exp", op.getLogSumExp(),
                        packedSumsShape(op, result), error)))
    return failure();
  types.push_back(
      RankedTensorType::get(shapeOf(op.getHeads()), elementOf(op.getGrad())));
  return success();
}
MPC_INFER(PackedAttentionGradOp, inferTypes)

MPC_OP_FACTS(PackedAttentionGradOp, Low,
             countPackedPairs(*this) * (10 * shapeOf(getHeads())[3] + 16),
             "16-bit operands; sums and softmax in f32")
bool PackedAttentionGradOp::isOperandPinned(unsigned index) {
  return index == 3;
}
bool PackedAttentionGradOp::isResultPinned(unsigned) { return false; }

StringRef PackedAttentionGradOp::getKernelName() {
  return "packed_attention_grad";
}
SmallVector<int64_t> PackedAttentionGradOp::getKernelAttributes() {
  return {getCausal(), bitsOf(getScale()), getSequenceFirst()};
}

//===----------------------------------------------------------------------===//
// AttentionDropoutOp
//===----------------------------------------------------------------------===//

/// Operations to draw a random number.
constexpr int64_t kDrawFlops = 40;

template <typename Adaptor>
static LogicalResult checkDropout(Adaptor op, const OpError &error) {
  if (!isDropoutRatio(op.getRatio())) // attention_dropout_c2
    return error("'ratio' must lie in [0, 1)");
  for (Value number : {op.getSeed(), op.getStep()}) // attention_dropout_c3
    if (!shapeOf(number).empty() || !elementOf(number).isInteger(64))
      return error("'seed' and 'step' must be i64 of rank 0, but one is ",
                   number.getType());
  return success();
}

/// The attributes of the catalog's kernels with dropout.
template <typename Op> static SmallVector<int64_t> dropoutAttributes(Op op) {
  return kernelAttributes(
      op, {bitsOf(op.getRatio()), static_cast<int64_t>(op.getIndex())});
}

static LogicalResult inferTypes(AttentionDropoutOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  return failed(checkDropout(op, error)) ? failure()
                                         : inferForward(op, error, types);
}
MPC_INFER(AttentionDropoutOp, inferTypes)

LogicalResult
AttentionDropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                  ArrayRef<bool> needed,
                                  MutableArrayRef<Value> operandGrads) {
  return buildAttentionGradient(
      *this, 5, resultGrads, needed, operandGrads,
      [&](ValueRange biases, IntegerAttr replacing, bool needsBias) {
        return AttentionDropoutGradOp::create(
            builder, gradientLoc(getLoc()), resultGrads[0], getQuery(),
            getKey(), getValue(), getResult(), getLogSumExp(), getSeed(),
            getStep(), biases, getScaleAttr(), getCausalAttr(), getRatioAttr(),
            getIndexAttr(), needsBias ? builder.getUnitAttr() : UnitAttr(),
            getSoftcapAttr(), replacing);
      });
}

MPC_OP_FACTS(AttentionDropoutOp, Low,
             countForward(*this) + kDrawFlops * countPairs(*this),
             "16-bit operands; sums, softmax and its logarithms in f32")
bool AttentionDropoutOp::isOperandPinned(unsigned index) { return index >= 3; }
bool AttentionDropoutOp::isResultPinned(unsigned index) { return index == 1; }

StringRef AttentionDropoutOp::getKernelName() {
  return nameByBiases(getBiases().size(),
                      {"attention_dropout", "biased_attention_dropout",
                       "twice_biased_attention_dropout"});
}
SmallVector<int64_t> AttentionDropoutOp::getKernelAttributes() {
  return dropoutAttributes(*this);
}

//===----------------------------------------------------------------------===//
// AttentionDropoutGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(AttentionDropoutGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  return failed(checkDropout(op, error)) // attention_dropout_grad_c1
             ? failure()
             : inferBackward(op, error, types);
}
MPC_INFER(AttentionDropoutGradOp, inferTypes)

MPC_OP_FACTS(AttentionDropoutGradOp, Low,
             countBackward(*this) + kDrawFlops * countPairs(*this),
             "16-bit operands; sums and softmax in f32")
bool AttentionDropoutGradOp::isOperandPinned(unsigned index) {
  return index >= 5;
}
bool AttentionDropoutGradOp::isResultPinned(unsigned index) {
  return index == 3;
}

StringRef AttentionDropoutGradOp::getKernelName() {
  if (getNeedsBias())
    return nameByBiases(getBiases().size(),
                        {"", "biased_attention_dropout_grad_all",
                         "twice_biased_attention_dropout_grad_all"});
  return nameByBiases(getBiases().size(),
                      {"attention_dropout_grad",
                       "biased_attention_dropout_grad",
                       "twice_biased_attention_dropout_grad"});
}
SmallVector<int64_t> AttentionDropoutGradOp::getKernelAttributes() {
  return dropoutAttributes(*this);
}
