// Augmentations with given draws, compared with PyTorch and Pillow.

#include "tools/mpc/data/augment/ColorJitter.h"
#include "tools/mpc/data/augment/Pixels.h"
#include "tools/mpc/data/images/ResizeImage.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

using namespace mpc::tool;
using Json = nlohmann::json;

namespace {

/// Values in the order of a layout, of nested lists: channels of rows.
template <typename Value>
std::vector<Value> valuesOf(const Json &image, const ImageLayout &layout) {
  std::vector<Value> values(layout.size());
  for (uint64_t c = 0; c < layout.channels; ++c)
    for (uint64_t y = 0; y < layout.height; ++y)
      for (uint64_t x = 0; x < layout.width; ++x)
        values[layout.at(c, y, x)] = image[c][y][x].get<double>();
  return values;
}

ImageLayout layoutOf(const Json &image, bool isChannelsLast) {
  return {image.size(), image[0].size(), image[0][0].size(), isChannelsLast};
}

/// The case with given draws: "pad" with {"y": 0, "x": 4, ...}.
template <typename Value>
std::vector<Value> augmented(const Json &how, const ImageLayout &layout) {
  std::vector<Value> image = valuesOf<Value>(how["image"], layout);
  const std::string name = how["name"];
  Placement placement(layout);
  if (name == "flip")
    placement.flipColumns();
  if (name == "vflip")
    placement.flipRows();
  if (name == "pad") {
    const int64_t pad = how["pad"];
    placement.move(how["y"].get<int64_t>() - pad,
                   how["x"].get<int64_t>() - pad);
  }
  if (name == "rotate")
    rotate(image.data(), layout, how["degrees"]);
  else if (name == "cutout")
    cutOut(image.data(), layout, how["size"], how["y"], how["x"]);
  else
    place(image.data(), layout, placement);
  return image;
}

std::vector<float> recolored(const Json &how, const ImageLayout &layout) {
  std::vector<float> pixels = valuesOf<float>(how["image"], layout);
  changeColors(pixels, layout.channels,
               {how["factors"][0], how["factors"][1], how["factors"][2]});
  return pixels;
}

std::vector<float> cropped(const Json &how, const ImageLayout &layout) {
  Image image;
  image.width = layout.width;
  image.height = layout.height;
  image.channels = layout.channels;
  image.pixels = valuesOf<uint8_t>(how["image"], layout);
  const std::vector<double> box = how["box"];
  return resize(image, {box[0], box[1], box[2] - box[0], box[3] - box[1]},
                how["result"][0][0].size(), how["result"][0].size());
}

template <typename Value>
void expectNear(const std::vector<Value> &found, const Json &how,
                const ImageLayout &layout, double tolerance) {
  const std::vector<float> wanted = valuesOf<float>(how["result"], layout);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], tolerance)
        << how["name"] << " at " << i << ": " << how;
}

TEST(Augmentation, ComputesWhatOtherSoftwareDoes) {
  const Json cases =
      Json::parse(std::ifstream(MPC_AUGMENT_GOLDENS "/cases.json"));
  std::set<std::string> names;
  for (const Json &how : cases) {
    const std::string name = how["name"];
    names.insert(name);
    for (bool isLast : {false, true}) {
      const ImageLayout layout = layoutOf(how["image"], isLast),
                        after = layoutOf(how["result"], isLast);
      if (name == "color" || name == "crop") {
        if (isLast) // The only order of decoded images.
          expectNear(name == "color" ? recolored(how, layout)
                                     : cropped(how, layout),
                     how, after, name == "color" ? 3 : 0.01);
        continue;
      }
      expectNear(augmented<float>(how, layout), how, after, 0.01);
      expectNear(augmented<uint8_t>(how, layout), how, after, 0.501);
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"color", "crop", "cutout", "flip",
                                          "pad", "rotate", "vflip"}));
}

} // namespace
