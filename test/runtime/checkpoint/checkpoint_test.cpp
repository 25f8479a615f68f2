// Saving and loading: bit-exact, all or nothing, newest complete checkpoint.

#include "runtime/src/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <limits>

#include "mpc/runtime.hpp"
#include "test/runtime/checkpoint/save.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

// At every step of a run, saving and loading into a new session leaves the rest
// of the run bit-identical: weights, moments, scale, streak, step,
// micro-batches.
void check_resume(const PackageOptions& options) {
  constexpr int kSteps = 8;
  ProgramPtr program = load(make_package(options));
  Folder folder;
  SessionPtr straight = create(program);
  std::vector<Bytes> history;
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_EQ(save(straight, folder / std::to_string(i)).message, "");
    (void)step(straight, static_cast<float>(i));
    history.push_back(all_states(program, straight));
  }
  for (int start = 0; start < kSteps; ++start) {
    mpc_session_t* fresh = nullptr;
    EXPECT_OK(mpc_session_create(program.get(), nullptr, &fresh));
    SessionPtr session(fresh);
    EXPECT_EQ(restore(session, folder / std::to_string(start)).message, "");
    for (int i = start; i < kSteps; ++i) {
      (void)step(session, static_cast<float>(i));
      ASSERT_EQ(all_states(program, session), history[static_cast<size_t>(i)]);
    }
  }
}

TEST(Checkpoint, ResumesBitForBit) {
  check_resume({});
  PackageOptions overflowing;
  overflowing.loss_scale = 1 << 15;
  check_resume(overflowing);
  PackageOptions accumulating;
  accumulating.accumulate = 3;
  check_resume(accumulating);
  PackageOptions plain;
  plain.loss_scaling = plain.working_copy = false;
  check_resume(plain);
}

TEST(Checkpoint, KeepsPropertiesAndProgress) {
  ProgramPtr program = load(make_package());
  Folder folder;
  SessionPtr session = create(program);
  EXPECT_OK(
      mpc_session_set_property(session.get(), "epoch \"x\"", "3\n\xc3\xa4"));
  mpc_step_info_t before = step(session, 1);
  EXPECT_EQ(save(session, folder / "a/").code, MPC_OK);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
  EXPECT_EQ(names_in(folder / "a"),
            (std::vector<std::string>{"MANIFEST.json", "model.safetensors",
                                      "optimizer.safetensors", "state.json"}));
  SessionPtr other = create(program);
  EXPECT_OK(mpc_session_set_property(other.get(), "gone", "1"));
  EXPECT_EQ(restore(other, folder / "a").message, "");
  EXPECT_STREQ(mpc_session_get_property(other.get(), "epoch \"x\""),
               "3\n\xc3\xa4");
  EXPECT_EQ(mpc_session_get_property(other.get(), "gone"), nullptr);
  EXPECT_EQ(step(other, 2).step, before.step + 1);
}

// The number of overflows at the minimum loss scale is saved as well.
TEST(Checkpoint, KeepsTheCountOfOverflows) {
  PackageOptions options;
  options.loss_scale = 1;
  ProgramPtr program = load(make_package(options));
  Folder folder;
  SessionPtr session = create(program);
  for (int i = 0; i < 19; ++i) (void)step(session, 1e6f);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  SessionPtr other = create(program);
  EXPECT_EQ(restore(other, folder / "a").message, "");
  Batch batch(1e6f);
  EXPECT_EQ(take(mpc_session_step(other.get(), batch.tensors, 2, nullptr)).code,
            MPC_NUMERIC);
}

// Weights that are not finite are saved only on request.
TEST(Checkpoint, SavesNoWeightsThatAreNotFinite) {
  ProgramPtr program = load(make_package());
  Folder folder;
  for (bool allowed : {false, true}) {
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.allow_non_finite = allowed;
    mpc_session_t* raw = nullptr;
    EXPECT_OK(mpc_session_create(program.get(), &options, &raw));
    SessionPtr session(raw);
    float b[2] = {1, std::numeric_limits<float>::quiet_NaN()};
    int64_t shape[1] = {2};
    mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_F32, 1, shape, b, {}};
    EXPECT_OK(mpc_session_write_state(session.get(), "b", &tensor));
    Outcome outcome = save(session, folder / "a");
    EXPECT_EQ(outcome.code, allowed ? MPC_OK : MPC_NUMERIC);
    EXPECT_EQ(outcome.message,
              allowed ? ""
                      : "the checkpoint is not saved: 'b' is not finite at "
                        "position 1; set the session's option allow_non_finite "
                        "to save it anyway");
    EXPECT_EQ(names_in(folder.path()).size(), allowed ? 1u : 0u);
  }
}

