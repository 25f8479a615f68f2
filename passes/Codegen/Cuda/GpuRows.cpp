//===- GpuRows.cpp - Rows of a kernel on a GPU ----------------------------===//

#include "compiler/Analysis/RowPhases.h"
#include "passes/Codegen/Cuda/GpuEmitter.h"
#include "passes/Codegen/Cuda/GpuOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mpc;

/// The columns of vector number `vector` (i32) of a row, or those of the first
/// vector if the row ends before it.
GpuEmitter::RowVector GpuEmitter::rowVectorAt(Value vector, bool mayEnd) {
  RowVector rowVector;
  if (mayEnd) {
    int64_t count = llvm::divideCeil(domain.columns(), schedule.lanes);
    rowVector.exists = isLess(vector, i32(count));
    vector = choose(rowVector.exists, vector, i32(0));
  }
  rowVector.column = scaled(toIndex(vector), schedule.lanes);
  return rowVector;
}

/// The vectors that this thread holds of each row of its group; `strip` (i32,
/// may be null) says which part of the row.
void GpuEmitter::makeRowVectors(Value strip) {
  int64_t count = llvm::divideCeil(domain.columns(), schedule.lanes);
  int64_t width = int64_t(schedule.vectors) * schedule.groupThreads;
  for (unsigned i = 0; i < schedule.vectors; ++i) {
    int64_t offset = int64_t(i) * schedule.groupThreads;
    Value vector = threadOfGroup;
    if (offset != 0)
      vector = arith::AddIOp::create(builder, loc, vector, i32(offset));
    if (strip)
      vector = arith::AddIOp::create(
          builder, loc, vector,
          arith::MulIOp::create(builder, loc, strip, i32(width)));
    bool mayEnd =
        strip ? count % width != 0 : offset + schedule.groupThreads > count;
    rowVectors.push_back(rowVectorAt(vector, mayEnd));
  }
  held.resize(rowVectors.size());
}

/// Finds how much of a long row fits in the launch's shared memory.
void GpuEmitter::findCache() {
  if (schedule.cachedVectors == 0)
    return;
  cache.emplace();
  cache->inputs = findRereadInputs(domain);
  cache->filledIn.resize(cache->inputs.size());
  cache->memory = dynamicSharedMemory();
  cache->vectors = arith::DivUIOp::create(
      builder, loc, createDynamicSharedBytes(builder, loc),
      i32(int64_t(schedule.groupThreads) * schedule.cachedBytes));
}

/// The place of the current vector of an input in the row's cache. Only this
/// thread accesses it.
Value GpuEmitter::cachedPlace(unsigned input, Type type) {
  int64_t before = 0;
  for (const KernelAccess *other : ArrayRef(cache->inputs).take_front(input))
    before += storageBytes(storageType(other->elementType));
  const int64_t bytes = int64_t(schedule.groupThreads) * schedule.lanes;
  Value begin =
      add(scaled(toIndex(cache->number),
                 int64_t(schedule.groupThreads) * schedule.cachedBytes),
          i64(before * bytes));
  Value part = elementAt(cache->memory, builder.getI8Type(), begin);
  return elementAt(part, type, toIndex(threadOfGroup));
}

/// A block that caches its row has its multiprocessor to itself: while it
/// computes, only prefetches use the memory. The next row of the multiprocessor
/// is about as many rows later as there are multiprocessors.
static constexpr int64_t kRowsAhead = 132;

/// Prefetches from `place`, the address of a vector of a row, the same vector
/// of the row `kRowsAhead` rows later.
void GpuEmitter::prefetchRowAhead(const KernelAccess &access, Value place) {
  ArrayRef<int64_t> strides =
      ArrayRef<int64_t>(access.strides).take_front(domain.columnBegin);
  for (unsigned d = 0; d + 1 < strides.size(); ++d)
    if (strides[d] != strides[d + 1] * domain.sizes[d + 1])
      return;
  if (strides.empty())
    return;
  Value ahead = LLVM::GEPOp::create(
      builder, loc, place.getType(), storageType(access.elementType), place,
      ValueRange{i64(kRowsAhead * strides.back())});
  createPrefetch(builder, loc, choose(cache->hasRowAhead, ahead, place));
}

