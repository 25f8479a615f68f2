//===- batches_test.cpp - Programs for several batch sizes ----------------===//
//
// Sessions use the entry points that fit the tensors. Steps are those of a
// program for that size alone, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>

#include <vector>

namespace mpc::test {
namespace {

const char *const kModel = R"(<ir_version: 9, opset_import: ["" : 20]>
linear (float[N, 3] x, float[3, 2] w = {0.1, 0.2, -0.3, 0.4, 0.5, -0.6},
        float[2] b = {0.0, 0.1}) => (float[N, 2] y)
{
  h = Gemm (x, w, b)
  y = Tanh (h)
})";

/// The inputs of a batch: values that differ in each element.
struct BatchRows {
  explicit BatchRows(int64_t count) : xShape{count, 3}, targetShape{count, 2} {
    for (int64_t i = 0; i < 3 * count; ++i)
      x.push_back(float(i * 7 % 11) / 11 - 0.4f);
    for (int64_t i = 0; i < 2 * count; ++i)
      target.push_back(float(i * 5 % 7) / 7 - 0.3f);
  }
  std::vector<mpc_tensor_t> tensors() {
    return {{sizeof(mpc_tensor_t), MPC_DTYPE_F32, 2, xShape, x.data(), {}},
            {sizeof(mpc_tensor_t),
             MPC_DTYPE_F32,
             2,
             targetShape,
             target.data(),
             {}}};
  }

  int64_t xShape[2], targetShape[2];
  std::vector<float> x, target;
};

/// Code and message of a status, which is freed.
struct CallOutcome {
  mpc_code_t code;
  std::string message;
};
CallOutcome outcomeOf(mpc_status_t status) {
  CallOutcome outcome = {mpc_status_code(status), mpc_status_message(status)};
  mpc_status_free(status);
  return outcome;
}

class BatchSizes : public ::testing::Test {
protected:
  ProgramPtr make(Numbers batches, Numbers evalBatches = {},
                  int64_t accumulate = 1) {
    CompileOptions options;
    options.model = writeText(folder, "m.onnxtxt", kModel);
    options.loss = "mse";
    options.precision = "fp32";
    options.accumulate = accumulate;
    options.batches = batches;
    options.evalBatches = evalBatches;
    return compile(options, folder);
  }

  static CallOutcome tryStep(Session &session, int64_t rows,
                             mpc_step_info_t *info = nullptr) {
    BatchRows batch(rows);
    std::vector<mpc_tensor_t> tensors = batch.tensors();
    return outcomeOf(mpc_session_step(session.handle(), tensors.data(),
                                      tensors.size(), info));
  }

