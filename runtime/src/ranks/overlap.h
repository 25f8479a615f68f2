// Adds up gradients while the backward pass computes others.

#ifndef MPC_RUNTIME_SRC_RANKS_OVERLAP_H_
#define MPC_RUNTIME_SRC_RANKS_OVERLAP_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "mpc/status.h"
#include "runtime/src/device/device.h"

namespace mpc::runtime {

// Buckets begin at multiples of so many bytes, so that ranks can own whole
// pages of them.
inline constexpr uint64_t kBucketUnit = uint64_t{32} << 10;

// A range of the gradients that is added up at once.
struct Bucket {
  uint64_t begin, end;  // In bytes, from the first gradient.
  // The number of instructions that have run when the range is complete, for
  // each entry point; 0 for those that compute no gradients.
  std::vector<size_t> ready;
};

// Cuts `bytes` of gradients at `offset` of the state memory into buckets, in
// the order in which entry point `own` completes them, which is the same on all
// ranks. `entries` compute gradients.
std::vector<Bucket> make_buckets(const schema::Variant& variant,
                                 const std::vector<uint32_t>& entries,
                                 uint32_t own, uint64_t offset, uint64_t bytes);

// A thread that adds up one bucket after the other.
class Overlap : public RunListener {
 public:
  using Sum = std::function<mpc_status_t(size_t bucket)>;

  Overlap(const std::vector<Bucket>& buckets, Sum sum)
      : buckets_(buckets), sum_(std::move(sum)) {}
  ~Overlap() override;

  // `entry` is about to run with this listener. Returns false if the system
  // cannot create the thread.
  bool begin(uint32_t entry);
  void ran(size_t instructions) override;
  // Waits for all buckets; with `failed`, only for the one that is being added
  // up, because the others will not be complete.
  mpc_status_t finish(bool failed);

 private:
  void work();
  void add_buckets();

  const std::vector<Bucket>& buckets_;
  const Sum sum_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<size_t> ran_{0};     // Instructions of the entry point so far.
  std::atomic<size_t> wanted_{0};  // What the thread waits for.
  std::atomic<bool> run_has_ended_{false};
  // Guarded by the mutex.
  enum class State { kIdle, kBusy, kDone, kEnd } state_ = State::kIdle;
  bool failed_ = false;
  uint32_t entry_ = 0;
  mpc_status_t status_ = nullptr;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_RANKS_OVERLAP_H_
