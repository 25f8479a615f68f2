//===- EmitRows.cpp - Rows of a kernel and their phases ------------------===//

#include "passes/Codegen/Emitter.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpc;

void Emitter::loop(Value begin, Value end,
                   llvm::function_ref<void(Value)> body) {
  auto forOp = scf::ForOp::create(builder, loc, begin, end, i64(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  body(forOp.getInductionVar());
}

/// Indices of dimensions [begin, end) from their linear index.
SmallVector<Value> Emitter::delinearize(Value index, unsigned begin,
                                        unsigned end) {
  SmallVector<Value> result(end - begin);
  for (unsigned d = end; d-- > begin;) {
    if (d == begin) {
      result[0] = index;
      break;
    }
    Value size = i64(domain.sizes[d]);
    result[d - begin] = arith::RemUIOp::create(builder, loc, index, size);
    index = arith::DivUIOp::create(builder, loc, index, size);
  }
  return result;
}

/// Emits `body` for `count` columns from 0 on: a loop over `unroll` vectors at
/// a time, the rest unrolled, the last one masked. `body` gets the number of
/// the vector modulo `unroll`; `carried` are values that it replaces.
void Emitter::vectors(
    int64_t count, Position at, unsigned unroll,
    SmallVectorImpl<Value> &carried,
    llvm::function_ref<void(const Position &, unsigned)> body) {
  unsigned lanes = schedule.lanes;
  at.lanes = lanes;
  int64_t full = count / lanes;
  int64_t looped = full / unroll >= 2 ? full / unroll * unroll : 0;
  auto emitAt = [&](Value column, Value mask, unsigned which) {
    newPosition();
    at.column = column;
    at.mask = mask;
    body(at, which);
  };
  if (looped > 0) {
    auto forOp =
        scf::ForOp::create(builder, loc, i64(0), i64(looped * lanes),
                           i64(int64_t(unroll) * lanes), ValueRange(carried));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(forOp.getBody());
      llvm::copy(forOp.getRegionIterArgs(), carried.begin());
      for (unsigned i = 0; i < unroll; ++i)
        emitAt(i == 0 ? forOp.getInductionVar()
                      : add(forOp.getInductionVar(), i64(int64_t(i) * lanes)),
               Value(), i);
      if (!carried.empty())
        scf::YieldOp::create(builder, loc, carried);
    }
    llvm::copy(forOp.getResults(), carried.begin());
  }
  for (int64_t v = looped; v < full; ++v)
    emitAt(i64(v * lanes), Value(), v % unroll);
  if (int64_t tail = count % lanes) {
    Value mask = firstLanes(builder, loc, lanes, tail);
    emitAt(i64(full * lanes), mask, full % unroll);
  }
  newPosition();
}

/// If all that `node` adds up is select(column == j, value, 0), with j the same
/// for the row (what a label picks): the column j, or 0 if there is none. Null
/// for other sums.
Value Emitter::pickedColumn(const KernelNode &node, const Position &at) {
  linalg::GenericOp op = node.op;
  CombinerInfo combiner = findCombiner(op);
  auto select = combiner.added.getDefiningOp<arith::SelectOp>();
  if (!isa<arith::AddFOp>(combiner.op) || !select ||
      !matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
    return nullptr;
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return nullptr;
  auto cast = compare.getLhs().getDefiningOp<arith::IndexCastOp>();
  auto index =
      cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  if (!index)
    return nullptr;
  ArrayRef<int64_t> strides = node.indices[index.getDim()];
  if (columnStride(strides) != 1 ||
      llvm::any_of(strides.drop_back(), [](int64_t s) { return s != 0; }))
    return nullptr;
  // j: an input of the row, perhaps of more bits.
  Value source = compare.getRhs();
  if (auto narrowed = source.getDefiningOp<arith::TruncIOp>())
    source = narrowed.getIn();
  auto argument = dyn_cast<BlockArgument>(source);
  if (!argument || argument.getOwner() != op.getBody())
    return nullptr;
  const KernelAccess &input = node.inputs[argument.getArgNumber()];
  if (columnStride(input.strides) != 0 || producers.count(input.root))
    return nullptr;

  Value wanted = inputValue(input, at);
  Type narrow = compare.getRhs().getType();
  if (wanted.getType() != narrow)
    wanted = arith::TruncIOp::create(builder, loc, narrow, wanted);
  if (!narrow.isInteger(64))
    wanted = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), wanted);
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       wanted, i64(domain.columns()));
  return arith::SelectOp::create(builder, loc, exists, wanted, i64(0));
}

