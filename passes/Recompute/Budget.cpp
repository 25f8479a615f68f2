//===- Budget.cpp - Memory budget for activations -------------------------===//

#include "passes/Recompute/Budget.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mpc;

/// More bytes than any memory has, but small enough for an int64_t.
static constexpr double kMax = 1e18;

int64_t Budget::bytesOf(int64_t whole) const {
  return int64_t(isShare ? amount * double(whole) : amount);
}

std::optional<Budget> mpc::parseBudget(llvm::StringRef text) {
  size_t end = text.find_first_not_of("0123456789.");
  double number;
  if (text.take_front(end).getAsDouble(number))
    return std::nullopt;
  llvm::StringRef unit = end == llvm::StringRef::npos ? "" : text.substr(end);
  double factor = llvm::StringSwitch<double>(unit.trim())
                      .Case("B", 1)
                      .Cases({"kB", "KB"}, 1e3)
                      .Case("MB", 1e6)
                      .Case("GB", 1e9)
                      .Case("KiB", 1024.)
                      .Case("MiB", 1048576.)
                      .Case("GiB", 1073741824.)
                      .Case("%", 0.01)
                      .Case("", 1)
                      .Default(0);
  Budget budget;
  budget.isShare = unit == "%" || (unit.empty() && number <= 1);
  budget.amount = number * factor;
  bool isSensible = factor > 0 && budget.amount > 0 &&
                    budget.amount <= (budget.isShare ? 1 : kMax);
  if (!isSensible)
    return std::nullopt;
  return budget;
}

std::string mpc::formatBytes(int64_t bytes) {
  double number = double(bytes);
  const char *unit = "B";
  for (const char *next : {"kB", "MB", "GB", "TB"}) {
    if (number < 1000)
      break;
    number /= 1000;
    unit = next;
  }
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(bytes < 1000 ? "%.0f " : "%.1f ", number) << unit;
  return text;
}
