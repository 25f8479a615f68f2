//===- observe_test.cpp - Naming the op that is not finite ----------------===//
//
// Programs compiled with --check-numerics name the first op whose result is not
// finite. A fault is injected into every op of a graph in turn.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mpc::test {
namespace {

/// 200 nodes: blocks of a product, a bias, a function, a norm and a sum.
std::string manyNodes() {
  const char *const functions[] = {"Relu", "Gelu", "LeakyRelu", "Softplus"};
  std::string nodes, last = "x";
  for (int i = 0; i < 40; ++i) {
    std::string n = std::to_string(i);
    auto add = [&](const std::string &kind, const std::string &operands,
                   const std::string &name) {
      nodes += "  " + name + n + " = " + kind + " (" + operands + ")\n";
    };
    add("MatMul", last + ", w", "product");
    add("Add", "product" + n + ", b", "bias");
    add(functions[i % 4], "bias" + n, "function");
    add("LayerNormalization", "function" + n + ", scale, b", "norm");
    add("Add", "norm" + n + ", " + last, "sum");
    last = "sum" + n;
  }
  return R"(<ir_version: 9, opset_import: ["" : 20]>
many (float[4, 4] x, float[4, 4] w = {0.3, -0.2, 0.1, 0.4, 0.2, 0.3, -0.4, 0.1,
                                      -0.1, 0.2, 0.3, 0.2, 0.4, -0.3, 0.1, 0.2},
      float[4] scale = {0.1, 0.2, 0.1, 0.2},
      float[4] b = {0.1, -0.1, 0.2, 0.1}) => (float[4, 4] y)
{
)" + nodes +
         "  y = Identity (" + last + ")\n}";
}

struct Row {
  size_t fault; ///< Its value of `fault_place`.
  mpc_observation_info_t info;

  std::string text() const {
    const char *phase = info.kind == MPC_OBSERVATION_FORWARD    ? "forward"
                        : info.kind == MPC_OBSERVATION_BACKWARD ? "backward"
                                                                : "update";
    std::string type = *info.type ? std::string(info.type) + ", " : "";
    return std::string("'") + info.name + "' (" + type + phase + ", " +
           info.op + ")";
  }
};

/// The results of ops, in order.
std::vector<Row> rowsOf(const ProgramPtr &program) {
  std::vector<Row> rows;
  for (size_t i = 0; i < mpc_program_num_observations(program.get()); ++i) {
    mpc_observation_info_t info = {};
    info.struct_size = sizeof(info);
    if (!isOk(mpc_program_observation(program.get(), i, &info)))
      return rows;
    if (info.kind >= MPC_OBSERVATION_FORWARD)
      rows.push_back({rows.size(), info});
  }
  return rows;
}

/// The op that a message blames.
std::string blamed(const std::string &message) {
  constexpr std::string_view before = "appears in ";
  size_t at = message.find(before), end = message.find("):", at);
  if (at == std::string::npos || end == std::string::npos)
    return message;
  at += before.size();
  return message.substr(at, end + 1 - at);
}

class Observe : public testing::TestWithParam<const char *> {
protected:
  ProgramPtr make(const std::string &model, CompileOptions options = {}) {
    options.model = writeText(folder, "model.onnxtxt", model);
    options.loss = "mse";
    options.precision = GetParam();
    options.observe = true;
    return compile(options, folder);
  }

  bool isFp16() const { return GetParam() == std::string("fp16"); }

  Folder folder;
};

// With fp16, an overflow is a fault only after several overflows at the
// smallest scale; here the scale is always the smallest.
TEST_P(Observe, EveryOpIsNamed) {
  CompileOptions options;
  options.injectable = true;
  options.lossScale = "1";
  ProgramPtr program = make(manyNodes(), options);
  ASSERT_TRUE(program);
  Session session(program);
  const std::vector<Values> batch = {Values(16, 0.5), Values(16, 1.0)};
  auto fail = [&](const Row &row, double value) {
    session.write("fault_value", {value});
    session.write("fault_place", {double(row.fault)});
    return session.tryStep(batch);
  };
  std::vector<Row> rows = rowsOf(program);
  for (int i = 0; i < 20; ++i)
    fail(rows.back().info.kind == MPC_OBSERVATION_UPDATE ? rows[rows.size() / 2]
                                                         : rows.back(),
         kNan);
  int nans = 0, infinities = 0, forward = 0, backward = 0;
  for (const Row &row : rows) {
    if (row.info.kind == MPC_OBSERVATION_UPDATE)
      continue;
    ++(row.info.kind == MPC_OBSERVATION_FORWARD ? forward : backward);
    Session::Outcome outcome = fail(row, kNan);
    EXPECT_EQ(outcome.code, MPC_NUMERIC) << row.text();
    EXPECT_EQ(blamed(outcome.message), row.text());
    nans += blamed(outcome.message) == row.text();
    outcome = fail(row, kInf);
    EXPECT_EQ(outcome.code, MPC_NUMERIC) << row.text();
    EXPECT_EQ(blamed(outcome.message), row.text());
    infinities += blamed(outcome.message) == row.text();
  }
  RecordProperty("nans", nans);
  RecordProperty("infinities", infinities);
  std::printf("%s: %d forward, %d backward, %d nan and %d inf named\n",
              GetParam(), forward, backward, nans, infinities);
  EXPECT_GE(forward, 200);
  EXPECT_GE(backward, 200);
  EXPECT_EQ(nans, forward + backward);
  EXPECT_EQ(infinities, forward + backward);
}

const char *const kTwoProducts = R"(<ir_version: 9, opset_import: ["" : 20]>
two_layers (float[4, 3] x, float[3, 2] w = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6},
            float[2, 2] v = {0.3, -0.2, 0.1, 0.5}) => (float[4, 2] y)
{
  h = MatMul (x, w)
  y = MatMul (h, v)
})";