Value GpuEmitter::load(const KernelAccess &access, const Position &at) {
  if (!cache || !cache->number || at.lanes != schedule.lanes)
    return Emitter::load(access, at);
  const auto *found =
      llvm::find_if(cache->inputs, [&](const KernelAccess *input) {
        return input->sameElement(access);
      });
  if (found == cache->inputs.end())
    return Emitter::load(access, at);
  const unsigned input = found - cache->inputs.begin();
  Type element = storageType(access.elementType);
  Type type = VectorType::get({int64_t(at.lanes)}, element);
  const unsigned alignment = alignmentOf(at.lanes, storageBytes(element));
  Value isCached = isLess(cache->number, cache->vectors);
  accesses.load(operandOf.at(access.root), access);
  Value place =
      LLVM::GEPOp::create(builder, loc, cache->memory.getType(), element,
                          rowPointer(access, at), ValueRange{at.column});
  std::optional<unsigned> &filledIn = cache->filledIn[input];
  if (filledIn && *filledIn + 1 == cache->phase)
    prefetchRowAhead(access, place);
  if (filledIn && *filledIn < cache->phase)
    place = choose(isCached, cachedPlace(input, type), place);
  Value value = LLVM::LoadOp::create(builder, loc, type, place, alignment);
  if (!filledIn || *filledIn == cache->phase) {
    filledIn = cache->phase;
    onlyIf(isCached, [&] {
      LLVM::StoreOp::create(builder, loc, value, cachedPlace(input, type),
                            alignment);
    });
  }
  return fromStorage(access.elementType, value);
}

/// Switches to the values computed and loaded at a vector.
void GpuEmitter::enterRowVector(unsigned rowVector) {
  std::swap(made, held[rowVector].first);
  std::swap(loaded, held[rowVector].second);
  accesses.beginPosition();
}

/// Number of iterations of a thread that are added up in f32 before the sum is
/// added to an f64 total: the rounding error of a sum grows with the number of
/// its terms.
static constexpr int64_t kIterationsPerBlock = 16;

/// Emits a loop of `iterations` iterations that each add to `sums`, one for
/// each combiner.
void GpuEmitter::sumLoop(int64_t iterations, ArrayRef<CombinerInfo> combiners,
                         SmallVectorImpl<Value> &sums, IterationBody body) {
  auto loopOf = [&](Value first, Value end) {
    auto forOp =
        scf::ForOp::create(builder, loc, first, end, i64(1), ValueRange(sums));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    SmallVector<Value> next =
        body(forOp.getInductionVar(), forOp.getRegionIterArgs());
    if (!next.empty())
      scf::YieldOp::create(builder, loc, next);
    return forOp.getResults();
  };
  if (iterations <= 2 * kIterationsPerBlock ||
      llvm::none_of(combiners, needsBlocks)) {
    llvm::copy(loopOf(i64(0), i64(iterations)), sums.begin());
    return;
  }
  SmallVector<Value> totals;
  for (auto [combiner, sum] : llvm::zip_equal(combiners, sums)) {
    auto vector = dyn_cast<VectorType>(sum.getType());
    totals.push_back(constantLanes(builder, loc, totalIdentity(combiner),
                                   vector ? vector.getNumElements() : 0));
  }
  auto blocks = scf::ForOp::create(builder, loc, i64(0), i64(iterations),
                                   i64(kIterationsPerBlock), totals);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(blocks.getBody());
    Value first = blocks.getInductionVar();
    Value end = arith::MinSIOp::create(
        builder, loc, add(first, i64(kIterationsPerBlock)), i64(iterations));
    SmallVector<Value> next;
    for (auto [combiner, old, part] : llvm::zip_equal(
             combiners, blocks.getRegionIterArgs(), loopOf(first, end)))
      next.push_back(addBlock(builder, loc, combiner, old, part));
    scf::YieldOp::create(builder, loc, next);
  }
  for (auto [combiner, sum, total] :
       llvm::zip_equal(combiners, sums, blocks.getResults()))
    sum = finishTotal(builder, loc, combiner, total);
}

/// Calls `visit` for every vector of the row that belongs to this thread:
/// unrolled if they are held in registers, else in a loop. `visit` gets the
/// number of the vector and adds to `carried`, one sum for each combiner.
void GpuEmitter::eachVector(const Position &at,
                            ArrayRef<CombinerInfo> combiners,
                            SmallVectorImpl<Value> &carried, Visit visit) {
  accesses.beginWalk();
  Position here = at;
  here.lanes = schedule.lanes;
  if (!rowVectors.empty()) {
    for (auto [i, rowVector] : llvm::enumerate(rowVectors)) {
      enterRowVector(i);
      here.column = rowVector.column;
      visit(here, i, rowVector, carried);
      enterRowVector(i);
    }
    return;
  }
  int64_t count = llvm::divideCeil(domain.columns(), schedule.lanes);
  int64_t iterations = llvm::divideCeil(count, schedule.groupThreads);
  sumLoop(iterations, combiners, carried,
          [&](Value iteration, ValueRange sums) {
            newPosition();
            SmallVector<Value> next(sums);
            Value number = arith::TruncIOp::create(
                builder, loc, builder.getI32Type(), iteration);
            Value first = arith::MulIOp::create(builder, loc, number,
                                                i32(schedule.groupThreads));
            RowVector rowVector = rowVectorAt(
                arith::AddIOp::create(builder, loc, first, threadOfGroup),
                count % schedule.groupThreads != 0);
            here.column = rowVector.column;
            if (cache)
              cache->number = number;
            visit(here, 0, rowVector, next);
            if (cache)
              cache->number = Value();
            newPosition();
            return next;
          });
}

