// One launch: the block that runs, its threads and warps, and who is next.

#ifndef MPC_TEST_DEVICE_SIM_BLOCK_H_
#define MPC_TEST_DEVICE_SIM_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "test/device_sim/device_sim.h"
#include "test/device_sim/fiber.h"
#include "test/device_sim/shared_memory.h"

namespace mpc::device_sim {

constexpr uint32_t kWarpSize = 32;

struct Site {
  const char* file = nullptr;
  int32_t line = 0;

  // By text: a header's barrier has one name in every translation unit.
  bool operator==(const Site& other) const;
  bool operator!=(const Site& other) const { return !(*this == other); }
};

// What the lanes of a warp do together. The kinds of one operation and of one
// width are apart: lanes that come to different ones do not meet.
enum class WarpOp : uint8_t {
  kBarrier,
  kShuffleXor32,
  kShuffleUp32,
  kShuffleDown32,
  kShuffleIdx32,
  kShuffleXor64,
  kShuffleUp64,
  kShuffleDown64,
  kShuffleIdx64,
  kVoteAny,
  kVoteAll,
  kVoteBallot,
};
const char* name_of(WarpOp op);

enum class State : uint8_t { kReady, kAtBarrier, kAtWarpOp, kExited };

// What a lane brings to a warp operation, and what it gets.
struct WarpCall {
  WarpOp op;
  uint32_t mask;
  uint32_t lane = 0;   // of a shuffle: PTX's b
  uint32_t clamp = 0;  // and c
  uint64_t value = 0;  // in: the lane's; out: the result
  bool in_range = false;
};

struct Thread {
  mpc_sim_index_t index;
  State state;
  Fiber* fiber;   // null until it runs first
  Site site;      // where it waits
  WarpCall call;  // while at a warp operation, and until it goes on
};

struct Warp {
  uint32_t living;
  uint32_t waiting;  // at warp operations
};

// Small and fast, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // Below `bound`.
  uint32_t below(uint32_t bound) {
    return static_cast<uint32_t>((next() >> 32) * bound >> 32);
  }

 private:
  uint64_t state_;
};

class Block {
 public:
  Block(const Launch& launch, const Options& options, void (*thread)(void*),
        void* context);
  ~Block();

  // Runs the block with this number. False if there is an error.
  bool run(uint64_t number);
  const std::string& error() const { return error_; }

  // Called by the running thread.
  void barrier(Site site);
  // Returns the lane's own call, completed.
  const WarpCall& warp_op(const WarpCall& call, Site site);
  void* dynamic_shared(Site site);
  void* static_shared(const void* key, const char* name, size_t bytes,
                      size_t alignment, Site site);
  // The two halves of ending the launch. They are two because stop() leaves the
  // stack as it is: no string may be alive on it. The message gets block,
  // thread and site.
  void set_error_here(const std::string& message);
  void set_error_here(const std::string& message, Site site);
  [[noreturn]] void stop();

  uint32_t running() const { return running_; }
  Fiber* running_fiber() const { return threads_[running_].fiber; }

 private:
  static void fiber_main();
  void call_thread();

  // Gives way to others; returns when this thread may go on.
  void wait(State state, Site site);
  void thread_exits();
  // Who runs next; null if the block has ended, in an error or not.
  Thread* next();
  // Makes `next` the running one, on a fiber that it may get here.
  Fiber& enter(Thread& next);
  void make_ready(uint32_t thread);
  // Gives order_ its next permutation, if it has any.
  void shuffle();
  bool release_barrier();
  void wake_group(uint32_t warp, uint32_t lanes);

  // Warp operations, in warp.cpp.
  void complete_group_of(uint32_t thread);
  bool compute(uint32_t warp, uint32_t lanes);
  bool compute_shuffle(uint32_t warp, uint32_t lanes);
  std::string explain_lane(uint32_t thread, uint32_t source) const;

  // Messages, in diagnose.cpp.
  void set_error(const std::string& message);
  std::string describe(uint32_t thread) const;
  std::string describe_state(uint32_t thread) const;
  std::string exited_threads() const;
  std::string why_stuck() const;
  std::string why_group_waits(uint32_t thread) const;

  const Launch launch_;
  const Options options_;
  void (*const thread_)(void*);
  void* const context_;
  SharedMemory shared_;
  Random random_;

  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<uint32_t> order_;
  // A ring: each thread is in it once at most.
  std::vector<uint32_t> ready_;
  uint32_t ready_begin_ = 0;
  uint32_t ready_end_ = 0;
  uint32_t living_ = 0;
  uint32_t at_barrier_ = 0;
  uint32_t running_ = 0;

  Fiber host_;
  std::vector<std::unique_ptr<Fiber>>& fibers_;
  std::vector<Fiber*> idle_;
  std::string error_;
};

// The launch that runs on this host thread, or null.
extern __thread Block* current_block;

std::string to_string(const mpc_sim_index_t& index);
std::string to_string(const Site& site);
std::string hex(uint32_t mask);

// Turns an overflow of a fiber's stack, or an access to what is not memory,
// into an error of the launch, while it lives.
class FaultGuard {
 public:
  FaultGuard();
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace mpc::device_sim

#endif  // MPC_TEST_DEVICE_SIM_BLOCK_H_
