// The dropout of dropout.h for vectors. Loops include this, instead of lanes.h,
// once for each instruction set. It has no include guard.

#include "kernels/cpu/loops/lanes.h"

class DropoutLanes {
  using F32 = Lanes::F32;
  using U32 = Lanes::U32;
  using U64 = Lanes::U64;

 public:
  // The elements of a row are numbered from `first` on. `dropout` may be null.
  DropoutLanes(const Dropout* dropout, uint32_t first)
      : dropout_(dropout), first_(first) {}

  explicit operator bool() const { return dropout_; }

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
    *to = both >= dropout_->threshold
              ? F32{} + static_cast<float>(dropout_->factor)
              : F32{};
  }

 private:
  MPC_INLINE void word(U64* counter) const {
    U64 counter0 = *counter, counter1 = U64{} + dropout_->step;
    uint32_t key = dropout_->key;
#pragma GCC unroll 10
    for (int round = 0; round < kPhiloxRounds; ++round) {
      Lanes::multiply_low(&counter0, kPhiloxMultiplier);
      const U64 product = counter0;
      counter0 = product >> 32 ^ counter1 ^ uint64_t { key };
      counter1 = product;
      key += kPhiloxWeyl;
    }
    *counter = counter0;
  }

  const Dropout* dropout_;
  uint32_t first_;
};

// A value that is dropped becomes 0 even if it is not finite.
MPC_INLINE void drop(const Lanes::F32& factors, Lanes::F32* value) {
  *value = factors != 0.0f ? *value * factors : Lanes::F32{};
}
