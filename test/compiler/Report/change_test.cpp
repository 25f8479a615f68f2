//===- change_test.cpp - The cost of another format of an op --------------===//

#include "compiler/Report/Compare/Change.h"

#include <gtest/gtest.h>

using namespace mpc::report;

namespace {

/// a -> b -> c, all in `type`; b reads 100 bytes and writes 100 bytes.
Function chain(const std::string &type) {
  Function function;
  for (int64_t i = 0; i < 3; ++i) {
    Op op;
    op.operandType = op.resultType = type;
    op.cost.bytes = 200;
    Operand operand;
    operand.origin.op = i - 1;
    operand.origin.isInput = i == 0;
    operand.dtype = type;
    operand.bytes = 100;
    op.operands.push_back(operand);
    function.ops.push_back(op);
  }
  return function;
}

// Both tensors double in size, and each needs a cast: 100 bytes read, 200
// written.
TEST(ReportChange, PricesF32) {
  Change change = estimateChange(chain("bf16"), 1);
  EXPECT_EQ(change.casts, 2);
  EXPECT_EQ(change.bytes, 100 + 100 + 300 + 300);
}

TEST(ReportChange, PricesSixteenBit) {
  Change change = estimateChange(chain("f32"), 1);
  EXPECT_EQ(change.casts, 2);
  EXPECT_EQ(change.bytes, -50 - 50 + 150 + 150);
}

// Casts that are only for this op are removed.
TEST(ReportChange, DropsCasts) {
  Function function = chain("bf16");
  function.casts.push_back({{0, "", false}, "f32", "bf16", 300, false});
  function.ops[1].operands[0].cast = 0;
  EXPECT_EQ(estimateChange(function, 1).casts, 0);
  EXPECT_EQ(estimateChange(function, 1).bytes, 100 - 300 + 100 + 300);
  function.ops[2].operands[0].origin.op = 0;
  function.ops[2].operands[0].cast = 0; // Another op reads the cast.
  EXPECT_EQ(estimateChange(function, 1).casts, 0);
  EXPECT_EQ(estimateChange(function, 1).bytes, 100 + 100);
}

// Weights exist in both formats; pinned ops do not change.
TEST(ReportChange, KnowsWeightsAndPins) {
  Function function = chain("f32");
  Operand &operand = function.ops[1].operands[0];
  operand.origin = {-1, "w", false};
  EXPECT_EQ(estimateChange(function, 1).bytes, -50 - 50 + 150);
  operand.isPinned = true;
  EXPECT_EQ(estimateChange(function, 1).bytes, -50 + 150);
}

// Extreme numbers in a report do not cause overflows.
TEST(ReportChange, BoundsExtremeNumbers) {
  Function function = chain("bf16");
  for (Op &op : function.ops) {
    op.cost.bytes = UINT64_MAX;
    op.operands[0].bytes = UINT64_MAX;
  }
  EXPECT_GT(estimateChange(function, 1).bytes, 0);
}

} // namespace
