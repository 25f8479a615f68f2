// What the library does where the n-th allocation, mapping or thread is
// refused, for every n: a status, no crash, nothing lost.

#include "test/runtime/faults/refusals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/team/team.h"
#include "kernels/kernel.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

// How a child ended. kNeverRefused: `n` is larger than the requests are many.
// kRestart: the library says that only another process can go on, as oneDNN
// reads the environment for the first time through strings of the standard
// library's, whose memory is not ours to give.
enum Exit { kGood = 0, kNeverRefused = 40, kRestart = 41, kWrong = 42 };
constexpr char kRestartText[] = "start the process again";

// Ends the child with a word on what went wrong.
[[noreturn]] void fail(const std::string& what) {
  (void)stop_refusing();
  if (what.find(kRestartText) != std::string::npos) _exit(kRestart);
  std::fprintf(stderr, "%s\n", what.c_str());
  _exit(kWrong);
}

const char* name_of(Resource resource) {
  switch (resource) {
    case Resource::kMemory:
      return "allocation";
    case Resource::kMapping:
      return "mapping";
    case Resource::kThread:
      return "thread";
  }
  return "";
}

// What a child does: calls `begin` when it is ready, from where on requests are
// refused, and ends itself: with end() if all was well.
using Scenario = std::function<void(const std::function<void()>& begin)>;

[[noreturn]] void end(bool refused) { _exit(refused ? kGood : kNeverRefused); }

// Runs `scenario` in a child in which request `n` is refused; its wait status.
// Children begin as this process is: nothing here may use oneDNN.
int run_child(Resource resource, Refused which, int64_t n,
              const Scenario& scenario) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // A child that waits for ever is wrong too.
    try {
      scenario([&] { refuse(resource, n, which); });
    } catch (const std::exception& error) {
      fail(error.what());
    }
    fail("a scenario does not end its child");
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

bool ended(int status, Exit how) {
  return WIFEXITED(status) && WEXITSTATUS(status) == how;
}

// How many requests a scenario makes.
int64_t count_requests(Resource resource, const Scenario& scenario) {
  int64_t low = 0, high = 1 << 20;  // Refused at `low`, not at `high`.
  while (high - low > 1) {
    const int64_t n = (low + high) / 2;
    if (ended(run_child(resource, Refused::kOne, n, scenario), kNeverRefused))
      high = n;
    else
      low = n;
  }
  return low;
}

