//===- ReferenceCodegen.cpp - The passes for the reference device ---------===//

#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/Cpu/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

/// The passes for CPUs, without vectors and without approximations.
static void addPasses(OpPassManager &manager, llvm::ArrayRef<std::string>) {
  manager.addPass(createEmitKernelsPass({/*lanes=*/1}));
  manager.addPass(createCSEPass());
  manager.addPass(createLowerKernelsPass({/*features=*/"", /*libm=*/true}));
}

const Codegen mpc::kReferenceCodegen = {addPasses, /*registerPasses=*/[] {}};