void GpuEmitter::storeIf(Value condition, const Stores &stores,
                         const Position &at) {
  if (stores.empty())
    return;
  onlyIf(condition, [&] {
    for (auto [output, value] : stores)
      store(*output, at, value);
  });
}

/// Stores the values that a row has once; one thread of the group does it.
void GpuEmitter::storeOfGroup(ArrayRef<unsigned> nodes, const Position &at) {
  Stores stores = makeOutputs(nodes, at);
  if (stores.empty())
    return;
  Value first = schedule.groupThreads > 1 ? isZero(threadOfGroup) : Value();
  storeIf(both(first, rowExists), stores, at);
}

/// Emits one walk over the columns of a row: the sums of this phase and stores.
void GpuEmitter::emitPhase(unsigned phase, const Position &at) {
  SmallVector<unsigned> sums, stores, columnAdds;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (node.level != KernelLevel::Full || phaseOf[i] != phase)
      continue;
    if (node.reduction == KernelReduction::Rows) {
      columnAdds.push_back(i);
    } else if (node.reduction == KernelReduction::None) {
      if (llvm::any_of(node.outputs, [&](const KernelAccess &output) {
            return operandOf.count(output.root);
          }))
        stores.push_back(i);
    } else if (Value column = pickedColumn(node, at)) {
      // A single column gives the sum: every thread reads it.
      newPosition();
      Position here = at;
      here.lanes = 1;
      here.column = column;
      rowScalars[{unsigned(i), 0}] = vector::ExtractOp::create(
          builder, loc, evaluate({unsigned(i), 0}, here), 0);
      newPosition();
    } else {
      sums.push_back(i);
    }
  }
  if (sums.empty() && stores.empty() && columnAdds.empty())
    return;
  SmallVector<RowSum> ofRow;
  SmallVector<CombinerInfo> combiners;
  SmallVector<Value> totals;
  for (unsigned sum : sums) {
    CombinerInfo info = findCombiner(domain.nodes[sum].op);
    combiners.push_back(info);
    ofRow.push_back({sum, info, Value()});
    totals.push_back(
        constantLanes(builder, loc, info.identity, schedule.lanes));
  }
  auto added = [&](const CombinerInfo &info, Value total, Value value,
                   Value exists) {
    Value none = constantLanes(builder, loc, info.identity, schedule.lanes);
    return combine(builder, loc, info, total, choose(exists, value, none));
  };
  eachVector(at, combiners, totals,
             [&](const Position &here, unsigned number,
                 const RowVector &rowVector, MutableArrayRef<Value> next) {
               for (auto [s, sum] : llvm::enumerate(ofRow))
                 next[s] =
                     added(sum.combiner, next[s], evaluate({sum.node, 0}, here),
                           rowVector.exists);
               for (unsigned node : columnAdds) {
                 Value &total = rowSums[node][number];
                 total = added(findCombiner(domain.nodes[node].op), total,
                               evaluate({node, 0}, here), rowExists);
               }
               storeIf(both(rowVector.exists, rowExists),
                       makeOutputs(stores, here), here);
             });
  for (auto [sum, total] : llvm::zip(ofRow, totals))
    sum.value = reduceLanes(builder, loc, sum.combiner, total);
  reduceWithinGroup(ofRow);
  for (const RowSum &sum : ofRow)
    rowScalars[{sum.node, 0}] = sum.value;
}

/// Emits all phases of one row, then its scalars.
void GpuEmitter::emitRow(const Position &at) {
  rowScalars.clear();
  newPosition();
  for (auto &rowVector : held) {
    rowVector.first.clear();
    rowVector.second.clear();
  }
  loadRowScalars(at);
  for (unsigned phase = 0; phase < phases; ++phase) {
    if (cache)
      cache->phase = phase;
    makeRowScalars(phase, at);
    emitPhase(phase, at);
  }
  makeRowScalars(~0u, at);
  accesses.beginWalk();
  newPosition();
  SmallVector<unsigned> numbers;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (!isOncePerRow(node))
      continue;
    if (node.reduction != KernelReduction::Rows) {
      numbers.push_back(i);
      continue;
    }
    CombinerInfo info = findCombiner(node.op);
    Value value = addedByRow(node, at);
    Value none = constantLanes(builder, loc, info.identity, 0);
    Value &total = rowSums[i][0];
    total = combine(builder, loc, info, total, choose(rowExists, value, none));
  }
  storeOfGroup(numbers, at);
  rowLoads.clear();
}