  Folder folder;
};

std::vector<uint64_t> batchSizesOf(const ProgramPtr &program,
                                   const char *entry) {
  std::vector<uint64_t> sizes(
      mpc_program_batch_sizes(program.get(), entry, nullptr, 0));
  mpc_program_batch_sizes(program.get(), entry, sizes.data(), sizes.size());
  return sizes;
}

TEST_F(BatchSizes, AreListed) {
  ProgramPtr program = make({4, 2}, {1, 4, 2});
  ASSERT_TRUE(program);
  using Sizes = std::vector<uint64_t>;
  EXPECT_EQ(batchSizesOf(program, "step"), (Sizes{4, 2}));
  EXPECT_EQ(batchSizesOf(program, "predict"), (Sizes{4, 2, 1}));
  EXPECT_EQ(batchSizesOf(program, "step@2"), (Sizes{2}));
  EXPECT_EQ(batchSizesOf(program, "step@1"), (Sizes{}));
  uint64_t first = 0;
  EXPECT_EQ(mpc_program_batch_sizes(program.get(), "predict", &first, 1), 3u);
  EXPECT_EQ(first, 4u);
}

TEST_F(BatchSizes, StepAsTheirOwnProgramsDo) {
  Session both(make({4, 2})), four(make({4})), two(make({2}));
  for (int64_t rows : {4, 4, 2, 4, 2, 2}) {
    Session &alone = rows == 4 ? four : two, &other = rows == 4 ? two : four;
    ASSERT_EQ(tryStep(both, rows).code, MPC_OK);
    ASSERT_EQ(tryStep(alone, rows).code, MPC_OK);
    EXPECT_EQ(both.snapshot(), alone.snapshot());
    for (const auto &[name, bytes] : alone.snapshot())
      other.write(name, alone.read(name));
  }
}

TEST_F(BatchSizes, EvaluateAndPredictAlike) {
  Session session(make({4}, {1, 2}));
  double whole = 0;
  for (int64_t rows : {4, 1, 2}) {
    mpc_metrics_t metrics = {};
    metrics.struct_size = sizeof(metrics);
    BatchRows batch(rows);
    std::vector<mpc_tensor_t> tensors = batch.tensors();
    EXPECT_EQ(outcomeOf(mpc_session_evaluate(session.handle(), tensors.data(),
                                             2, size_t(rows), &metrics))
                  .code,
              MPC_OK);
    EXPECT_EQ(metrics.samples, uint64_t(rows));
    std::vector<float> y(2 * size_t(rows));
    mpc_tensor_t output = {sizeof(output),    MPC_DTYPE_F32, 2,
                           batch.targetShape, y.data(),      {}};
    EXPECT_EQ(outcomeOf(mpc_session_run(session.handle(), "predict",
                                        tensors.data(), 1, &output, 1))
                  .code,
              MPC_OK);
    double loss = 0;
    for (size_t i = 0; i < y.size(); ++i)
      loss += (y[i] - batch.target[i]) * (y[i] - batch.target[i]) / 2;
    EXPECT_NEAR(metrics.loss_sum / metrics.weight_sum, loss / double(rows),
                1e-6);
    whole += loss;
  }
  EXPECT_GT(whole, 0);
}

TEST_F(BatchSizes, RefuseOthers) {
  Session session(make({4, 2}, {1}));
  CallOutcome outcome = tryStep(session, 3);
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "input 0 ('x'): expected f32[4,3], got f32[3,3]; "
                             "other batch sizes: 2");
  EXPECT_EQ(tryStep(session, 1).code, MPC_INVALID_ARGUMENT);
  // The size of the last step is not another one.
  ASSERT_EQ(tryStep(session, 2).code, MPC_OK);
  EXPECT_EQ(tryStep(session, 3).message,
            "input 0 ('x'): expected f32[2,3], got f32[3,3]; other batch "
            "sizes: 4");
}

TEST_F(BatchSizes, AreNotMixedInAnUpdate) {
  ProgramPtr program = make({4, 2}, {}, /*accumulate=*/2);
  Session session(program);
  ASSERT_EQ(tryStep(session, 4).code, MPC_OK);
  CallOutcome outcome = tryStep(session, 2);
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find(
                "the micro-batches of an update must have one size, but 1 of "
                "'accumulate' are followed by one of 'accumulate@2'"),
            std::string::npos)
      << outcome.message;
  EXPECT_EQ(
      outcomeOf(mpc_session_finish_update(session.handle(), nullptr)).code,
      MPC_OK);
  ASSERT_EQ(tryStep(session, 2).code, MPC_OK);

  // A checkpoint in the middle of an update is continued with its size.
  std::string path = folder.path("checkpoint");
  EXPECT_EQ(
      outcomeOf(mpc_session_save_checkpoint(session.handle(), path.c_str()))
          .code,
      MPC_OK);
  Session later(program);
  EXPECT_EQ(
      outcomeOf(mpc_session_load_checkpoint(later.handle(), path.c_str())).code,
      MPC_OK);
  for (Session *each : {&session, &later})
    ASSERT_EQ(tryStep(*each, 2).code, MPC_OK);
  EXPECT_EQ(session.snapshot(), later.snapshot());
}

} // namespace
} // namespace mpc::test
