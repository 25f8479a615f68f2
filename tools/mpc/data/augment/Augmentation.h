//===- Augmentation.h - The option --augment --------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTATION_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTATION_H

#include "tools/mpc/base/Runtime.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// How training samples are changed at random.
struct Augmentation {
  bool flip = false, flipRows = false;
  std::optional<double> crop;   ///< The smallest part of the area.
  double color = 0;             ///< The largest deviation of a factor from 1.
  double rotate = 0;            ///< The largest angle, in degrees.
  uint64_t pad = 0, cutout = 0; ///< In pixels.
  double mixup = 0;             ///< Parameter of the beta distribution.
  bool shift = false;           ///< Moves the windows of a text.

  bool changesImages() const {
    return flip || flipRows || crop || color > 0 || rotate > 0 || pad > 0 ||
           cutout > 0;
  }

  /// In the syntax of the option, with all values; "" if nothing is changed.
  std::string describe() const;
};

/// Parses "flip,crop=0.5,...". Throws a Failure that names the wrong part.
Augmentation parseAugmentation(const std::string &list);

/// The image input that an augmentation changes. Throws a Failure if there is
/// none, or several, or another input has a value for each pixel.
const Binding &findAugmented(const Augmentation &augmentation,
                             const std::vector<Binding> &inputs);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_AUGMENTATION_H