TEST(Checkpoint, ReplacesOnlyCheckpoints) {
  ProgramPtr program = load(make_package());
  Folder folder;
  SessionPtr session = create(program);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  (void)step(session, 1);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
  SessionPtr other = create(program);
  EXPECT_EQ(restore(other, folder / "a").message, "");
  EXPECT_EQ(all_states(program, other), all_states(program, session));

  ASSERT_EQ(mkdir((folder / "thesis").c_str(), 0755), 0);
  write_bytes(folder / "thesis/final.tex", {1, 2, 3});
  write_bytes(folder / "file", {1});
  ASSERT_EQ(symlink("a", (folder / "link").c_str()), 0);
  for (const char* name : {"thesis", "file", "link"}) {
    Outcome outcome = save(session, folder / name);
    EXPECT_EQ(outcome.code, MPC_IO);
    EXPECT_NE(outcome.message.find("exists and is not a checkpoint"),
              std::string::npos)
        << outcome.message;
  }
  EXPECT_EQ(read_bytes(folder / "thesis/final.tex"), (Bytes{1, 2, 3}));
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"a", "file", "link", "thesis"}));
  EXPECT_EQ(save(session, folder / "no/where").code, MPC_IO);
  EXPECT_EQ(save(session, "").code, MPC_INVALID_ARGUMENT);
}

// Masters are f32 in every precision, so the precision may change; a loss scale
// that only one side has is initialized or dropped.
TEST(Checkpoint, CrossesPrecisions) {
  PackageOptions plain_options;
  plain_options.loss_scaling = plain_options.working_copy = false;
  ProgramPtr scaled = load(make_package());
  ProgramPtr plain = load(make_package(plain_options));
  Folder folder;
  SessionPtr a = create(scaled), b = create(plain);
  (void)step(a, 1);
  (void)step(a, 2);
  EXPECT_EQ(save(a, folder / "a").code, MPC_OK);
  EXPECT_EQ(restore(b, folder / "a").message, "");
  EXPECT_EQ(read_state(a, "w"), read_state(b, "w"));
  EXPECT_EQ(step(b, 3).step, 3u);
  EXPECT_EQ(save(b, folder / "b").code, MPC_OK);
  EXPECT_EQ(restore(a, folder / "b").message, "");
  EXPECT_EQ(read_float(a, "loss_scale"), 8.0f);
  EXPECT_EQ(read_state(a, "w"), read_state(b, "w"));
  EXPECT_EQ(step(a, 4).step, 4u);
}

TEST(Checkpoint, RefusesOtherPrograms) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  struct Other {
    const char* message;
    PackageOptions options;
  };
  Other renamed{"it has no 'v'", {}};
  renamed.options.parameter = "v";
  Other reshaped{"'b' is f32[2], the program's is f32[1]", {}};
  reshaped.options.edit = [](program::ProgramT& p) {
    p.states[0]->slots[1]->shape = {1};
  };
  Other larger{"it has no 'c'", {}};
  larger.options.edit = [](program::ProgramT& p) {
    auto slot = std::make_unique<program::SlotT>();
    slot->name = "c";
    slot->offset = 32;
    p.states[0]->slots.push_back(std::move(slot));
  };
  Other smaller{"the program does not use 'w'", {}};
  smaller.options.edit = [](program::ProgramT& p) {
    p.states[0]->slots.erase(p.states[0]->slots.begin());
  };
  Other accumulating{"it has no 'gradients/b'", {}};
  accumulating.options.accumulate = 2;
  for (const Other* other :
       {&renamed, &reshaped, &larger, &smaller, &accumulating}) {
    ProgramPtr changed = load(make_package(other->options));
    SessionPtr target = create(changed);
    Outcome outcome = restore(target, folder / "a");
    EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
    EXPECT_NE(outcome.message.find(other->message), std::string::npos)
        << outcome.message;
  }
}

// The same run with the C++ header.
TEST(Checkpoint, WorksFromCpp) {
  Bytes package = make_package();
  Folder folder;
  Program program;
  ASSERT_FALSE(program.load_memory(package.data(), package.size()));
  Session session;
  ASSERT_FALSE(session.create(program));
  EXPECT_EQ(program.inputs("step").size(), 2u);
  EXPECT_EQ(program.states()[0].is_parameter, 1);
  EXPECT_EQ(program.option("precision"), "bf16");
  EXPECT_EQ(program.report(), "{\"ops\":[]}");
  std::vector<float> x(16, 1.0f);
  std::vector<int64_t> labels(4, 1);
  Tensor images(MPC_DTYPE_F32, {4, 4}, x.data());
  Tensor targets(MPC_DTYPE_I64, {4}, labels.data());
  mpc_step_info_t info;
  EXPECT_FALSE(session.step({images.get(), targets.get()}, &info));
  EXPECT_EQ(info.step, 1u);
  mpc::Status wrong = session.step({images.get()}, &info);
  EXPECT_EQ(wrong.code(), MPC_INVALID_ARGUMENT);
  EXPECT_STREQ(wrong.message(), "expected 2 inputs, got 1");
  EXPECT_FALSE(session.set_property("epoch", "1"));
  EXPECT_FALSE(session.save_checkpoint(folder / "step-1"));
  Session other;
  ASSERT_FALSE(other.create(program));
  std::string path, warning;
  EXPECT_FALSE(other.load_latest(folder.path(), &path, &warning));
  EXPECT_EQ(path, folder / "step-1");
  EXPECT_EQ(other.property("epoch"), "1");
}

}  // namespace
}  // namespace mpc::test
