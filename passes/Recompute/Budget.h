//===- Budget.h - Memory budget for activations -----------------*- C++ -*-===//
#ifndef MPC_PASSES_RECOMPUTE_BUDGET_H
#define MPC_PASSES_RECOMPUTE_BUDGET_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mpc {

/// Bytes, or a share of the bytes kept without a budget.
struct Budget {
  double amount = 0;
  bool isShare = false;

  int64_t bytesOf(int64_t whole) const;
};

/// Parses "512MB", "1.5GiB", "60%" or "0.6"; none if the text is malformed.
std::optional<Budget> parseBudget(llvm::StringRef text);

/// "61.2 MB"
std::string formatBytes(int64_t bytes);

} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_BUDGET_H
