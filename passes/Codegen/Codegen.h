//===- Codegen.h - What turns kernels into code of a device -----*- C++ -*-===//
//
// One for each row of kernels/devices.def, in a folder of its own: the twin of
// compiler/Target/Backend.h, which knows no passes.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_CODEGEN_H
#define MPC_PASSES_CODEGEN_CODEGEN_H

#include "compiler/Target/Backend.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mpc {

/// The passes of a device that generate code.
struct Codegen {
  /// Adds them for a device with `features` (DeviceTarget). They get a planned
  /// module and leave kernels that the device's target compiles.
  void (*addPasses)(mlir::OpPassManager &manager,
                    llvm::ArrayRef<std::string> features);
  /// Makes each of them an option of a tool.
  void (*registerPasses)();
};

// What the folders define.
#define MPC_DEVICE(name, Folder, ...) extern const Codegen k##Folder##Codegen;
#include "kernels/devices.def"

const Codegen &codegenOf(const Backend &backend);

/// Registers the passes of all devices.
void registerCodegenPasses();

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CODEGEN_H
