//===- RankTable.cpp - Estimates for several ranks as text and JSON -------===//

#include "tools/mpc/timing/RankTable.h"

#include "compiler/Report/Text/Text.h"

using namespace mpc::tool;
using mpc::report::inTime;
using mpc::report::percent;

std::vector<RankEstimate>
mpc::tool::estimateRanks(const RankEstimator &estimator, uint32_t most) {
  std::vector<RankEstimate> estimates;
  for (uint64_t ranks = 1; ranks < most; ranks *= 2)
    estimates.push_back(estimator.of(uint32_t(ranks)));
  estimates.push_back(estimator.of(most));
  return estimates;
}

void mpc::tool::printRanks(llvm::raw_ostream &os,
                           const std::vector<RankEstimate> &estimates,
                           const Machine &machine, const Network &network,
                           size_t width) {
  std::string link;
  llvm::raw_string_ostream(link)
      << llvm::format("%.3g GB/s and a latency of ", network.bandwidth)
      << inTime(network.latency);
  report::printWrapped(
      os,
      "An update by several ranks (estimated from the rates of " +
          machine.name + " for each rank, and links of " + link + ")",
      0, width);
  report::Table table({{"ranks", report::Table::Right},
                       {"update", report::Table::Right},
                       {"computes", report::Table::Right},
                       {"communicates", report::Table::Right},
                       {"hidden", report::Table::Right},
                       {"efficiency", report::Table::Right},
                       {"memory of a rank", report::Table::Right}});
  const double alone = estimates.front().step();
  for (const RankEstimate &estimate : estimates)
    table.add({std::to_string(estimate.ranks), inTime(estimate.step()),
               inTime(estimate.computing), inTime(estimate.communicating),
               estimate.ranks == 1
                   ? "-"
                   : percent(estimate.communicating - estimate.exposed,
                             estimate.communicating),
               percent(alone, estimate.step()),
               report::inBytes(estimate.bytes)});
  table.print(os, width);
  report::printWrapped(
      os,
      "Assumes that every rank has a machine and a link of its own and "
      "computes "
      "batches of the package's size, so that n ranks train on n times as many "
      "samples in an update; that all are equally fast; that a rank sends to "
      "all others at once, which takes " +
          inTime(network.message()) +
          " for each; and that gradients are added up beside the batch without "
          "slowing it down. Efficiency is the time of one rank over that of n.",
      0, width);
}

llvm::json::Array
mpc::tool::ranksJson(const std::vector<RankEstimate> &estimates) {
  llvm::json::Array rows;
  for (const RankEstimate &estimate : estimates)
    rows.push_back(
        llvm::json::Object{{"ranks", int64_t(estimate.ranks)},
                           {"time_ns", estimate.step()},
                           {"computing_ns", estimate.computing},
                           {"communicating_ns", estimate.communicating},
                           {"exposed_ns", estimate.exposed},
                           {"bytes", int64_t(estimate.bytes)}});
  return rows;
}
