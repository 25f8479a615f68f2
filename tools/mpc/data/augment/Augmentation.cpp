//===- Augmentation.cpp - The option --augment ----------------------------===//

#include "tools/mpc/data/augment/Augmentation.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/BindArrays.h"
#include "tools/mpc/data/images/ImageLayout.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

using namespace mpc::tool;

std::string Augmentation::describe() const {
  std::vector<std::string> parts;
  auto add = [&](bool isGiven, const std::string &text) {
    if (isGiven)
      parts.push_back(text);
  };
  add(crop.has_value(), format("crop=%g", crop.value_or(0)));
  add(color > 0, format("color=%g", color));
  add(rotate > 0, format("rotate=%g", rotate));
  add(flip, "flip");
  add(flipRows, "vflip");
  add(pad > 0, "pad=" + std::to_string(pad));
  add(cutout > 0, "cutout=" + std::to_string(cutout));
  add(mixup > 0, format("mixup=%g", mixup));
  add(shift, "shift");
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ",") + part;
  return text;
}

namespace {
/// One part of the list: "crop=0.5".
struct AugmentItem {
  std::string name;
  std::optional<std::string> value;
};
} // namespace

[[noreturn]] static void refuseItem(const AugmentItem &item,
                                    const std::string &rule) {
  throw Failure(Usage, "--augment: '" + item.name +
                           (item.value ? "=" + *item.value : "") + "' " + rule);
}

/// The value of an item; throws unless it is in [low, high].
static double numberOf(const AugmentItem &item, double low, double high,
                       bool isWhole, const char *example) {
  const char *begin = item.value ? item.value->c_str() : "";
  char *end;
  const double value = std::strtod(begin, &end);
  if (*begin == '\0' || *end != '\0' || !(value >= low && value <= high) ||
      (isWhole && value != std::floor(value)))
    refuseItem(item,
               format("needs a %s from %g to %g, such as %s",
                      isWhole ? "whole number" : "number", low, high, example));
  return value;
}

static void parseItem(const AugmentItem &item, Augmentation &result) {
  constexpr double kMostPixels = 1 << 16;
  if (item.name == "crop")
    result.crop =
        item.value ? numberOf(item, 0.01, 1, false, "crop=0.5") : 0.08;
  else if (item.name == "color")
    result.color = numberOf(item, 0.001, 1, false, "color=0.4");
  else if (item.name == "rotate")
    result.rotate = numberOf(item, 0.001, 180, false, "rotate=15");
  else if (item.name == "mixup")
    result.mixup =
        item.value ? numberOf(item, 0.05, 4, false, "mixup=0.2") : 0.2;
  else if (item.name == "pad")
    result.pad = numberOf(item, 1, kMostPixels, true, "pad=4");
  else if (item.name == "cutout")
    result.cutout = numberOf(item, 1, kMostPixels, true, "cutout=8");
  else if (item.name != "flip" && item.name != "vflip" && item.name != "shift")
    refuseItem(item, "is unknown; it must be one of flip, vflip, crop, pad, "
                     "rotate, color, cutout, mixup and shift");
  else if (item.value)
    refuseItem(item, "takes no value");
  else
    (item.name == "flip"    ? result.flip
     : item.name == "vflip" ? result.flipRows
                            : result.shift) = true;
}

Augmentation mpc::tool::parseAugmentation(const std::string &list) {
  Augmentation result;
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string text; std::getline(stream, text, ',');) {
    const size_t equal = text.find('=');
    AugmentItem item = {text.substr(0, equal), std::nullopt};
    if (equal != std::string::npos)
      item.value = text.substr(equal + 1);
    if (std::count(names.begin(), names.end(), item.name))
      refuseItem(item, "occurs twice");
    names.push_back(item.name);
    parseItem(item, result);
  }
  return result;
}

/// Whether another input has a value for each pixel, such as a mask.
static bool isPixelwise(const Binding &input, const ImageLayout &layout) {
  for (size_t i = 0; i + 1 < input.shape.size(); ++i)
    if (static_cast<uint64_t>(input.shape[i]) == layout.height &&
        static_cast<uint64_t>(input.shape[i + 1]) == layout.width &&
        static_cast<int64_t>(i) != input.batchDim)
      return true;
  return false;
}

const Binding &mpc::tool::findAugmented(const Augmentation &augmentation,
                                        const std::vector<Binding> &inputs) {
  const std::string option = "--augment=" + augmentation.describe();
  const Binding *found = nullptr;
  for (const Binding &input : inputs) {
    if (!ImageLayout::of(input))
      continue;
    if (found)
      throw Failure(Usage, option +
                               " changes one image input, but the model "
                               "takes '" +
                               found->name + "' and '" + input.name + "'");
    found = &input;
  }
  if (!found)
    throw Failure(Usage,
                  option + " requires an f32 or u8 input of images, [N,C,H,W] "
                           "or [N,H,W,C] with 1 or 3 channels, which the "
                           "model does not have");
  const ImageLayout layout = *ImageLayout::of(*found);
  for (const Binding &input : inputs)
    if (&input != found && isPixelwise(input, layout))
      throw Failure(Usage, option + " would change '" + found->name +
                               "', but not '" + input.name + "' (" +
                               expectedType(input) +
                               "), which has values for its pixels");
  const uint64_t extent = std::min(layout.height, layout.width);
  if (augmentation.pad >= extent)
    throw Failure(
        Usage, format("%s: pad must be less than the %llu pixels of '%s'",
                      option.c_str(), static_cast<unsigned long long>(extent),
                      found->name.c_str()));
  return *found;
}
