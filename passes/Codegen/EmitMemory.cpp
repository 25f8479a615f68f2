//===- EmitMemory.cpp - Loads and stores of a kernel ----------------------===//

#include "compiler/Dialect/Amp/IR/Fp8Type.h"
#include "passes/Codegen/Emitter.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpc;

/// Types without an LLVM memory type, which are stored as bytes.
static bool isByte(Type type) { return type.isInteger(1) || amp::isFp8(type); }

Type mpc::storageType(Type type) {
  return isByte(type) ? IntegerType::get(type.getContext(), 8) : type;
}

unsigned mpc::storageBytes(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

Value Emitter::dot(ArrayRef<Value> row, ArrayRef<int64_t> strides,
                   int64_t offset) {
  Value sum;
  for (auto [index, stride] : llvm::zip(row, strides))
    if (stride != 0) {
      Value term = scaled(index, stride);
      sum = sum ? add(sum, term) : term;
    }
  if (!sum)
    return i64(offset);
  return offset == 0 ? sum : add(sum, i64(offset));
}

Value Emitter::rowPointer(const KernelAccess &access, const Position &at) {
  Value base = pointers[operandOf.at(access.root)];
  Value element =
      dot(at.row, ArrayRef<int64_t>(access.strides).take_front(at.row.size()),
          access.offset);
  return LLVM::GEPOp::create(builder, loc, base.getType(),
                             storageType(access.elementType), base,
                             ValueRange{element});
}

/// The bytes from one row to the next from which rows are prefetched, but not
/// more than an address can be off; and the size of a cache line.
static constexpr int64_t kLeastPrefetchedStride = 1024;
static constexpr int64_t kMostPrefetchedStride = 1 << 24;
static constexpr int64_t kCacheLine = 64;

/// Addresses of lanes that are not contiguous.
Value Emitter::gather(const KernelAccess &access, const Position &at,
                      Value pointer) {
  Type element = storageType(access.elementType);
  int64_t stride = columnStride(access.strides);
  SmallVector<int64_t> steps;
  for (unsigned lane = 0; lane < at.lanes; ++lane)
    steps.push_back(lane * stride);
  auto indexType = VectorType::get({int64_t(at.lanes)}, builder.getI64Type());
  Value offsets = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(indexType, ArrayRef<int64_t>(steps)));
  Value start =
      LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                          ValueRange{scaled(at.column, stride)});
  auto pointersType = VectorType::get({int64_t(at.lanes)}, pointer.getType());
  return LLVM::GEPOp::create(builder, loc, pointersType, element, start,
                             ValueRange{offsets});
}

static Value allLanes(OpBuilder &builder, Location loc, unsigned lanes) {
  return constantLanes(builder, loc, builder.getBoolAttr(true), lanes);
}

/// Whether only the first lane exists. Such a masked store must not be left to
/// LLVM 22, which stores the unnarrowed value if the value was narrowed before.
static bool isFirstLane(Value mask) {
  DenseElementsAttr lanes;
  return matchPattern(mask, m_Constant(&lanes)) &&
         llvm::count(lanes.getValues<bool>(), true) == 1;
}

/// Zeros of a stored type, for lanes that do not exist.
static Value zeroLanes(OpBuilder &builder, Location loc, Type element,
                       unsigned lanes) {
  return constantLanes(builder, loc,
                       cast<TypedAttr>(builder.getZeroAttr(element)), lanes);
}

void Emitter::prefetchRow(const KernelAccess &access, const Position &at,
                          Value pointer) {
  if (prefetchedRows == 0 || at.row.empty())
    return;
  const int64_t bytes = storageBytes(storageType(access.elementType));
  const int64_t stride = access.strides[at.row.size() - 1] * bytes;
  // A line has several vectors of narrow elements.
  if (stride < kLeastPrefetchedStride || stride > kMostPrefetchedStride ||
      at.vector * at.lanes * bytes % kCacheLine != 0)
    return;
  Value ahead =
      LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(),
                          pointer, ValueRange{i64(prefetchedRows * stride)});
  constexpr int kRead = 0, kToL2 = 2, kData = 1;
  LLVM::Prefetch::create(builder, loc, ahead, kRead, kToL2, kData);
}

