//===- BodyEmitter.cpp - The body of a linalg op on vectors ---------------===//

#include "passes/Codegen/BodyEmitter.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpc;

BodyEmitter::BodyEmitter(OpBuilder &builder, linalg::GenericOp op,
                         unsigned lanes, BodySource &source)
    : builder(builder), op(op), lanes(lanes), source(source),
      combiner(findCombiner(op).op) {
  op.getBody()->walk([&](tensor::ExtractOp) { reads = true; });
}

SmallVector<Value> BodyEmitter::emit(ValueRange inputs) {
  Block *body = op.getBody();
  home = builder.getInsertionBlock();
  for (auto [argument, input] : llvm::zip(body->getArguments(), inputs)) {
    values.map(argument, input);
    // Values of the whole row arrive broadcast; use the scalar.
    if (!reads)
      continue;
    if (auto repeated = input.getDefiningOp<vector::BroadcastOp>())
      if (!isa<VectorType>(repeated.getSourceType()))
        linearLanes[argument] = {repeated.getSource(), 0};
  }
  emitOps(*body);
  if (combiner)
    return {vector(findCombiner(op).added)};
  SmallVector<Value> results;
  for (Value yielded : body->getTerminator()->getOperands())
    results.push_back(vector(yielded));
  return results;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value BodyEmitter::constantOf(arith::ConstantOp op, unsigned count) {
  return constantLanes(builder, op.getLoc(), cast<TypedAttr>(op.getValue()),
                       count);
}

void BodyEmitter::setLinearLanes(Value value, LinearLanes steps) {
  linearLanes[value] = steps;
}

/// How `value` changes with the lanes, if known.
std::optional<LinearLanes> BodyEmitter::steps(Value value) {
  if (!reads)
    return std::nullopt;
  auto found = linearLanes.find(value);
  if (found != linearLanes.end())
    return found->second;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return LinearLanes{constantOf(constant, 0), 0};
  if (lanes == 0)
    if (Value scalar = values.lookupOrNull(value))
      return LinearLanes{scalar, 0};
  return std::nullopt;
}

/// The vector of the values of all lanes.
Value BodyEmitter::spread(LinearLanes steps) {
  Location loc = op.getLoc();
  Value all = broadcastLanes(builder, loc, steps.first, lanes);
  if (lanes == 0 || steps.step == 0)
    return all;
  unsigned width = steps.first.getType().getIntOrFloatBitWidth();
  SmallVector<APInt> offsets;
  for (unsigned lane = 0; lane < lanes; ++lane)
    offsets.push_back(APInt(64, lane * steps.step).trunc(width));
  Value added = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(cast<VectorType>(all.getType()), offsets));
  return arith::AddIOp::create(builder, loc, all, added);
}

/// `value` in every lane.
Value BodyEmitter::vector(Value value) {
  if (Value mapped = values.lookupOrNull(value))
    return mapped;
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return spread(linearLanes.at(value));
  Value made = constantOf(constant, lanes);
  if (builder.getInsertionBlock() == home)
    values.map(value, made);
  return made;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void BodyEmitter::emitOps(Block &block) {
  for (Operation &inner : block.without_terminator())
    if (&inner != combiner)
      emitOp(inner);
}

void BodyEmitter::emitOp(Operation &inner) {
  if (isa<arith::ConstantOp>(inner))
    return; // Emitted where it is used.
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    if (reads)
      setLinearLanes(index, source.indexLanes(index.getDim()));
    else if (!llvm::all_of(inner.getUsers(), llvm::IsaPred<arith::IndexCastOp>))
      values.map(index.getResult(),
                 source.indexValue(index.getDim(), builder.getI64Type()));
    return;
  }
  if (auto read = dyn_cast<tensor::ExtractOp>(inner))
    return emitRead(read);
  if (auto loop = dyn_cast<scf::ForOp>(inner))
    return emitFor(loop);
  if (auto condition = dyn_cast<scf::IfOp>(inner))
    return emitIf(condition);
  if (reads && emitInSteps(inner))
    return;
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(inner))
    return emitIndexCast(inner);
  emitPlain(inner);
}

