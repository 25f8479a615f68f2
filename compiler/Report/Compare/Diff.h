//===- Diff.h - In what two reports differ ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_COMPARE_DIFF_H
#define MPC_COMPILER_REPORT_COMPARE_DIFF_H

#include "compiler/Report/Model/Data.h"

#include "llvm/Support/raw_ostream.h"

namespace mpc::report {

/// A property that has another value: of all, of a function, of a device.
struct PropertyChange {
  std::string property; ///< "step: bytes in 16 bit".
  std::string before, after;
};

/// Ops of one function that changed alike. An op is told by its node and by
/// what it is; of several the first is compared with the first.
struct OpChange {
  std::string function;
  std::string what; ///< "bf16 -> f32", "rule class -> option.keep-fp32".
  std::vector<std::string> nodes;
};

struct Difference {
  std::vector<PropertyChange> properties;
  std::vector<OpChange> ops;

  bool empty() const { return properties.empty() && ops.empty(); }

  /// Adds what differs on another device: "cuda: step".
  void append(Difference other, llvm::StringRef device);
};

/// Compares formats, sums, rules, casts, FLOPs, bytes, memory and launches.
/// Words, names of kernels and what an assembler said do not count, nor do
/// bytes in reasons.
Difference compare(const Report &before, const Report &after);

/// For people: at most a few nodes of each change unless `all`.
void printDifference(llvm::raw_ostream &os, const Difference &difference,
                     bool all, size_t width);

/// { "differs": true, "properties": [...], "ops": [...] }.
llvm::json::Object differenceJson(const Difference &difference);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COMPARE_DIFF_H
