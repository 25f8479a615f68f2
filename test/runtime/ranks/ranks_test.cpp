// Sessions that train one program together, with threads as ranks.

#include "runtime/src/ranks/ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>

#include "test/runtime/package.h"
#include "test/runtime/ranks/mailboxes.h"
#include "test/runtime/ranks/package_for_ranks.h"

namespace mpc::test {
namespace {

using runtime::Exchange;

SessionPtr create_rank(const ProgramPtr& program,
                       mpc_communicator_t communicator, bool overlaps = true) {
  communicator.any_thread = overlaps;
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.threads = 1;
  options.communicator = &communicator;
  mpc_session_t* session = nullptr;
  EXPECT_OK(mpc_session_create(program.get(), &options, &session));
  return SessionPtr(session);
}

// Why a session cannot be created.
std::string refusal_of(const ProgramPtr& program,
                       const mpc_session_options_t& options) {
  mpc_session_t* session = nullptr;
  const Outcome outcome =
      take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  return outcome.message;
}

float value_of(uint64_t batch) { return 0.5f + 0.25f * (batch % 7); }

// Training of one rank that takes all batches as micro-batches.
Bytes train_alone(const Bytes& package, uint64_t updates, uint64_t batches) {
  ProgramPtr program = load(package);
  SessionPtr session = create(program);
  for (uint64_t i = 0; i < updates * batches; ++i) {
    const mpc_step_info_t info = step(session, value_of(i));
    EXPECT_EQ(info.updated, (i + 1) % batches == 0);
  }
  return read_state(session, "w");
}

mpc_step_info_t finish_update(const SessionPtr& session) {
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_finish_update(session.get(), &info));
  return info;
}

// With one batch of each rank, even the order of additions is the same.
TEST(Ranks, AreMicroBatches) {
  constexpr uint64_t kUpdates = 5;
  for (uint32_t size : {2, 3, 4}) {
    const Bytes expected =
        train_alone(make_package(for_ranks(size)), kUpdates, size);
    const Bytes package = make_package(for_ranks(7));
    on_ranks(size, [&](Exchange&, const mpc_communicator_t& self) {
      ProgramPtr program = load(package);
      SessionPtr session = create_rank(program, self);
      for (uint64_t i = 0; i < kUpdates; ++i) {
        EXPECT_EQ(step(session, value_of(i * size + self.rank)).updated, 0);
        const mpc_step_info_t info = finish_update(session);
        EXPECT_EQ(info.updated, 1);
        EXPECT_EQ(info.step, i + 1);
      }
      EXPECT_EQ(read_state(session, "w"), expected) << "rank " << self.rank;
    });
  }
}

void train_with_few_batches(bool overlaps) {
  const Bytes expected = train_alone(make_package(for_ranks(3)), 1, 3);
  const Bytes package = make_package(for_ranks(2));
  on_ranks(3, [&](Exchange&, const mpc_communicator_t& self) {
    ProgramPtr program = load(package);
    SessionPtr session = create_rank(program, self, overlaps);
    // Rank 0 has all that an update takes, rank 1 has one batch, rank 2 none.
    mpc_step_info_t info = {};
    if (self.rank < 2) {
      EXPECT_EQ(step(session, value_of(2 * self.rank)).updated, 0);
    }
    info = self.rank == 0 ? step(session, value_of(1)) : finish_update(session);
    EXPECT_EQ(info.updated, 1);
    EXPECT_EQ(read_state(session, "w"), expected) << "rank " << self.rank;
  });
}

TEST(Ranks, MayHaveFewerBatchesThanOthers) {
  train_with_few_batches(/*overlaps=*/true);
  train_with_few_batches(/*overlaps=*/false);
}

TEST(Ranks, AllReportALossThatIsNotFinite) {
  const Bytes package = make_package(for_ranks(2));
  on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
    ProgramPtr program = load(package);
    SessionPtr session = create_rank(program, self);
    const Bytes before = read_state(session, "w");
    // Only rank 1 has such a batch, and not in the last call.
    const float value = self.rank == 1 ? NAN : 1.0f;
    EXPECT_EQ(step(session, value).updated, 0);
    const Batch batch(1.0f);
    mpc_step_info_t info = {};
    info.struct_size = sizeof(info);
    const Outcome outcome =
        take(mpc_session_step(session.get(), batch.tensors, 2, &info));
    EXPECT_EQ(outcome.code, MPC_NUMERIC) << "rank " << self.rank;
    EXPECT_EQ(info.skipped, 1);
    EXPECT_EQ(read_state(session, "w"), before);
    EXPECT_EQ(step(session, 1).updated, 0);
    EXPECT_EQ(step(session, 1).updated, 1);
  });
}

TEST(Ranks, AreLostIfOneIsGone) {
  const Bytes package = make_package(for_ranks(2));
  on_ranks(
      2,
      [&](Exchange&, const mpc_communicator_t& self) {
        ProgramPtr program = load(package);
        SessionPtr session = create_rank(program, self);
        EXPECT_EQ(step(session, 1).updated, 0);
        EXPECT_EQ(step(session, 1).updated, 1);
        EXPECT_EQ(step(session, 1).updated, 0);
        if (self.rank == 1) return;
        const Batch batch(1.0f);
        for (mpc_code_t code : {MPC_RANK_LOST, MPC_DEVICE_LOST})
          EXPECT_EQ(
              take(mpc_session_step(session.get(), batch.tensors, 2, nullptr))
                  .code,
              code);
      },
      /*timeout_seconds=*/1);
}

