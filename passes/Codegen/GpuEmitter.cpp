//===- GpuEmitter.cpp - One kernel as the code of a thread ----------------===//

#include "passes/Codegen/GpuEmitter.h"

#include "passes/Codegen/KernelEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mpc;

/// A thread for each vector.
void GpuEmitter::emitFlat() {
  int64_t columns = domain.columns();
  int64_t vectors = llvm::divideCeil(columns, schedule.lanes);
  int64_t total = domain.outer() * domain.rows() * vectors;
  // 32 bits where they hold it: divisions are dear.
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

/// Shared memory that a block of any GPU may declare.
static constexpr int64_t kMostSharedBytes = 48 * 1024;

/// A block for a square of kTile columns and kTile indices of the dimension
/// along which some operand lies: that operand is read along it and turned in
/// shared memory.
void GpuEmitter::emitTiles() {
  unsigned dim = schedule.tileDim;
  int64_t columns = domain.columns(), across = domain.sizes[dim];
  auto part = [&](Value &number, int64_t size) {
    Value rest = arith::RemUIOp::create(builder, loc, number, i64(size));
    number = arith::DivUIOp::create(builder, loc, number, i64(size));
    return rest;
  };
  Value number = toIndex(block);
  Value firstColumn =
      scaled(part(number, llvm::divideCeil(columns, kTile)), kTile);
  Value firstAcross =
      scaled(part(number, llvm::divideCeil(across, kTile)), kTile);
  Position at;
  at.row.resize(domain.columnBegin);
  for (unsigned d = domain.columnBegin; d-- > 0;)
    if (d != dim)
      at.row[d] = part(number, domain.sizes[d]);
  at.lanes = 1;
  Value x = toIndex(threadOfGroup), y = toIndex(group);
  constexpr unsigned kPitch = kTile + 1; // No two rows in one bank.

  // `body` for each element of the tile that is this thread's: `along` is the
  // one that neighbouring threads step through.
  auto eachElement = [&](bool turned, llvm::function_ref<void(Value)> body) {
    for (unsigned i = 0; i < kTile; i += kTileRows) {
      Value step = add(y, i64(i));
      at.column = add(firstColumn, turned ? step : x);
      at.row[dim] = add(firstAcross, turned ? x : step);
      Value exists;
      if (columns % kTile != 0)
        exists = isLess(at.column, i64(columns));
      if (across % kTile != 0)
        exists = both(exists, isLess(at.row[dim], i64(across)));
      Value place =
          turned ? add(scaled(step, kPitch), x) : add(scaled(x, kPitch), step);
      onlyIf(exists, [&] { body(place); });
    }
  };
  std::map<AccessKey, std::pair<const KernelAccess *, Value>> tiles;
  int64_t sharedBytes = 0;
  for (const KernelNode &node : domain.nodes)
    for (const KernelAccess &input : node.inputs) {
      if (!operandOf.count(input.root) || producers.count(input.root) ||
          columnStride(input.strides) <= 1 || input.strides[dim] != 1 ||
          tiles.count(keyOf(input)))
        continue;
      Type element = storageType(input.elementType);
      int64_t bytes = kTile * kPitch * storageBytes(element);
      // What finds no room is read as it lies.
      if (sharedBytes + bytes > kMostSharedBytes)
        continue;
      sharedBytes += bytes;
      Value tile = sharedMemory("tile" + std::to_string(tiles.size()), bytes);
      tiles[keyOf(input)] = {&input, tile};
      eachElement(/*turned=*/true, [&](Value place) {
        LLVM::StoreOp::create(builder, loc, loadScalar(input, at),
                              elementAt(tile, element, place),
                              storageBytes(element));
      });
    }
  barrier();
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq<unsigned>(0, domain.nodes.size()));
  eachElement(/*turned=*/false, [&](Value place) {
    newPosition();
    loadRowScalars(at);
    for (auto &[key, tile] : tiles) {
      auto [input, memory] = tile;
      Type element = storageType(input->elementType);
      Value value = LLVM::LoadOp::create(builder, loc, element,
                                         elementAt(memory, element, place),
                                         storageBytes(element));
      loaded[key] = fromStorage(input->elementType,
                                broadcastLanes(builder, loc, value, 1));
    }
    storeOutputs(all, at);
  });
  newPosition();
}

void GpuEmitter::run() {
  MLIRContext *context = func.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Block *body = &func.getBody().front();
  auto returned = cast<func::ReturnOp>(body->getTerminator());

  // The new entry goes in front of the old body, which goes at the end.
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
    emitDown();
    break;
  }
  func::ReturnOp::create(builder, loc);
  body->erase();
  func.setFunctionType(FunctionType::get(context, types, {}));
  func.setResAttrsAttr(nullptr);
  func.setArgAttrsAttr(nullptr);
  func->setAttr("mpc.threads", builder.getI32IntegerAttr(schedule.threads()));
}

LogicalResult mpc::emitGpuKernel(func::FuncOp kernel,
                                 ArrayRef<SharedPlace> places) {
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
  return emitter.verifyPlaces(places, "mpc-emit-gpu-kernels");
}
