//===- Random.cpp - Dropout and random numbers ----------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/RandomWords.h"
#include "compiler/Dialect/Train/Lowering/ScalarMath.h"
#include "compiler/Dialect/Train/Ops/Random/RandomKey.h"
#include "compiler/Support/Locations.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

MPC_OP_FACTS(DropoutOp, Follow, 0, "the identity at inference")
MPC_OP_FACTS(RandomOp, Follow, 20 * countElements(getResult()),
             "made of integers")
MPC_OP_FACTS(DropoutTrainingOp, Follow, countElements(getResult()),
             "zero or one exact scale")

MPC_INFER(DropoutOp, inferSame)
MPC_INFER(DropoutTrainingOp, inferSame)

bool mpc::train::isDropoutRatio(const APFloat &ratio) {
  float value = ratio.convertToFloat();
  return value >= 0 && value < 1;
}

//===----------------------------------------------------------------------===//
// DropoutOp
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  if (!isDropoutRatio(getRatio())) // dropout_c1
    return emitOpError("'ratio' must lie in [0, 1), but is ") << getRatioAttr();
  return success();
}

LogicalResult DropoutOp::buildGradient(OpBuilder &, ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = resultGrads[0];
  return success();
}

/// Reads the i64 state of this role; creates it, with value 0, if the module
/// has none.
static Value readNumber(RewriterBase &rewriter, Operation *op, StateRole role) {
  Program program = Program::around(op);
  StateOp state = program.state(role);
  if (!state) {
    OpBuilder::InsertionGuard guard(rewriter);
    auto module = op->getParentOfType<ModuleOp>();
    rewriter.setInsertionPointToStart(module.getBody());
    state = StateOp::create(rewriter, module.getLoc(),
                            program.freeName(usualName(role)), role,
                            RankedTensorType::get({}, rewriter.getI64Type()));
  }
  return ReadOp::create(rewriter, op->getLoc(), state);
}

RandomKey mpc::train::readRandomKey(RewriterBase &rewriter, Operation *op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Value seed = readNumber(rewriter, op, StateRole::RandomSeed);
  return {seed, readNumber(rewriter, op, StateRole::StepCount)};
}

LogicalResult DropoutOp::replaceByTrainingForm(RewriterBase &rewriter,
                                               int64_t index) {
  auto [seed, step] = readRandomKey(rewriter, *this);
  rewriter.replaceOpWithNewOp<DropoutTrainingOp>(
      *this, getInput(), seed, step, getRatioAttr(),
      rewriter.getI64IntegerAttr(index));
  return success();
}

void DropoutOp::replaceByInferenceForm(RewriterBase &rewriter) {
  rewriter.replaceOp(*this, getInput());
}

//===----------------------------------------------------------------------===//
// DropoutTrainingOp
//===----------------------------------------------------------------------===//

LogicalResult DropoutTrainingOp::verify() {
  if (!isDropoutRatio(getRatio())) // dropout_training_c1
    return emitOpError("'ratio' must lie in [0, 1), but is ") << getRatioAttr();
  for (Value scalar : {getSeed(), getStep()})
    if (cast<RankedTensorType>(scalar.getType()).getRank() !=
        0) // dropout_training_c2
      return emitOpError("'seed' and 'step' must have rank 0, but one is ")
             << scalar.getType();
  return success();
}

LogicalResult
DropoutTrainingOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                 ArrayRef<bool> needed,
                                 MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = DropoutTrainingOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], getSeed(), getStep(),
        getRatioAttr(), getIndexAttr());
  return success();
}

/// The scalar as i32, modulo 2^32.
static Value truncateToI32(OpBuilder &builder, Location loc, Value value) {
  Type i32 = builder.getI32Type();
  if (value.getType() == i32)
    return value;
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, i32, value);
  return arith::TruncIOp::create(builder, loc, i32, value);
}

