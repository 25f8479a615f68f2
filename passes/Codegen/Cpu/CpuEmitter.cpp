//===- CpuEmitter.cpp - One kernel as vector code -------------------------===//
//
// Walks the domain of a kernel (KernelDomain.h) as its schedule says
// (KernelSchedule.h).
//
//===----------------------------------------------------------------------===//

#include "passes/Codegen/Cpu/CpuEmitter.h"

#include "passes/Codegen/Cpu/KernelEmitter.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mpc;

void CpuEmitter::emitFlat() {
  Value begin = entry->getArgument(1), end = entry->getArgument(2);
  Position at;
  loadRowScalars(at);
  unsigned lanes = schedule.lanes;
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq<unsigned>(0, domain.nodes.size()));
  auto emitAt = [&](Value column, Value mask) {
    newPosition();
    at.column = column;
    at.lanes = lanes;
    at.mask = mask;
    storeOutputs(all, at);
  };
  Value total = i64(domain.columns());
  Value first = scaled(begin, schedule.itemElements);
  Value last = arith::MinSIOp::create(
      builder, loc, scaled(end, schedule.itemElements), total);
  Value full = arith::SubIOp::create(
      builder, loc, last,
      arith::RemUIOp::create(builder, loc,
                             arith::SubIOp::create(builder, loc, last, first),
                             i64(lanes)));
  auto forOp = scf::ForOp::create(builder, loc, first, full, i64(lanes));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    emitAt(forOp.getInductionVar(), Value());
  }
  int64_t tail = domain.columns() % lanes;
  if (tail == 0)
    return;
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     full, last);
  auto ifOp = scf::IfOp::create(builder, loc, some, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  emitAt(full, firstLanes(builder, loc, lanes, tail));
}

void CpuEmitter::emitRows() {
  loop(entry->getArgument(1), entry->getArgument(2), [&](Value item) {
    Position at;
    at.row = delinearize(item, 0, domain.columnBegin);
    emitRow(at);
  });
}

/// How many rows before they are summed those of a strip are prefetched: each
/// may lie in another page, and the hardware follows only a few.
static constexpr int64_t kPrefetchedRows = 8;

/// Emits one strip: `whole` full vectors of columns from `first` on and, if
/// `tail` is not 0, one more with that many lanes.
void CpuEmitter::emitStrip(ArrayRef<Value> outer, Value first, int64_t whole,
                           unsigned tail) {
  accesses.beginItem();
  SmallVector<Position> positions;
  for (int64_t v = 0; v < whole + (tail != 0); ++v) {
    Position at;
    at.lanes = schedule.lanes;
    at.column = add(first, i64(v * schedule.lanes));
    at.vector = v;
    if (v == whole)
      at.mask = firstLanes(builder, loc, schedule.lanes, tail);
    positions.push_back(at);
  }
  SmallVector<unsigned> sums, elementwise, after;
  SmallVector<CombinerInfo> combiners;
  SmallVector<Value> totals;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (node.level == KernelLevel::Column)
      after.push_back(i);
    else if (node.reduction == KernelReduction::None)
      elementwise.push_back(i);
    if (node.reduction != KernelReduction::Rows)
      continue;
    sums.push_back(i);
    combiners.push_back(findCombiner(node.op));
    for (unsigned p = 0; p < positions.size(); ++p)
      totals.push_back(constantLanes(builder, loc, combiners.back().identity,
                                     schedule.lanes));
  }
  // Adds the rows [first, end) to `begin`.
  auto sumRows = [&](Value first, Value end,
                     ValueRange begin) -> SmallVector<Value> {
    accesses.beginWalk();
    auto forOp = scf::ForOp::create(builder, loc, first, end, i64(1), begin);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    SmallVector<Value> next(forOp.getRegionIterArgs());
    SmallVector<Value> row = delinearize(forOp.getInductionVar(),
                                         domain.rowBegin, domain.columnBegin);
    rowLoads.clear();
    llvm::SaveAndRestore prefetch(prefetchedRows, kPrefetchedRows);
    for (auto [p, position] : llvm::enumerate(positions)) {
      newPosition();
      Position at = position;
      at.row.assign(outer.begin(), outer.end());
      at.row.append(row);
      for (auto [s, sum] : llvm::enumerate(sums)) {
        Value &total = next[s * positions.size() + p];
        total =
            combine(builder, loc, combiners[s], total, evaluate({sum, 0}, at));
      }
      storeOutputs(elementwise, at);
    }
    if (!next.empty())
      scf::YieldOp::create(builder, loc, next);
    return forOp.getResults();
  };
  SmallVector<Value> sumsOfRows;
  int64_t rows = domain.rows();
  if (rows <= 2 * kBlockOfRows || llvm::none_of(combiners, needsBlocks)) {
    sumsOfRows = sumRows(i64(0), i64(rows), totals);
  } else {
    // Sums each block of rows separately, starting from the identity.
    SmallVector<Value> wide;
    for (const CombinerInfo &combiner : combiners)
      wide.append(
          positions.size(),
          constantLanes(builder, loc, totalIdentity(combiner), schedule.lanes));
    auto blocks = scf::ForOp::create(builder, loc, i64(0), i64(rows),
                                     i64(kBlockOfRows), wide);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(blocks.getBody());
      Value first = blocks.getInductionVar();
      Value end = arith::MinSIOp::create(
          builder, loc, add(first, i64(kBlockOfRows)), i64(rows));
      SmallVector<Value> next = sumRows(first, end, totals);
      for (auto [i, sum] : llvm::enumerate(next))
        sum = addBlock(builder, loc, combiners[i / positions.size()],
                       blocks.getRegionIterArgs()[i], sum);
      scf::YieldOp::create(builder, loc, next);
    }
    for (auto [i, total] : llvm::enumerate(blocks.getResults()))
      sumsOfRows.push_back(
          finishTotal(builder, loc, combiners[i / positions.size()], total));
  }
  accesses.beginWalk();
  for (auto [p, position] : llvm::enumerate(positions)) {
    newPosition();
    Position at = position;
    at.row.assign(outer.begin(), outer.end());
    // Column ops do not depend on the row, so any row index will do.
    at.row.append(domain.columnBegin - domain.rowBegin, i64(0));
    for (auto [s, sum] : llvm::enumerate(sums)) {
      columnSums[sum] = sumsOfRows[s * positions.size() + p];
      made[{sum, 0}] = columnSums[sum];
    }
    storeOutputs(sums, at);
    storeOutputs(after, at);
  }
  newPosition();
}

