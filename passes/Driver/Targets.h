//===- Targets.h - The devices of one compilation ---------------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_TARGETS_H
#define MPC_PASSES_DRIVER_TARGETS_H

#include "compiler/Target/Package.h"
#include "passes/Driver/Pipeline.h"

namespace mpc {

/// The targets of `options`, those of one device together, in the order of
/// their first mention. An unknown one is an error for the user.
llvm::Expected<std::vector<std::unique_ptr<DeviceTarget>>>
findTargets(const CompileOptions &options);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_TARGETS_H
