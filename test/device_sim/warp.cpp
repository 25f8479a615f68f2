// Warp operations: which lanes take part, and the result of each lane.

#include "test/device_sim/block.h"

namespace mpc::device_sim {
namespace {

// A lane's source and whether it is in range, as PTX's shfl.sync defines them.
struct Source {
  uint32_t lane;
  bool in_range;
};

Source source_of(uint32_t lane, const WarpCall& call) {
  const uint32_t segment = call.clamp >> 8 & 0x1f;
  const uint32_t clamp = call.clamp & 0x1f;
  const uint32_t distance = call.lane & 0x1f;
  const uint32_t last = (lane & segment) | (clamp & ~segment);
  int from = 0;
  bool in_range = false;
  switch (call.op) {
    case WarpOp::kShuffleUp32:
    case WarpOp::kShuffleUp64:
      from = static_cast<int>(lane) - static_cast<int>(distance);
      in_range = from >= static_cast<int>(last);
      break;
    case WarpOp::kShuffleDown32:
    case WarpOp::kShuffleDown64:
      from = static_cast<int>(lane + distance);
      in_range = from <= static_cast<int>(last);
      break;
    case WarpOp::kShuffleXor32:
    case WarpOp::kShuffleXor64:
      from = static_cast<int>(lane ^ distance);
      in_range = from <= static_cast<int>(last);
      break;
    default:
      from = static_cast<int>((lane & segment) | (distance & ~segment));
      in_range = from <= static_cast<int>(last);
      break;
  }
  return {in_range ? static_cast<uint32_t>(from) : lane, in_range};
}

}  // namespace

const char* name_of(WarpOp op) {
  switch (op) {
    case WarpOp::kBarrier:
      return "the warp barrier";
    case WarpOp::kShuffleXor32:
      return "the 32-bit xor shuffle";
    case WarpOp::kShuffleUp32:
      return "the 32-bit up shuffle";
    case WarpOp::kShuffleDown32:
      return "the 32-bit down shuffle";
    case WarpOp::kShuffleIdx32:
      return "the 32-bit index shuffle";
    case WarpOp::kShuffleXor64:
      return "the 64-bit xor shuffle";
    case WarpOp::kShuffleUp64:
      return "the 64-bit up shuffle";
    case WarpOp::kShuffleDown64:
      return "the 64-bit down shuffle";
    case WarpOp::kShuffleIdx64:
      return "the 64-bit index shuffle";
    case WarpOp::kVoteAny:
      return "the any vote";
    case WarpOp::kVoteAll:
      return "the all vote";
    case WarpOp::kVoteBallot:
      return "the ballot";
  }
  return "";
}

const WarpCall& Block::warp_op(const WarpCall& call, Site site) {
  Thread& self = threads_[running_];
  if (!(call.mask >> running_ % kWarpSize & 1)) {
    set_error_here("the mask " + hex(call.mask) + " of " + name_of(call.op) +
                       " does not name the lane itself, " +
                       std::to_string(running_ % kWarpSize),
                   site);
    stop();
  }
  self.call = call;
  wait(State::kAtWarpOp, site);
  return self.call;
}

void Block::complete_group_of(uint32_t thread) {
  const uint32_t first = thread / kWarpSize * kWarpSize;
  const Warp& warp = warps_[thread / kWarpSize];
  const WarpCall& call = threads_[thread].call;
  const uint32_t lanes = call.mask & warp.living;
  if ((lanes & ~warp.waiting) != 0) return;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const WarpCall& other = threads_[first + lane].call;
    if (other.op != call.op || other.mask != call.mask) return;
  }
  if (compute(thread / kWarpSize, lanes)) wake_group(thread / kWarpSize, lanes);
}

// Computes the results of all lanes at once: a lane that continues must not
// change what another lane will read. Returns false if the results are
// undefined.
bool Block::compute(uint32_t warp, uint32_t lanes) {
  Thread* threads = &threads_[warp * kWarpSize];
  uint32_t ballot = 0;
  WarpOp op = WarpOp::kBarrier;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    op = threads[lane].call.op;
    if (threads[lane].call.value != 0) ballot |= 1u << lane;
  }
  uint64_t result = 0;
  switch (op) {
    case WarpOp::kBarrier:
      return true;
    case WarpOp::kVoteAny:
      result = ballot != 0;
      break;
    case WarpOp::kVoteAll:
      result = ballot == lanes;
      break;
    case WarpOp::kVoteBallot:
      result = ballot;
      break;
    default:
      return compute_shuffle(warp, lanes);
  }
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    if (lanes >> lane & 1) threads[lane].call.value = result;
  return true;
}

bool Block::compute_shuffle(uint32_t warp, uint32_t lanes) {
  const uint32_t first = warp * kWarpSize;
  uint64_t values[kWarpSize] = {};
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    if (lanes >> lane & 1) values[lane] = threads_[first + lane].call.value;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    WarpCall& call = threads_[first + lane].call;
    const Source source = source_of(lane, call);
    if (!(lanes >> source.lane & 1)) {
      set_error(explain_lane(first + lane, source.lane));
      return false;
    }
    call.value = values[source.lane];
    call.in_range = source.in_range;
  }
  return true;
}

}  // namespace mpc::device_sim
