//===- ImageLayout.h - The dimensions of an image input ---------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_IMAGES_IMAGELAYOUT_H
#define MPC_TOOLS_MPC_DATA_IMAGES_IMAGELAYOUT_H

#include "tools/mpc/base/Runtime.h"

#include <cstdint>
#include <optional>

namespace mpc::tool {

/// Where the channels of an image input are.
struct ImageLayout {
  uint64_t channels, height, width;
  bool isChannelsLast;

  /// For f32 or u8 inputs of shape [N, C, H, W] or [N, H, W, C], where C is 1
  /// or 3; none for others.
  static std::optional<ImageLayout> of(const Binding &input);

  uint64_t size() const { return channels * height * width; }

  /// The index of a value in an image.
  uint64_t at(uint64_t channel, uint64_t y, uint64_t x) const {
    return isChannelsLast ? (y * width + x) * channels + channel
                          : (channel * height + y) * width + x;
  }
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_IMAGES_IMAGELAYOUT_H
