//===- Draws.h - Random numbers of one sample -------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_DRAWS_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_DRAWS_H

#include "tools/mpc/base/Philox.h"

#include <cstdint>

namespace mpc::tool {

/// Random numbers for the augmentation of one sample in one pass. They depend
/// only on the arguments: not on threads, batches or the order of samples.
class Draws {
public:
  /// What numbers are drawn for. Each purpose has numbers of its own, so that
  /// an augmentation does not change what others draw.
  enum Purpose : uint64_t {
    Flip,
    FlipRows,
    Crop,
    Pad,
    Color,
    Cutout,
    Rotate,
    Shift,
    Mixup
  };

  Draws(uint64_t seed, uint64_t pass, uint64_t sample)
      // The inner counter is none that orders of samples use.
      : key(philox(philox(seed, 0, ~uint64_t(1)), sample, pass)) {}

  /// Starts with the first number for a purpose.
  void begin(Purpose newPurpose) {
    purpose = newPurpose;
    count = 0;
  }

  /// In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  /// In [low, high).
  double between(double low, double high) {
    return low + unit() * (high - low);
  }

  /// In [0, limit).
  uint64_t below(uint64_t limit) { return tool::below(limit, bits()); }

private:
  uint64_t bits() { return philox(key, count++, purpose); }

  const uint64_t key;
  uint64_t purpose = 0, count = 0;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_DRAWS_H
