//===- CpuRows.cpp - Rows of a kernel on a CPU ----------------------------===//

#include "passes/Codegen/Cpu/CpuEmitter.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mpc;

/// Stack memory for `count` elements, allocated once per call of the kernel.
Value CpuEmitter::stackBuffer(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(entry);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, element, i64(count), 64);
}

bool CpuEmitter::isExpensive(const KernelNode &node) const {
  linalg::GenericOp op = node.op;
  return llvm::any_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return isa<math::MathDialect>(inner.getDialect()) ||
           isa<arith::DivFOp, scf::ForOp, scf::IfOp>(inner);
  });
}

/// Limit of the bytes kept on the stack: a quarter of the smallest stack of
/// OpenMP threads, 2 MiB.
static constexpr int64_t kMaxKeptBytes = 512 * 1024;

/// Decides which values are kept on the stack for a later phase.
void CpuEmitter::findKept() {
  unsigned count = domain.nodes.size();
  int64_t padded = llvm::alignTo(domain.columns(), schedule.lanes);
  int64_t keptBytes = 0;
  auto rowBytes = [&](unsigned i) -> int64_t {
    Type element = storageType(domain.nodes[i].outputs[0].elementType);
    return padded * storageBytes(element);
  };
  keptIn.assign(count, ~0u);
  // Which phases need each op: those of the sums and stores that depend on it.
  SmallVector<SmallVector<bool>> asked(count, SmallVector<bool>(phases, false));
  for (unsigned i = count; i-- > 0;) {
    const KernelNode &node = domain.nodes[i];
    if (node.level != KernelLevel::Full)
      continue;
    bool stored = llvm::any_of(node.outputs, [&](const KernelAccess &output) {
      return operandOf.count(output.root);
    });
    if (stored || node.reduction != KernelReduction::None)
      asked[i][phaseOf[i]] = true;
    if (llvm::count(asked[i], true) > 1 && isExpensive(node) &&
        node.outputs.size() == 1 && keptBytes + rowBytes(i) <= kMaxKeptBytes) {
      keptBytes += rowBytes(i);
      keptIn[i] = llvm::find(asked[i], true) - asked[i].begin();
      for (unsigned phase = keptIn[i] + 1; phase < phases; ++phase)
        asked[i][phase] = false;
    }
    for (const KernelAccess &input : node.inputs) {
      int from = producerOf(input.root);
      if (from < 0 || domain.nodes[from].level != KernelLevel::Full ||
          domain.nodes[from].reduction != KernelReduction::None)
        continue;
      for (unsigned phase = 0; phase < phases; ++phase)
        asked[from][phase] = asked[from][phase] || asked[i][phase];
    }
  }
  if (schedule.walk != KernelSchedule::Walk::Rows &&
      schedule.walk != KernelSchedule::Walk::Outer)
    return;
  for (unsigned i = 0; i < count; ++i)
    if (keptIn[i] != ~0u)
      keptBuffers[i] = stackBuffer(
          storageType(domain.nodes[i].outputs[0].elementType), padded);
}

/// Prefetches the part of the next row below `at`, which is vector `which` of
/// an iteration. Rows are walked more than once, so the hardware prefetcher
/// stops at the end of the row (often of a page) and continues only after the
/// first walk of the next row has begun. Several inputs are distributed over
/// the walks: `iteration` 0 is the last walk.
void CpuEmitter::prefetchNextRow(const Position &at, unsigned which,
                                 unsigned iteration) {
  constexpr unsigned kCacheLine = 64;
  llvm::SmallDenseSet<Value> asked;
  for (const KernelNode &node : domain.nodes)
    for (const KernelAccess &input : node.inputs) {
      if (node.level != KernelLevel::Full || !operandOf.count(input.root) ||
          producers.count(input.root) || columnStride(input.strides) != 1 ||
          domain.columnBegin == 0)
        continue;
      int64_t next = input.strides[domain.columnBegin - 1];
      unsigned bytes = at.lanes * storageBytes(storageType(input.elementType));
      unsigned everyFew = std::max(1u, kCacheLine / bytes);
      if (next == 0 || !asked.insert(input.root).second ||
          (asked.size() - 1) % phases != iteration || which % everyFew != 0)
        continue;
      Value row = rowPointer(input, at);
      Value address = LLVM::GEPOp::create(
          builder, loc, row.getType(), storageType(input.elementType), row,
          ValueRange{add(at.column, i64(next))});
      LLVM::Prefetch::create(builder, loc, address, /*rw=*/0, /*hint=*/3,
                             /*cache=*/1);
    }
}