/// One walk over the columns of a row: sums of this phase, stores, kept values.
void Emitter::emitPhase(unsigned phase, Position at) {
  SmallVector<unsigned> sums, stores, kept, columnAdds;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (node.level != KernelLevel::Full)
      continue;
    if (keptIn[i] == phase)
      kept.push_back(i);
    if (phaseOf[i] != phase)
      continue;
    if (node.reduction == KernelReduction::Columns) {
      if (Value column = pickedColumn(node, at)) {
        // One column decides: no need to walk to it.
        newPosition();
        Position here = at;
        here.lanes = 1;
        here.column = column;
        rowScalars[{unsigned(i), 0}] = vector::ExtractOp::create(
            builder, loc, evaluate({unsigned(i), 0}, here), 0);
        newPosition();
        continue;
      }
      sums.push_back(i);
    } else if (node.reduction == KernelReduction::Rows)
      columnAdds.push_back(i);
    else
      stores.push_back(i);
  }
  if (sums.empty() && stores.empty() && kept.empty() && columnAdds.empty())
    return;
  unsigned unroll = sums.empty() ? 2 : 4;
  SmallVector<CombinerInfo> combiners;
  SmallVector<Value> carried;
  for (unsigned sum : sums) {
    combiners.push_back(findCombiner(domain.nodes[sum].op));
    for (unsigned i = 0; i < unroll; ++i)
      carried.push_back(constantLanes(builder, loc, combiners.back().identity,
                                      schedule.lanes));
  }
  vectors(
      domain.columns(), at, unroll, carried,
      [&](const Position &here, unsigned which) {
        if (phases > 1 && !here.mask)
          prefetchNextRow(here, which, phases - 1 - phase);
        // What an earlier phase kept.
        for (auto [node, buffer] : keptBuffers) {
          if (keptIn[node] >= phase)
            continue;
          Type element = domain.nodes[node].outputs[0].elementType;
          Value pointer = LLVM::GEPOp::create(builder, loc, buffer.getType(),
                                              storageType(element), buffer,
                                              ValueRange{here.column});
          made[{node, 0}] = LLVM::LoadOp::create(
              builder, loc, vectorType(element, here.lanes), pointer,
              storageBytes(element));
        }
        for (unsigned node : kept) {
          Value value = evaluate({node, 0}, here);
          Type element = domain.nodes[node].outputs[0].elementType;
          Value buffer = keptBuffers.at(node);
          Value pointer = LLVM::GEPOp::create(builder, loc, buffer.getType(),
                                              storageType(element), buffer,
                                              ValueRange{here.column});
          LLVM::StoreOp::create(builder, loc, value, pointer,
                                storageBytes(element));
        }
        for (auto [s, sum] : llvm::enumerate(sums)) {
          Value value = evaluate({sum, 0}, here);
          if (here.mask)
            value = arith::SelectOp::create(
                builder, loc, here.mask, value,
                constantLanes(builder, loc, combiners[s].identity, here.lanes));
          Value &total = carried[s * unroll + which];
          total = combine(builder, loc, combiners[s], total, value);
        }
        for (unsigned node : columnAdds) {
          CombinerInfo info = findCombiner(domain.nodes[node].op);
          Value value = evaluate({node, 0}, here);
          Type element = domain.nodes[node].outputs[0].elementType;
          Value buffer = sumBuffers.at(node);
          Value pointer =
              LLVM::GEPOp::create(builder, loc, buffer.getType(), element,
                                  buffer, ValueRange{here.column});
          Value old = LLVM::LoadOp::create(builder, loc, value.getType(),
                                           pointer, storageBytes(element));
          LLVM::StoreOp::create(builder, loc,
                                combine(builder, loc, info, old, value),
                                pointer, storageBytes(element));
        }
        storeOutputs(stores, here);
      });
  for (auto [s, sum] : llvm::enumerate(sums)) {
    MutableArrayRef<Value> parts =
        MutableArrayRef<Value>(carried).slice(s * unroll, unroll);
    for (unsigned width = unroll / 2; width > 0; width /= 2)
      for (unsigned i = 0; i < width; ++i)
        parts[i] =
            combine(builder, loc, combiners[s], parts[i], parts[i + width]);
    rowScalars[{sum, 0}] = reduceLanes(builder, loc, combiners[s], parts[0]);
  }
}

/// Loads scalars that every column of the row needs, before the loops.
void Emitter::loadRowScalars(const Position &at) {
  rowLoads.clear();
  for (const KernelNode &node : domain.nodes) {
    if (node.level != KernelLevel::Full && node.level != KernelLevel::Row)
      continue;
    for (const KernelAccess &input : node.inputs) {
      if (!operandOf.count(input.root) || producers.count(input.root) ||
          columnStride(input.strides) != 0)
        continue;
      if (rowLoads.count(keyOf(input)))
        continue;
      Type element = storageType(input.elementType);
      rowLoads[keyOf(input)] = LLVM::LoadOp::create(
          builder, loc, element, rowPointer(input, at), storageBytes(element));
    }
  }
}

/// All phases of one row, then its scalars.
void Emitter::emitRow(Position at) {
  rowScalars.clear();
  newPosition();
  loadRowScalars(at);
  auto emitRowScalars = [&](unsigned before) {
    for (auto [i, node] : llvm::enumerate(domain.nodes))
      if (node.level == KernelLevel::Row && phaseOf[i] <= before &&
          node.reduction == KernelReduction::None)
        rowValue({unsigned(i), 0}, at);
  };
  for (unsigned phase = 0; phase < phases; ++phase) {
    emitRowScalars(phase);
    emitPhase(phase, at);
  }
  emitRowScalars(~0u);
  newPosition();
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    bool perRow = node.level == KernelLevel::Row ||
                  (node.level == KernelLevel::Full &&
                   node.reduction == KernelReduction::Columns);
    if (!perRow)
      continue;
    if (node.reduction == KernelReduction::Rows) {
      CombinerInfo info = findCombiner(node.op);
      SmallVector<Value> inputs;
      for (const KernelAccess &input : node.inputs)
        inputs.push_back(inputValue(input, at));
      Value added = body(node, inputs, at)[0];
      Value buffer = sumBuffers.at(i);
      unsigned bytes = storageBytes(added.getType());
      Value old =
          LLVM::LoadOp::create(builder, loc, added.getType(), buffer, bytes);
      LLVM::StoreOp::create(
          builder, loc, combine(builder, loc, info, old, added), buffer, bytes);
    } else {
      storeOutputs({unsigned(i)}, at);
    }
  }
  rowLoads.clear();
}
