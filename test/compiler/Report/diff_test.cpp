//===- diff_test.cpp - Differences between two reports --------------------===//

#include "compiler/Report/Compare/Diff.h"

#include <gtest/gtest.h>

using namespace mpc::report;

namespace {

Report makeReport() {
  Report report;
  report.precision = "bf16";
  Function function;
  function.name = "step";
  for (const char *node : {"a", "b", "b", "c"}) {
    Op op;
    op.op = "train.add";
    op.node = node;
    op.operandType = op.resultType = "bf16";
    op.ruleId = "cut.moves-more";
    op.reason = "16 bit would move 8 bytes more";
    function.ops.push_back(op);
  }
  report.functions.push_back(function);
  Device device;
  device.name = "cpu";
  device.arena = 64;
  Device::Entry &entry = device.entries.emplace_back();
  entry.name = "step";
  entry.launches = 1, entry.calls = 2, entry.bytes = 1;
  report.devices.push_back(device);
  return report;
}

std::string differenceOf(const Report &before, const Report &after,
                         bool all = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDifference(os, compare(before, after), all, 80);
  return text;
}

TEST(ReportDiff, ReportsNoDifference) {
  Report report = makeReport(), other = makeReport();
  other.model = "elsewhere.onnx";
  other.functions[0].ops[0].reason = "16 bit would move 9 bytes more";
  EXPECT_EQ(differenceOf(report, other), "no difference\n");
}

// Ops with the same change are listed together; the second op of a node is
// compared with the second.
TEST(ReportDiff, GroupsOps) {
  Report before = makeReport(), after = makeReport();
  for (size_t i : {0, 2, 3})
    after.functions[0].ops[i].resultType = "f32";
  EXPECT_EQ(differenceOf(before, after), R"(
step: 3 ops: 'bf16' became 'bf16 -> f32'
  a
  b
  c
)");
  after.functions[0].ops[1] = after.functions[0].ops[0];
  EXPECT_EQ(differenceOf(before, after), R"(
step: 3 ops: 'bf16' became 'bf16 -> f32'
  a
  b
  c

step: 1 op: bf16 op was removed
  b

step: 1 op: bf16 -> f32 op was added
  a
)");
}

TEST(ReportDiff, ShortensLists) {
  Report before = makeReport(), after = makeReport();
  for (Op &op : after.functions[0].ops)
    op.sumType = "f32";
  EXPECT_EQ(differenceOf(before, after), R"(
step: 4 ops: sums '' became 'f32'
  a
  b
  b
  and 1 more (option 'all')
)");
  EXPECT_NE(differenceOf(before, after, true).find("  c\n"), std::string::npos);
}

TEST(ReportDiff, ComparesMemoryAndFunctions) {
  Report before = makeReport(), after = makeReport();
  after.precision = "fp16";
  after.devices[0].arena = 128;
  after.devices[0].entries.clear();
  EXPECT_EQ(differenceOf(before, after),
            R"(                                  before  after
  precision                         bf16   fp16
  cpu: bytes of arena                 64    128
  cpu: generated kernels in step       1      -
  cpu: other kernels in step           2      -
)");
  after = makeReport();
  after.functions[0].name = "predict";
  Difference difference = compare(before, after);
  ASSERT_EQ(difference.ops.size(), 2u);
  EXPECT_EQ(difference.ops[0].function, "step");
  EXPECT_EQ(difference.ops[1].what, "bf16 op was added");
  EXPECT_EQ(differenceJson(difference).getBoolean("differs"), true);
}

} // namespace
