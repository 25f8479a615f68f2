//===- RenderCost.h - Estimates as text and JSON ----------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_COST_RENDERCOST_H
#define MPC_COMPILER_REPORT_COST_RENDERCOST_H

#include "compiler/Report/Cost/Estimate.h"

#include "llvm/Support/raw_ostream.h"

namespace mpc::report {

/// Prints the estimate of each entry point in `function`, or by default of
/// those that train: totals, what dominates, the lower bound, and a table of at
/// most `most` instructions.
llvm::Error printCost(llvm::raw_ostream &os, const Report &report,
                      const Device &device, const Machine &machine,
                      llvm::StringRef function, size_t most, size_t width);

/// The same for all entry points as JSON (docs/format/report.md).
llvm::json::Object costJson(const Device &device, const Machine &machine);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COST_RENDERCOST_H
