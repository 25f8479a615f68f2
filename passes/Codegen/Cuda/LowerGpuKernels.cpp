//===- LowerGpuKernels.cpp - Lower emitted GPU kernels to LLVM ------------===//
//
// Implements mpc-lower-gpu-kernels.
//
//===----------------------------------------------------------------------===//

#include "compiler/Attributes/Attributes.h"
#include "passes/Codegen/ApproximateMath.h"
#include "passes/Codegen/Cuda/GpuOps.h"
#include "passes/Codegen/Cuda/Passes.h"
#include "passes/Codegen/Cuda/SimulateThreads.h"
#include "passes/Codegen/FloatBits.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
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
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_LOWERGPUKERNELSPASS
#include "passes/Codegen/Cuda/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct LowerGpuKernelsPass
    : mpc::impl::LowerGpuKernelsPassBase<LowerGpuKernelsPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerGpuOps(registry);
  }

  void runOnOperation() override {
    MathTarget target = simulate ? MathTarget::Any : MathTarget::Nvptx;
    RewritePatternSet composed(&getContext());
    populateComposedMathPatterns(composed, target);
    if (failed(applyPatternsGreedily(getOperation(), std::move(composed))))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    populateApproximateMathPatterns(patterns, target);
    populateDoubleMathPatterns(patterns);
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();

    SmallVector<StringRef> available;
    StringRef(features).split(available, ',');
    Fp8PairRounding roundPair = nullptr;
    if (llvm::is_contained(available, "sm_89"))
      roundPair = createFp8Pair;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        keepFp8AsBits(func, roundPair);
    if (simulate)
      simulateThreads(getOperation());

    OpPassManager lower(ModuleOp::getOperationName());
    lower.addPass(createCSEPass());
    lower.addPass(arith::createArithExpandOpsPass());
    lower.addPass(createSCFToControlFlowPass());
    lower.addPass(createConvertVectorToLLVMPass());
    lower.addPass(createConvertMathToLLVMPass());
    lower.addPass(createArithToLLVMConversionPass());
    lower.addPass(createConvertControlFlowToLLVMPass());
    lower.addPass(createConvertFuncToLLVMPass());
    lower.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(lower, getOperation())))
      return signalPassFailure();
    if (!simulate)
      markKernels();
  }

  /// Marks kernels, with the number of threads per block, for the code
  /// generator.
  void markKernels() {
    for (auto func : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      auto threads = func->getAttrOfType<IntegerAttr>(kThreadsAttr);
      if (!threads)
        continue;
      markAsKernel(func, threads.getInt());
      func->removeAttr(kThreadsAttr);
    }
  }
};

} // namespace