TEST(Ranks, ShareOnlyWhatCanBeShared) {
  const Bytes package = make_package(for_ranks(2));
  on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
    ProgramPtr program = load(package);
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.communicator = &self;
    auto refused = [&](mpc_shard_t shard) {
      options.shard = shard;
      return refusal_of(program, options);
    };
    EXPECT_EQ(refused(static_cast<mpc_shard_t>(3)),
              "option 'shard' of the session is none of mpc_shard_t: 3");
    // The functions of this package do not say what their items access.
    EXPECT_EQ(refused(MPC_SHARD_OPTIMIZER).substr(0, 48),
              "there is nothing that ranks could share: the opt");
    uint64_t own = 1, all = 1;
    SessionPtr session = create_rank(program, self);
    mpc_session_sharded_bytes(session.get(), &own, &all);
    EXPECT_EQ(own + all, 0u);
  });
}

TEST(Ranks, ComputeMeans) {
  const Bytes package = make_package(for_ranks(2));
  for (uint32_t size : {2, 3})
    on_ranks(size, [&](Exchange&, const mpc_communicator_t& self) {
      ProgramPtr program = load(package);
      std::unique_ptr<runtime::Ranks> ranks;
      EXPECT_OK(runtime::Ranks::join(&self, *program, &ranks));
      // Sums in f32 would lose the small numbers.
      std::vector<float> data = {static_cast<float>(self.rank), 1e-3f,
                                 self.rank == 0 ? 1e8f : 1.0f};
      EXPECT_OK(ranks->mean(data.data(), data.size(), MPC_DTYPE_F32));
      EXPECT_EQ(data[0], static_cast<float>((size - 1) / 2.0));
      EXPECT_EQ(data[1], 1e-3f);
      EXPECT_EQ(data[2], static_cast<float>((1e8 + size - 1) / size));
      std::vector<double> wide = {1e300, self.rank == 1 ? NAN : 0.0};
      EXPECT_OK(ranks->mean(wide.data(), wide.size(), MPC_DTYPE_F64));
      EXPECT_EQ(wide[0], 1e300);
      EXPECT_TRUE(std::isnan(wide[1]));
    });
}

// Those of one rank need a batch of all others.
TEST(Ranks, RefuseMeansOfSomeRanks) {
  const Bytes package = make_package(for_ranks(2));
  on_ranks(3, [&](Exchange&, const mpc_communicator_t& self) {
    ProgramPtr program = load(package);
    std::unique_ptr<runtime::Ranks> ranks;
    EXPECT_OK(runtime::Ranks::join(&self, *program, &ranks));
    EXPECT_FALSE(ranks->computes_means());
    EXPECT_OK(ranks->agree(2));
    EXPECT_OK(ranks->agree(-1));
    const std::string all =
        "synchronized batch norms need a batch of the same size on every rank, "
        "but rank ";
    Outcome outcome = take(ranks->agree(self.rank == 2 ? -1 : 1));
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message, all + "2 has none and rank 0 one");
    outcome = take(ranks->agree(self.rank == 0 ? -1 : 1));
    EXPECT_EQ(outcome.message, all + "1 has one and rank 0 none");
    outcome = take(ranks->agree(self.rank == 1 ? 1 : 3));
    EXPECT_EQ(outcome.message,
              all + "1 has one and rank 0 one of another size");
  });
}

TEST(Ranks, RoundGradientsOnlyIfThatIsPossible) {
  const Bytes package = make_package(for_ranks(2));
  on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
    ProgramPtr program = load(package);
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    mpc_communicator_t communicator = self;
    options.communicator = &communicator;
    auto refused = [&](mpc_gradient_exchange_t exchange) {
      options.gradient_exchange = exchange;
      return refusal_of(program, options);
    };
    EXPECT_EQ(refused(static_cast<mpc_gradient_exchange_t>(2)),
              "option 'gradient_exchange' of the session is none of "
              "mpc_gradient_exchange_t: 2");
    communicator.all_to_all = nullptr;
    EXPECT_EQ(refused(MPC_GRADIENT_EXCHANGE_BF16),
              "gradients can be exchanged in bf16 only by a communicator that "
              "has all_to_all");
    // A communicator of an earlier version.
    communicator = self;
    communicator.struct_size = offsetof(mpc_communicator_t, all_to_all);
    EXPECT_EQ(refused(MPC_GRADIENT_EXCHANGE_BF16),
              "gradients can be exchanged in bf16 only by a communicator that "
              "has all_to_all");
  });
}

TEST(Ranks, NeedAProgramForThem) {
  on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
    ProgramPtr program = load(make_package());
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    auto refused = [&](const mpc_communicator_t& communicator) {
      options.communicator = &communicator;
      return refusal_of(program, options);
    };
    EXPECT_EQ(refused(self),
              "the program was compiled for one process, but this is rank " +
                  std::to_string(self.rank) +
                  " of 2; compile the model with option 'data-parallel'");
    mpc_communicator_t wrong = self;
    wrong.rank = 2;
    EXPECT_EQ(refused(wrong), "the communicator says that this is rank 2 of 2");
    wrong = self;
    wrong.all_gather = nullptr;
    EXPECT_EQ(refused(wrong), "the communicator lacks one of its functions");
    wrong = self;
    wrong.struct_size = 0;
    EXPECT_EQ(refused(wrong), "struct_size of the communicator is not set");
    // One rank needs nothing.
    wrong = self;
    wrong.rank = 0;
    wrong.size = 1;
    options.communicator = &wrong;
    mpc_session_t* session = nullptr;
    EXPECT_OK(mpc_session_create(program.get(), &options, &session));
    mpc_session_destroy(session);
  });
}

}  // namespace
}  // namespace mpc::test