Value Emitter::load(const KernelAccess &access, const Position &at) {
  Type element = storageType(access.elementType);
  unsigned bytes = storageBytes(element);
  int64_t stride = columnStride(access.strides);
  Value value;
  if (at.lanes == 0 || stride == 0) {
    auto found = rowLoads.find(keyOf(access));
    if (found != rowLoads.end()) {
      value = found->second;
    } else {
      accesses.load(operandOf.at(access.root), access);
      value = LLVM::LoadOp::create(builder, loc, element,
                                   rowPointer(access, at), bytes);
    }
    value = broadcastLanes(builder, loc, value, at.lanes);
  } else {
    accesses.load(operandOf.at(access.root), access);
    Value pointer = rowPointer(access, at);
    Type type = vectorType(element, at.lanes);
    if (stride == 1) {
      pointer = LLVM::GEPOp::create(builder, loc, pointer.getType(), element,
                                    pointer, ValueRange{at.column});
      prefetchRow(access, at, pointer);
      if (at.mask)
        value = LLVM::MaskedLoadOp::create(
            builder, loc, type, pointer, at.mask,
            zeroLanes(builder, loc, element, at.lanes), bytes);
      else
        value = LLVM::LoadOp::create(builder, loc, type, pointer,
                                     alignmentOf(at.lanes, bytes));
    } else {
      Value mask = at.mask ? at.mask : allLanes(builder, loc, at.lanes);
      value = LLVM::masked_gather::create(
          builder, loc, type, gather(access, at, pointer), mask,
          ValueRange{zeroLanes(builder, loc, element, at.lanes)}, bytes);
    }
  }
  return fromStorage(access.elementType, value);
}

/// Loads elements at computed places: one element that all lanes share,
/// contiguous elements, or a gather.
Value Emitter::loadComputed(const ComputedAccess &access, const Position &at) {
  Type stored = getElementTypeOrSelf(access.tensor.getType());
  Type element = storageType(stored);
  unsigned bytes = storageBytes(element);
  unsigned operand = operandOf.at(memoryRoot(access.tensor));
  accesses.loadAnywhere(operand);
  Value base = pointers[operand];
  auto addressOf = [&](Value offset) -> Value {
    return LLVM::GEPOp::create(builder, loc, base.getType(), element, base,
                               ValueRange{offset});
  };
  bool isShared = access.steps && access.steps->step == 0 && !access.guard;
  if (at.lanes == 0 || isShared) {
    Value offset = access.steps ? access.steps->first : access.offsets;
    Value value =
        LLVM::LoadOp::create(builder, loc, element, addressOf(offset), bytes);
    return fromStorage(stored, broadcastLanes(builder, loc, value, at.lanes));
  }
  Value mask = at.mask;
  if (mask && access.guard)
    mask = arith::AndIOp::create(builder, loc, mask, access.guard);
  else if (!mask)
    mask = access.guard;
  Type type = vectorType(element, at.lanes);
  Value none = zeroLanes(builder, loc, element, at.lanes);
  if (access.steps && access.steps->step == 1) {
    Value pointer = addressOf(access.steps->first);
    if (!mask)
      return fromStorage(
          stored, LLVM::LoadOp::create(builder, loc, type, pointer, bytes));
    return fromStorage(stored,
                       LLVM::MaskedLoadOp::create(builder, loc, type, pointer,
                                                  mask, none, bytes));
  }
  Value offsets = access.offsets;
  if (access.steps) {
    base = addressOf(access.steps->first);
    SmallVector<int64_t> steps;
    for (unsigned lane = 0; lane < at.lanes; ++lane)
      steps.push_back(lane * access.steps->step);
    auto indexType = VectorType::get({int64_t(at.lanes)}, builder.getI64Type());
    offsets = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(indexType, ArrayRef<int64_t>(steps)));
  }
  auto pointersType = VectorType::get({int64_t(at.lanes)}, base.getType());
  Value addresses = LLVM::GEPOp::create(builder, loc, pointersType, element,
                                        base, ValueRange{offsets});
  if (!mask)
    mask = allLanes(builder, loc, at.lanes);
  return fromStorage(
      stored, LLVM::masked_gather::create(builder, loc, type, addresses, mask,
                                          ValueRange{none}, bytes));
}

