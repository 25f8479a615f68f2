// Ranks on fake GPUs, which add up gradients by NCCL or through host memory.

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "test/cuda/nccl/fake_nccl.h"
#include "test/runtime/cuda/session.h"
#include "test/runtime/ranks/mailboxes.h"
#include "test/runtime/ranks/package_for_ranks.h"

namespace mpc::test {
namespace {

using cuda::ncclRemoteError;
using cuda::ncclSuccess;
using runtime::Exchange;

FakeDriverOptions three_gpus() {
  FakeDriverOptions options;
  options.devices = 3;
  return options;
}

class CudaRanks : public testing::Test {
 protected:
  void SetUp() override { add_package_kernels(&driver); }
  void TearDown() override {
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_EQ(driver.error(), "");
    if (!nccl) return;
    EXPECT_EQ(nccl->error(), "");
    EXPECT_EQ(nccl->alive(), 0u);
  }

  static Bytes package() {
    PackageOptions options = for_ranks(2);
    const PackageOptions cuda = cuda_package();
    options.ptx = cuda.ptx;
    options.cubins = cuda.cubins;
    return make_package(options);
  }

  static SessionPtr create(const ProgramPtr& program,
                           const mpc_communicator_t& communicator,
                           const std::string& device) {
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.device = device.c_str();
    options.communicator = &communicator;
    mpc_session_t* session = nullptr;
    EXPECT_OK(mpc_session_create(program.get(), &options, &session));
    return SessionPtr(session);
  }

  // Trains on all ranks, each with a GPU of its own if `own`, and returns the
  // weights, which are equal.
  Bytes train(uint32_t size, const std::string& kind, bool own,
              std::string* device = nullptr) {
    const Bytes made = package();
    std::vector<Bytes> weights(size);
    on_ranks(size, [&](Exchange&, const mpc_communicator_t& self) {
      ProgramPtr program = load(made);
      SessionPtr session = create(
          program, self,
          kind == "cpu" ? kind
                        : kind + ":" + std::to_string(own ? self.rank : 0));
      if (device && self.rank == 0) *device = mpc_session_device(session.get());
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(step(session, 0.5f + 0.25f * self.rank).updated, 0);
        // The last rank has fewer batches, in one update none.
        if (i == 3 && self.rank == size - 1)
          EXPECT_OK(mpc_session_finish_update(session.get(), nullptr));
        else
          EXPECT_EQ(step(session, 1.0f + 0.125f * i).updated, 1);
      }
      weights[self.rank] = read_state(session, "w");
    });
    for (const Bytes& of_rank : weights) EXPECT_EQ(of_rank, weights[0]);
    return weights[0];
  }

  FakeDriver driver{three_gpus()};
  std::optional<FakeNccl> nccl;
};

TEST_F(CudaRanks, AddUpByNccl) {
  nccl.emplace(&driver);
  for (uint32_t size : {2, 3}) {
    const uint64_t before = nccl->sums();
    std::string device;
    const Bytes on_gpus = train(size, "cuda", true, &device);
    EXPECT_EQ(nccl->sums() - before, 5u);
    EXPECT_EQ(device, "cuda:0 Fake GPU");
    // The fake adds in the order of ranks.
    EXPECT_EQ(on_gpus, train(size, "cpu", true));
  }
}

TEST_F(CudaRanks, AddUpThroughHostMemory) {
  std::string device;
  const Bytes expected = train(3, "cpu", true);
  // There is no NCCL here.
  EXPECT_EQ(train(3, "cuda", true, &device), expected);
  EXPECT_NE(device.find("gradients go through host memory: cannot load "
                        "libnccl.so.2"),
            std::string::npos)
      << device;
  // NCCL needs a GPU for each rank.
  nccl.emplace(&driver);
  EXPECT_EQ(train(3, "cuda", false, &device), expected);
  EXPECT_NE(device.find("through host memory: NCCL: Duplicate GPU detected"),
            std::string::npos)
      << device;
  nccl->failing = "ncclGetUniqueId";
  EXPECT_EQ(train(3, "cuda", true, &device), expected);
  EXPECT_NE(device.find("through host memory: NCCL"), std::string::npos);
  EXPECT_EQ(nccl->sums(), 0u);
}

// Launchers say which GPU of its machine a rank takes.
TEST_F(CudaRanks, TakeTheGpuOfTheirLocalRank) {
  ASSERT_EQ(setenv("OMPI_COMM_WORLD_LOCAL_RANK", "2", 1), 0);
  for (const char* kind : {"auto", "cuda", "cuda:1"})
    on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
      ProgramPtr program = load(package());
      SessionPtr session = create(program, self, kind);
      EXPECT_EQ(std::string(mpc_session_device(session.get())).substr(0, 6),
                std::string(kind) == "cuda:1" ? "cuda:1" : "cuda:2");
    });
  ASSERT_EQ(unsetenv("OMPI_COMM_WORLD_LOCAL_RANK"), 0);
}

// What a rank reports whose last call of an update fails.
void expect_lost(const SessionPtr& session, const std::string& what) {
  const Batch batch(1.0f);
  const Outcome outcome =
      take(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
  EXPECT_EQ(outcome.code, MPC_RANK_LOST);
  EXPECT_EQ(outcome.message, "adding up gradients: ncclAllReduce: " + what);
  EXPECT_EQ(
      take(mpc_session_step(session.get(), batch.tensors, 2, nullptr)).code,
      MPC_DEVICE_LOST);
}

TEST_F(CudaRanks, AreLostIfNcclFails) {
  nccl.emplace(&driver);
  const Bytes made = package();
  on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
    ProgramPtr program = load(made);
    SessionPtr session =
        create(program, self, "cuda:" + std::to_string(self.rank));
    (void)step(session, 1);
    nccl->failing = "ncclAllReduce";
    expect_lost(session, "invalid usage");
  });
  EXPECT_EQ(nccl->aborted(), 2u);
}

// Rank 1 takes part in what the host combines, and then does not come.
TEST_F(CudaRanks, AreLostIfOneDoesNotCome) {
  nccl.emplace(&driver);
  nccl->failing = "ncclAllReduce";
  nccl->failing_rank = 1;
  const Bytes made = package();
  for (bool is_noticed : {true, false}) {
    nccl->asynchronous = is_noticed ? ncclRemoteError : ncclSuccess;
    on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
      mpc_communicator_t shared = self;
      shared.timeout_seconds = is_noticed ? 60 : 1;
      ProgramPtr program = load(made);
      SessionPtr session =
          create(program, shared, "cuda:" + std::to_string(self.rank));
      (void)step(session, 1);
      expect_lost(session, self.rank == 1 ? "invalid usage"
                           : is_noticed   ? "remote process exited"
                                        : "another rank did not come for 1 s");
    });
  }
  EXPECT_EQ(nccl->aborted(), 4u);
}

}  // namespace
}  // namespace mpc::test
