#include "test/device_sim/block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>

#include "test/device_sim/asan.h"

__thread mpc_sim_position_t mpc_sim_position;

namespace mpc::device_sim {

__thread Block* current_block = nullptr;

namespace {

// AddressSanitizer makes stack frames several times larger.
constexpr size_t kStackBytes = MPC_DEVICE_SIM_ASAN ? 256 << 10 : 64 << 10;

// The initial bytes of shared memory: NaN in the first order. Each order has a
// different value, so that reading uninitialized memory gives different
// results.
unsigned char poison_of(Order order) {
  switch (order) {
    case Order::kAscending:
      return 0xff;
    case Order::kDescending:
      return 0xa5;
    case Order::kShuffled:
      return 0x5a;
  }
  return 0;
}

// Stacks are reused from launch to launch.
std::vector<std::unique_ptr<Fiber>>& fibers_of_this_thread() {
  thread_local std::vector<std::unique_ptr<Fiber>> fibers;
  return fibers;
}

uint32_t power_of_two_from(uint32_t count) {
  uint32_t power = 1;
  while (power < count) power *= 2;
  return power;
}

}  // namespace

bool Site::operator==(const Site& other) const {
  if (line != other.line) return false;
  if (file == other.file) return true;
  return file && other.file && std::strcmp(file, other.file) == 0;
}

// splitmix64.
uint64_t Random::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

Block::Block(const Launch& launch, const Options& options,
             void (*thread)(void*), void* context)
    : launch_(launch),
      options_(options),
      thread_(thread),
      context_(context),
      shared_(poison_of(options.order)),
      random_(options.seed),
      fibers_(fibers_of_this_thread()) {
  const Dim3& size = launch.block;
  const auto count = static_cast<uint32_t>(size.count());
  threads_.resize(count);
  for (uint32_t i = 0; i < count; ++i)
    threads_[i].index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
  warps_.resize((count + kWarpSize - 1) / kWarpSize);
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0);
  if (options.order == Order::kDescending)
    std::reverse(order_.begin(), order_.end());
  ready_.resize(power_of_two_from(count));
  for (const auto& fiber : fibers_) idle_.push_back(fiber.get());
  // This object is the key of dynamic shared memory.
  if (launch.shared_bytes > 0)
    shared_.make(this, "dynamic", launch.shared_bytes, 16);
  mpc_sim_position.block_size = {size.x, size.y, size.z};
  mpc_sim_position.grid_size = {launch.grid.x, launch.grid.y, launch.grid.z};
  current_block = this;
}

Block::~Block() {
  current_block = nullptr;
  mpc_sim_position = {};
  // An error left threads unfinished.
  if (!error_.empty())
    for (const auto& fiber : fibers_) fiber->reset();
}

bool Block::run(uint64_t number) {
  const Dim3& grid = launch_.grid;
  mpc_sim_position.block = {
      static_cast<uint32_t>(number % grid.x),
      static_cast<uint32_t>(number / grid.x % grid.y),
      static_cast<uint32_t>(number / grid.x / grid.y),
  };
  shared_.poison();
  for (Thread& thread : threads_) {
    thread.state = State::kReady;
    thread.fiber = nullptr;
  }
  living_ = static_cast<uint32_t>(threads_.size());
  for (Warp& warp : warps_) warp = {~0u, 0};
  if (living_ % kWarpSize != 0)
    warps_.back().living = (1u << living_ % kWarpSize) - 1;
  shuffle();
  for (uint32_t thread : order_) make_ready(thread);

  host_.switch_to(enter(*next()));
  if (!error_.empty()) return false;
  if (const std::string* array = shared_.overrun()) {
    error_ = "block " + to_string(mpc_sim_position.block) +
             ": a write behind the end of the shared array '" + *array + "'";
    return false;
  }
  return true;
}

// The main function of a fiber: runs threads, one after another.
void Block::fiber_main() {
  for (;;) {
    Block& block = *current_block;
    Fiber* fiber = block.running_fiber();
    block.call_thread();
    block.thread_exits();
    Thread* next = block.next();
    if (next && !next->fiber) {
      // A thread that has not begun can start on this fiber, without a switch.
      next->fiber = fiber;
      block.enter(*next);
      continue;
    }
    block.idle_.push_back(fiber);
    fiber->switch_to(next ? block.enter(*next) : block.host_);
  }
}

void Block::call_thread() {
  try {
    thread_(context_);
    return;
  } catch (const std::exception& exception) {
    set_error_here("device code threw an exception: " +
                   std::string(exception.what()));
  } catch (...) {
    set_error_here("device code threw an exception");
  }
  // Not inside the handler, which must return normally.
  stop();
}

Fiber& Block::enter(Thread& next) {
  running_ = static_cast<uint32_t>(&next - threads_.data());
  mpc_sim_position.thread = next.index;
  if (!next.fiber) {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(kStackBytes, fiber_main));
      idle_.push_back(fibers_.back().get());
    }
    next.fiber = idle_.back();
    idle_.pop_back();
  }
  return *next.fiber;
}

