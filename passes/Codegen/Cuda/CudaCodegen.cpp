//===- CudaCodegen.cpp - The passes for NVIDIA GPUs -----------------------===//

#include "compiler/Target/Cuda/GpuTarget.h"
#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/Cuda/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

static void addPasses(OpPassManager &manager,
                      llvm::ArrayRef<std::string> features) {
  manager.addPass(createEmitGpuKernelsPass());
  // Merges address computations that several operands share.
  manager.addPass(createCSEPass());
  manager.addPass(createLowerGpuKernelsPass(
      {llvm::is_contained(features, kSimulatedFeature),
       llvm::join(features, ",")}));
}

const Codegen mpc::kCudaCodegen = {addPasses, registerMPCCodegenCudaPasses};
