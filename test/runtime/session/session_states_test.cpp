// Reading and writing the states of a session, and its properties.

#include <gtest/gtest.h>

#include <cstring>

#include "test/runtime/package.h"

namespace mpc::test {
namespace {

TEST(Session, WritesStates) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  float b[2] = {1.00390625f, 7};  // Half-way between two bf16: to even.
  int64_t shape[1] = {2};
  mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_F32, 1, shape, b, {}};
  EXPECT_OK(mpc_session_write_state(session.get(), "b", &tensor));
  EXPECT_EQ(read_float(session, "b"), b[0]);
  EXPECT_EQ(read_float(session, "w"), 0.1f);
  uint16_t copy[2];
  std::memcpy(copy, read_state(session, "parameters.bf16/b").data(), 4);
  EXPECT_EQ(copy[0], 0x3f80);
  EXPECT_EQ(copy[1], 0x40e0);

  tensor.dtype = MPC_DTYPE_F64;
  EXPECT_EQ(take(mpc_session_write_state(session.get(), "b", &tensor)).message,
            "state 'b' is f32[2]; the tensor has another type");
  EXPECT_EQ(take(mpc_session_write_state(session.get(), "c", &tensor)).message,
            "the program has no state 'c'");
  tensor.dtype = MPC_DTYPE_BF16;
  EXPECT_EQ(
      take(mpc_session_write_state(session.get(), "parameters.bf16/b", &tensor))
          .message,
      "state 'parameters.bf16/b' is the rounded copy of a parameter; "
      "write the parameter");
  EXPECT_EQ(take(mpc_session_read_state(session.get(), "b", &tensor)).code,
            MPC_INVALID_ARGUMENT);
}

// A program keeps a parameter in the memory of the session.
TEST(Session, LendsTheMemoryOfStates) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  mpc_tensor_t lent = {};
  lent.struct_size = sizeof(lent);
  EXPECT_OK(mpc_session_state_memory(session.get(), "b", &lent));
  EXPECT_EQ(lent.dtype, MPC_DTYPE_F32);
  ASSERT_EQ(lent.rank, 1u);
  EXPECT_EQ(lent.shape[0], 2);
  auto* data = static_cast<float*>(lent.data);
  EXPECT_EQ(data[1], 1);
  data[0] = 1.00390625f;
  EXPECT_EQ(read_float(session, "b"), data[0]);
  EXPECT_OK(mpc_session_write_state(session.get(), "b", &lent));
  EXPECT_EQ(read_float(session, "b"), 1.00390625f);
  uint16_t copy[2];
  std::memcpy(copy, read_state(session, "parameters.bf16/b").data(), 4);
  EXPECT_EQ(copy[0], 0x3f80);
  (void)step(session, 3);
  EXPECT_EQ(read_float(session, "b"), data[0]);
  EXPECT_NE(data[0], 1.00390625f);

  EXPECT_EQ(take(mpc_session_state_memory(session.get(), "c", &lent)).message,
            "the program has no state 'c'");
  EXPECT_EQ(
      take(mpc_session_state_memory(session.get(), "parameters.bf16/b", &lent))
          .code,
      MPC_INVALID_ARGUMENT);
  lent.struct_size = 0;
  EXPECT_EQ(take(mpc_session_state_memory(session.get(), "b", &lent)).code,
            MPC_INVALID_ARGUMENT);
  EXPECT_EQ(take(mpc_session_state_memory(session.get(), "b", nullptr)).code,
            MPC_INVALID_ARGUMENT);
}

mpc_tensor_t matrix(std::vector<float>& values, const int64_t (&shape)[2]) {
  mpc_tensor_t tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.dtype = MPC_DTYPE_F32;
  tensor.rank = 2;
  tensor.shape = shape;
  tensor.data = values.data();
  return tensor;
}

// The first elements of the derived state, which are those of `w`.
std::vector<float> derived(const SessionPtr& session) {
  std::vector<float> values(1024);
  int64_t shape[2] = {1, 1024};
  mpc_tensor_t output = matrix(values, shape);
  EXPECT_OK(mpc_session_run(session.get(), "show", nullptr, 0, &output, 1));
  values.resize(8);
  return values;
}

std::vector<float> weights(const SessionPtr& session) {
  Bytes bytes = read_state(session, "w");
  std::vector<float> values(8);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Session, DerivesAfterAStepThatRunsByItsName) {
  PackageOptions options;
  options.derived = true;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  EXPECT_EQ(derived(session), weights(session));
  std::vector<float> before = weights(session);
  mpc_tensor_t outputs[3] = {};  // Loss, norm and whether they are finite.
  for (mpc_tensor_t& output : outputs) output.struct_size = sizeof(output);
  EXPECT_OK(
      mpc_session_run(session.get(), "step", Batch(1).tensors, 2, outputs, 3));
  EXPECT_NE(weights(session), before);
  EXPECT_EQ(derived(session), weights(session));
}

TEST(Session, DerivesFromWeightsWheneverTheyChange) {
  PackageOptions options;
  options.derived = true;
  options.accumulate = 2;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  EXPECT_EQ(derived(session), weights(session));
  EXPECT_EQ(read_float(session, "runs"), 1);

  // Once per update, regardless of the number of micro-batches.
  for (int call = 0; call < 4; ++call) step(session, 1);
  EXPECT_EQ(derived(session), weights(session));
  EXPECT_EQ(read_float(session, "runs"), 3);
  Folder folder;
  EXPECT_OK(mpc_session_save_checkpoint(session.get(), (folder / "c").c_str()));
  std::vector<float> saved = weights(session);

  // Also between two micro-batches.
  step(session, 1);
  std::vector<float> written = {8, 7, 6, 5, 4, 3, 2, 1};
  int64_t shape[2] = {4, 2};
  mpc_tensor_t tensor = matrix(written, shape);
  EXPECT_OK(mpc_session_write_state(session.get(), "w", &tensor));
  step(session, 1);
  EXPECT_EQ(read_float(session, "runs"), 5);
  EXPECT_EQ(derived(session), weights(session));
  EXPECT_OK(mpc_session_write_state(session.get(), "w", &tensor));
  EXPECT_EQ(derived(session), written);

  EXPECT_OK(mpc_session_load_checkpoint(session.get(), (folder / "c").c_str()));
  EXPECT_EQ(derived(session), saved);
  mpc_tensor_t outputs[2] = {};
  for (mpc_tensor_t& output : outputs) output.struct_size = sizeof(output);
  outputs[0].dtype = MPC_DTYPE_F32;
  outputs[1].dtype = MPC_DTYPE_BOOL;
  EXPECT_OK(mpc_session_run(session.get(), "apply", nullptr, 0, outputs, 2));
  EXPECT_EQ(derived(session), weights(session));

  // Users do not see it.
  EXPECT_EQ(
      take(mpc_session_read_state(session.get(), "derived", &tensor)).message,
      "the program has no state 'derived'");
}

TEST(Session, KeepsProperties) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  EXPECT_EQ(mpc_session_get_property(session.get(), "epoch"), nullptr);
  EXPECT_OK(mpc_session_set_property(session.get(), "epoch", "3"));
  EXPECT_STREQ(mpc_session_get_property(session.get(), "epoch"), "3");
  EXPECT_OK(mpc_session_set_property(session.get(), "epoch", nullptr));
  EXPECT_EQ(mpc_session_get_property(session.get(), "epoch"), nullptr);
  EXPECT_EQ(take(mpc_session_set_property(session.get(), "x", "\xc3\x28")).code,
            MPC_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mpc::test
