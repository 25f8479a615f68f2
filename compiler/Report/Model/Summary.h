//===- Summary.h - A report in a screenful ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_MODEL_SUMMARY_H
#define MPC_COMPILER_REPORT_MODEL_SUMMARY_H

#include "compiler/Report/Model/Modules.h"

#include <array>

namespace mpc::report {

/// Ops of one function that keep f32 for one reason.
struct WideGroup {
  std::string rule, ruleId;
  std::string reason; ///< Without what differs from op to op.
  Cost cost;
  std::vector<std::string> examples; ///< Nodes, those with most bytes first.
};

struct FunctionSummary {
  const Function *function = nullptr;
  std::array<Cost, std::size(kPhases)> phases; ///< With their casts.
  /// What is not in a line of the report, above all the update that is made or
  /// not.
  Cost rest;
  /// Those with most bytes first.
  std::vector<WideGroup> wide;
  Cost weightCasts; ///< Cost of casts of weights.
  std::vector<Module> modules;
};

FunctionSummary summarize(const Function &function);

/// The reason without numbers of bytes, and, where a minimum cut decided,
/// without what the op is like: what remains is why it is in f32.
std::string stemOf(const Op &op);

/// What the summary of all functions prints, for the `summary` of a report.
llvm::json::Object summaryJson(const Report &report);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_SUMMARY_H