/// One group of threads for each row.
void GpuEmitter::emitRows() {
  int64_t rows = domain.outer() * domain.rows();
  Value row = block;
  if (schedule.groups > 1) {
    Value first =
        arith::MulIOp::create(builder, loc, block, i32(schedule.groups));
    row = arith::AddIOp::create(builder, loc, first, group);
  }
  if (rows % schedule.groups != 0) {
    rowExists = isLess(row, i32(rows));
    row = choose(rowExists, row, i32(0));
  }
  makeRowVectors(Value());
  findCache();
  if (cache)
    cache->hasRowAhead = isLess(
        arith::AddIOp::create(builder, loc, row, i32(kRowsAhead)), i32(rows));
  Position at;
  at.row = delinearize(toIndex(row), 0, domain.columnBegin);
  emitRow(at);
}

/// One block for each outer position, or for a strip of its columns: its groups
/// take the rows in turn and combine their sums at the end.
void GpuEmitter::emitColumnReduction() {
  Value outer = block, strip;
  if (schedule.strips > 1) {
    outer = arith::DivUIOp::create(builder, loc, block, i32(schedule.strips));
    strip = arith::RemUIOp::create(builder, loc, block, i32(schedule.strips));
  }
  makeRowVectors(strip);
  SmallVector<Value> outerIndex =
      delinearize(toIndex(outer), 0, domain.rowBegin);

  SmallVector<CombinerInfo> combiners;
  SmallVector<Value> totals;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (node.reduction != KernelReduction::Rows)
      continue;
    CombinerInfo info = findCombiner(node.op);
    bool isVector = node.level == KernelLevel::Full;
    combiners.append(isVector ? schedule.vectors : 1, info);
    for (unsigned k = 0; k < (isVector ? schedule.vectors : 1); ++k)
      totals.push_back(constantLanes(builder, loc, info.identity,
                                     isVector ? schedule.lanes : 0));
    rowSums[i].resize(isVector ? schedule.vectors : 1);
  }
  auto spread = [&](ValueRange values) {
    auto next = values.begin();
    for (auto &[node, sums] : rowSums)
      for (Value &sum : sums)
        sum = *next++;
  };
  int64_t rows = domain.rows();
  const int64_t iterations = llvm::divideCeil(rows, schedule.groups);
  sumLoop(iterations, combiners, totals, [&](Value number, ValueRange sums) {
    spread(sums);
    iteration = number;
    Value row = scaled(iteration, schedule.groups);
    if (schedule.groups > 1)
      row = add(row, toIndex(group));
    if (rows % schedule.groups != 0) {
      rowExists = isLess(row, i64(rows));
      row = choose(rowExists, row, i64(0));
    }
    Position at;
    at.row = outerIndex;
    at.row.append(delinearize(row, domain.rowBegin, domain.columnBegin));
    emitRow(at);
    SmallVector<Value> next;
    for (auto &[node, sums] : rowSums)
      next.append(sums);
    return next;
  });
  spread(totals);
  iteration = rowExists = Value();
  for (auto &[node, sums] : rowSums)
    for (Value &sum : sums)
      sum = reduceAcrossGroups(findCombiner(domain.nodes[node].op), sum);

  Position at;
  at.row = outerIndex;
  // The remaining ops do not depend on the row, so any row index will do.
  at.row.append(domain.columnBegin - domain.rowBegin, i64(0));
  onlyIf(schedule.groups > 1 ? isZero(group) : Value(),
         [&] { finishColumnReduction(at); });
}

/// Computes and stores the values that depend on the sums down the rows.
void GpuEmitter::finishColumnReduction(const Position &at) {
  rowScalars.clear();
  accesses.beginWalk();
  newPosition();
  SmallVector<unsigned> numbers;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    bool isSum = node.level == KernelLevel::Row &&
                 node.reduction == KernelReduction::Rows;
    if (isSum)
      rowScalars[{unsigned(i), 0}] = rowSums.at(i)[0];
    if (isSum || node.level == KernelLevel::Outer)
      numbers.push_back(i);
  }
  storeOfGroup(numbers, at);
  rowScalars.clear();
  for (auto [number, rowVector] : llvm::enumerate(rowVectors)) {
    newPosition();
    Position here = at;
    here.lanes = schedule.lanes;
    here.column = rowVector.column;
    SmallVector<unsigned> nodes;
    for (auto [i, node] : llvm::enumerate(domain.nodes)) {
      bool isSum = node.level == KernelLevel::Full &&
                   node.reduction == KernelReduction::Rows;
      if (isSum) {
        columnSums[i] = rowSums.at(i)[number];
        made[{unsigned(i), 0}] = columnSums[i];
      }
      if (isSum || node.level == KernelLevel::Column)
        nodes.push_back(i);
    }
    storeIf(rowVector.exists, makeOutputs(nodes, here), here);
  }
  newPosition();
}
