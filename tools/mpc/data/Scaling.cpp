//===- Scaling.cpp - Scaled and normalized inputs -------------------------===//

#include "tools/mpc/data/Scaling.h"
#include "tools/mpc/base/Text.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

using namespace mpc::tool;

void Scaling::apply(float *values, uint64_t count) const {
  const uint64_t channels = factors.size();
  for (uint64_t first = 0, channel = 0; first < count; first += run) {
    const float factor = factors[channel], offset = offsets[channel];
    const uint64_t end = first + run < count ? first + run : count;
    for (uint64_t i = first; i < end; ++i)
      values[i] = values[i] * factor + offset;
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
}

std::string Scaling::describe() const {
  std::string text;
  for (size_t i = 0; i < factors.size(); ++i)
    text += format("*%.9g%+.9g", factors[i], offsets[i]);
  return text;
}

namespace {
/// The parts of "[INPUT=]VALUE".
struct Setting {
  std::string input, value;
};
} // namespace

static Setting split(const std::string &text) {
  size_t equal = text.rfind('=');
  return equal == std::string::npos
             ? Setting{"", text}
             : Setting{text.substr(0, equal), text.substr(equal + 1)};
}

static bool parseNumber(const std::string &text, double &value) {
  char *end;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(value);
}

/// The numbers of "0.5,0.25"; false if they are not.
static bool parseNumbers(const std::string &text, std::vector<double> &values) {
  std::istringstream stream(text);
  values.clear();
  for (std::string item; std::getline(stream, item, ',');) {
    double value;
    if (!parseNumber(item, value))
      return false;
    values.push_back(value);
  }
  return !values.empty() && text.back() != ',';
}

static double parseScale(const std::string &option) {
  std::string value = split(option).value;
  size_t slash = value.find('/');
  double factor, divisor = 1;
  if (!parseNumber(value.substr(0, slash), factor) ||
      (slash != std::string::npos &&
       !parseNumber(value.substr(slash + 1), divisor)) ||
      divisor == 0 || factor == 0)
    throw Failure(Usage, "--scale='" + option +
                             "' must be [INPUT=]FACTOR with a number that is "
                             "not zero, such as 1/255");
  return factor / divisor;
}

namespace {
struct Normalization {
  std::vector<double> means, deviations;
};
} // namespace

static Normalization parseNormalization(const std::string &option) {
  std::string value = split(option).value;
  // Means and standard deviations of ImageNet's training images, scaled to [0,
  // 1], as torchvision's pretrained models expect them.
  if (value == "imagenet")
    return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  Normalization result;
  size_t slash = value.find('/');
  bool isValid = slash != std::string::npos &&
                 parseNumbers(value.substr(0, slash), result.means) &&
                 parseNumbers(value.substr(slash + 1), result.deviations) &&
                 result.means.size() == result.deviations.size();
  for (double deviation : result.deviations)
    isValid &= deviation > 0;
  if (!isValid)
    throw Failure(Usage,
                  "--normalize='" + option +
                      "' must be [INPUT=]MEAN,.../STD,... with as many "
                      "positive standard deviations as means, or imagenet");
  return result;
}

/// Whether an option applies to an input. The rows of the data that the loss
/// compares with are scaled only if they are named.
static bool applies(const std::string &option, const Binding &input) {
  std::string name = split(option).input;
  return name.empty() ? input.dtype == MPC_DTYPE_F32 && input.name != "targets"
                      : name == input.name;
}

/// Finds the axis of the channels, which must be the second or the last one.
static uint64_t runOf(const Binding &input, uint64_t channels,
                      const std::string &option) {
  const std::vector<int64_t> &shape = input.shape;
  auto has = [&](size_t axis) {
    return axis < shape.size() &&
           static_cast<uint64_t>(shape[axis]) == channels;
  };
  size_t axis = has(1) ? 1 : shape.size() - 1;
  if (shape.size() < 2 || !has(axis))
    throw Failure(Usage, "--normalize='" + option + "' has " +
                             formatCount(channels, "channel") + ", but '" +
                             input.name + "' is " +
                             formatType(input.dtype, shape));
  uint64_t run = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i)
    run *= shape[i];
  return run;
}

Scaling mpc::tool::scalingOf(const Binding &input,
                             const std::vector<std::string> &scales,
                             const std::vector<std::string> &normalizations) {
  double factor = 1;
  bool isScaled = false;
  for (const std::string &option : scales)
    if (double value = parseScale(option); applies(option, input)) {
      factor = value;
      isScaled = true;
    }
  Scaling scaling;
  if (isScaled) {
    scaling.factors = {static_cast<float>(factor)};
    scaling.offsets = {0};
  }
  for (const std::string &option : normalizations) {
    Normalization normal = parseNormalization(option);
    if (!applies(option, input))
      continue;
    scaling = {};
    for (size_t i = 0; i < normal.means.size(); ++i) {
      scaling.factors.push_back(factor / normal.deviations[i]);
      scaling.offsets.push_back(-normal.means[i] / normal.deviations[i]);
    }
    if (normal.means.size() > 1)
      scaling.run = runOf(input, normal.means.size(), option);
  }
  return scaling;
}

void mpc::tool::checkScalingNames(
    const std::vector<Binding> &inputs, const std::vector<std::string> &scales,
    const std::vector<std::string> &normalizations) {
  auto check = [&](const char *flag, const std::string &option) {
    std::string name = split(option).input;
    for (const Binding &input : inputs) {
      if (name.empty() ? applies(option, input)
                       : name == input.name && input.dtype == MPC_DTYPE_F32)
        return;
      if (name == input.name)
        throw Failure(Usage, std::string(flag) + "='" + option + "': '" + name +
                                 "' is " + mpc_dtype_name(input.dtype) +
                                 "; only f32 inputs are scaled");
    }
    throw Failure(
        Usage, std::string(flag) + "='" + option +
                   (name.empty() ? "': the model has no f32 input"
                                 : "': the model has no input '" + name + "'"));
  };
  for (const std::string &option : scales)
    check("--scale", option);
  for (const std::string &option : normalizations)
    check("--normalize", option);
}
