//===- Pixels.h - Changes of the pixels of an image -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_PIXELS_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_PIXELS_H

#include "tools/mpc/data/augment/Augmentation.h"
#include "tools/mpc/data/augment/Draws.h"
#include "tools/mpc/data/images/ImageLayout.h"

#include <vector>

namespace mpc::tool {

/// Beyond the edges of an image is its reflection, without the outermost
/// pixels: of 0 1 2 3, that is 2 1 | 0 1 2 3 | 2 1. All of these functions
/// commute with scaling and normalization, except for cutOut().

/// For each row and each column of the new image the one of the old image that
/// it is copied from.
struct Placement {
  std::vector<uint64_t> rows, columns;

  explicit Placement(const ImageLayout &layout);
  void flipRows();
  void flipColumns();
  /// Moves the image up by `y` pixels and to the left by `x`, each less than
  /// the size of the image.
  void move(int64_t y, int64_t x);
};

/// Copies the pixels of an image to other places.
template <typename Value>
void place(Value *image, const ImageLayout &layout, const Placement &placement);

/// Turns an image counterclockwise around its middle; values are interpolated
/// linearly.
template <typename Value>
void rotate(Value *image, const ImageLayout &layout, double degrees);

/// Sets the pixels of a square to 0 which has `size` pixels in each direction,
/// as far as it is within the image. Pixel (y, x) is in its middle; below and
/// to the right of it, if the size is even.
template <typename Value>
void cutOut(Value *image, const ImageLayout &layout, uint64_t size, uint64_t y,
            uint64_t x);

/// Does to a sample of an input what an augmentation draws for it, except for
/// crop and color, in this order: rotate, flip, vflip, pad, cutout.
void augmentPixels(const Binding &input, const ImageLayout &layout,
                   const Augmentation &augmentation, Draws draws, char *sample);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_PIXELS_H