void BodyEmitter::emitPlain(Operation &inner) {
  OperationState state(inner.getLoc(), inner.getName());
  for (Value operand : inner.getOperands())
    state.addOperands(vector(operand));
  for (Type type : inner.getResultTypes())
    state.addTypes(vectorType(type, lanes));
  state.propertiesAttr = inner.getPropertiesAsAttribute();
  Operation *made = builder.create(state);
  for (auto [from, to] : llvm::zip(inner.getResults(), made->getResults()))
    values.map(from, to);
}

/// Casts a scalar or a vector; a no-op if the value, with index as i64, already
/// has the type.
static Value castIndex(OpBuilder &builder, Operation &inner, Value value,
                       Type to) {
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  unsigned width = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  if (from == width)
    return value;
  if (from > width)
    return arith::TruncIOp::create(builder, inner.getLoc(), to, value);
  if (isa<arith::IndexCastUIOp>(inner))
    return arith::ExtUIOp::create(builder, inner.getLoc(), to, value);
  return arith::ExtSIOp::create(builder, inner.getLoc(), to, value);
}

void BodyEmitter::emitIndexCast(Operation &inner) {
  // Create the index directly in the type it is cast to: fewer bits, more
  // lanes.
  Value operand = inner.getOperand(0), result = inner.getResult(0);
  auto index = operand.getDefiningOp<linalg::IndexOp>();
  if (index && !values.contains(index) && !reads) {
    values.map(result, source.indexValue(index.getDim(), result.getType()));
    return;
  }
  values.map(result, castIndex(builder, inner, vector(operand),
                               vectorType(result.getType(), lanes)));
}

/// Emits scalar code for integer arithmetic that keeps constant steps, and for
/// any arithmetic on values that the lanes share.
bool BodyEmitter::emitInSteps(Operation &inner) {
  if (!isa<arith::ArithDialect>(inner.getDialect()) ||
      inner.getNumResults() != 1)
    return false;
  SmallVector<LinearLanes> operands;
  for (Value operand : inner.getOperands()) {
    std::optional<LinearLanes> known = steps(operand);
    if (!known)
      return false;
    operands.push_back(*known);
  }
  Value result = inner.getResult(0);
  bool isShared =
      llvm::all_of(operands, [](LinearLanes s) { return s.step == 0; });
  int64_t step = 0;
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(inner)) {
    setLinearLanes(result, {castIndex(builder, inner, operands[0].first,
                                      vectorType(result.getType(), 0)),
                            operands[0].step});
    return true;
  }
  if (!isShared) {
    APInt factor;
    if (isa<arith::AddIOp>(inner))
      step = operands[0].step + operands[1].step;
    else if (isa<arith::SubIOp>(inner))
      step = operands[0].step - operands[1].step;
    else if (isa<arith::MulIOp>(inner) &&
             matchPattern(inner.getOperand(1), m_ConstantInt(&factor)))
      step = operands[0].step * factor.getSExtValue();
    else
      return false;
  }
  OperationState state(inner.getLoc(), inner.getName());
  for (const LinearLanes &operand : operands)
    state.addOperands(operand.first);
  state.addTypes(vectorType(result.getType(), 0));
  state.propertiesAttr = inner.getPropertiesAsAttribute();
  setLinearLanes(result, {builder.create(state)->getResult(0), step});
  return true;
}

//===----------------------------------------------------------------------===//
// Computed reads
//===----------------------------------------------------------------------===//

void BodyEmitter::emitRead(tensor::ExtractOp read) {
  Location loc = read.getLoc();
  RankedTensorType type = read.getTensor().getType();
  ComputedAccess access{read.getTensor(), LinearLanes{}, Value(), guard};
  auto number = [&](int64_t value, unsigned count) {
    return constantLanes(builder, loc, builder.getI64IntegerAttr(value), count);
  };
  auto addScaled = [&](Value sum, Value index, int64_t stride,
                       unsigned count) -> Value {
    if (stride != 1)
      index = arith::MulIOp::create(builder, loc, index, number(stride, count));
    return sum ? arith::AddIOp::create(builder, loc, sum, index).getResult()
               : index;
  };
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    Value index = read.getIndices()[dim];
    if (std::optional<LinearLanes> known = steps(index)) {
      access.steps->first =
          addScaled(access.steps->first, known->first, stride, 0);
      access.steps->step += known->step * stride;
    } else {
      access.offsets = addScaled(access.offsets, vector(index), stride, lanes);
    }
    stride *= type.getDimSize(dim);
  }
  if (!access.steps->first)
    access.steps->first = number(0, 0);
  if (access.offsets) {
    // The sum has no constant step any more.
    access.offsets = arith::AddIOp::create(builder, loc, access.offsets,
                                           spread(*access.steps));
    access.steps.reset();
  }
  values.map(read.getResult(), source.read(access));
}

