//===- LowerKernels.cpp - Lower emitted kernels to LLVM -------------------===//
//
// Implements mpc-lower-kernels.
//
//===----------------------------------------------------------------------===//

#include "compiler/Attributes/Attributes.h"
#include "passes/Codegen/ApproximateMath.h"
#include "passes/Codegen/Cpu/Passes.h"
#include "passes/Codegen/FloatBits.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "passes/Codegen/Cpu/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct LowerKernelsPass : mpc::impl::LowerKernelsPassBase<LowerKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<StringRef> available;
    StringRef(features).split(available, ',');
    MathTarget target = llvm::is_contained(available, "avx512dq")
                            ? MathTarget::Avx512
                            : MathTarget::Any;
    if (!libm && failed(approximate(target)))
      return signalPassFailure();

    bool hasBf16 = llvm::is_contained(available, "avx512bf16");
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!func->hasAttr(kKernelAttr))
        continue;
      keepFp8AsBits(func);
      if (!hasBf16)
        keepBf16AsBits(func);
    }

    // What can be is nested: kernels are lowered on all threads.
    OpPassManager lower(ModuleOp::getOperationName());
    lower.addNestedPass<func::FuncOp>(createCSEPass());
    lower.addNestedPass<func::FuncOp>(arith::createArithExpandOpsPass());
    lower.addNestedPass<func::FuncOp>(createSCFToControlFlowPass());
    ConvertVectorToLLVMPassOptions vectorOptions;
    vectorOptions.reassociateFPReductions = true;
    lower.addNestedPass<func::FuncOp>(
        createConvertVectorToLLVMPass(vectorOptions));
    // First the ops with an instruction or an intrinsic: the libm conversion
    // would also replace fma and sqrt by calls, one element at a time.
    lower.addNestedPass<func::FuncOp>(createConvertMathToLLVMPass());
    lower.addPass(createConvertMathToLibmPass());
    // Lowers the extracts and inserts around those calls.
    lower.addNestedPass<func::FuncOp>(
        createConvertVectorToLLVMPass(vectorOptions));
    lower.addNestedPass<func::FuncOp>(createArithToLLVMConversionPass());
    lower.addPass(createConvertControlFlowToLLVMPass());
    lower.addPass(createConvertFuncToLLVMPass());
    lower.addNestedPass<LLVM::LLVMFuncOp>(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(lower, getOperation())))
      signalPassFailure();
  }

private:
  /// Replaces math functions by polynomials, on all threads.
  LogicalResult approximate(MathTarget target) {
    RewritePatternSet composed(&getContext());
    populateComposedMathPatterns(composed, target);
    RewritePatternSet simple(&getContext());
    populateApproximateMathPatterns(simple, target);
    populateMathPolynomialApproximationPatterns(simple);
    FrozenRewritePatternSet first(std::move(composed)),
        second(std::move(simple));
    auto funcs = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    return failableParallelForEach(
        &getContext(), funcs, [&](func::FuncOp func) {
          return success(succeeded(applyPatternsGreedily(func, first)) &&
                         succeeded(applyPatternsGreedily(func, second)));
        });
  }
};

} // namespace
