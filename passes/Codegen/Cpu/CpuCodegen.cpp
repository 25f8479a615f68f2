//===- CpuCodegen.cpp - The passes for CPUs -------------------------------===//

#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/Cpu/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

static void addPasses(OpPassManager &manager,
                      llvm::ArrayRef<std::string> features) {
  manager.addPass(createEmitKernelsPass());
  // Before all passes that take time for each kernel.
  manager.addPass(createShareKernelsPass());
  // Merges address computations that several operands share.
  manager.addPass(createCSEPass());
  manager.addPass(createLowerKernelsPass({llvm::join(features, ",")}));
}

const Codegen mpc::kCpuCodegen = {addPasses, registerMPCCodegenCpuPasses};
