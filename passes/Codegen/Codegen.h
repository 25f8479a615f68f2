//===- Codegen.h - Code generation passes of each device --------*- C++ -*-===//
//
// One Codegen for each row of kernels/devices.def, in a folder of its own. It
// is the counterpart of compiler/Target/Backend.h, which does not depend on
// passes.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_CODEGEN_H
#define MPC_PASSES_CODEGEN_CODEGEN_H

#include "compiler/Target/Backend.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mpc {

/// The code generation passes of a device.
struct Codegen {
  /// Adds the passes for a device with `features` (DeviceTarget). They take a
  /// planned module and leave kernels that the device's target compiles.
  void (*addPasses)(mlir::OpPassManager &manager,
                    llvm::ArrayRef<std::string> features);
  /// Registers each of them as an option of a tool.
  void (*registerPasses)();
};

// Each folder defines one of these.
#define MPC_DEVICE(name, Folder, ...) extern const Codegen k##Folder##Codegen;
#include "kernels/devices.def"

const Codegen &codegenOf(const Backend &backend);

/// Registers the passes of all devices.
void registerCodegenPasses();

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CODEGEN_H