const std::vector<Values> kBatch = {Values(12, 0.5), Values(8, 1.0)};

Row find(const ProgramPtr &program, const std::string &name,
         const std::string &op) {
  for (const Row &row : rowsOf(program))
    if (row.info.name == name && row.info.op == op)
      return row;
  ADD_FAILURE() << "there is no " << op << " of " << name;
  return {};
}

// A micro-batch with a fault is reported while its data is available, not when
// the update is due. Its loss is finite.
TEST_P(Observe, GradientsOfMicroBatchesAreNamed) {
  CompileOptions options;
  options.injectable = true;
  options.accumulate = 3;
  ProgramPtr program = make(kTwoProducts, options);
  ASSERT_TRUE(program);
  Session session(program);
  session.write("fault_value", {kNan});
  Row row = find(program, "y.grad", "train.matmul");
  session.write("fault_place", {double(row.fault)});
  Session::Outcome outcome = session.tryStep(kBatch);
  session.write("fault_place", {-1});
  if (isFp16()) { // An overflow, which is not a fault.
    EXPECT_EQ(outcome.code, MPC_OK);
  } else {
    EXPECT_EQ(outcome.code, MPC_NUMERIC);
    EXPECT_EQ(outcome.message.find("the gradients of a micro-batch are not "
                                   "finite, so the weights are not updated; "),
              0u)
        << outcome.message;
    EXPECT_EQ(blamed(outcome.message), row.text());
  }
  EXPECT_EQ(session.tryStep(kBatch).code, MPC_OK);
  outcome = session.tryStep(kBatch);
  EXPECT_EQ(outcome.code, MPC_OK);
  EXPECT_EQ(outcome.info.skipped, 1);
  for (int i = 0; i < 3; ++i)
    outcome = session.tryStep(kBatch);
  EXPECT_EQ(outcome.info.updated, 1);
}

TEST_P(Observe, UpdatesAreNamed) {
  CompileOptions options;
  options.injectable = true;
  ProgramPtr program = make(kTwoProducts, options);
  ASSERT_TRUE(program);
  Session session(program);
  Row row = find(program, "optimizer", "train.adam");
  session.write("fault_value", {kNan});
  session.write("fault_place", {double(row.fault)});
  Session::Outcome outcome = session.tryStep(kBatch);
  EXPECT_EQ(outcome.code, MPC_NUMERIC);
  EXPECT_NE(outcome.message.find("the update is not finite"),
            std::string::npos);
  EXPECT_EQ(blamed(outcome.message), row.text());
}

TEST_P(Observe, WeightsAreNamed) {
  ProgramPtr program = make(kTwoProducts);
  ASSERT_TRUE(program);
  Session session(program);
  session.write("v", {0.5, kNan, 0.5, 0.5});
  Session::Outcome outcome = session.tryStep(kBatch);
  EXPECT_NE(
      outcome.message.find(
          "parameter 'v' contains nan at position 1 before the first update"),
      std::string::npos)
      << outcome.message;
  if (!isFp16())
    return;
  // Only the working copy is infinite.
  session.write("v", {0.5, 1e6, 0.5, 0.5});
  outcome = session.tryStep(kBatch);
  EXPECT_NE(outcome.message.find(
                "the weight 'v' exceeds the range of f16 (inf at position 1)"),
            std::string::npos)
      << outcome.message;
}

// Infinities that a mask introduces and softmax removes are intended; an op
// that turns them into NaN is a fault.
TEST_P(Observe, MasksAreNotBlamed) {
  auto model = [](const char *rest) {
    return std::string(R"(<ir_version: 9, opset_import: ["" : 20]>
masked (float[2, 2] x, float[2, 2] w = {0.1, 0.2, 0.3, 0.4}) => (float[2, 2] y)
{
  minus = Constant <value_float = -1.0> ()
  zero = Constant <value_float = 0.0> ()
  low = Div (minus, zero)
  seen = Constant <value = bool[2, 2] {1, 0, 1, 1}> ()
  scores = MatMul (x, w)
  masked = Where (seen, scores, low)
)") + rest +
           "}";
  };
  CompileOptions options;
  options.injectable = true;
  ProgramPtr program =
      make(model("  p = Softmax (masked)\n  y = MatMul (p, w)\n"), options);
  ASSERT_TRUE(program);
  Session session(program);
  const std::vector<Values> batch = {Values(4, 0.5), Values(4, 1.0)};
  EXPECT_EQ(session.tryStep(batch).code, MPC_OK);
  session.write("fault_value", {kNan});
  Row row = find(program, "y", "train.matmul");
  session.write("fault_place", {double(row.fault)});
  EXPECT_EQ(blamed(session.tryStep(batch).message), row.text());

  program = make(model("  y = Mul (masked, zero)\n"));
  ASSERT_TRUE(program);
  Session broken(program);
  std::string message = broken.tryStep(batch).message;
  EXPECT_NE(message.find("the first nan appears in 'y' (Mul, forward, "
                         "train.mul): nan at position 1 of "),
            std::string::npos)
      << message;
  EXPECT_NE(message.find(
                ", from infinite values produced by 'masked' (Where, forward, "
                "train.select)"),
            std::string::npos)
      << message;
}

INSTANTIATE_TEST_SUITE_P(Precisions, Observe,
                         testing::Values("fp32", "bf16", "fp16"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace mpc::test
