// Reading rows of predictions from batches of any type and shape.

#include "tools/mpc/Command.h"
#include "tools/mpc/metrics/RowReader.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mpc::tool;

namespace {

/// A row as text: "1 2 -> 0" for classes, "1 2 -> 3 4" for numbers.
std::string textOf(const Row &row, uint64_t columns) {
  std::string text;
  for (uint64_t i = 0; i < columns; ++i)
    text += std::to_string(int(row.values[i])) + " ";
  text += "->";
  for (uint64_t i = 0; row.targets && i < columns; ++i)
    text += " " + std::to_string(int(row.targets[i]));
  return row.targets ? text : text + " " + std::to_string(row.label);
}

std::vector<std::string> readAll(const MetricSource &source, const void *values,
                                 const void *truth, uint64_t samples) {
  std::vector<std::string> rows;
  RowReader(source).read(values, truth, samples, 0, [&](const Row &row) {
    rows.push_back(textOf(row, source.shape.columns));
  });
  return rows;
}

MetricSource sourceOf(Task task, Binding output, Binding truth, size_t axis,
                      uint64_t batch) {
  MetricSource source;
  source.shape.columns =
      axis < output.shape.size() ? uint64_t(output.shape[axis]) : 1;
  source.output = std::move(output);
  source.truth = std::move(truth);
  source.shape.task = task;
  source.axis = axis;
  source.batch = batch;
  return source;
}

using Texts = std::vector<std::string>;

TEST(RowReader, ReadsClassesAlongTheirAxis) {
  MetricSource source =
      sourceOf(Task::Classes, {"y", MPC_DTYPE_F32, {2, 3, 2}, 0},
               {"labels", MPC_DTYPE_I64, {2, 2}, 0}, 1, 2);
  float values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  int64_t labels[] = {0, 1, 2, 0};
  EXPECT_EQ(readAll(source, values, labels, 2),
            (Texts{"0 2 4 -> 0", "1 3 5 -> 1", "6 8 10 -> 2", "7 9 11 -> 0"}));
  EXPECT_EQ(readAll(source, values, labels, 1),
            (Texts{"0 2 4 -> 0", "1 3 5 -> 1"}));
}

TEST(RowReader, LeavesOutIgnoredLabels) {
  MetricSource source = sourceOf(
      Task::Classes, {"y", MPC_DTYPE_F64, {3, 2}, 0},
      {"labels", MPC_DTYPE_I32, {3}, 0, Binding::Range{0, 2, -100}}, 1, 3);
  double values[] = {0, 1, 2, 3, 4, 5};
  int32_t labels[] = {1, -100, 0};
  EXPECT_EQ(readAll(source, values, labels, 3),
            (Texts{"0 1 -> 1", "4 5 -> 0"}));
}

TEST(RowReader, FindsTheSamplesOfMergedRows) {
  // Two samples of two positions each, joined in dimension 0.
  MetricSource source = sourceOf(Task::Classes, {"y", MPC_DTYPE_F32, {4, 2}, 0},
                                 {"labels", MPC_DTYPE_I64, {2, 2}, 0}, 1, 2);
  float values[] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t labels[] = {0, 1, 1, 0};
  EXPECT_EQ(readAll(source, values, labels, 1),
            (Texts{"0 1 -> 0", "2 3 -> 1"}));
}

TEST(RowReader, FindsSamplesInAnyDimension) {
  // [positions, samples, classes] and [classes.., samples].
  MetricSource source =
      sourceOf(Task::Classes, {"y", MPC_DTYPE_F32, {2, 2, 2}, 1},
               {"labels", MPC_DTYPE_I64, {2, 2}, 1}, 2, 2);
  float values[] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t labels[] = {0, 1, 1, 0};
  EXPECT_EQ(readAll(source, values, labels, 1),
            (Texts{"0 1 -> 0", "4 5 -> 1"}));
  source = sourceOf(Task::Numbers, {"y", MPC_DTYPE_F32, {2, 2, 2}, 2},
                    {"targets", MPC_DTYPE_F32, {2, 2, 2}, 2}, 1, 2);
  EXPECT_EQ(readAll(source, values, values, 1),
            (Texts{"0 2 -> 0 2", "4 6 -> 4 6"}));
}

TEST(RowReader, ReadsColumnsAndSingleNumbers) {
  MetricSource source = sourceOf(Task::Numbers, {"y", MPC_DTYPE_F32, {3}, 0},
                                 {"targets", MPC_DTYPE_F64, {3, 1}, 0}, 1, 3);
  float values[] = {1, 2, 3};
  double targets[] = {4, 5, 6};
  EXPECT_EQ(readAll(source, values, targets, 2), (Texts{"1 -> 4", "2 -> 5"}));
}

TEST(RowReader, Reads16Bits) {
  uint16_t half = 0x4200, brain = 0x4040; // 3
  EXPECT_EQ(elementAt(&half, MPC_DTYPE_F16, 0), 3);
  EXPECT_EQ(elementAt(&brain, MPC_DTYPE_BF16, 0), 3);
  uint8_t flag = 1;
  EXPECT_EQ(elementAt(&flag, MPC_DTYPE_BOOL, 0), 1);
}

TEST(RowReader, RefusesNan) {
  MetricSource source = sourceOf(Task::Numbers, {"y", MPC_DTYPE_F32, {2}, 0},
                                 {"targets", MPC_DTYPE_F32, {2}, 0}, 1, 2);
  float values[] = {1, NAN};
  EXPECT_EQ(readAll(source, values, values, 1), Texts{"1 -> 1"});
  try {
    readAll(source, values, values, 2);
    FAIL() << "nan was read";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.exitCode, Numeric);
    EXPECT_STREQ(failure.what(),
                 "output 'y' is nan for sample 1 of the evaluation data");
  }
}

TEST(RowReader, RefusesLabelsThatAreNoClasses) {
  MetricSource source = sourceOf(Task::Classes, {"y", MPC_DTYPE_F32, {2, 3}, 0},
                                 {"labels", MPC_DTYPE_I64, {2}, 0}, 1, 2);
  int64_t labels[] = {2, 3};
  RowReader(source).checkTruth(labels, 1, 0);
  try {
    RowReader(source).checkTruth(labels, 2, 8);
    FAIL() << "label 3 was accepted";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.exitCode, Usage);
    EXPECT_STREQ(failure.what(), "'labels' is 3 for sample 9; labels of output "
                                 "'y' must be in [0, 3)");
  }
}

} // namespace
