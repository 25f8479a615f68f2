//===- TimeProfile.h - Where the time of steps goes -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TIMING_TIMEPROFILE_H
#define MPC_TOOLS_MPC_TIMING_TIMEPROFILE_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/timing/Machine.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// An instruction that ran, or a part of all calls; see mpc_profile_record_t.
struct TimeRow {
  mpc_profile_kind_t kind;
  std::string entry, nodes, kernel, implementation;
  mpc_dtype_t dtype;
  uint64_t calls, totalNs, minNs, bytes, flops;
};

/// The profile of a session that has stopped.
struct TimeProfile {
  std::vector<TimeRow> rows; ///< Those that ran, the longest total first.
  uint64_t calls = 0, totalNs = 0;
  uint64_t droppedEvents = 0;
  std::optional<Ceilings> ceilings;

  /// Floating-point operations of all library kernels that ran.
  double flops() const;

  /// Seconds that these operations would take at the peak rates of their
  /// formats; none if a rate is unknown.
  std::optional<double> secondsAtPeak() const;
};

TimeProfile readProfile(const Session &session,
                        std::optional<Ceilings> ceilings);

/// How near a row comes to a limit of the machine.
struct OfCeiling {
  double share;
  bool isArithmetic; ///< Limited by operations rather than by bytes.
};

/// The larger of the row's shares of the two ceilings; none if unknown. A share
/// of the copy rate above 1 means that data stayed in a cache.
std::optional<OfCeiling> ofCeiling(const TimeRow &row,
                                   const std::optional<Ceilings> &ceilings);

/// A table with at most `most` rows, 0 for all; a last row has the sum of the
/// others. Shares add up to 100 %.
std::string formatProfile(const TimeProfile &profile, size_t most);

nlohmann::ordered_json toJson(const TimeProfile &profile);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_TIMEPROFILE_H
