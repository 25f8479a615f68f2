#include "test/cuda/nccl/fake_nccl.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace mpc::test {

using namespace mpc::cuda;

namespace {

FakeNccl* fake = nullptr;

}  // namespace

// The functions of the table.
struct FakeNccl::Functions {
  static Comm* of(ncclComm_t comm) { return reinterpret_cast<Comm*>(comm); }
  using Lock = std::lock_guard<std::recursive_mutex>;

  static ncclResult_t ncclGetVersion(int* version) {
    *version = 22703;
    return ncclSuccess;
  }
  static const char* ncclGetErrorString(ncclResult_t result) {
    return result == ncclRemoteError ? "remote process exited"
                                     : "invalid usage";
  }
  static const char* ncclGetLastError(ncclComm_t) {
    return fake->last_error_.c_str();
  }

  static ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    const Lock lock(fake->mutex_);
    if (fake->failing == "ncclGetUniqueId") return ncclSystemError;
    *id = {};
    std::strcpy(id->internal, ("id " + std::to_string(++fake->ids_)).c_str());
    return ncclSuccess;
  }

  // Waits for all ranks, as NCCL does.
  static ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks,
                                       ncclUniqueId id, int rank) {
    std::unique_lock<std::recursive_mutex> lock(fake->mutex_);
    if (std::strncmp(id.internal, "id ", 3) != 0)
      return fake->refuse("ncclCommInitRank: no id of ncclGetUniqueId");
    CUcontext context = nullptr;
    fake->driver_->table().cuCtxGetCurrent(&context);
    if (!context) return fake->refuse("ncclCommInitRank: no context");
    std::shared_ptr<Group>& group = fake->groups_[id.internal];
    if (!group) group = std::make_shared<Group>();
    group->ranks = ranks;
    group->contexts.push_back(context);
    fake->changed_.notify_all();
    if (!fake->changed_.wait_for(lock, std::chrono::seconds(20), [&] {
          return group->contexts.size() == static_cast<size_t>(ranks);
        }))
      return fake->refuse("ncclCommInitRank: other ranks did not call it");
    std::vector<CUcontext> contexts = group->contexts;
    std::sort(contexts.begin(), contexts.end());
    if (std::adjacent_find(contexts.begin(), contexts.end()) !=
        contexts.end()) {
      fake->last_error_ = "Duplicate GPU detected";
      return ncclInvalidUsage;
    }
    ++fake->alive_;
    *comm = reinterpret_cast<ncclComm_t>(new Comm{group, rank});
    return ncclSuccess;
  }

  static ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
    const Lock lock(fake->mutex_);
    *error = fake->asynchronous;
    return ncclSuccess;
  }

  static ncclResult_t release(ncclComm_t comm) {
    const Lock lock(fake->mutex_);
    delete of(comm);
    --fake->alive_;
    return ncclSuccess;
  }
  static ncclResult_t ncclCommAbort(ncclComm_t comm) {
    const Lock lock(fake->mutex_);
    of(comm)->group->aborted.insert(of(comm)->rank);
    ++fake->aborted_;
    return release(comm);
  }
  static ncclResult_t ncclCommDestroy(ncclComm_t comm) { return release(comm); }

  static ncclResult_t ncclAllReduce(const void* from, void* to, size_t count,
                                    ncclDataType_t type, ncclRedOp_t op,
                                    ncclComm_t comm, CUstream stream) {
    if (fake->failing == "ncclAllReduce" &&
        (fake->failing_rank < 0 || fake->failing_rank == of(comm)->rank))
      return ncclInvalidUsage;
    if (from != to || type != ncclFloat32 || op != ncclSum)
      return fake->refuse("ncclAllReduce: sums of f32 in place are expected");
    Comm& self = *of(comm);
    const CUresult queued = fake->driver_->enqueue_waiting(
        stream, [group = self.group, number = self.sums++, rank = self.rank,
                 data = static_cast<float*>(to), count] {
          return fake->add(group, number, rank, data, count);
        });
    return queued == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
  }
};

FakeNccl::FakeNccl(FakeDriver* driver) : driver_(driver) {
#define MPC_CUDA_FUNCTION(result, name, parameters) \
  table_.name = Functions::name;
  MPC_NCCL_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
  fake = this;
  replace_nccl(&table_);
}

FakeNccl::~FakeNccl() {
  replace_nccl(nullptr);
  fake = nullptr;
}

ncclResult_t FakeNccl::refuse(const std::string& what) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (error_.empty()) error_ = what;
  return ncclInvalidUsage;
}

// Returns false if other ranks have not come. The last one adds up, in the
// order of ranks.
bool FakeNccl::add(const std::shared_ptr<Group>& group, uint64_t number,
                   int rank, float* data, size_t count) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (group->aborted.count(rank) > 0) return true;
  Sum& sum = group->sums[number];
  if (sum.is_done) return true;
  sum.data.resize(static_cast<size_t>(group->ranks));
  if (sum.count > 0 && sum.count != count)
    refuse("ncclAllReduce: ranks have different counts");
  sum.count = count;
  sum.data[static_cast<size_t>(rank)] = data;
  if (std::count(sum.data.begin(), sum.data.end(), nullptr) > 0) return false;
  for (size_t i = 0; i < count; ++i) {
    float total = sum.data[0][i];
    for (size_t other = 1; other < sum.data.size(); ++other)
      total += sum.data[other][i];
    for (float* of_rank : sum.data) of_rank[i] = total;
  }
  ++sums_;
  return sum.is_done = true;
}

}  // namespace mpc::test
