//===- Targets.h - The devices of one compilation ---------------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_TARGETS_H
#define MPC_PASSES_DRIVER_TARGETS_H

#include "compiler/Target/CpuTarget.h"
#include "compiler/Target/Package.h"
#include "passes/Driver/Pipeline.h"

#include <optional>

namespace mpc {

/// A kind of device and what of it a model is compiled for.
struct DeviceTarget {
  DeviceKind device;
  std::optional<CpuTarget> cpu;           ///< Of a CPU.
  std::vector<std::string> architectures; ///< Of GPUs: "sm_80"; "sim" and
                                          ///< "sim-asan" for the simulator.
  /// What the stages are told: of several architectures the oldest.
  StageTarget stages() const;
};

/// The targets of `options`, those of one kind of device together, in the order
/// of their first mention. An unknown one is an error for the user.
llvm::Expected<std::vector<DeviceTarget>>
findTargets(const CompileOptions &options);

/// Compiles the kernels of a module that went through all stages. An error
/// with a code is about temporary files; others are ours.
llvm::Error generateCode(mlir::ModuleOp module, const DeviceTarget &target,
                         PackageVariant &variant);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_TARGETS_H