/// Loads one element in its storage type.
Value Emitter::loadScalar(const KernelAccess &access, const Position &at) {
  accesses.load(operandOf.at(access.root), access);
  Type element = storageType(access.elementType);
  Value pointer = rowPointer(access, at);
  if (int64_t stride = columnStride(access.strides))
    pointer =
        LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                            ValueRange{scaled(at.column, stride)});
  return LLVM::LoadOp::create(builder, loc, element, pointer,
                              storageBytes(element));
}

/// Converts stored elements to the type that bodies use: booleans are bytes in
/// memory.
Value Emitter::fromStorage(Type elementType, Value value) {
  if (!isByte(elementType))
    return value;
  if (!elementType.isInteger(1)) {
    auto vector = dyn_cast<VectorType>(value.getType());
    Type type = vector ? Type(vector.clone(elementType)) : elementType;
    return arith::BitcastOp::create(builder, loc, type, value);
  }
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
}

void Emitter::store(const KernelAccess &access, const Position &at,
                    Value value) {
  accesses.store(operandOf.at(access.root), access);
  Type element = storageType(access.elementType);
  unsigned bytes = storageBytes(element);
  if (access.elementType.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, vectorType(element, at.lanes),
                                   value);
  else if (isByte(access.elementType))
    value = arith::BitcastOp::create(builder, loc,
                                     vectorType(element, at.lanes), value);
  Value pointer = rowPointer(access, at);
  if (at.lanes == 0) {
    LLVM::StoreOp::create(builder, loc, value, pointer, bytes);
    return;
  }
  int64_t stride = columnStride(access.strides);
  if (stride == 1 || !hasColumns()) {
    if (hasColumns())
      pointer = LLVM::GEPOp::create(builder, loc, pointer.getType(), element,
                                    pointer, ValueRange{at.column});
    if (at.mask && isFirstLane(at.mask))
      LLVM::StoreOp::create(builder, loc,
                            vector::ExtractOp::create(builder, loc, value, 0),
                            pointer, bytes);
    else if (at.mask)
      LLVM::MaskedStoreOp::create(builder, loc, value, pointer, at.mask, bytes);
    else
      LLVM::StoreOp::create(builder, loc, value, pointer,
                            alignmentOf(at.lanes, bytes));
    return;
  }
  Value mask = at.mask ? at.mask : allLanes(builder, loc, at.lanes);
  LLVM::masked_scatter::create(builder, loc, value, gather(access, at, pointer),
                               mask, bytes);
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
      accesses.load(operandOf.at(input.root), input);
      Type element = storageType(input.elementType);
      rowLoads[keyOf(input)] = LLVM::LoadOp::create(
          builder, loc, element, rowPointer(input, at), storageBytes(element));
    }
  }
}

/// Computes all outputs of `nodes` that are stored to memory.
Emitter::Stores Emitter::makeOutputs(ArrayRef<unsigned> nodes,
                                     const Position &at) {
  Stores values;
  for (unsigned index : nodes)
    for (auto [i, output] : llvm::enumerate(domain.nodes[index].outputs)) {
      if (!operandOf.count(output.root))
        continue;
      NodeResult which{index, unsigned(i)};
      values.push_back(
          {&output, at.lanes == 0 ? rowValue(which, at) : evaluate(which, at)});
    }
  return values;
}

/// Computes all outputs of `nodes` before storing any: an output may share the
/// memory of an input.
void Emitter::storeOutputs(ArrayRef<unsigned> nodes, const Position &at) {
  for (auto [output, value] : makeOutputs(nodes, at))
    store(*output, at, value);
}

LogicalResult Emitter::verifySharedBuffers(ArrayRef<SharedBuffer> sharedBuffers,
                                           StringRef pass) {
  for (SharedBuffer shared : sharedBuffers)
    if (!accesses.mayShare(shared.operand, arguments + shared.result))
      return emitError(loc, "internal error in ")
             << pass << ": result " << shared.result << " of '"
             << func.getName() << "' takes the place of operand "
             << shared.operand
             << ", but the code reads its elements after writing there";
  return success();
}
