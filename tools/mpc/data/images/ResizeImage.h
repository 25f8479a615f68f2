//===- ResizeImage.h - Images of the size of an input -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_IMAGES_RESIZEIMAGE_H
#define MPC_TOOLS_MPC_DATA_IMAGES_RESIZEIMAGE_H

#include "tools/mpc/data/images/DecodeImage.h"

namespace mpc::tool {

/// A part of an image, in pixels.
struct Region {
  double left = 0, top = 0, width = 0, height = 0;
};

/// The largest part in the middle of an image that has the proportions of
/// `width` x `height`.
Region centerOf(const Image &image, uint64_t width, uint64_t height);

/// A part of the image, resized to `width` x `height` by linear interpolation;
/// if it becomes smaller, the filter is widened, as in Pillow and in
/// torchvision with antialias=True. Results are in the range of the pixels, not
/// rounded, in the order of `image`. For images of uint8_t and of float.
template <typename Value>
std::vector<float> resize(const ImageOf<Value> &image, const Region &region,
                          uint64_t width, uint64_t height);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_IMAGES_RESIZEIMAGE_H