Thread* Block::next() {
  if (!error_.empty()) return nullptr;
  if (ready_begin_ == ready_end_) {
    if (living_ == 0) return nullptr;
    if (!release_barrier()) return nullptr;
  }
  return &threads_[ready_[ready_begin_++ & (ready_.size() - 1)]];
}

void Block::make_ready(uint32_t thread) {
  threads_[thread].state = State::kReady;
  ready_[ready_end_++ & (ready_.size() - 1)] = thread;
}

void Block::wait(State state, Site site) {
  Thread& self = threads_[running_];
  self.state = state;
  self.site = site;
  if (state == State::kAtBarrier) {
    ++at_barrier_;
  } else {
    warps_[running_ / kWarpSize].waiting |= 1u << running_ % kWarpSize;
    complete_group_of(running_);
  }
  Thread* next = this->next();
  Fiber& to = next ? enter(*next) : host_;
  if (next != &self) self.fiber->switch_to(to);
}

void Block::thread_exits() {
  threads_[running_].state = State::kExited;
  --living_;
  const uint32_t first = running_ / kWarpSize * kWarpSize;
  Warp& warp = warps_[running_ / kWarpSize];
  warp.living &= ~(1u << running_ % kWarpSize);
  // Lanes that waited for this lane need not wait any longer.
  for (uint32_t lane = 0; lane < kWarpSize && warp.waiting != 0; ++lane)
    if (warp.waiting >> lane & 1) complete_group_of(first + lane);
}

void Block::shuffle() {
  if (options_.order != Order::kShuffled) return;
  for (auto i = static_cast<uint32_t>(order_.size()); i > 1; --i)
    std::swap(order_[i - 1], order_[random_.below(i)]);
}

void Block::wake_group(uint32_t warp, uint32_t lanes) {
  warps_[warp].waiting &= ~lanes;
  uint32_t order[kWarpSize];
  uint32_t count = 0;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    if (lanes >> lane & 1) order[count++] = warp * kWarpSize + lane;
  if (options_.order == Order::kDescending) std::reverse(order, order + count);
  if (options_.order == Order::kShuffled)
    for (uint32_t i = count; i > 1; --i)
      std::swap(order[i - 1], order[random_.below(i)]);
  for (uint32_t i = 0; i < count; ++i) make_ready(order[i]);
}

// No thread can run: either all wait at one barrier, or the block is stuck.
bool Block::release_barrier() {
  const Thread* first = nullptr;
  bool same = at_barrier_ == living_;
  for (const Thread& thread : threads_) {
    if (!same) break;
    if (thread.state != State::kAtBarrier) continue;
    if (!first) first = &thread;
    same = thread.site == first->site;
  }
  const bool all_here = living_ == threads_.size() || !options_.strict_barriers;
  if (!same || !all_here) {
    set_error(why_stuck());
    return false;
  }
  at_barrier_ = 0;
  shuffle();
  for (uint32_t thread : order_)
    if (threads_[thread].state == State::kAtBarrier) make_ready(thread);
  return true;
}

void Block::barrier(Site site) { wait(State::kAtBarrier, site); }

void* Block::dynamic_shared(Site site) {
  if (void* data = shared_.find(this)) return data;
  set_error_here("dynamic shared memory, but the launch gives none", site);
  stop();
}

void* Block::static_shared(const void* key, const char* name, size_t bytes,
                           size_t alignment, Site site) {
  if (void* data = shared_.find(key)) return data;
  const Limits& limits = options_.limits;
  const size_t before = shared_.bytes() - launch_.shared_bytes;
  if (before + bytes <= limits.static_shared &&
      shared_.bytes() + bytes <= limits.shared)
    return shared_.make(key, name, bytes, alignment);
  if (before + bytes > limits.static_shared)
    set_error_here("the static shared array '" + std::string(name) + "' of " +
                       std::to_string(bytes) + " bytes, after " +
                       std::to_string(before) + ", is over the limit of " +
                       std::to_string(limits.static_shared) +
                       " bytes per block; use dynamic shared memory",
                   site);
  else
    set_error_here("static and dynamic shared memory of " +
                       std::to_string(shared_.bytes() + bytes) +
                       " bytes are over the limit of " +
                       std::to_string(limits.shared) + " bytes per block",
                   site);
  stop();
}

void Block::set_error_here(const std::string& message) {
  set_error("block " + to_string(mpc_sim_position.block) + ", thread " +
            describe(running_) + ": " + message);
}

void Block::set_error_here(const std::string& message, Site site) {
  set_error_here(message + " (" + to_string(site) + ")");
}

void Block::stop() {
  running_fiber()->switch_to(host_);
  std::abort();  // Not reached.
}

}  // namespace mpc::device_sim