/// Lanes run a loop together: its bounds are the same for all of them.
void BodyEmitter::emitFor(scf::ForOp loop) {
  Location loc = loop.getLoc();
  SmallVector<Value> inits;
  for (Value init : loop.getInitArgs())
    inits.push_back(vector(init));
  Value bounds[] = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  for (Value &bound : bounds) {
    std::optional<LinearLanes> known = steps(bound);
    assert(known && known->step == 0 && "lanes share the bounds of a loop");
    bound = known->first;
  }
  auto made =
      scf::ForOp::create(builder, loc, bounds[0], bounds[1], bounds[2], inits);
  {
    OpBuilder::InsertionGuard insertion(builder);
    builder.setInsertionPointToStart(made.getBody());
    setLinearLanes(loop.getInductionVar(), {made.getInductionVar(), 0});
    for (auto [from, to] :
         llvm::zip(loop.getRegionIterArgs(), made.getRegionIterArgs()))
      values.map(from, to);
    emitOps(*loop.getBody());
    SmallVector<Value> next;
    for (Value yielded : loop.getBody()->getTerminator()->getOperands())
      next.push_back(vector(yielded));
    if (!next.empty())
      scf::YieldOp::create(builder, loc, next);
  }
  for (auto [from, to] : llvm::zip(loop.getResults(), made.getResults()))
    values.map(from, to);
}

/// Emits a branch, for a condition that the lanes share.
void BodyEmitter::emitBranch(scf::IfOp choice, Value condition) {
  Location loc = choice.getLoc();
  SmallVector<Type> types;
  for (Type type : choice.getResultTypes())
    types.push_back(vectorType(type, lanes));
  auto made = scf::IfOp::create(builder, loc, types, condition,
                                /*withElseRegion=*/true);
  auto emitSide = [&](Block *from, Block *to) {
    OpBuilder::InsertionGuard insertion(builder);
    builder.setInsertionPointToStart(to);
    emitOps(*from);
    SmallVector<Value> yielded;
    for (Value value : from->getTerminator()->getOperands())
      yielded.push_back(vector(value));
    scf::YieldOp::create(builder, loc, yielded);
  };
  emitSide(choice.thenBlock(), made.thenBlock());
  emitSide(choice.elseBlock(), made.elseBlock());
  for (auto [from, to] : llvm::zip(choice.getResults(), made.getResults()))
    values.map(from, to);
}

/// If the condition differs between lanes, emits both sides, each reading only
/// in its own lanes.
void BodyEmitter::emitIf(scf::IfOp choice) {
  std::optional<LinearLanes> shared = steps(choice.getCondition());
  if (shared)
    return emitBranch(choice, shared->first);
  Location loc = choice.getLoc();
  Value condition = vector(choice.getCondition()), outer = guard;
  auto emitSide = [&](Block *side, Value holds) {
    guard = outer ? arith::AndIOp::create(builder, loc, outer, holds) : holds;
    emitOps(*side);
    guard = outer;
  };
  emitSide(choice.thenBlock(), condition);
  Value inverse = arith::XOrIOp::create(
      builder, loc, condition,
      constantLanes(builder, loc, builder.getBoolAttr(true), lanes));
  emitSide(choice.elseBlock(), inverse);
  for (auto [i, result] : llvm::enumerate(choice.getResults()))
    values.map(result, arith::SelectOp::create(
                           builder, loc, condition,
                           vector(choice.thenYield().getOperand(i)),
                           vector(choice.elseYield().getOperand(i))));
}
