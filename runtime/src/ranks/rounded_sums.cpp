#include "runtime/src/ranks/rounded_sums.h"

#include <algorithm>
#include <cstring>

namespace mpc::runtime {

namespace {

// As bf16_from_f32 and f32_from_bf16, in loops that compilers vectorize.
inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float widen(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

inline uint16_t round_to_bf16(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(is_nan ? quiet : nearest);
}

inline bool is_finite(float value) {
  return (bits_of(value) & 0x7f800000) != 0x7f800000;
}

// Rounds `values` with what was lost before, and keeps what is lost now, if
// that is a number.
void round_range(const float* values, uint16_t* rounded, float* residuals,
                 uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const float value = values[i] + residuals[i];
    rounded[i] = round_to_bf16(value);
    const float rest = value - widen(rounded[i]);
    residuals[i] = is_finite(rest) ? rest : 0.0f;
  }
}

}  // namespace

mpc_status_t RoundedSums::create(const mpc_communicator_t& communicator,
                                 uint64_t elements, uint64_t longest,
                                 std::unique_ptr<RoundedSums>* out) {
  std::unique_ptr<RoundedSums> made(new RoundedSums(communicator));
  const mpc_allocator_t allocator = default_allocator();
  MPC_RETURN_IF_ERROR(made->residuals_.allocate(
      allocator, elements * sizeof(float), "what rounded gradients lose"));
  MPC_RETURN_IF_ERROR(made->rounded_.allocate(
      allocator, longest * sizeof(uint16_t), "rounded gradients"));
  *out = std::move(made);
  return nullptr;
}

mpc_status_t RoundedSums::sum(float* gradients,
                              const std::vector<uint64_t>& bounds,
                              bool gathers) {
  const uint32_t rank = communicator_.rank, size = communicator_.size;
  const uint64_t begin = bounds.front(), own_begin = bounds[rank];
  const uint64_t own = bounds[rank + 1] - own_begin;
  float* const residuals = reinterpret_cast<float*>(residuals_.data());
  uint16_t* const rounded = reinterpret_cast<uint16_t*>(rounded_.data());
  std::vector<uint64_t> offsets;
  for (uint64_t bound : bounds)
    offsets.push_back((bound - begin) * sizeof(uint16_t));

  for (uint32_t peer = 0; peer < size; ++peer)
    if (peer != rank)
      round_range(gradients + bounds[peer], rounded + (bounds[peer] - begin),
                  residuals + bounds[peer], bounds[peer + 1] - bounds[peer]);
  const uint64_t needed =
      std::max<uint64_t>(own * size * sizeof(uint16_t), kAlignment);
  if (received_.size() < needed)
    MPC_RETURN_IF_ERROR(received_.allocate(default_allocator(), needed,
                                           "gradients of other ranks"));
  MPC_RETURN_IF_ERROR(communicator_.all_to_all(
      communicator_.user, rounded, offsets.data(), received_.data()));

  // In the order of the ranks.
  float* const sums = gradients + own_begin;
  uint16_t* const own_rounded = rounded + (own_begin - begin);
  const uint16_t* const received =
      reinterpret_cast<const uint16_t*>(received_.data());
  constexpr uint64_t kBlock = 1024;
  for (uint64_t first = 0; first < own; first += kBlock) {
    const uint64_t count = own - first < kBlock ? own - first : kBlock;
    float block[kBlock] = {};
    for (uint32_t peer = 0; peer < size; ++peer)
      if (peer == rank)
        for (uint64_t i = 0; i < count; ++i) block[i] += sums[first + i];
      else
        for (uint64_t i = 0; i < count; ++i)
          block[i] += widen(received[peer * own + first + i]);
    round_range(block, own_rounded + first, residuals + own_begin + first,
                count);
  }
  if (gathers)
    MPC_RETURN_IF_ERROR(
        communicator_.all_gather(communicator_.user, rounded, offsets.data()));
  const uint64_t from = gathers ? begin : own_begin;
  const uint64_t end = gathers ? bounds.back() : own_begin + own;
  for (uint64_t i = from; i < end; ++i)
    gradients[i] = widen(rounded[i - begin]);
  return nullptr;
}

void RoundedSums::clear() {
  std::memset(residuals_.data(), 0, residuals_.size());
}

}  // namespace mpc::runtime
