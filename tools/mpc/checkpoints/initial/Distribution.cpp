//===- Distribution.cpp - Distributions of initial weights ----------------===//

#include "tools/mpc/checkpoints/initial/Distribution.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Philox.h"
#include "tools/mpc/base/Text.h"

#include <cctype>
#include <cmath>

using namespace mpc::tool;
using Kind = Initializer::Kind;

/// Truncated normal distributions end at so many standard deviations.
static constexpr double kMaxDeviations = 2;

//===----------------------------------------------------------------------===//
// Initializers
//===----------------------------------------------------------------------===//

static double parseDeviation(const std::string &method,
                             const std::string &text) {
  std::string fault = mpc::check::above(0)(text);
  if (!fault.empty())
    throw Failure(Usage, "--reinit: the standard deviation of '" + method +
                             "' " + fault);
  return std::strtod(text.c_str(), nullptr);
}

Initializer mpc::tool::parseInitializer(const std::string &text) {
  const size_t colon = text.find(':');
  const std::string method = text.substr(0, colon);
  const std::string argument = colon == text.npos ? "" : text.substr(colon + 1);
  Initializer result;
  if (method == "normal" || method == "trunc-normal") {
    result.kind = method == "normal" ? Kind::Normal : Kind::TruncNormal;
    if (colon == text.npos)
      throw Failure(Usage, "--reinit: '" + method +
                               "' needs a standard deviation: " + method +
                               ":0.02");
    result.deviation = parseDeviation(method, argument);
    return result;
  }
  if (method == "kaiming" && argument == "fan-out") {
    result.usesOutputs = true;
    return result;
  }
  const std::vector<std::pair<std::string, Kind>> plain = {
      {"kaiming", Kind::Kaiming},
      {"xavier", Kind::Xavier},
      {"zeros", Kind::Zeros},
      {"ones", Kind::Ones}};
  std::vector<std::string> names;
  for (const auto &[name, kind] : plain) {
    names.push_back(name);
    result.kind = kind;
    if (text == name)
      return result;
  }
  names.insert(names.end(),
               {"kaiming:fan-out", "normal:STD", "trunc-normal:STD"});
  throw Failure(Usage, "--reinit: '" + text +
                           "' is not an initialization; use " +
                           joinWords(names, "or"));
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The value of all elements of a vector with this name.
static double initialOfVector(const std::string &name) {
  std::string lower = name;
  for (char &letter : lower)
    letter = std::tolower(static_cast<unsigned char>(letter));
  for (const char *end : {"bias", "beta"})
    if (endsWith(lower, end))
      return 0;
  for (const char *end : {"weight", "gamma", "scale"})
    if (endsWith(lower, end))
      return 1;
  throw Failure(Usage,
                "--reinit: '" + name +
                    "' is a vector whose name does not tell whether it is a "
                    "bias or a scale; add --reinit='^" +
                    name + "$=zeros' or another initialization");
}

Distribution::Distribution(const Initializer &initializer,
                           const std::string &name,
                           const std::vector<int64_t> &extents)
    : shape(Shape::Constant), size(0) {
  switch (initializer.kind) {
  case Kind::Zeros:
    return;
  case Kind::Ones:
    size = 1;
    return;
  case Kind::Normal:
  case Kind::TruncNormal:
    shape = initializer.kind == Kind::Normal ? Shape::Normal
                                             : Shape::TruncatedNormal;
    size = initializer.deviation;
    return;
  case Kind::Kaiming:
  case Kind::Xavier:
    break;
  }
  if (extents.size() < 2) {
    size = initialOfVector(name);
    return;
  }
  double inputs = extents[1], outputs = extents[0];
  for (size_t i = 2; i < extents.size(); ++i) {
    inputs *= extents[i];
    outputs *= extents[i];
  }
  shape = Shape::Uniform;
  if (initializer.kind == Kind::Xavier)
    size = std::sqrt(6 / (inputs + outputs));
  else
    size = std::sqrt(6 / (initializer.usesOutputs ? outputs : inputs));
}

/// A number in (0, 1), with 53 random bits.
static double unitAt(uint64_t seed, uint64_t stream, uint64_t position) {
  return (double(philox(seed, position, stream) >> 11) + 0.5) * 0x1p-53;
}

/// A number from the standard normal distribution, by Box and Muller.
static double normalAt(uint64_t seed, uint64_t stream, uint64_t index,
                       uint64_t attempt) {
  const uint64_t position = attempt << 48 | index << 1;
  const double radius =
      std::sqrt(-2 * std::log(unitAt(seed, stream, position)));
  return radius * std::cos(2 * M_PI * unitAt(seed, stream, position | 1));
}

double Distribution::draw(uint64_t seed, uint64_t stream,
                          uint64_t index) const {
  switch (shape) {
  case Shape::Constant:
    return size;
  case Shape::Uniform:
    return size * (2 * unitAt(seed, stream, index) - 1);
  case Shape::Normal:
    return size * normalAt(seed, stream, index, 0);
  case Shape::TruncatedNormal:
    for (uint64_t attempt = 0;; ++attempt)
      if (double value = normalAt(seed, stream, index, attempt);
          std::abs(value) <= kMaxDeviations)
        return size * value;
  }
  return 0;
}

std::string Distribution::describe() const {
  switch (shape) {
  case Shape::Constant:
    return format("%g", size);
  case Shape::Uniform:
    return format("uniform in [-%.3g, %.3g]", size, size);
  case Shape::Normal:
    return format("normal with standard deviation %.3g", size);
  case Shape::TruncatedNormal:
    return format("normal with standard deviation %.3g, cut off at %.3g", size,
                  kMaxDeviations * size);
  }
  return "";
}
