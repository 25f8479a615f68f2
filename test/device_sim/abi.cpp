#include "test/device_sim/abi.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "test/device_sim/block.h"

namespace mpc::device_sim {
namespace {

Block& block_for(const char* function) {
  if (!current_block) {
    std::fprintf(stderr, "%s: called by host code, outside a launch\n",
                 function);
    std::abort();
  }
  return *current_block;
}

uint32_t axis_of(const mpc_sim_index_t& index, uint32_t axis) {
  return axis == 0 ? index.x : axis == 1 ? index.y : index.z;
}

[[noreturn]] void stop(const char* function, const char* message) {
  block_for(function).set_error_here(std::string(function) + ": " + message);
  block_for(function).stop();
}

template <class T>
uint64_t shuffle(const char* function, WarpOp xor_op, uint32_t mode,
                 uint32_t mask, T value, uint32_t lane, uint32_t clamp,
                 uint8_t* out_in_range, Site site) {
  Block& block = block_for(function);
  if (mode > MPC_SIM_SHUFFLE_IDX) stop(function, "there is no such mode");
  WarpCall call{static_cast<WarpOp>(static_cast<uint32_t>(xor_op) + mode),
                mask};
  call.lane = lane;
  call.clamp = clamp;
  call.value = value;
  const WarpCall& done = block.warp_op(call, site);
  if (out_in_range) *out_in_range = done.in_range;
  return done.value;
}

// No other thread runs in between, so plain accesses are atomic.
template <class T, class Change>
T update(const char* function, T* address, Change change) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(T) != 0)
    stop(function, "the address is not aligned");
  const T before = *address;
  *address = change(before);
  return before;
}

// Wraps around instead of overflowing.
template <class Unsigned, class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}

template <class T>
T max(const char* function, T* address, T value) {
  return update(function, address,
                [value](T before) { return std::max(before, value); });
}

template <class T>
T exchange(const char* function, T* address, T value) {
  return update(function, address, [value](T) { return value; });
}

template <class T>
T cas(const char* function, T* address, T expected, T value) {
  return update(function, address,
                [=](T before) { return before == expected ? value : before; });
}

// Rounds to an 8-bit format with `fraction` bits of fraction and exponent bias
// `bias`: to nearest, ties to even, computed in units of the last place.
uint8_t to_fp8(float value, int fraction, int bias, uint8_t largest) {
  if (std::isnan(value)) return 0x7f;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const double size = std::fabs(static_cast<double>(value));
  if (std::isinf(value)) return sign | largest;
  const int least = 1 - bias;  // Exponent of the smallest normal number.
  const int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  const double units = std::ldexp(size, fraction - exponent);
  // Exact, because the doubles have few significant bits.
  double whole = std::floor(units);
  const double rest = units - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)) whole += 1;
  // The code of a subnormal number is the number itself; a carry increments the
  // exponent.
  const double code =
      whole + std::ldexp(static_cast<double>(exponent - least), fraction);
  return sign | static_cast<uint8_t>(std::min<double>(code, largest));
}

}  // namespace
}  // namespace mpc::device_sim

namespace sim = mpc::device_sim;

uint32_t mpc_sim_thread_index(uint32_t axis) {
  return sim::axis_of(mpc_sim_position.thread, axis);
}

uint32_t mpc_sim_block_index(uint32_t axis) {
  return sim::axis_of(mpc_sim_position.block, axis);
}

uint32_t mpc_sim_block_size(uint32_t axis) {
  return sim::axis_of(mpc_sim_position.block_size, axis);
}

uint32_t mpc_sim_grid_size(uint32_t axis) {
  return sim::axis_of(mpc_sim_position.grid_size, axis);
}

uint32_t mpc_sim_lane_index(void) {
  return sim::block_for(__func__).running() % sim::kWarpSize;
}

void mpc_sim_block_barrier(const char* file, int32_t line) {
  sim::block_for(__func__).barrier({file, line});
}

void mpc_sim_warp_barrier(uint32_t mask, const char* file, int32_t line) {
  sim::block_for(__func__).warp_op({sim::WarpOp::kBarrier, mask}, {file, line});
}