static Value constantI64(OpBuilder &builder, Location loc, uint64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

static Value constantI32(OpBuilder &builder, Location loc, uint32_t value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// The row-major index of the element in `shape`, modulo 2^32. It is computed
/// in i32, so that vectors have as many lanes for it as for f32.
static Value elementNumber(OpBuilder &builder, Location loc,
                           ArrayRef<int64_t> shape) {
  Value number = constantI32(builder, loc, 0);
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    Value index =
        truncateToI32(builder, loc, linalg::IndexOp::create(builder, loc, dim));
    if (dim == 0) {
      number = index;
      continue;
    }
    Value scale = constantI32(builder, loc, static_cast<uint32_t>(extent));
    number = arith::MulIOp::create(builder, loc, number, scale);
    number = arith::AddIOp::create(builder, loc, number, index);
  }
  return number;
}

/// The words of Philox2x32-10. They are kept in 64-bit lanes with the upper
/// half zero: vector units multiply 32 x 32 -> 64 bits in such lanes with one
/// instruction, and splitting products would cost more than the products.
static std::pair<Value, Value> philox(OpBuilder &builder, Location loc,
                                      Value counter0, Value counter1,
                                      Value key) {
  Type i64 = builder.getI64Type();
  auto widen = [&](Value word) -> Value {
    return arith::ExtUIOp::create(builder, loc, i64, word);
  };
  Value multiplier = constantI64(builder, loc, 0xD256D193);
  Value low = constantI64(builder, loc, 0xFFFFFFFF);
  Value half = constantI64(builder, loc, 32);
  Value weyl = constantI32(builder, loc, 0x9E3779B9);
  counter0 = widen(counter0);
  counter1 = widen(counter1);
  for (int round = 0; round < 10; ++round) {
    if (round > 0)
      key = arith::AddIOp::create(builder, loc, key, weyl);
    Value product = arith::MulIOp::create(builder, loc, counter0, multiplier);
    Value high = arith::ShRUIOp::create(builder, loc, product, half);
    Value mixed = arith::XOrIOp::create(builder, loc, high, widen(key));
    counter0 = arith::XOrIOp::create(builder, loc, mixed, counter1);
    counter1 = arith::AndIOp::create(builder, loc, product, low);
  }
  return {counter0, counter1};
}

/// One step of SplitMix64, a generator for seeds: every bit of the word changes
/// every bit of the result with probability 1/2.
static uint64_t splitMix(uint64_t word) {
  word += 0x9E3779B97F4A7C15;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

/// Emits the same computation.
static Value splitMix(OpBuilder &builder, Location loc, Value word) {
  auto foldHigh = [&](Value value, uint64_t bits) -> Value {
    Value high = arith::ShRUIOp::create(builder, loc, value,
                                        constantI64(builder, loc, bits));
    return arith::XOrIOp::create(builder, loc, value, high);
  };
  auto times = [&](Value value, uint64_t factor) -> Value {
    return arith::MulIOp::create(builder, loc, value,
                                 constantI64(builder, loc, factor));
  };
  word = arith::AddIOp::create(builder, loc, word,
                               constantI64(builder, loc, 0x9E3779B97F4A7C15));
  word = times(foldHigh(word, 30), 0xBF58476D1CE4E5B9);
  word = times(foldHigh(word, 27), 0x94D049BB133111EB);
  return foldHigh(word, 31);
}

/// The key of op `index`. Seed and index are both mixed, and the index twice,
/// so that no seed gives an op the stream of another op: with a sum, op 1 with
/// seed 0 would drop the same elements as op 0 with seed 1.
static Value keyOf(OpBuilder &builder, Location loc, Value seed,
                   uint64_t index) {
  if (!seed.getType().isInteger(64))
    seed = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), seed);
  Value word = arith::XOrIOp::create(
      builder, loc, seed, constantI64(builder, loc, splitMix(index)));
  Value high =
      arith::ShRUIOp::create(builder, loc, splitMix(builder, loc, word),
                             constantI64(builder, loc, 32));
  return truncateToI32(builder, loc, high);
}

std::pair<Value, Value> mpc::train::randomWords(OpBuilder &builder,
                                                Location loc,
                                                ArrayRef<int64_t> shape,
                                                Value seed, Value step,
                                                uint64_t index) {
  Value key = keyOf(builder, loc, seed, index);
  return philox(builder, loc, elementNumber(builder, loc, shape),
                truncateToI32(builder, loc, step), key);
}

