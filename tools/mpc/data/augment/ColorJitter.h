//===- ColorJitter.h - Brightness, contrast and saturation ------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_COLORJITTER_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_COLORJITTER_H

#include "tools/mpc/data/augment/Draws.h"

#include <cstdint>
#include <vector>

namespace mpc::tool {

/// Factors of torchvision's ColorJitter; 1 changes nothing.
struct ColorFactors {
  float brightness = 1, contrast = 1, saturation = 1;
};

/// Draws each factor from 1 - `deviation` to 1 + `deviation`.
ColorFactors drawColors(Draws draws, double deviation);

/// Changes brightness, then contrast, then saturation, each as torchvision's
/// functions of that name. `pixels` are RGB or gray, in [0, 255], and remain
/// in this range.
void changeColors(std::vector<float> &pixels, uint64_t channels,
                  const ColorFactors &factors);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_COLORJITTER_H