void CpuEmitter::emitColumns() {
  int64_t width = schedule.stripVectors * schedule.lanes;
  int64_t columns = domain.columns();
  int64_t strips = llvm::divideCeil(columns, width);
  int64_t rest =
      columns - (strips - 1) * width; // Number of columns in the last strip.
  loop(entry->getArgument(1), entry->getArgument(2), [&](Value item) {
    Value outer = item, strip = i64(0);
    if (strips > 1) {
      strip = arith::RemUIOp::create(builder, loc, item, i64(strips));
      outer = arith::DivUIOp::create(builder, loc, item, i64(strips));
    }
    SmallVector<Value> index = delinearize(outer, 0, domain.rowBegin);
    auto emitLast = [&] {
      emitStrip(index, i64((strips - 1) * width), rest / schedule.lanes,
                rest % schedule.lanes);
    };
    if (strips == 1)
      return emitLast();
    if (rest == width) {
      emitStrip(index, scaled(strip, width), schedule.stripVectors, 0);
      return;
    }
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         strip, i64(strips - 1));
    auto ifOp =
        scf::IfOp::create(builder, loc, isLast, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    emitLast();
    builder.setInsertionPointToStart(ifOp.elseBlock());
    emitStrip(index, scaled(strip, width), schedule.stripVectors, 0);
  });
}

void CpuEmitter::run() {
  MLIRContext *context = func.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Block *body = &func.getBody().front();
  auto returned = cast<func::ReturnOp>(body->getTerminator());

  // The new entry block precedes the old body, which is erased at the end.
  entry = new Block();
  func.getBody().push_front(entry);
  entry->addArguments({pointer, builder.getI64Type(), builder.getI64Type()},
                      {loc, loc, loc});
  builder.setInsertionPointToStart(entry);
  unsigned count = 0;
  auto addOperand = [&](Value root) {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                     entry->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(count)});
    pointers.push_back(LLVM::LoadOp::create(builder, loc, pointer, slot));
    operandOf[root] = count++;
  };
  for (Value argument : body->getArguments())
    addOperand(argument);
  arguments = count;
  for (Value result : returned.getOperands())
    addOperand(memoryRoot(result));
  findProducers();
  findPhases();
  findKept();

  switch (schedule.walk) {
  case KernelSchedule::Walk::Flat:
    emitFlat();
    break;
  case KernelSchedule::Walk::Rows:
    emitRows();
    break;
  case KernelSchedule::Walk::Columns:
    emitColumns();
    break;
  case KernelSchedule::Walk::Outer:
    emitOuter();
    break;
  }
  func::ReturnOp::create(builder, loc);
  body->erase();
  func.setFunctionType(FunctionType::get(
      context, {pointer, builder.getI64Type(), builder.getI64Type()}, {}));
  func.setResAttrsAttr(nullptr);
  func.setArgAttrsAttr(nullptr);
}

LogicalResult mpc::emitKernel(func::FuncOp kernel,
                              ArrayRef<SharedBuffer> sharedBuffers,
                              unsigned maxLanes) {
  SmallVector<linalg::GenericOp> ops;
  for (auto op : kernel.getOps<linalg::GenericOp>())
    ops.push_back(op);
  std::string reason;
  std::optional<KernelDomain> domain = analyzeKernel(ops, &reason);
  if (!domain)
    return kernel.emitError("internal error in mpc-emit-kernels: the ops of '")
           << kernel.getName() << "' have no common domain: " << reason;
  CpuEmitter emitter(kernel, std::move(*domain), maxLanes);
  emitter.run();
  return emitter.verifySharedBuffers(sharedBuffers, "mpc-emit-kernels");
}
