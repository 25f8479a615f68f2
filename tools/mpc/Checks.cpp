//===- Checks.cpp - What values options take ------------------------------===//

#include "tools/mpc/Checks.h"
#include "tools/mpc/Text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

using namespace mpc::tool;

Choice::Choice(std::vector<std::string> words, size_t numShown)
    : CLI::Validator("") {
  std::vector<std::string> shown(
      words.begin(), words.begin() + std::min(numShown, words.size()));
  func_ = [words = std::move(words),
           shown = std::move(shown)](std::string &value) -> std::string {
    if (std::find(words.begin(), words.end(), value) != words.end())
      return "";
    std::string list;
    for (size_t i = 0; i < shown.size(); ++i)
      list += (i == 0 ? "" : i + 1 == shown.size() ? " or " : ", ") + shown[i];
    return "must be " + list + ", but is '" + value + "'" +
           suggest(value, shown);
  };
}

Whole::Whole(uint64_t low, uint64_t high) : CLI::Validator("") {
  func_ = [low, high](std::string &text) -> std::string {
    // strtoull takes signs and spaces as well.
    bool isWhole = !text.empty() &&
                   text.find_first_not_of("0123456789") == std::string::npos;
    errno = 0;
    uint64_t value =
        isWhole ? std::strtoull(text.c_str(), nullptr, 10) : uint64_t(0);
    if (isWhole && errno == 0 && value >= low && value <= high)
      return "";
    std::string range =
        high == INT64_MAX
            ? format("of at least %llu", static_cast<unsigned long long>(low))
            : format("from %llu to %llu", static_cast<unsigned long long>(low),
                     static_cast<unsigned long long>(high));
    return "must be a whole number " + range + ", but is '" + text + "'";
  };
}

/// Parses the whole of `text` as a number that an f32 holds, which is what
/// programs compute with: finite, and 0 only if it says so.
static bool parseFinite(const std::string &text, double &value) {
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == 0 && std::isfinite(float(value)) &&
         (value == 0 || float(value) != 0);
}

AtLeast::AtLeast(double low) : CLI::Validator("") {
  func_ = [low](std::string &text) -> std::string {
    double value;
    if (parseFinite(text, value) && value >= low)
      return "";
    return format("must be a number of at least %g that fits 32 bits, but is "
                  "'%s'",
                  low, text.c_str());
  };
}

Above::Above(double low) : CLI::Validator("") {
  func_ = [low](std::string &text) -> std::string {
    double value;
    if (parseFinite(text, value) && value > low)
      return "";
    return format("must be a number above %g that fits 32 bits, but is '%s'",
                  low, text.c_str());
  };
}

Share::Share() : CLI::Validator("") {
  func_ = [](std::string &text) -> std::string {
    double value;
    if (parseFinite(text, value) && value >= 0 && value < 1)
      return "";
    return "must lie in [0, 1), but is '" + text + "'";
  };
}

NotEmpty::NotEmpty() : CLI::Validator("") {
  func_ = [](std::string &text) -> std::string {
    return text.empty() ? "must not be empty" : "";
  };
}
