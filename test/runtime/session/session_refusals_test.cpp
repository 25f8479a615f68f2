// Inputs, options and kernels that a session rejects.

#include <gtest/gtest.h>

#include "test/runtime/package.h"
#include "test/runtime/session/try_step.h"

namespace mpc::test {
namespace {

TEST(Session, RefusesMemoryOfOtherDevices) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Batch batch(1);
  batch.tensors[0].device = {MPC_DEVICE_CUDA, 0};
  EXPECT_EQ(try_step(session, batch).message,
            "input 0 ('x'): lies in the memory of a device (kind 2), but the "
            "session runs on the cpu");
  float b[2];
  int64_t shape[1] = {2};
  mpc_tensor_t tensor = {sizeof(tensor),      MPC_DTYPE_F32, 1, shape, b,
                         {MPC_DEVICE_CUDA, 0}};
  EXPECT_EQ(take(mpc_session_read_state(session.get(), "b", &tensor)).message,
            "the tensor must lie in host memory");
}

struct BadInput {
  const char* message;
  void (*edit)(Batch&);
};

int64_t kWrongShape[2] = {4, 5};

const BadInput kBadInputs[] = {
    {"input 1 ('labels'): value 2 at position 3 lies outside [0, 2) and is not "
     "-100, which is ignored",
     [](Batch& batch) { batch.labels[3] = 2; }},
    {"input 1 ('labels'): value -1 at position 0 lies outside [0, 2) and is "
     "not -100, which is ignored",
     [](Batch& batch) { batch.labels[0] = -1; }},
    {"input 1 ('labels'): expected i64[4], got i32[4]",
     [](Batch& batch) { batch.tensors[1].dtype = MPC_DTYPE_I32; }},
    {"input 0 ('x'): expected f32[4,4], got f32[4,5]",
     [](Batch& batch) { batch.tensors[0].shape = kWrongShape; }},
    {"input 0 ('x'): expected f32[4,4], got f32[4]",
     [](Batch& batch) { batch.tensors[0].rank = 1; }},
    {"input 0 ('x'): expected f32[4,4], got a tensor without a shape",
     [](Batch& batch) { batch.tensors[0].shape = nullptr; }},
    {"input 0 ('x'): has no data",
     [](Batch& batch) { batch.tensors[0].data = nullptr; }},
    {"input 1 ('labels'): struct_size is not sizeof(mpc_tensor_t)",
     [](Batch& batch) { batch.tensors[1].struct_size = 0; }},
};

TEST(Session, RefusesWrongInputsAndChangesNothing) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Bytes before = all_states(program, session);
  for (const BadInput& bad : kBadInputs) {
    Batch batch(1);
    bad.edit(batch);
    Outcome outcome = try_step(session, batch);
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message, bad.message);
  }
  EXPECT_EQ(try_step(session, Batch(1), 1).message, "expected 2 inputs, got 1");
  EXPECT_EQ(all_states(program, session), before);
  Batch ignored(1);
  ignored.labels[0] = -100;
  EXPECT_EQ(try_step(session, ignored).code, MPC_OK);
}

TEST(Session, RefusesWrongOptions) {
  ProgramPtr program = load(make_package());
  mpc_session_t* session = nullptr;
  mpc_session_options_t options = {};
  EXPECT_EQ(take(mpc_session_create(program.get(), &options, &session)).message,
            "struct_size of the session's options is not set");
  options.struct_size = sizeof(options);
  options.device = "abacus";
  Outcome outcome = take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_UNAVAILABLE);
  EXPECT_EQ(outcome.message,
            "there is no device 'abacus' on this machine; devices: auto, "
            "cpu, cuda, cuda:<number>, reference");
  options.device = "cuda:x";
  EXPECT_EQ(take(mpc_session_create(program.get(), &options, &session)).code,
            MPC_UNAVAILABLE);
  options.device = "cuda:1";
  outcome = take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_UNAVAILABLE);
  EXPECT_EQ(outcome.message,
            "the package has no code for the device 'cuda'; compile the model "
            "with option 'target'=cuda");
  options.device = nullptr;
  options.stream = &options;
  EXPECT_EQ(take(mpc_session_create(program.get(), &options, &session)).message,
            "a stream was given, but the session runs on the cpu, which has "
            "none");
  options.stream = nullptr;
  options.threads = 100000;
  EXPECT_EQ(take(mpc_session_create(program.get(), &options, &session)).code,
            MPC_INVALID_ARGUMENT);
  EXPECT_EQ(session, nullptr);
  EXPECT_OK(mpc_session_create(program.get(), nullptr, &session));
  mpc_session_destroy(session);
  mpc_session_destroy(nullptr);
}

TEST(Session, RefusesKernelsThatCannotRun) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    p.variants[0]->entries[2]->instructions[0]->attributes = {
        1, 0};  // Shapes do not match.
  };
  ProgramPtr program = load(make_package(options));
  mpc_session_t* session = nullptr;
  Outcome outcome = take(mpc_session_create(program.get(), nullptr, &session));
  if (outcome.code == MPC_OK) mpc_session_destroy(session);
  EXPECT_EQ(outcome.code, MPC_OK) << "x is square: transposing it is fine";
  options.edit = [](program::ProgramT& p) {
    p.variants[0]->entries[2]->instructions[0]->attributes = {0, 1};
  };
  program = load(make_package(options));
  outcome = take(mpc_session_create(program.get(), nullptr, &session));
  EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
  EXPECT_EQ(outcome.message.find("entry 'predict', instruction 'kernel 1': "),
            0u);
}

}  // namespace
}  // namespace mpc::test
