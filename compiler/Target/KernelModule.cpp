//===- KernelModule.cpp - Kernels as LLVM IR ------------------------------===//

#include "compiler/Target/KernelModule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"

using namespace mlir;
using namespace mpc;

std::unique_ptr<llvm::Module>
mpc::translateKernels(ModuleOp module, llvm::LLVMContext &context) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  registerNVVMDialectTranslation(*module.getContext());
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(kernels->getBody());
  for (Operation &op : *module.getBody()) {
    if (!isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
      continue;
    Operation *copy = builder.clone(op);
    if (isa<LLVM::LLVMFuncOp>(copy))
      SymbolTable::setSymbolVisibility(copy, SymbolTable::Visibility::Public);
  }
  return translateModuleToLLVMIR(*kernels, context, "kernels");
}

namespace {
/// The analyses of passes. They refer to each other, so the order of members
/// allows their destruction.
struct Analyses {
  explicit Analyses(llvm::PassBuilder &passes) {
    passes.registerModuleAnalyses(modules);
    passes.registerCGSCCAnalyses(graphs);
    passes.registerFunctionAnalyses(functions);
    passes.registerLoopAnalyses(loops);
    passes.crossRegisterProxies(loops, functions, graphs, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
};
} // namespace

void mpc::optimizeKernels(llvm::Module &module, llvm::TargetMachine &machine,
                          bool unroll) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = unroll;
  llvm::PassBuilder passes(&machine, tuning);
  Analyses analyses(passes);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, analyses.modules);
}

void mpc::sanitizeKernels(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  llvm::PassBuilder passes;
  Analyses analyses(passes);
  // Globals need no registration: only this code uses their addresses.
  llvm::AddressSanitizerPass(llvm::AddressSanitizerOptions(),
                             /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false,
                             llvm::AsanDtorKind::None, llvm::AsanCtorKind::None)
      .run(module, analyses.modules);
}

bool mpc::emitKernels(llvm::Module &module, llvm::TargetMachine &machine,
                      llvm::CodeGenFileType type,
                      llvm::raw_pwrite_stream &out) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type))
    return false;
  passes.run(module);
  return true;
}
