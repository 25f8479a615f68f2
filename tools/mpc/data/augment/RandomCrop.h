//===- RandomCrop.h - A random part of an image -----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_RANDOMCROP_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_RANDOMCROP_H

#include "tools/mpc/data/augment/Draws.h"
#include "tools/mpc/data/images/ResizeImage.h"

namespace mpc::tool {

/// Draws a part of an image as torchvision's RandomResizedCrop: at least
/// `minScale` of its area, with proportions from 3:4 to 4:3. If ten parts do
/// not fit into the image, takes the middle of it, as large as these
/// proportions allow.
Region drawCrop(Draws draws, uint64_t width, uint64_t height, double minScale);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_RANDOMCROP_H
