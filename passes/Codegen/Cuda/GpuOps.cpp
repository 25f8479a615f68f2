//===- GpuOps.cpp - GPU operations of a thread ----------------------------===//

#include "passes/Codegen/Cuda/GpuOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

void mpc::registerGpuOps(DialectRegistry &registry) {
  registry.insert<NVVM::NVVMDialect>();
}

Value mpc::createThreadIndex(OpBuilder &builder, Location loc) {
  return NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
}

Value mpc::createBlockIndex(OpBuilder &builder, Location loc) {
  return NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
}

void mpc::createBarrier(OpBuilder &builder, Location loc) {
  NVVM::Barrier0Op::create(builder, loc);
}

Value mpc::createShuffle(OpBuilder &builder, Location loc, Value all,
                         Value word, Value distance, Value last) {
  return NVVM::ShflOp::create(builder, loc, builder.getI32Type(), all, word,
                              distance, last, NVVM::ShflKind::bfly, UnitAttr());
}

Value mpc::createFp8Pair(OpBuilder &builder, Location loc, Type format,
                         Value first, Value second) {
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(format))
    return Value();
  return NVVM::ConvertF32x2ToF8x2Op::create(
      builder, loc, builder.getI16Type(), second, first,
      NVVM::FPRoundingMode::RN, NVVM::SaturationMode::SATFINITE,
      /*relu=*/false, format);
}

Value mpc::createDynamicSharedBytes(OpBuilder &builder, Location loc) {
  return NVVM::DynamicSmemSize::create(builder, loc, builder.getI32Type());
}

// LLVM 22 selects its prefetches only for PTX 8.0 and newer.
void mpc::createPrefetch(OpBuilder &builder, Location loc, Value address) {
  Value number =
      LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), address);
  LLVM::InlineAsmOp::create(
      builder, loc, TypeRange(), ValueRange{number},
      /*asm_string=*/"prefetch.L2 [$0];", /*constraints=*/"l",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

unsigned mpc::sharedMemorySpace() {
  return unsigned(NVVM::NVVMMemorySpace::Shared);
}

void mpc::markAsKernel(Operation *func, int64_t threads) {
  Builder builder(func->getContext());
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                builder.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                builder.getDenseI32ArrayAttr({int32_t(threads)}));
}
