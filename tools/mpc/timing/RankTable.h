//===- RankTable.h - Estimates for several ranks as text and JSON -*- C++ -*-=//
#ifndef MPC_TOOLS_MPC_TIMING_RANKTABLE_H
#define MPC_TOOLS_MPC_TIMING_RANKTABLE_H

#include "tools/mpc/timing/RankEstimate.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mpc::tool {

/// Estimates for 1, 2, 4, ... ranks, and for `most`.
std::vector<RankEstimate> estimateRanks(const RankEstimator &estimator,
                                        uint32_t most);

/// Prints them as a table, with what they assume.
void printRanks(llvm::raw_ostream &os,
                const std::vector<RankEstimate> &estimates,
                const Machine &machine, const Network &network, size_t width);

/// The same as JSON (docs/format/report.md).
llvm::json::Array ranksJson(const std::vector<RankEstimate> &estimates);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_RANKTABLE_H
