//===- Text.cpp - Format numbers and names for people ---------------------===//

#include "tools/mpc/base/Text.h"

#include "runtime/src/base/byte_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

using namespace mpc::tool;

std::string mpc::tool::formatList(const char *pattern, va_list args) {
  va_list again;
  va_copy(again, args);
  std::string text(std::max(0, std::vsnprintf(nullptr, 0, pattern, args)), ' ');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string mpc::tool::format(const char *pattern, ...) {
  va_list args;
  va_start(args, pattern);
  std::string text = formatList(pattern, args);
  va_end(args);
  return text;
}

std::string mpc::tool::formatCount(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, " ");
  return digits;
}

std::string mpc::tool::formatCount(uint64_t count, const char *noun) {
  std::string_view word = noun;
  bool endsInCh = word.size() > 1 && word.substr(word.size() - 2) == "ch";
  return formatCount(count) + " " + noun +
         (count == 1 ? ""
          : endsInCh ? "es"
                     : "s");
}

std::string mpc::tool::formatBytes(uint64_t bytes) {
  return mpc::ByteText(bytes).c_str();
}

double mpc::tool::unsignedNan(double value) {
  return std::isnan(value) ? std::fabs(value) : value;
}

/// Whether a time is NaN, negative, or longer than any training.
static bool isInvalidTime(double seconds) {
  return !(seconds >= 0) || seconds > 1e9;
}

std::string mpc::tool::formatDuration(double seconds) {
  if (isInvalidTime(seconds))
    return "?";
  if (seconds < 0.9995e-3)
    return format("%.0f us", seconds * 1e6);
  if (seconds < 9.95e-3)
    return format("%.1f ms", seconds * 1e3);
  if (seconds < 0.995)
    return format("%.2g s", seconds);
  if (seconds < 59.5)
    return format("%.1f s", seconds);
  return formatClock(seconds);
}

std::string mpc::tool::formatClock(double seconds) {
  if (isInvalidTime(seconds))
    return "?";
  uint64_t whole = std::llround(seconds);
  unsigned second = whole % 60, minute = whole / 60 % 60;
  uint64_t hour = whole / 3600;
  if (hour == 0)
    return format("%u:%02u", minute, second);
  return format("%llu:%02u:%02u", static_cast<unsigned long long>(hour), minute,
                second);
}

std::string mpc::tool::joinWords(const std::vector<std::string> &words,
                                 const char *conjunction) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0)
      text += i + 1 == words.size() ? " " + std::string(conjunction) + " "
                                    : std::string(", ");
    text += words[i];
  }
  return text;
}

std::string mpc::tool::listNames(const std::vector<std::string> &names) {
  constexpr size_t mostNamed = 8;
  std::vector<std::string> quoted;
  for (size_t i = 0; i < std::min(mostNamed, names.size()); ++i)
    quoted.push_back("'" + names[i] + "'");
  if (names.size() > mostNamed)
    quoted.push_back(formatCount(names.size() - mostNamed, "other"));
  return joinWords(quoted);
}
