#include "runtime/src/device/cuda/collectives.h"

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace mpc::runtime {

using namespace mpc::cuda;

namespace {

using Clock = std::chrono::steady_clock;

// How often a rank looks whether the others have come.
constexpr std::chrono::microseconds kPause(20);

class GpuRanks : public DeviceRanks {
 public:
  GpuRanks(const Gpu& gpu, const Nccl& nccl, CudaAddresses addresses,
           CUstream stream, uint32_t timeout_seconds)
      : gpu_(gpu),
        nccl_(nccl),
        addresses_(addresses),
        stream_(stream),
        timeout_seconds_(timeout_seconds) {}
  ~GpuRanks() override {
    ContextScope scope(gpu_);
    if (comm_) (void)nccl_.ncclCommDestroy(comm_);
  }

  // All ranks must call it with the same id.
  ncclResult_t start(const ncclUniqueId& id, uint32_t rank, uint32_t size) {
    const ncclResult_t result = nccl_.ncclCommInitRank(
        &comm_, static_cast<int>(size), id, static_cast<int>(rank));
    if (result != ncclSuccess) comm_ = nullptr;
    return result;
  }

  mpc_status_t sum(uint64_t offset, uint64_t count,
                   mpc_dtype_t dtype) override {
    ContextScope scope(gpu_);
    MPC_RETURN_IF_ERROR(scope.take_status());
    if (!comm_) return lost("the ranks were lost before");
    void* const data =
        reinterpret_cast<void*>(addresses_.at(schema::Space::State, offset));
    const ncclResult_t result = nccl_.ncclAllReduce(
        data, data, count, dtype == MPC_DTYPE_F64 ? ncclFloat64 : ncclFloat32,
        ncclSum, comm_, stream_);
    if (result != ncclSuccess) return lost(describe(result));
    return wait();
  }

 private:
  std::string describe(ncclResult_t result) const {
    const char* text = nccl_.ncclGetErrorString(result);
    return std::string("ncclAllReduce: ") + (text ? text : "unknown error");
  }

  // Waits for the stream. The driver does not return from a wait for a rank
  // that is gone.
  mpc_status_t wait() {
    const Clock::time_point end =
        Clock::now() + std::chrono::seconds(timeout_seconds_);
    for (;;) {
      const CUresult done = gpu_.driver().cuStreamQuery(stream_);
      if (done != CUDA_ERROR_NOT_READY)
        return gpu_.check(done, "cuStreamQuery", MPC_DEVICE_LOST);
      ncclResult_t error = ncclSuccess;
      const ncclResult_t asked = nccl_.ncclCommGetAsyncError(comm_, &error);
      if (asked != ncclSuccess) return lost(describe(asked));
      if (error != ncclSuccess && error != ncclInProgress)
        return lost(describe(error));
      if (timeout_seconds_ > 0 && Clock::now() > end)
        return lost("ncclAllReduce: another rank did not come for " +
                    std::to_string(timeout_seconds_) + " s");
      std::this_thread::sleep_for(kPause);
    }
  }

  // Ends the work that waits for other ranks.
  mpc_status_t lost(const std::string& why) {
    if (comm_) (void)nccl_.ncclCommAbort(comm_);
    comm_ = nullptr;
    return mpc_status_make(MPC_RANK_LOST, "adding up gradients: %s",
                           why.c_str());
  }

  const Gpu& gpu_;
  const Nccl& nccl_;
  const CudaAddresses addresses_;
  const CUstream stream_;
  const uint32_t timeout_seconds_;
  ncclComm_t comm_ = nullptr;
};

// Whether all ranks say yes.
mpc_status_t agree(const mpc_communicator_t& communicator, bool own,
                   bool* out_all) {
  std::vector<uint8_t> says(communicator.size);
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i <= communicator.size; ++i) offsets.push_back(i);
  says[communicator.rank] = own;
  MPC_RETURN_IF_ERROR(
      communicator.all_gather(communicator.user, says.data(), offsets.data()));
  *out_all = true;
  for (uint8_t yes : says) *out_all &= yes != 0;
  return nullptr;
}

// Sends the id that rank 0 has to all ranks.
mpc_status_t share_id(const mpc_communicator_t& communicator,
                      ncclUniqueId* id) {
  std::vector<uint64_t> offsets(communicator.size + size_t{1}, sizeof(*id));
  offsets[0] = 0;
  return communicator.all_gather(communicator.user, id->internal,
                                 offsets.data());
}

}  // namespace

mpc_status_t join_gpus(const Gpu& gpu, CudaAddresses addresses, CUstream stream,
                       const mpc_communicator_t& communicator,
                       std::unique_ptr<DeviceRanks>* out_ranks,
                       std::string* out_why) {
  const Nccl* nccl = load_nccl(out_why);
  ncclUniqueId id = {};
  ncclResult_t result = ncclSuccess;
  if (nccl && communicator.rank == 0) result = nccl->ncclGetUniqueId(&id);
  bool all;
  MPC_RETURN_IF_ERROR(agree(communicator, nccl && result == ncclSuccess, &all));
  std::unique_ptr<GpuRanks> ranks;
  if (all) {
    MPC_RETURN_IF_ERROR(share_id(communicator, &id));
    ranks = std::make_unique<GpuRanks>(gpu, *nccl, addresses, stream,
                                       communicator.timeout_seconds);
    result = ranks->start(id, communicator.rank, communicator.size);
    MPC_RETURN_IF_ERROR(agree(communicator, result == ncclSuccess, &all));
  }
  if (all) {
    *out_ranks = std::move(ranks);
    return nullptr;
  }
  if (result != ncclSuccess) {
    const char* text = nccl->ncclGetLastError(nullptr);
    *out_why =
        "NCCL: " +
        std::string(text && *text ? text : nccl->ncclGetErrorString(result));
  } else if (out_why->empty()) {
    *out_why = "NCCL does not work on another rank";
  }
  return nullptr;
}

}  // namespace mpc::runtime
