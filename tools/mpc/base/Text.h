//===- Text.h - Format numbers and names for people -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_TEXT_H
#define MPC_TOOLS_MPC_BASE_TEXT_H

#include "passes/Options/OptionChecks.h"

#include <cstdarg>
#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// printf into a string.
std::string format(const char *pattern, ...)
    __attribute__((format(printf, 1, 2)));
std::string formatList(const char *pattern, va_list args)
    __attribute__((format(printf, 1, 0)));

/// "1 234 567".
std::string formatCount(uint64_t count);

/// "2 parameters", "1 parameter", "2 batches".
std::string formatCount(uint64_t count, const char *noun);

/// "512 B", "19.7 kB", "1.5 GB", in powers of 1000 as in reports.
std::string formatBytes(uint64_t bytes);

/// The value, without the sign of a nan, which printf would print.
double unsignedNan(double value);

/// "63 us", "4.2 ms", "0.42 s", "12 s", "3:07", "2:03:07".
std::string formatDuration(double seconds);

/// "0:07", "12:07", "2:03:07".
std::string formatClock(double seconds);

/// "a, b and c".
std::string joinWords(const std::vector<std::string> &words,
                      const char *conjunction = "and");

/// "'a', 'b' and 14 others".
std::string listNames(const std::vector<std::string> &names);

using mpc::findNearest;
using mpc::suggest;

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_TEXT_H
