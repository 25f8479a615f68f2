//===- module.cpp - From a module in memory to a program ------------------===//

#include "test/gradients/module.h"

#include "passes/Driver/Targets.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;

test::ProgramPtr test::buildProgram(ModuleOp module) {
  PassManager manager(module.getContext());
  for (const char *stage : {"fusion", "plan", "codegen"})
    addStage(manager, stage, CompileOptions());
  auto targets = findTargets(CompileOptions());
  PackageVariant variant;
  if (!targets || failed(manager.run(module))) {
    ADD_FAILURE() << "the module cannot be compiled";
    return nullptr;
  }
  if (llvm::Error error = targets->front()->generate(module, variant)) {
    ADD_FAILURE() << llvm::toString(std::move(error));
    return nullptr;
  }
  FailureOr<std::string> package = buildPackage({variant}, {});
  if (failed(package)) {
    ADD_FAILURE() << "the program cannot be packed";
    return nullptr;
  }
  mpc_program_t *program = nullptr;
  if (!test::isOk(
          mpc_program_load_memory(package->data(), package->size(), &program)))
    return nullptr;
  return test::ProgramPtr(program, mpc_program_destroy);
}
