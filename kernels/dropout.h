// Which elements a dropout keeps: the bits of train.dropout_training
// (Philox2x32-10 with a key made by SplitMix64), for kernels that drop elements
// of tensors that are never stored.

#ifndef MPC_KERNELS_DROPOUT_H_
#define MPC_KERNELS_DROPOUT_H_

#include <cstdint>

#include "kernels/float_types.h"

namespace mpc::kernels {

// One step of SplitMix64.
MPC_HOST_DEVICE inline uint64_t split_mix(uint64_t word) {
  word += 0x9E3779B97F4A7C15u;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

constexpr int kPhiloxRounds = 10;
constexpr uint32_t kPhiloxMultiplier = 0xD256D193u;
constexpr uint32_t kPhiloxWeyl = 0x9E3779B9u;

// A dropout in one step.
struct Dropout {
  uint32_t key, step;
  uint32_t threshold;  // Words below it drop their element.
  double factor;       // Elements that are kept are multiplied by it.

  // The probability to drop an element is `ratio`, in [0, 1).
  MPC_HOST_DEVICE static Dropout of(float ratio, uint64_t index, int64_t seed,
                                    int64_t step) {
    const uint64_t mixed =
        split_mix(static_cast<uint64_t>(seed) ^ split_mix(index));
    return {static_cast<uint32_t>(mixed >> 32), static_cast<uint32_t>(step),
            static_cast<uint32_t>(static_cast<double>(ratio) * 4294967296.0),
            1 / (1 - static_cast<double>(ratio))};
  }

  // Whether the element with this number, modulo 2^32, is kept.
  MPC_HOST_DEVICE bool keeps(uint32_t element) const {
    uint32_t counter0 = element, counter1 = step, round_key = key;
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const uint64_t product =
          static_cast<uint64_t>(counter0) * kPhiloxMultiplier;
      counter0 = static_cast<uint32_t>(product >> 32) ^ round_key ^ counter1;
      counter1 = static_cast<uint32_t>(product);
      round_key += kPhiloxWeyl;
    }
    return counter0 >= threshold;
  }
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_DROPOUT_H_
