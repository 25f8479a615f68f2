//===- CpuBackend.h - Compilation for CPUs ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_CPU_CPUBACKEND_H
#define MPC_COMPILER_TARGET_CPU_CPUBACKEND_H

#include "compiler/Target/Backend.h"
#include "compiler/Target/Package.h"

namespace mpc {

struct CpuTarget;

/// Adds the kernels of `module` to `variant`, as a shared object for the CPU.
/// With `sanitize` they are instrumented with AddressSanitizer.
llvm::Error addObject(mlir::ModuleOp module, const CpuTarget &cpu,
                      CodeSegment segment, PackageVariant &variant,
                      bool sanitize = false);

/// Also the base class of other devices that run on the CPU.
class CpuBackend : public Backend {
public:
  using Backend::Backend;

  Machine machine(llvm::ArrayRef<std::string> features,
                  llvm::StringRef model) const override;
  const FusionLimits &fusionLimits() const override;
  std::optional<LaunchShape>
  launchShape(const KernelDomain &domain) const override;
  llvm::Expected<std::unique_ptr<DeviceTarget>>
  findTarget(const TargetRequest &request) const override;

protected:
  /// The launch of a kernel whose vectors have at most `maxLanes` elements.
  static std::optional<LaunchShape> launchShape(const KernelDomain &domain,
                                                unsigned maxLanes);
};

} // namespace mpc

#endif // MPC_COMPILER_TARGET_CPU_CPUBACKEND_H