/// Emits `body` for `count` columns from `first` (null: 0) on: a loop over
/// `unroll` vectors at a time, then the remaining vectors unrolled, the last
/// one masked. `body` gets the number of the vector modulo `unroll`; `carried`
/// are the loop-carried values, which it replaces.
void CpuEmitter::vectors(int64_t count, Position at, unsigned unroll,
                         SmallVectorImpl<Value> &carried, EachVector body,
                         Value begin) {
  accesses.beginWalk();
  unsigned lanes = schedule.lanes;
  at.lanes = lanes;
  int64_t full = count / lanes;
  int64_t looped = full / unroll >= 2 ? full / unroll * unroll : 0;
  auto emitAt = [&](Value column, Value mask, unsigned which) {
    newPosition();
    at.column = begin ? add(begin, column) : column;
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

/// Number of columns that are added up in f32 before the sum is added to an f64
/// total: 32 terms for each of four vectors of 16 lanes.
static constexpr int64_t kBlockOfColumns = 2048;

/// Emits `body` for all columns of a row, which adds vectors to `carried`,
/// `unroll` of them for each sum, and leaves the sums in `rowScalars`.
void CpuEmitter::sumOverRow(ArrayRef<unsigned> sums,
                            ArrayRef<CombinerInfo> combiners,
                            const Position &at, unsigned unroll,
                            SmallVectorImpl<Value> &carried, EachVector body) {
  const SmallVector<Value> identities(carried.begin(), carried.end());
  const int64_t columns = domain.columns();
  auto partsOf = [&](size_t sum) {
    return ArrayRef<Value>(carried).slice(sum * unroll, unroll);
  };
  if (columns <= 2 * kBlockOfColumns || llvm::none_of(combiners, needsBlocks)) {
    vectors(columns, at, unroll, carried, body);
    for (auto [s, sum] : llvm::enumerate(sums))
      rowScalars[{sum, 0}] =
          reduceLanes(builder, loc, combiners[s],
                      joinInPairs(builder, loc, combiners[s], partsOf(s)));
    return;
  }
  // One vector for each sum's total.
  SmallVector<Value> totals;
  for (const CombinerInfo &combiner : combiners)
    totals.push_back(
        constantLanes(builder, loc, totalIdentity(combiner), schedule.lanes));
  auto addTo = [&](ValueRange old) {
    SmallVector<Value> next;
    for (auto [s, combiner] : llvm::enumerate(combiners))
      next.push_back(addBlock(builder, loc, combiner, old[s], partsOf(s)));
    return next;
  };
  const int64_t whole = columns / kBlockOfColumns * kBlockOfColumns;
  auto blocks = scf::ForOp::create(builder, loc, i64(0), i64(whole),
                                   i64(kBlockOfColumns), totals);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(blocks.getBody());
    vectors(kBlockOfColumns, at, unroll, carried, body,
            blocks.getInductionVar());
    scf::YieldOp::create(builder, loc, addTo(blocks.getRegionIterArgs()));
  }
  totals = blocks.getResults();
  if (whole < columns) {
    llvm::copy(identities, carried.begin());
    vectors(columns - whole, at, unroll, carried, body, i64(whole));
    totals = addTo(totals);
  }
  for (auto [s, sum] : llvm::enumerate(sums)) {
    Value total = reduceLanes(builder, loc, combiners[s], totals[s]);
    rowScalars[{sum, 0}] = finishTotal(builder, loc, combiners[s], total);
  }
}

/// Emits one walk over the columns of a row: the sums of this phase, stores,
/// kept values.
void CpuEmitter::emitPhase(unsigned phase, Position at) {
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
        // A single column gives the sum: read it directly instead of walking.
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
  sumOverRow(
      sums, combiners, at, unroll, carried,
      [&](const Position &here, unsigned which) {
        if (phases > 1 && !here.mask)
          prefetchNextRow(here, which, phases - 1 - phase);
        // Load the values that an earlier phase kept.
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
}

/// Emits all phases of one row, then its scalars.
void CpuEmitter::emitRow(Position at) {
  rowScalars.clear();
  accesses.beginWalk();
  newPosition();
  loadRowScalars(at);
  for (unsigned phase = 0; phase < phases; ++phase) {
    makeRowScalars(phase, at);
    emitPhase(phase, at);
  }
  makeRowScalars(~0u, at);
  accesses.beginWalk();
  newPosition();
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (!isOncePerRow(node))
      continue;
    if (node.reduction == KernelReduction::Rows) {
      CombinerInfo info = findCombiner(node.op);
      Value added = addedByRow(node, at);
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
