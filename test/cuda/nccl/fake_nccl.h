// A fake NCCL on the fake driver, for ranks that are threads. Sums are queued
// on the driver's streams, where each waits until all ranks have queued theirs.

#ifndef MPC_TEST_CUDA_NCCL_FAKE_NCCL_H_
#define MPC_TEST_CUDA_NCCL_FAKE_NCCL_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/nccl/nccl.h"
#include "test/cuda/fake/fake_driver.h"

namespace mpc::test {

// While it exists, load_nccl() returns it. Only one may exist at a time.
class FakeNccl {
 public:
  explicit FakeNccl(FakeDriver* driver);
  ~FakeNccl();
  FakeNccl(const FakeNccl&) = delete;

  // Calls of this name fail, on all ranks or on this one.
  std::string failing;
  int failing_rank = -1;
  // What ncclCommGetAsyncError finds.
  cuda::ncclResult_t asynchronous = cuda::ncclSuccess;

  uint64_t sums() const { return sums_; }  // Over all ranks.
  size_t alive() const { return alive_; }  // Communicators.
  size_t aborted() const { return aborted_; }
  // What a call did wrong; "" if none did.
  const std::string& error() const { return error_; }

 private:
  struct Functions;
  struct Sum {
    std::vector<float*> data;  // One of each rank; null: it has not come.
    size_t count = 0;
    bool is_done = false;
  };
  struct Group {
    int ranks = 0;
    std::vector<cuda::CUcontext> contexts;
    std::map<uint64_t, Sum> sums;  // By their number.
    std::set<int> aborted;         // Ranks.
  };
  struct Comm {
    std::shared_ptr<Group> group;
    int rank;
    uint64_t sums = 0;
  };

  cuda::ncclResult_t refuse(const std::string& what);
  bool add(const std::shared_ptr<Group>& group, uint64_t number, int rank,
           float* data, size_t count);

  FakeDriver* const driver_;
  cuda::Nccl table_ = {};
  std::recursive_mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::shared_ptr<Group>> groups_;  // By their ids.
  std::string error_, last_error_;
  uint64_t sums_ = 0;
  size_t ids_ = 0, alive_ = 0, aborted_ = 0;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_NCCL_FAKE_NCCL_H_