// Refuses request n alone, and what is beyond what the process has at request
// n, for about `most` n, evenly spread: all of them with MPC_LONG.
void refuse_each(Resource resource, int64_t most, const Scenario& scenario) {
  if (std::getenv("MPC_LONG")) most = INT64_MAX;
  const int64_t requests = count_requests(resource, scenario);
  const int64_t stride = std::max<int64_t>(1, requests / most);
  EXPECT_GT(requests, 0);
  int64_t tried = 0, wrong = 0, restarts = 0;
  for (Refused which : {Refused::kOne, Refused::kGrowth})
    for (int64_t n = 1; n <= requests && wrong < 20; n += stride) {
      ++tried;
      const int status = run_child(resource, which, n, scenario);
      restarts += ended(status, kRestart);
      if (ended(status, kGood) || ended(status, kRestart)) continue;
      // Where memory ends earlier, there are fewer requests.
      if (which == Refused::kGrowth && ended(status, kNeverRefused)) continue;
      ++wrong;
      ADD_FAILURE() << name_of(resource) << ' ' << n
                    << (which == Refused::kGrowth ? " and later" : "")
                    << (WIFSIGNALED(status) ? ": signal " : ": exit status ")
                    << (WIFSIGNALED(status) ? WTERMSIG(status)
                                            : WEXITSTATUS(status));
    }
  std::printf(
      "%lld requests (%s): %lld refused, %lld of them until a restart\n",
      static_cast<long long>(requests), name_of(resource),
      static_cast<long long>(tried), static_cast<long long>(restarts));
  EXPECT_LE(restarts, 8 + tried / 50);
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

// A code that lack of memory, address space or threads may give.
bool is_expected(mpc_code_t code) {
  return code == MPC_OUT_OF_MEMORY || code == MPC_IO ||
         code == MPC_INCOMPATIBLE;
}

class Refusals : public ::testing::TestWithParam<Resource> {
 protected:
  Refusals() : program_(load(make_package())) {}

  // A session on two threads, or the end of this child if it was refused.
  SessionPtr create_or_end() {
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.threads = 2;
    options.seed = 42;
    mpc_session_t* session = nullptr;
    check(mpc_session_create(program_.get(), &options, &session), "create");
    if (!session) {
      // Nothing is left behind that would keep the next one from working.
      (void)stop_refusing();
      mpc_status_t status =
          mpc_session_create(program_.get(), &options, &session);
      if (status) fail(mpc_status_message(status));
      SessionPtr second(session);
      if (step(second, 1).loss != step(create(program_), 1).loss)
        fail("a session after a refused one is wrong");
      _exit(kGood);
    }
    return SessionPtr(session);
  }

  // Whether a call worked; ends the child if it failed in another way than for
  // lack of something.
  static bool check(mpc_status_t status, const char* what) {
    if (!status) return true;
    const mpc_code_t code = mpc_status_code(status);
    if (!is_expected(code))
      fail(std::string(what) + ": " + mpc_status_message(status));
    mpc_status_free(status);
    return false;
  }

  ProgramPtr program_;
  Folder folder_;
};

std::string name_of_parameter(
    const ::testing::TestParamInfo<Resource>& parameter) {
  return name_of(parameter.param);
}

INSTANTIATE_TEST_SUITE_P(Each, Refusals,
                         ::testing::Values(Resource::kMemory,
                                           Resource::kMapping,
                                           Resource::kThread),
                         name_of_parameter);

TEST_P(Refusals, OfSessionsStepsSavesAndLoads) {
  refuse_each(GetParam(), 150, [&](const std::function<void()>& begin) {
    const std::string path = folder_ / std::to_string(getpid());
    Batch batch(1);
    begin();
    SessionPtr session = create_or_end();
    // A step is made or it is not, and the next one goes on from there.
    int made = 0;
    for (int i = 0; i < 3; ++i)
      made += check(mpc_session_step(session.get(), batch.tensors, 2, nullptr),
                    "step");
    const bool saved =
        check(mpc_session_save_checkpoint(session.get(), path.c_str()), "save");
    if (saved)
      check(mpc_session_load_checkpoint(session.get(), path.c_str()), "load");
    const bool refused = stop_refusing() > 0;

    SessionPtr other = create(program_, 2);
    for (int i = 0; i < made; ++i) (void)step(other, 1);
    if (all_states(program_, session) != all_states(program_, other))
      fail("the session is not as its steps left it");
    if (saved && mpc_session_load_checkpoint(session.get(), path.c_str()))
      fail("a checkpoint that was saved does not load");
    if (step(session, 2).loss != step(other, 2).loss)
      fail("the session goes on differently");
    end(refused);
  });
}

// Once all that was set aside is gone a kernel fails; where nothing was written
// before it, the session goes on when memory is there again.
TEST(Sessions, GoOnAfterAKernelThatFailed) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    for (auto& entry : p.variants[0]->entries)
      if (entry->name == "predict")
        entry->reads_only = static_cast<uint32_t>(entry->instructions.size());
  };
  ProgramPtr program = load(make_package(options));
  const Scenario scenario = [&](const std::function<void()>& begin) {
    SessionPtr session = create(program), other = create(program);
    (void)step(session, 1);
    (void)step(other, 1);
    Batch batch(1);
    float y[8], expected[8];
    int64_t shape[2] = {4, 2};
    const mpc_tensor_t output = {
        sizeof(output), MPC_DTYPE_F32, 2, shape, y, {}};
    const mpc_tensor_t right = {sizeof(right), MPC_DTYPE_F32, 2,
                                shape,         expected,      {}};
    auto predict = [&](const SessionPtr& by, const mpc_tensor_t* to) {
      return mpc_session_run(by.get(), "predict", batch.tensors, 1, to, 1);
    };
    begin();
    mpc_status_t status = nullptr;
    for (int i = 0; i < 10000 && !status; ++i)
      status = predict(session, &output);
    (void)stop_refusing();
    if (mpc_status_code(status) != MPC_OUT_OF_MEMORY)
      fail(status ? mpc_status_message(status) : "no kernel fails");
    mpc_status_free(status);
    if (predict(session, &output) || predict(other, &right) ||
        !std::equal(y, y + 8, expected))
      fail("predicts differently afterwards");
    if (step(session, 2).loss != step(other, 2).loss)
      fail("trains differently afterwards");
    end(true);
  };
  EXPECT_TRUE(
      ended(run_child(Resource::kMemory, Refused::kAll, 1, scenario), kGood));
}

