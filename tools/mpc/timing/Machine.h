//===- Machine.h - The rates of this machine --------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TIMING_MACHINE_H
#define MPC_TOOLS_MPC_TIMING_MACHINE_H

#include "tools/mpc/base/Runtime.h"

#include "kernels/cpu/ceilings.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>

namespace mpc::tool {

using kernels::Ceilings;

/// The number of threads of a CPU session with these settings.
int numThreads(const SessionSettings &settings);

/// Whether the session runs on the CPU, whose ceilings can be measured.
bool runsOnCpu(const Session &session);

/// Measures the ceilings of the session's threads; none on other devices.
std::optional<Ceilings> measureCeilings(const Session &session,
                                        const SessionSettings &settings);

/// "f32 141.3 GFLOP/s, bf16 282.0 GFLOP/s, copy 12.1 GB/s"; without those that
/// are unknown.
std::string formatCeilings(const Ceilings &ceilings);

/// In operations and bytes per second; unknown rates are null.
nlohmann::ordered_json toJson(const Ceilings &ceilings);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_MACHINE_H
