//===- GpuThreads.cpp - Cooperation of the threads of a kernel ------------===//

#include "passes/Codegen/Cuda/GpuEmitter.h"
#include "passes/Codegen/Cuda/GpuOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

static constexpr unsigned kWarp = 32;

Value GpuEmitter::isZero(Value number) {
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(number.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, number,
                               zero);
}

/// The conjunction of two conditions; null means true.
Value GpuEmitter::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(builder, loc, lhs, rhs);
}

Value GpuEmitter::choose(Value condition, Value yes, Value no) {
  return condition ? arith::SelectOp::create(builder, loc, condition, yes, no)
                   : yes;
}

void GpuEmitter::onlyIf(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto ifOp =
      scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

/// Computes the indices of the thread, its block and its group.
void GpuEmitter::findThread() {
  thread = createThreadIndex(builder, loc);
  block = createBlockIndex(builder, loc);
  unsigned size = schedule.groupThreads;
  threadOfGroup = thread;
  group = i32(0);
  if (schedule.groups == 1)
    return;
  threadOfGroup = arith::RemUIOp::create(builder, loc, thread, i32(size));
  group = arith::DivUIOp::create(builder, loc, thread, i32(size));
}

void GpuEmitter::barrier() { createBarrier(builder, loc); }

/// The value of the thread whose number differs only in the bit `distance`.
Value GpuEmitter::shuffle(Value value, unsigned distance) {
  Type type = value.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = builder.getIntegerType(width), word = builder.getI32Type();
  if (type != bits)
    value = arith::BitcastOp::create(builder, loc, bits, value);
  auto exchange = [&](Value number) -> Value {
    return createShuffle(builder, loc, i32(-1), number, i32(distance),
                         i32(kWarp - 1));
  };
  if (width == 64) {
    Value high = arith::ShRUIOp::create(builder, loc, value, i64(32));
    Value low = exchange(arith::TruncIOp::create(builder, loc, word, value));
    high = exchange(arith::TruncIOp::create(builder, loc, word, high));
    high = arith::ShLIOp::create(builder, loc, toIndex(high), i64(32));
    value = arith::OrIOp::create(builder, loc, high, toIndex(low));
  } else if (width == 32) {
    value = exchange(value);
  } else {
    value = arith::ExtUIOp::create(builder, loc, word, value);
    value = arith::TruncIOp::create(builder, loc, bits, exchange(value));
  }
  return type == bits
             ? value
             : arith::BitcastOp::create(builder, loc, type, value).getResult();
}

/// Combines values of all threads of a group: by shuffles within a warp, then
/// through shared memory, with a part for each sum and one barrier for all of
/// them. All threads get the results.
void GpuEmitter::reduceWithinGroup(MutableArrayRef<RowSum> sums) {
  auto overLanes = [&](RowSum &sum, unsigned lanes) {
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
      sum.value = combine(builder, loc, sum.combiner, sum.value,
                          shuffle(sum.value, distance));
  };
  for (RowSum &sum : sums)
    overLanes(sum, std::min(schedule.groupThreads, kWarp));
  unsigned warps = schedule.groupThreads / kWarp;
  if (warps <= 1 || sums.empty())
    return;

  // In a loop there are two buffers, so that a fast warp does not overwrite
  // values that a slow one still reads: the barrier of one separates two uses
  // of the other.
  Value first = i64(0);
  if (iteration)
    first =
        scaled(arith::AndIOp::create(builder, loc, iteration, i64(1)), warps);
  Value lane = arith::RemUIOp::create(builder, loc, thread, i32(kWarp));
  Value warp = arith::DivUIOp::create(builder, loc, thread, i32(kWarp));
  SmallVector<Value> memories;
  for (RowSum &sum : sums)
    memories.push_back(sharedMemory("row" + std::to_string(sum.node),
                                    int64_t(iteration ? 2 : 1) * warps *
                                        storageBytes(sum.value.getType())));
  auto placeOf = [&](RowSum &sum, Value memory, Value number) {
    return elementAt(memory, sum.value.getType(), add(first, toIndex(number)));
  };
  onlyIf(isZero(lane), [&] {
    for (auto [sum, memory] : llvm::zip(sums, memories))
      LLVM::StoreOp::create(builder, loc, sum.value, placeOf(sum, memory, warp),
                            storageBytes(sum.value.getType()));
  });
  barrier();
  Value which = arith::RemUIOp::create(builder, loc, lane, i32(warps));
  for (auto [sum, memory] : llvm::zip(sums, memories)) {
    Type element = sum.value.getType();
    sum.value =
        LLVM::LoadOp::create(builder, loc, element, placeOf(sum, memory, which),
                             storageBytes(element));
    overLanes(sum, warps);
  }
}

/// Combines the values of the threads with the same index in their groups; the
/// threads of the first group get the result.
Value GpuEmitter::reduceAcrossGroups(const CombinerInfo &info, Value value) {
  if (schedule.groups == 1)
    return value;
  Type type = value.getType();
  auto vector = dyn_cast<VectorType>(type);
  unsigned bytes = storageBytes(getElementTypeOrSelf(type)) *
                   (vector ? vector.getNumElements() : 1);
  unsigned alignment = std::min(16u, bytes);
  Value memory = sharedMemory("down", int64_t(schedule.threads()) * bytes);
  auto placeOf = [&](Value number) {
    return elementAt(memory, type, toIndex(number));
  };
  auto read = [&](Value place) -> Value {
    return LLVM::LoadOp::create(builder, loc, type, place, alignment);
  };
  Value own = placeOf(thread);
  // The other groups' values of the previous sum may not have been read yet.
  if (joined)
    barrier();
  joined = true;
  LLVM::StoreOp::create(builder, loc, value, own, alignment);
  for (unsigned half = schedule.groups / 2; half > 0; half /= 2) {
    barrier();
    onlyIf(isLess(group, i32(half)), [&] {
      Value other = arith::AddIOp::create(builder, loc, thread,
                                          i32(half * schedule.groupThreads));
      Value sum = combine(builder, loc, info, read(own), read(placeOf(other)));
      LLVM::StoreOp::create(builder, loc, sum, own, alignment);
    });
  }
  return read(own);
}

/// An array in the shared memory of a block. Calls with equal names share one
/// array, which has the largest of the sizes.
Value GpuEmitter::sharedMemory(StringRef what, int64_t bytes) {
  auto module = func->getParentOfType<ModuleOp>();
  std::string name = (func.getName() + "_" + what).str();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(func);
    global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                                    LLVM::Linkage::Internal, name, Attribute(),
                                    /*alignment=*/16, sharedMemorySpace());
  } else if (cast<LLVM::LLVMArrayType>(global.getType()).getNumElements() <
             uint64_t(bytes)) {
    global.setGlobalType(type);
  }
  Value address = LLVM::AddressOfOp::create(builder, loc, global);
  return LLVM::AddrSpaceCastOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), address);
}

/// The dynamic shared memory of the block, aligned to 16 bytes.
Value GpuEmitter::dynamicSharedMemory() {
  auto module = func->getParentOfType<ModuleOp>();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(kDynamicShared);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(func);
    global = LLVM::GlobalOp::create(
        builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, kDynamicShared,
        Attribute(), /*alignment=*/16, sharedMemorySpace());
  }
  Value address = LLVM::AddressOfOp::create(builder, loc, global);
  return LLVM::AddrSpaceCastOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), address);
}

Value GpuEmitter::elementAt(Value pointer, Type element, Value index) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                             ValueRange{index});
}
