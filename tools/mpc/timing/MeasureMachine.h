//===- MeasureMachine.h - Measure the rates of this machine -----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TIMING_MEASUREMACHINE_H
#define MPC_TOOLS_MPC_TIMING_MEASUREMACHINE_H

#include "compiler/Support/Machine/Machine.h"

#include <string>

namespace mpc::tool {

/// Measures the CPU with `threads` threads for a few seconds: products of the
/// kernels that programs use, copies within caches and memory, and the overhead
/// of a kernel. Each rate is the best of several runs. `cpu` is its name.
/// Throws a Failure if a kernel cannot run or memory is short.
Machine measureMachine(const std::string &cpu, int threads);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_MEASUREMACHINE_H
