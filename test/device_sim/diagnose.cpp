// Error messages: which threads wait where, which do not, and which have
// exited.

#include <cstdio>

#include "test/device_sim/block.h"

namespace mpc::device_sim {

std::string to_string(const mpc_sim_index_t& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
         std::to_string(index.z) + ")";
}

std::string to_string(const Site& site) {
  if (!site.file) return "operation " + std::to_string(site.line);
  const std::string file = site.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(site.line);
}

std::string hex(uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

// The first error is kept, because later ones may be consequences of it.
void Block::set_error(const std::string& message) {
  if (error_.empty()) error_ = message;
}

std::string Block::describe(uint32_t thread) const {
  return to_string(threads_[thread].index);
}

std::string Block::describe_state(uint32_t thread) const {
  const Thread& who = threads_[thread];
  switch (who.state) {
    case State::kAtBarrier:
      return "waits at the block barrier at " + to_string(who.site);
    case State::kAtWarpOp:
      return "is at " + std::string(name_of(who.call.op)) + " with mask " +
             hex(who.call.mask) + " at " + to_string(who.site);
    case State::kExited:
      return "has exited";
    case State::kReady:
      break;
  }
  return "runs";
}

std::string Block::exited_threads() const {
  constexpr int kNamed = 4;
  const size_t exited = threads_.size() - living_;
  if (exited == 0) return "";
  std::string names;
  int named = 0;
  for (uint32_t i = 0; i < threads_.size() && named < kNamed; ++i) {
    if (threads_[i].state != State::kExited) continue;
    names += (named++ == 0 ? " " : ", ") + describe(i);
  }
  return "; exited: " + std::to_string(exited) +
         (exited == 1 ? " thread," : " threads,") + names +
         (exited > kNamed ? ", ..." : "");
}

// No thread can run. The message names the first thread of each kind.
std::string Block::why_stuck() const {
  const uint32_t count = static_cast<uint32_t>(threads_.size());
  uint32_t at_barrier = count, at_other_barrier = count, at_warp_op = count;
  for (uint32_t i = count; i-- > 0;) {
    if (threads_[i].state == State::kAtBarrier) at_barrier = i;
    if (threads_[i].state == State::kAtWarpOp) at_warp_op = i;
  }
  for (uint32_t i = count; i-- > at_barrier;)
    if (threads_[i].state == State::kAtBarrier &&
        threads_[i].site != threads_[at_barrier].site)
      at_other_barrier = i;

  const std::string block = "block " + to_string(mpc_sim_position.block) + ", ";
  if (at_barrier == count)
    return block + why_group_waits(at_warp_op) + exited_threads();
  std::string text = block + "thread " + describe(at_barrier) +
                     ": divergent barrier: it " + describe_state(at_barrier);
  if (at_warp_op != count)
    text += ", but thread " + describe(at_warp_op) + " " +
            describe_state(at_warp_op) + "; " + why_group_waits(at_warp_op);
  else if (at_other_barrier != count)
    text += ", but thread " + describe(at_other_barrier) + " " +
            describe_state(at_other_barrier);
  return text + exited_threads();
}

std::string Block::why_group_waits(uint32_t thread) const {
  const WarpCall& call = threads_[thread].call;
  const uint32_t first = thread / kWarpSize * kWarpSize;
  const uint32_t lanes = call.mask & warps_[thread / kWarpSize].living;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const Thread& other = threads_[first + lane];
    const bool here = other.state == State::kAtWarpOp &&
                      other.call.op == call.op && other.call.mask == call.mask;
    if (here) continue;
    return "thread " + describe(thread) + ": the mask " + hex(call.mask) +
           " of " + name_of(call.op) + " at " +
           to_string(threads_[thread].site) + " names lane " +
           std::to_string(lane) + ", which does not take part: thread " +
           describe(first + lane) + " " + describe_state(first + lane);
  }
  return "thread " + describe(thread) + ": stuck";
}

std::string Block::explain_lane(uint32_t thread, uint32_t source) const {
  const Thread& who = threads_[thread];
  const uint32_t index = thread / kWarpSize * kWarpSize + source;
  std::string why = "is not in the mask " + hex(who.call.mask);
  if (index >= threads_.size())
    why = "does not exist";
  else if (threads_[index].state == State::kExited)
    why = "has exited";
  return "block " + to_string(mpc_sim_position.block) + ", thread " +
         describe(thread) + ": " + name_of(who.call.op) + " reads lane " +
         std::to_string(source) + ", which " + why + " (" +
         to_string(who.site) + ")";
}

}  // namespace mpc::device_sim
