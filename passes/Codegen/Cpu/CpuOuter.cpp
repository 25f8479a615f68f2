//===- CpuOuter.cpp - Sums down the rows of a kernel on a CPU -------------===//
//
// The walk of kernels that have sums both along and down the rows. Sums down
// the rows stay in memory: one number per column for each op, or a single
// number.
//
//===----------------------------------------------------------------------===//

#include "passes/Codegen/Cpu/CpuEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

/// The address of the sum of `column` (null: the only one) in a buffer.
Value CpuEmitter::sumAt(Value buffer, Type element, Value column) {
  return column ? LLVM::GEPOp::create(builder, loc, buffer.getType(), element,
                                      buffer, ValueRange{column})
                      .getResult()
                : buffer;
}

/// Calls `body` for the sums of each op, several columns at a time.
void CpuEmitter::eachSum(
    const Position &at,
    llvm::function_ref<void(unsigned, const CombinerInfo &, Value, unsigned)>
        body) {
  const int64_t padded = llvm::alignTo(domain.columns(), schedule.lanes);
  SmallVector<Value> none;
  for (auto [number, buffer] : sumBuffers) {
    const unsigned node = number;
    CombinerInfo info = findCombiner(domain.nodes[node].op);
    if (domain.nodes[node].level == KernelLevel::Row)
      body(node, info, Value(), 0);
    else
      vectors(padded, at, 1, none, [&](const Position &here, unsigned) {
        body(node, info, here.column, here.lanes);
      });
  }
}

void CpuEmitter::clearSums(const Position &at) {
  eachSum(at, [&](unsigned node, const CombinerInfo &info, Value column,
                  unsigned lanes) {
    auto clear = [&](Value buffer, TypedAttr identity) {
      Type element = identity.getType();
      LLVM::StoreOp::create(
          builder, loc, constantLanes(builder, loc, identity, lanes),
          sumAt(buffer, element, column), storageBytes(element));
    };
    clear(sumBuffers.lookup(node), info.identity);
    if (Value totals = totalBuffers.lookup(node))
      clear(totals, totalIdentity(info));
  });
}

/// Ends a block of rows: adds its sums to the totals.
void CpuEmitter::addSumsToTotals(const Position &at) {
  eachSum(at, [&](unsigned node, const CombinerInfo &info, Value column,
                  unsigned lanes) {
    Value totals = totalBuffers.lookup(node);
    if (!totals)
      return;
    Type narrow = info.identity.getType(), wide = builder.getF64Type();
    Value sum = sumAt(sumBuffers.lookup(node), narrow, column),
          total = sumAt(totals, wide, column);
    Value part = LLVM::LoadOp::create(builder, loc, vectorType(narrow, lanes),
                                      sum, storageBytes(narrow)),
          old = LLVM::LoadOp::create(builder, loc, vectorType(wide, lanes),
                                     total, storageBytes(wide));
    LLVM::StoreOp::create(builder, loc, addBlock(builder, loc, info, old, part),
                          total, storageBytes(wide));
    LLVM::StoreOp::create(builder, loc,
                          constantLanes(builder, loc, info.identity, lanes),
                          sum, storageBytes(narrow));
  });
}

/// The final sum over all rows.
Value CpuEmitter::finishedSum(unsigned node, Value column, unsigned lanes) {
  auto load = [&](Value buffer, Type element) -> Value {
    return LLVM::LoadOp::create(builder, loc, vectorType(element, lanes),
                                sumAt(buffer, element, column),
                                storageBytes(element));
  };
  if (Value totals = totalBuffers.lookup(node))
    return finishTotal(builder, loc, findCombiner(domain.nodes[node].op),
                       load(totals, builder.getF64Type()));
  return load(sumBuffers.lookup(node),
              domain.nodes[node].outputs[0].elementType);
}

/// Computes and stores the values that depend on the sums down the rows.
void CpuEmitter::finishOuter(const Position &at) {
  rowScalars.clear();
  accesses.beginWalk();
  newPosition();
  SmallVector<unsigned> numbers, columns;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    bool isSum = node.reduction == KernelReduction::Rows;
    if (isSum && node.level == KernelLevel::Row)
      rowScalars[{unsigned(i), 0}] = finishedSum(i, Value(), 0);
    else if (node.level != KernelLevel::Outer) {
      if (isSum || node.level == KernelLevel::Column)
        columns.push_back(i);
      continue;
    }
    numbers.push_back(i);
  }
  storeOutputs(numbers, at);
  rowScalars.clear();
  SmallVector<Value> none;
  vectors(domain.columns(), at, 1, none, [&](const Position &here, unsigned) {
    for (unsigned i : columns)
      if (domain.nodes[i].reduction == KernelReduction::Rows) {
        columnSums[i] = finishedSum(i, here.column, here.lanes);
        made[{i, 0}] = columnSums[i];
      }
    storeOutputs(columns, here);
  });
}

void CpuEmitter::emitOuter() {
  const int64_t padded = llvm::alignTo(domain.columns(), schedule.lanes);
  const int64_t rows = domain.rows();
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (node.reduction != KernelReduction::Rows)
      continue;
    int64_t count = node.level == KernelLevel::Full ? padded : 1;
    sumBuffers[i] = stackBuffer(node.outputs[0].elementType, count);
    if (rows > 2 * kBlockOfRows && needsBlocks(findCombiner(node.op)))
      totalBuffers[i] = stackBuffer(builder.getF64Type(), count);
  }
  loop(entry->getArgument(1), entry->getArgument(2), [&](Value item) {
    SmallVector<Value> outer = delinearize(item, 0, domain.rowBegin);
    Position at;
    at.row = outer;
    at.row.append(domain.columnBegin - domain.rowBegin, i64(0));
    clearSums(at);
    auto emitTheRow = [&](Value row) {
      Position here;
      here.row = outer;
      here.row.append(delinearize(row, domain.rowBegin, domain.columnBegin));
      emitRow(here);
    };
    if (totalBuffers.empty()) {
      loop(i64(0), i64(rows), emitTheRow);
    } else {
      auto blocks = scf::ForOp::create(builder, loc, i64(0), i64(rows),
                                       i64(kBlockOfRows));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(blocks.getBody());
      Value first = blocks.getInductionVar();
      Value end = arith::MinSIOp::create(
          builder, loc, add(first, i64(kBlockOfRows)), i64(rows));
      loop(first, end, emitTheRow);
      addSumsToTotals(at);
    }
    finishOuter(at);
  });
}
