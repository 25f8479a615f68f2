// The dropout of dropout.h for vectors. Loops include this, instead of lanes.h,
// once for each instruction set. It has no include guard.

#include "kernels/cpu/loops/lanes.h"

class DropoutLanes {
  using F32 = Lanes::F32;
  using U32 = Lanes::U32;
  using U64 = Lanes::U64;

 public:
  // The elements of a row are numbered from `first` on.
  DropoutLanes(const Dropout& dropout, uint32_t first)
      : first_(first),
        step_(dropout.step),
        threshold_(dropout.threshold),
        factor_(static_cast<float>(dropout.factor)) {
    uint32_t key = dropout.key;
    for (uint32_t& round_key : round_keys_) {
      round_key = key;
      key += kPhiloxWeyl;
    }
  }

  // The factors of elements, 0 for those that are dropped. The first is element
  // `j` of the row.
  MPC_INLINE void factors(int64_t j, F32* to) const {
    U32 element;
#pragma GCC unroll 16
    for (int64_t i = 0; i < Lanes::kWidth; ++i)
      element[i] = static_cast<uint32_t>(i);
    element += first_ + static_cast<uint32_t>(j);
    // Elements at even and at odd places, in the lower halves of lanes. What is
    // in the upper halves does not matter before the end.
    U64 even, odd;
    std::memcpy(&even, &element, sizeof even);
    odd = even >> 32;
    word(&even);
    word(&odd);
    const U64 words = (even & 0xffffffffu) | odd << 32;
    U32 both;
    std::memcpy(&both, &words, sizeof both);
    *to = both >= threshold_ ? F32{} + factor_ : F32{};
  }

 private:
  MPC_INLINE void word(U64* counter) const {
    U64 counter0 = *counter, counter1 = U64{} + step_;
#pragma GCC unroll 10
    for (int round = 0; round < kPhiloxRounds; ++round) {
      Lanes::multiply_low(&counter0, kPhiloxMultiplier);
      const U64 product = counter0;
      counter0 = product >> 32 ^ counter1 ^ uint64_t { round_keys_[round] };
      counter1 = product;
    }
    *counter = counter0;
  }

  uint32_t first_, step_, threshold_;
  float factor_;
  uint32_t round_keys_[kPhiloxRounds];
};

// A value that is dropped becomes 0 even if it is not finite.
MPC_INLINE void drop(const Lanes::F32& factors, Lanes::F32* value) {
  *value = factors != 0.0f ? *value * factors : Lanes::F32{};
}
