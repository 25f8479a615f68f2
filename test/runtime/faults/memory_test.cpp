// Out of memory.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>

#include "test/runtime/faults/allocations.h"
#include "test/runtime/faults/calls.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

TEST(Faults, StepsAllocateNothing) {
  if (!can_watch_allocations()) GTEST_SKIP();
  ProgramPtr program = load(package_without_library());
  for (uint32_t threads : {1u, 2u}) {
    SessionPtr session = create(program, threads);
    Batch batch(1);
    mpc_step_info_t info = {};
    info.struct_size = sizeof(info);
    mpc_metrics_t metrics = {};
    metrics.struct_size = sizeof(metrics);
    float y[8];
    int64_t shape[2] = {4, 2};
    mpc_tensor_t output = {sizeof(output), MPC_DTYPE_F32, 2, shape, y, {}};
    bool good = true;
    auto use_all = [&] {
      good &= !mpc_session_step(session.get(), batch.tensors, 2, &info);
      good &=
          !mpc_session_evaluate(session.get(), batch.tensors, 2, 3, &metrics);
      good &= !mpc_session_run(session.get(), "predict", batch.tensors, 1,
                               &output, 1);
      good &= !mpc_session_run(session.get(), "count", nullptr, 0, nullptr, 0);
    };
    use_all();  // OpenMP creates its threads at the first use.
    int64_t count;
    {
      AllocationWatch watch;
      for (int i = 0; i < 10; ++i) use_all();
      count = watch.count();
    }
    EXPECT_EQ(count, 0);
    EXPECT_TRUE(good);
  }
}

// Runs `attempt`, which returns the outcome of the call under test, with the
// n-th allocation failing, for every n until none fails.
void fail_every_allocation(
    const std::function<Outcome()>& attempt,
    const std::function<void()>& check = [] {}) {
  for (int64_t n = 1;; ++n) {
    ASSERT_LT(n, 100000);
    bool failed;
    mpc_code_t code;
    {
      AllocationWatch watch(n);
      code = attempt().code;
      failed = watch.failed();
    }
    check();
    if (!failed) {
      EXPECT_EQ(code, MPC_OK);
      return;
    }
    // The failure of an allocation that is not essential may be ignored.
    EXPECT_TRUE(code == MPC_OUT_OF_MEMORY || code == MPC_INCOMPATIBLE ||
                code == MPC_IO || code == MPC_OK)
        << n << ": " << code;
  }
}

TEST(Faults, LoadingSurvivesEveryFailedAllocation) {
  if (!can_watch_allocations()) GTEST_SKIP();
  Bytes package = make_package();
  fail_every_allocation([&] {
    mpc_program_t* program = nullptr;
    mpc_status_t status =
        mpc_program_load_memory(package.data(), package.size(), &program);
    Outcome outcome{mpc_status_code(status), ""};
    mpc_status_free(status);
    mpc_program_destroy(program);
    return outcome;
  });
  AllocationWatch watch;
  mpc_program_t* program = nullptr;
  mpc_status_t status =
      mpc_program_load_memory(package.data(), package.size(), &program);
  mpc_program_destroy(program);
  EXPECT_EQ(watch.live(), 0);
  EXPECT_EQ(status, nullptr);
}

TEST(Faults, CreatingSurvivesEveryFailedAllocation) {
  if (!can_watch_allocations()) GTEST_SKIP();
  ProgramPtr program = load(package_without_library());
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.threads = 1;
  // libgomp ends the process if its first small allocation for a thread fails.
  (void)create(program);
  fail_every_allocation([&] {
    mpc_session_t* session = nullptr;
    mpc_status_t status = mpc_session_create(program.get(), &options, &session);
    Outcome outcome{mpc_status_code(status), ""};
    EXPECT_EQ(session != nullptr, !status);
    mpc_status_free(status);
    mpc_session_destroy(session);
    return outcome;
  });
}

// Everything from the allocator hook is returned to it, whichever request it
// refuses.
struct AllocatorCounts {
  int live = 0, calls = 0, fail_at = 0;
};

TEST(Faults, TheAllocatorHookIsBalanced) {
  ProgramPtr program = load(make_package());
  bool created = false;
  for (int n = 1; !created; ++n) {
    AllocatorCounts counts;
    counts.fail_at = n;
    mpc_allocator_t allocator = {
        &counts,
        [](void* user, size_t size, size_t alignment) -> void* {
          auto* state = static_cast<AllocatorCounts*>(user);
          if (++state->calls == state->fail_at) return nullptr;
          ++state->live;
          return aligned_alloc(alignment,
                               (size + alignment - 1) / alignment * alignment);
        },
        [](void* user, void* pointer) {
          --static_cast<AllocatorCounts*>(user)->live;
          free(pointer);
        }};
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.allocator = &allocator;
    mpc_session_t* session = nullptr;
    Outcome outcome =
        take(mpc_session_create(program.get(), &options, &session));
    created = outcome.code == MPC_OK;
    EXPECT_EQ(created, counts.calls < n);
    EXPECT_EQ(outcome.code, created ? MPC_OK : MPC_OUT_OF_MEMORY);
    mpc_session_destroy(session);
    EXPECT_EQ(counts.live, 0);
    EXPECT_EQ(counts.calls, created ? 3 : n);  // States, arena, scratch.
  }
}

TEST(Faults, SavingAndLoadingSurviveEveryFailedAllocation) {
  if (!can_watch_allocations()) GTEST_SKIP();
  ProgramPtr program = load(package_without_library());
  Folder folder;
  SessionPtr session = create(program);
  std::string path = folder / "a";
  ASSERT_EQ(save(session, path).code, MPC_OK);
  Bytes old_states = all_states(program, session);
  (void)step(session, 1);
  Bytes new_states = all_states(program, session);
  SessionPtr reader = create(program);
  fail_every_allocation(
      [&] {
        mpc_status_t status =
            mpc_session_save_checkpoint(session.get(), path.c_str());
        Outcome outcome{mpc_status_code(status), ""};
        mpc_status_free(status);
        return outcome;
      },
      [&] {
        ASSERT_EQ(take(mpc_session_load_checkpoint(reader.get(), path.c_str()))
                      .message,
                  "");
        Bytes states = all_states(program, reader);
        ASSERT_TRUE(states == old_states || states == new_states);
      });
  SessionPtr target = create(program);
  Bytes before = all_states(program, target);
  fail_every_allocation([&] {
    mpc_status_t status =
        mpc_session_load_checkpoint(target.get(), path.c_str());
    Outcome outcome{mpc_status_code(status), ""};
    mpc_status_free(status);
    if (status) {
      EXPECT_EQ(all_states(program, target), before);
    }
    return outcome;
  });
  EXPECT_EQ(all_states(program, target), new_states);
}

}  // namespace
}  // namespace mpc::test
