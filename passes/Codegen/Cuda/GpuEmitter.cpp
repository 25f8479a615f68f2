//===- GpuEmitter.cpp - One kernel as the code of a thread ----------------===//

#include "passes/Codegen/Cuda/GpuEmitter.h"
#include "compiler/Attributes/Attributes.h"

#include "passes/Codegen/Cuda/KernelEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mpc;

/// One thread for each vector.
void GpuEmitter::emitFlat() {
  int64_t columns = domain.columns();
  int64_t vectors = llvm::divideCeil(columns, schedule.lanes);
  int64_t total = domain.outer() * domain.rows() * vectors;
  // Use 32 bits if they suffice, because divisions are expensive.
  Value number;
  if (total + schedule.groupThreads <= UINT32_MAX) {
    Value first =
        arith::MulIOp::create(builder, loc, block, i32(schedule.groupThreads));
    number = toIndex(arith::AddIOp::create(builder, loc, first, thread));
  } else {
    number =
        add(scaled(toIndex(block), schedule.groupThreads), toIndex(thread));
  }
  Value exists =
      total % schedule.groupThreads == 0 ? Value() : isLess(number, i64(total));
  onlyIf(exists, [&] {
    SmallVector<unsigned> all =
        llvm::to_vector(llvm::seq<unsigned>(0, domain.nodes.size()));
    Position at;
    Value vector = number;
    if (domain.columnBegin > 0) {
      Value row = arith::DivUIOp::create(builder, loc, number, i64(vectors));
      vector = arith::RemUIOp::create(builder, loc, number, i64(vectors));
      at.row = delinearize(row, 0, domain.columnBegin);
    }
    loadRowScalars(at);
    at.column = scaled(vector, schedule.lanes);
    at.lanes = schedule.lanes;
    int64_t tail = columns % schedule.lanes;
    if (tail == 0)
      return storeOutputs(all, at);
    Value isWhole = isLess(vector, i64(vectors - 1));
    onlyIf(isWhole, [&] { storeOutputs(all, at); });
    newPosition();
    onlyIf(arith::XOrIOp::create(builder, loc, isWhole,
                                 arith::ConstantOp::create(
                                     builder, loc, builder.getBoolAttr(true))),
           [&] {
             at.mask = firstLanes(builder, loc, schedule.lanes, tail);
             storeOutputs(all, at);
           });
  });
}

void GpuEmitter::run() {
  MLIRContext *context = func.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Block *body = &func.getBody().front();
  auto returned = cast<func::ReturnOp>(body->getTerminator());

  // The new entry block precedes the old body, which is erased at the end.
  entry = new Block();
  func.getBody().push_front(entry);
  builder.setInsertionPointToStart(entry);
  SmallVector<Type> types;
  auto addOperand = [&](Value root) {
    operandOf[root] = pointers.size();
    pointers.push_back(entry->addArgument(pointer, loc));
    types.push_back(pointer);
  };
  for (Value argument : body->getArguments())
    addOperand(argument);
  arguments = pointers.size();
  for (Value result : returned.getOperands())
    addOperand(memoryRoot(result));
  findProducers();
  findPhases();
  findThread();

  switch (schedule.walk) {
  case GpuSchedule::Walk::Flat:
    emitFlat();
    break;
  case GpuSchedule::Walk::Tiles:
    emitTiles();
    break;
  case GpuSchedule::Walk::Rows:
    emitRows();
    break;
  case GpuSchedule::Walk::Columns:
  case GpuSchedule::Walk::Outer:
    emitColumnReduction();
    break;
  }
  func::ReturnOp::create(builder, loc);
  body->erase();
  func.setFunctionType(FunctionType::get(context, types, {}));
  func.setResAttrsAttr(nullptr);
  func.setArgAttrsAttr(nullptr);
  func->setAttr(kThreadsAttr, builder.getI32IntegerAttr(schedule.threads()));
}

LogicalResult mpc::emitGpuKernel(func::FuncOp kernel,
                                 ArrayRef<SharedBuffer> sharedBuffers) {
  SmallVector<linalg::GenericOp> ops(kernel.getOps<linalg::GenericOp>());
  std::string reason;
  std::optional<KernelDomain> domain = analyzeKernel(ops, &reason);
  std::optional<GpuSchedule> schedule;
  if (domain) {
    schedule = scheduleGpuKernel(*domain);
    reason = "its column sums find no room";
  }
  if (!schedule)
    return kernel.emitError("internal error in mpc-emit-gpu-kernels: '")
           << kernel.getName() << "' cannot be walked: " << reason;
  GpuEmitter emitter(kernel, std::move(*domain), *schedule);
  emitter.run();
  return emitter.verifySharedBuffers(sharedBuffers, "mpc-emit-gpu-kernels");
}
