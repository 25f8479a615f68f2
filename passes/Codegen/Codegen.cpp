//===- Codegen.cpp - Code generation passes of each device ----------------===//

#include "passes/Codegen/Codegen.h"

using namespace mpc;

const Codegen &mpc::codegenOf(const Backend &backend) {
#define MPC_DEVICE(device, Folder, ...)                                        \
  if (backend.name() == #device)                                               \
    return k##Folder##Codegen;
#include "kernels/devices.def"
  llvm_unreachable("a backend has a row");
}

void mpc::registerCodegenPasses() {
#define MPC_DEVICE(name, Folder, ...) k##Folder##Codegen.registerPasses();
#include "kernels/devices.def"
}
