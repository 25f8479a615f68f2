//===- Register.cpp - Everything mpc brings to a tool ---------------------===//

#include "tools/Register.h"

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "compiler/Support/DebugFlags.h"
#include "passes/Codegen/Codegen.h"
#include "passes/Diagnose/Passes.h"
#include "passes/Driver/Pipeline.h"
#include "passes/Fusion/Passes.h"
#include "passes/Grad/Passes.h"
#include "passes/Graph/Passes.h"
#include "passes/Plan/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Recompute/Passes.h"
#include "passes/Split/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

void mpc::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<amp::AmpDialect, exec::ExecDialect, MpcDialect,
                  train::TrainDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                  mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
}

void mpc::registerAll(mlir::DialectRegistry &registry) {
  registerDialects(registry);
  train::registerAmpLowering(registry);
  registerCodegenPasses();
  registerMPCDiagnosePasses();
  registerMPCFusionPasses();
  registerMPCGradPasses();
  registerMPCGraphPasses();
  registerMPCPlanPasses();
  registerMPCPrecisionPasses();
  registerMPCRecomputePasses();
  registerMPCSplitPasses();
  registerStagePipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerStripDebugInfo();
  registerDebugFlags();
}