// Creates a session in a process that may have `room` bytes more than it has
// now; returns its wait status. The exit status is that of mpc_code_t.
int create_with_room(const ProgramPtr& program, rlim_t room) {
  pid_t child = fork();
  if (child == 0) {
    long pages = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    rlimit limit = {};
    limit.rlim_cur = limit.rlim_max =
        static_cast<rlim_t>(pages) *
            static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) +
        room;
    (void)setrlimit(RLIMIT_AS, &limit);
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.threads = 1;
    mpc_session_t* session = nullptr;
    _exit(
        mpc_status_code(mpc_session_create(program.get(), &options, &session)));
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// What is set aside for oneDNN must be there before it begins.
TEST(Sessions, NeedRoomForTheLibrary) {
  ProgramPtr program = load(make_package());
  bool refused = false, created = false;
  for (rlim_t room = 0; room <= 96 << 20; room += 2 << 20) {
    int status = create_with_room(program, room);
    ASSERT_TRUE(WIFEXITED(status)) << room << ": " << WTERMSIG(status);
    int code = WEXITSTATUS(status);
    refused |= code == MPC_OUT_OF_MEMORY;
    created |= code == MPC_OK;
    EXPECT_TRUE(code == MPC_OK || code == MPC_OUT_OF_MEMORY ||
                code == MPC_INCOMPATIBLE || code == MPC_IO)
        << room << ": " << code;
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(created);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

using kernels::KernelDesc;
using kernels::KernelId;

struct NamedKernel {
  const char* name;
  KernelDesc desc;
};

// One of each kind that oneDNN has a part in, in 16 and 32 bit.
std::vector<NamedKernel> all_kernels() {
  std::vector<NamedKernel> list;
  const std::vector<int64_t> geometry = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (mpc_dtype_t type : {MPC_DTYPE_F32, MPC_DTYPE_BF16, MPC_DTYPE_F16}) {
    list.push_back({"matmul",
                    {KernelId::matmul,
                     {{type, {33, 70}}, {type, {70, 40}}, {type, {33, 40}}},
                     {0, 0}}});
    if (type == MPC_DTYPE_F16) continue;  // Computed as f32.
    list.push_back({"conv",
                    {KernelId::conv_bias,
                     {{type, {2, 16, 9, 9}},
                      {type, {32, 16, 3, 3}},
                      {type, {32}},
                      {type, {2, 32, 9, 9}}},
                     geometry}});
    list.push_back({"conv_grad_weight",
                    {KernelId::conv_grad_weight,
                     {{type, {2, 32, 9, 9}},
                      {type, {2, 16, 9, 9}},
                      {MPC_DTYPE_F32, {32, 16, 3, 3}}},
                     geometry}});
  }
  return list;
}

// Memory for the operands of a kernel.
class Operands {
 public:
  Operands(const KernelDesc& desc, size_t scratch_bytes) {
    for (const kernels::TensorDesc& operand : desc.operands) {
      size_t bytes = mpc_dtype_size(operand.dtype);
      for (int64_t extent : operand.shape) bytes *= static_cast<size_t>(extent);
      addresses_.push_back(add(bytes));
    }
    scratch_ = add(scratch_bytes);
  }
  void* const* addresses() const { return addresses_.data(); }
  void* scratch() const { return scratch_; }

 private:
  void* add(size_t bytes) {
    memories_.emplace_back(bytes + kernels::kOperandAlignment);
    auto address = reinterpret_cast<uintptr_t>(memories_.back().data());
    address +=
        kernels::kOperandAlignment - address % kernels::kOperandAlignment;
    return reinterpret_cast<void*>(address);
  }
  std::vector<std::vector<char>> memories_;
  std::vector<void*> addresses_;
  void* scratch_ = nullptr;
};

TEST(Kernels, AreMadeAndRunOrRefused) {
  for (const NamedKernel& named : all_kernels())
    for (Resource resource : {Resource::kMemory, Resource::kMapping}) {
      SCOPED_TRACE(std::string(named.name) + " of " +
                   mpc_dtype_name(named.desc.operands[0].dtype));
      refuse_each(resource, 40, [&](const std::function<void()>& begin) {
        std::string error;
        // As in a session. OpenMP ends a process that has no memory for it.
        auto team = kernels::Team::start(1, &error);
        if (!team || !kernels::dnnl_runs_on_teams()) fail(error);
        const kernels::TeamScope scope(team.get());
        const kernels::Context context = {1, false};
        std::unique_ptr<kernels::Kernel> kernel;
        begin();
        try {
          kernel = kernels::make_cpu_kernel(named.desc, context, &error);
          if (!kernel) fail(error);
          Operands operands(named.desc, kernel->scratch_bytes());
          for (int i = 0; i < 3; ++i)
            (void)kernel->run(operands.addresses(), operands.scratch());
        } catch (const std::bad_alloc&) {
        }
        const bool refused = stop_refusing() > 0;
        if (!kernel)
          kernel = kernels::make_cpu_kernel(named.desc, context, &error);
        if (!kernel) fail("not made again: " + error);
        Operands operands(named.desc, kernel->scratch_bytes());
        if (!kernel->run(operands.addresses(), operands.scratch()))
          fail("does not run with memory");
        end(refused);
      });
    }
}

}  // namespace
}  // namespace mpc::test
