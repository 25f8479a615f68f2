//===- Summary.h - Summary of a report --------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_MODEL_SUMMARY_H
#define MPC_COMPILER_REPORT_MODEL_SUMMARY_H

#include "compiler/Report/Model/Modules.h"

#include <array>

namespace mpc::report {

/// Ops of one function that stay f32 for the same reason.
struct WideGroup {
  std::string rule, ruleId;
  std::string reason; ///< Without the parts that differ between ops.
  Cost cost;
  std::vector<std::string> examples; ///< Nodes, in descending order of bytes.
};

struct FunctionSummary {
  const Function *function = nullptr;
  std::array<Cost, std::size(kPhases)> phases; ///< Including casts.
  /// The cost of ops without a line in the report, mainly those of the
  /// conditional update.
  Cost rest;
  /// In descending order of bytes.
  std::vector<WideGroup> wide;
  Cost weightCasts; ///< Cost of casts of weights.
  std::vector<Module> modules;
};

FunctionSummary summarize(const Function &function);

/// The reason without numbers of bytes and, for a decision of the minimum cut,
/// without properties of the op: only why it is in f32.
std::string stemOf(const Op &op);

/// The contents of the printed summary of all functions, for the field
/// `summary` of a report.
llvm::json::Object summaryJson(const Report &report);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_SUMMARY_H