uint32_t mpc_sim_shuffle_32(uint32_t mode, uint32_t mask, uint32_t value,
                            uint32_t lane, uint32_t clamp,
                            uint8_t* out_in_range, const char* file,
                            int32_t line) {
  return static_cast<uint32_t>(
      sim::shuffle(__func__, sim::WarpOp::kShuffleXor32, mode, mask, value,
                   lane, clamp, out_in_range, {file, line}));
}

uint64_t mpc_sim_shuffle_64(uint32_t mode, uint32_t mask, uint64_t value,
                            uint32_t lane, uint32_t clamp,
                            uint8_t* out_in_range, const char* file,
                            int32_t line) {
  return sim::shuffle(__func__, sim::WarpOp::kShuffleXor64, mode, mask, value,
                      lane, clamp, out_in_range, {file, line});
}

uint16_t mpc_sim_round_to_fp8(uint32_t format, float high, float low) {
  const auto round = [format](float value) {
    return format == MPC_SIM_E5M2 ? sim::to_fp8(value, 2, 15, 0x7b)
                                  : sim::to_fp8(value, 3, 7, 0x7e);
  };
  return static_cast<uint16_t>(round(high) << 8 | round(low));
}

uint32_t mpc_sim_vote(uint32_t kind, uint32_t mask, uint32_t predicate,
                      const char* file, int32_t line) {
  sim::Block& block = sim::block_for(__func__);
  if (kind > MPC_SIM_VOTE_BALLOT) sim::stop(__func__, "there is no such kind");
  const auto any = static_cast<uint32_t>(sim::WarpOp::kVoteAny);
  sim::WarpCall call{static_cast<sim::WarpOp>(any + kind), mask};
  call.value = predicate;
  return static_cast<uint32_t>(block.warp_op(call, {file, line}).value);
}

void* mpc_sim_dynamic_shared(const char* file, int32_t line) {
  return sim::block_for(__func__).dynamic_shared({file, line});
}

uint32_t mpc_sim_dynamic_shared_bytes(void) {
  return static_cast<uint32_t>(sim::block_for(__func__).dynamic_shared_bytes());
}

void* mpc_sim_static_shared(const void* key, const char* name, uint64_t bytes,
                            uint64_t alignment, const char* file,
                            int32_t line) {
  return sim::block_for(__func__).static_shared(key, name, bytes, alignment,
                                                {file, line});
}

int32_t mpc_sim_atomic_add_i32(int32_t* address, int32_t value) {
  return sim::update(__func__, address, [value](int32_t before) {
    return sim::add<uint32_t>(before, value);
  });
}

int64_t mpc_sim_atomic_add_i64(int64_t* address, int64_t value) {
  return sim::update(__func__, address, [value](int64_t before) {
    return sim::add<uint64_t>(before, value);
  });
}

float mpc_sim_atomic_add_f32(float* address, float value) {
  return sim::update(__func__, address,
                     [value](float before) { return before + value; });
}

double mpc_sim_atomic_add_f64(double* address, double value) {
  return sim::update(__func__, address,
                     [value](double before) { return before + value; });
}

int32_t mpc_sim_atomic_max_i32(int32_t* address, int32_t value) {
  return sim::max(__func__, address, value);
}

uint32_t mpc_sim_atomic_max_u32(uint32_t* address, uint32_t value) {
  return sim::max(__func__, address, value);
}

int64_t mpc_sim_atomic_max_i64(int64_t* address, int64_t value) {
  return sim::max(__func__, address, value);
}

uint64_t mpc_sim_atomic_max_u64(uint64_t* address, uint64_t value) {
  return sim::max(__func__, address, value);
}

uint32_t mpc_sim_atomic_exchange_32(uint32_t* address, uint32_t value) {
  return sim::exchange(__func__, address, value);
}

uint64_t mpc_sim_atomic_exchange_64(uint64_t* address, uint64_t value) {
  return sim::exchange(__func__, address, value);
}

uint32_t mpc_sim_atomic_cas_32(uint32_t* address, uint32_t expected,
                               uint32_t value) {
  return sim::cas(__func__, address, expected, value);
}

uint64_t mpc_sim_atomic_cas_64(uint64_t* address, uint64_t expected,
                               uint64_t value) {
  return sim::cas(__func__, address, expected, value);
}

void mpc_sim_trap(const char* message, const char* file, int32_t line) {
  sim::block_for(__func__).set_error_here(std::string("trap: ") + message,
                                          {file, line});
  sim::block_for(__func__).stop();
}
