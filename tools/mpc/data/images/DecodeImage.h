//===- DecodeImage.h - Pixels of PNG and JPEG files -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_IMAGES_DECODEIMAGE_H
#define MPC_TOOLS_MPC_DATA_IMAGES_DECODEIMAGE_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mpc::tool {

/// Pixels: rows from top to bottom, of pixels from left to right, of channels.
template <typename Value> struct ImageOf {
  uint64_t width = 0, height = 0, channels = 0;
  std::vector<Value> pixels;
};

/// An image with 8 bits per channel.
using Image = ImageOf<uint8_t>;

/// Whether the name is that of a PNG or JPEG file.
bool isImageFile(const std::string &path);

struct ImageSize {
  uint64_t width = 0, height = 0;
};

/// The size that an image must have at least, given its size in the file. Must
/// not throw.
using ChooseSize = std::function<ImageSize(ImageSize)>;

/// Reads a PNG or JPEG file, whatever its extension, as gray (1 channel) or RGB
/// (3 channels). Transparent pixels are blended with black. If the image is
/// much larger than the size that `choose` returns, a JPEG file may be decoded
/// at half its size, a quarter or an eighth, which is faster; it then is at
/// least as large as these. Throws a Failure that names the file.
Image decodeImage(const std::string &path, uint64_t channels,
                  const ChooseSize &choose);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_IMAGES_DECODEIMAGE_H
