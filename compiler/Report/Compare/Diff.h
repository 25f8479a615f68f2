//===- Diff.h - Differences between two reports -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_COMPARE_DIFF_H
#define MPC_COMPILER_REPORT_COMPARE_DIFF_H

#include "compiler/Report/Model/Data.h"

#include "llvm/Support/raw_ostream.h"

namespace mpc::report {

/// A changed property of the whole report, of a function or of a device.
struct PropertyChange {
  std::string property; ///< "step: bytes in 16 bit".
  std::string before, after;
};

/// Ops of one function with the same change. Ops are matched by node and kind;
/// several equal ones are matched in order.
struct OpChange {
  std::string function;
  std::string what; ///< "bf16 -> f32", "rule class -> option.keep-fp32".
  std::vector<std::string> nodes;
};

struct Difference {
  std::vector<PropertyChange> properties;
  std::vector<OpChange> ops;

  bool empty() const { return properties.empty() && ops.empty(); }

  /// Adds the differences of another device, with its name as a prefix: "cuda:
  /// step".
  void append(Difference other, llvm::StringRef device);
};

/// Compares formats, sums, rules, casts, FLOPs, bytes, memory and launches.
/// Ignores wording, names of kernels, output of assemblers, and bytes in
/// reasons.
Difference compare(const Report &before, const Report &after);

/// Prints the difference for users: at most a few nodes of each change unless
/// `all`.
void printDifference(llvm::raw_ostream &os, const Difference &difference,
                     bool all, size_t width);

/// { "differs": true, "properties": [...], "ops": [...] }.
llvm::json::Object differenceJson(const Difference &difference);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COMPARE_DIFF_H
