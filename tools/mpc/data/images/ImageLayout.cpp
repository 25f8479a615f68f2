//===- ImageLayout.cpp - The dimensions of an image input -----------------===//

#include "tools/mpc/data/images/ImageLayout.h"

using namespace mpc::tool;

std::optional<ImageLayout> ImageLayout::of(const Binding &input) {
  const std::vector<int64_t> &shape = input.shape;
  if (shape.size() != 4 || input.batchDim != 0 ||
      (input.dtype != MPC_DTYPE_F32 && input.dtype != MPC_DTYPE_U8))
    return std::nullopt;
  auto isChannels = [&](size_t axis) {
    return shape[axis] == 1 || shape[axis] == 3;
  };
  auto extent = [&](size_t axis) { return static_cast<uint64_t>(shape[axis]); };
  if (isChannels(1))
    return ImageLayout{extent(1), extent(2), extent(3), false};
  if (isChannels(3))
    return ImageLayout{extent(3), extent(1), extent(2), true};
  return std::nullopt;
}
