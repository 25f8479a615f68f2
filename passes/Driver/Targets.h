//===- Targets.h - The devices of one compilation ---------------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_TARGETS_H
#define MPC_PASSES_DRIVER_TARGETS_H

#include "compiler/Target/Package.h"
#include "passes/Driver/Pipeline.h"

namespace mpc {

/// The targets of `options`, grouped by device, in the order in which each
/// device first appears, with the rates of option `machine`. An unknown target
/// or machine is a user error.
llvm::Expected<std::vector<std::unique_ptr<DeviceTarget>>>
findTargets(const CompileOptions &options);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_TARGETS_H
