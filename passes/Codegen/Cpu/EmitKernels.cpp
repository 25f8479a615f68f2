//===- EmitKernels.cpp - Lower linalg kernels to vector code --------------===//
//
// Implements mpc-emit-kernels: finds the kernels; KernelEmitter does the work.
//
//===----------------------------------------------------------------------===//

#include "compiler/Attributes/Attributes.h"
#include "passes/Codegen/Cpu/KernelEmitter.h"
#include "passes/Codegen/Cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mpc {
#define GEN_PASS_DEF_EMITKERNELSPASS
#include "passes/Codegen/Cpu/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct EmitKernelsPass : mpc::impl::EmitKernelsPassBase<EmitKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    auto sharedBuffers = findSharedBuffers(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(kKernelAttr) &&
          failed(emitKernel(func, sharedBuffers.lookup(func.getName()), lanes)))
        return signalPassFailure();
  }
};

} // namespace
