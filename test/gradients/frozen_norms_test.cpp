//===- frozen_norms_test.cpp - Norms of frozen models ---------------------===//

#include "test/gradients/harness.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Export/Export.h"
#include "compiler/Import/Import.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

#include <gtest/gtest.h>

namespace mpc::test {
namespace {

// Frozen norms use their running statistics in training as in evaluation: the
// loss of a step equals that of evaluation.
TEST(FrozenNorms, UseInferenceFormInTraining) {
  Folder folder;
  CompileOptions options;
  options.model = MPC_DIGITS "/cnn.onnx";
  options.precision = "fp32";
  options.batches = {4};
  options.batchNorm = "frozen";
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  session.write("bn2.running_mean", Values(32, 0.25));
  session.write("bn2.running_var", Values(32, 3.0));
  Random random(1);
  std::vector<Values> batch = {Values(4 * 64), {1, 2, 3, 9}};
  for (double &value : batch[0])
    value = float(random.next());
  auto samples = session.run("evaluate", batch);
  double sum = 0;
  for (double loss : samples["sample_loss"])
    sum += loss;
  // Both sum four losses in f32, in different orders.
  EXPECT_NEAR(session.step(batch).loss, sum / 4, 2e-6);
  EXPECT_EQ(session.read("bn2.running_var"), Values(32, 3.0));
}

// On request, norms of a frozen model use the statistics of the batches.
TEST(FrozenNorms, TrainIfAsked) {
  Folder folder;
  CompileOptions options;
  options.model = MPC_DIGITS "/cnn.onnx";
  options.batches = {4};
  options.freeze = {"conv|bn"};
  options.batchNorm = "train";
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  Values before = session.read("bn2.running_var");
  session.step({Values(4 * 64, 0.5), {1, 2, 3, 9}});
  EXPECT_NE(session.read("bn2.running_var"), before);
}

} // namespace
} // namespace mpc::test
