//===- RunLog.h - Read the log of a training run ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_PLOTS_RUNLOG_H
#define MPC_TOOLS_MPC_PLOTS_RUNLOG_H

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mpc::tool {

/// Values over steps.
using Curve = std::vector<std::pair<double, double>>;

/// The curves of a run, by the names of the log: "loss", "eval_loss", "lr".
struct RunLog {
  std::string name; ///< For legends: the path.
  std::map<std::string, Curve> curves;
};

/// Reads what `mpc train --log` or `--json` wrote: a .csv file, or JSON lines.
/// Values that are not finite are left out. Throws a Failure if the file cannot
/// be read or has no column `step`.
RunLog readRunLog(const std::string &path);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_PLOTS_RUNLOG_H
