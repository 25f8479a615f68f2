//===- EmitGpuKernels.cpp - Lower linalg kernels to thread code -----------===//
//
// Implements mpc-emit-gpu-kernels: finds the kernels; GpuEmitter does the work.
//
//===----------------------------------------------------------------------===//

#include "compiler/Attributes/Attributes.h"
#include "passes/Codegen/Cuda/GpuOps.h"
#include "passes/Codegen/Cuda/KernelEmitter.h"
#include "passes/Codegen/Cuda/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mpc {
#define GEN_PASS_DEF_EMITGPUKERNELSPASS
#include "passes/Codegen/Cuda/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct EmitGpuKernelsPass
    : mpc::impl::EmitGpuKernelsPassBase<EmitGpuKernelsPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerGpuOps(registry);
  }

  void runOnOperation() override {
    auto sharedBuffers = findSharedBuffers(getOperation());
    SmallVector<func::FuncOp> kernels;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(kKernelAttr))
        kernels.push_back(func);
    for (func::FuncOp kernel : kernels)
      if (failed(emitGpuKernel(kernel, sharedBuffers.lookup(kernel.getName()))))
        return signalPassFailure();
  }
};

} // namespace
