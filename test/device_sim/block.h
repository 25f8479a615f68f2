// One launch: the running block, its threads and warps, and their scheduling.

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

  // Compares text: a barrier in a header has the same name in every translation
  // unit.
  bool operator==(const Site& other) const;
  bool operator!=(const Site& other) const { return !(*this == other); }
};

// The warp operations. Kinds and widths of an operation are separate values:
// lanes that reach different ones do not synchronize with each other.
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

// The arguments of a lane in a warp operation, and its result.
struct WarpCall {
  WarpOp op;
  uint32_t mask;
  uint32_t lane = 0;   // of a shuffle: PTX's b
  uint32_t clamp = 0;  // and c
  uint64_t value = 0;  // in: the lane's value; out: the result
  bool in_range = false;
};

struct Thread {
  mpc_sim_index_t index;
  State state;
  Fiber* fiber;   // null until the thread starts
  Site site;      // where the thread waits
  WarpCall call;  // at a warp operation, until the thread continues
};

struct Warp {
  uint32_t living;
  uint32_t waiting;  // lanes at warp operations
};

// A small, fast random generator with the same results on all machines.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // A number below `bound`.
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

  // Runs the block with this number. Returns false if there is an error.
  bool run(uint64_t number);
  const std::string& error() const { return error_; }

  // Called by the running thread:
  void barrier(Site site);
  // Returns the lane's own call, completed.
  const WarpCall& warp_op(const WarpCall& call, Site site);
  void* dynamic_shared(Site site);
  size_t dynamic_shared_bytes() const { return launch_.shared_bytes; }
  void* static_shared(const void* key, const char* name, size_t bytes,
                      size_t alignment, Site site);
  // Ending the launch takes two calls, because stop() abandons the stack, on
  // which no string may be alive. Block, thread and site are added to the
  // message.
  void set_error_here(const std::string& message);
  void set_error_here(const std::string& message, Site site);
  [[noreturn]] void stop();

  uint32_t running() const { return running_; }
  Fiber* running_fiber() const { return threads_[running_].fiber; }

 private:
  static void fiber_main();
  void call_thread();

  // Yields to other threads; returns when this thread may continue.
  void wait(State state, Site site);
  void thread_exits();
  // The thread to run next; null if the block has ended, with or without an
  // error.
  Thread* next();
  // Makes `next` the running thread; assigns a fiber to it if it has none.
  Fiber& enter(Thread& next);
  void make_ready(uint32_t thread);
  // Permutes order_ again if the order is shuffled.
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
  // A ring buffer that contains each thread at most once.
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

// The launch that is running on this host thread, or null.
extern __thread Block* current_block;

std::string to_string(const mpc_sim_index_t& index);
std::string to_string(const Site& site);
std::string hex(uint32_t mask);

// While it exists, converts an overflow of a fiber's stack or an access to
// unmapped memory into an error of the launch.
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