LogicalResult
DropoutTrainingOp::lowerToLinalg(OpBuilder &builder,
                                 SmallVectorImpl<Value> &results) {
  double ratio = getRatio().convertToFloat();
  auto threshold = static_cast<uint32_t>(ratio * 4294967296.0);
  results = emitElementwise(
      builder, getLoc(), getOperation()->getResultTypes(),
      getOperation()->getOperands(),
      [&](OpBuilder &inner, Location loc, ValueRange x) -> SmallVector<Value> {
        Value word = randomWords(inner, loc, getType().getShape(), x[1], x[2],
                                 getIndex())
                         .first;
        Value dropped =
            arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ult, word,
                                  constantI64(inner, loc, threshold));
        ScalarMath m(inner, loc);
        Value scaled = m.mul(x[0], m.constant(1 / (1 - ratio), x[0]));
        return {m.select(dropped, m.constant(0, x[0]), scaled)};
      });
  return success();
}

//===----------------------------------------------------------------------===//
// RandomOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(RandomOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  if (llvm::any_of(op.getShape(),
                   [](int64_t extent) { return extent < 1; })) // random_c2
    return error("'shape' must be positive, but is [", op.getShape(), "]");
  // For f64 the importer adds a cast.
  auto attributes = op.getAttributes();
  types.push_back(RankedTensorType::get(
      op.getShape(), Float32Type::get(attributes.getContext())));
  return success();
}
MPC_INFER(RandomOp, inferTypes)

LogicalResult RandomOp::verify() {
  if (!getKey().empty() && getKey().size() != 2) // random_c1
    return emitOpError("must have both a seed and a step, or neither, but has ")
           << getKey().size() << " operands";
  for (Value scalar : getKey())
    if (!shapeOf(scalar).empty()) // random_c1
      return emitOpError("seed and step must have rank 0, but one is ")
             << scalar.getType();
  return success();
}

bool RandomOp::keepsFormInTraining() { return !getKey().empty(); }
void RandomOp::replaceByInferenceForm(RewriterBase &) {}

LogicalResult RandomOp::replaceByTrainingForm(RewriterBase &rewriter,
                                              int64_t index) {
  auto [seed, step] = readRandomKey(rewriter, *this);
  rewriter.replaceOpWithNewOp<RandomOp>(
      *this, getType(), ValueRange{seed, step}, getShapeAttr(), getNormalAttr(),
      rewriter.getI64IntegerAttr(index));
  return success();
}

/// 24 bits of a word as a number in [0, 1).
static Value uniformOf(OpBuilder &builder, Location loc, Value word,
                       Type type) {
  Value high =
      arith::ShRUIOp::create(builder, loc, word, constantI64(builder, loc, 8));
  high = truncateToI32(builder, loc, high);
  Value number = arith::SIToFPOp::create(builder, loc, type, high);
  return arith::MulFOp::create(builder, loc, number,
                               constantFloat(builder, loc, type, 0x1p-24));
}

LogicalResult RandomOp::lowerToLinalg(OpBuilder &builder,
                                      SmallVectorImpl<Value> &results) {
  FloatType compute = getComputeType({}, getType());
  results = emitElementwise(
      builder, getLoc(), TypeRange(getType()), getOperands(),
      [&](OpBuilder &inner, Location loc, ValueRange x) -> SmallVector<Value> {
        Value seed = x.empty() ? constantI64(inner, loc, 0) : x[0];
        Value step = x.empty() ? constantI32(inner, loc, 0) : x[1];
        auto [first, second] =
            randomWords(inner, loc, getShape(), seed, step, getIndex());
        Value uniform = uniformOf(inner, loc, first, compute);
        if (!getNormal())
          return {uniform};
        // sqrt(-2 log(1 - u)) cos(2 pi v); 1 - u is never 0.
        ScalarMath m(inner, loc);
        Value one = m.constant(1, uniform);
        Value radius =
            m.sqrt(m.mul(m.constant(-2, uniform), m.log(m.sub(one, uniform))));
        Value angle = m.mul(m.constant(2 * M_PI, uniform),
                            uniformOf(inner, loc, second, compute));
        return {m.mul(radius, m.cos(angle))};
      });
  return success();
}
