//===- modules_test.cpp - The modules of a network ------------------------===//

#include "compiler/Report/Model/Modules.h"

#include <gtest/gtest.h>

using namespace mpc::report;

namespace {

TEST(ReportModules, ReadsPathsOffNames) {
  EXPECT_EQ(modulePath("/transformer/h.0/attn/MatMul"), "transformer.h.0.attn");
  EXPECT_EQ(modulePath("/blocks/blocks.0/fc/Gemm.grad"), "blocks.0.fc");
  EXPECT_EQ(modulePath("encoder.0.weight"), "encoder.0");
  EXPECT_EQ(modulePath("MatMul_7"), "");
  EXPECT_EQ(modulePath(""), "");
  EXPECT_EQ(modulePath("///"), "");
  EXPECT_EQ(modulePath("optimizer"), "optimizer");
  EXPECT_EQ(modulePath("loss.grad"), "loss");
}

TEST(ReportModules, FindsWhatTheUserCallsThem) {
  for (const char *wanted : {"h.0", "h/0/attn", "transformer", "attn"})
    EXPECT_TRUE(liesIn("transformer.h.0.attn", wanted)) << wanted;
  for (const char *wanted : {"h.1", "transform", "0.h", "", "/"})
    EXPECT_FALSE(liesIn("transformer.h.0.attn", wanted)) << wanted;
}

Op opIn(std::string module, std::string type = "bf16", uint64_t bytes = 10) {
  Op op;
  op.op = "train.matmul";
  op.node = module + "/MatMul";
  op.module = std::move(module);
  op.operandType = op.resultType = std::move(type);
  op.cost.ops = 1;
  op.cost.bytes = bytes;
  return op;
}

/// "label xTIMES bytes" for each row; dots show the depth.
std::vector<std::string> listed(const Function &function, size_t rows = 99) {
  std::vector<std::string> texts;
  for (const ModuleRow &row : listModules(findModules(function), rows))
    texts.push_back(std::string(row.depth, '.') + row.label + " x" +
                    std::to_string(row.times) + " " +
                    std::to_string(row.cost.bytes));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ReportModules, FoldsEqualBlocks) {
  Function function;
  for (int i = 0; i < 12; ++i)
    for (const char *part : {"attn", "mlp"})
      function.ops.push_back(opIn("net.h." + std::to_string(i) + "." + part));
  function.ops.push_back(opIn("net.head"));
  EXPECT_EQ(listed(function),
            (Texts{"net x1 250", ".h.0 ... h.11 x12 240", "..attn x1 120",
                   "..mlp x1 120", ".head x1 10"}));
}

// A block in another format ends the run and has its own row.
TEST(ReportModules, KeepsDifferentBlocksApart) {
  Function function;
  for (int i = 0; i < 5; ++i)
    function.ops.push_back(
        opIn("h." + std::to_string(i), i == 2 ? "f32" : "bf16"));
  EXPECT_EQ(listed(function),
            (Texts{"h.0 ... h.1 x2 20", "h.2 x1 10", "h.3 ... h.4 x2 20"}));
}

// Blocks whose names have no number are not folded, even if they are equal.
TEST(ReportModules, KeepsNames) {
  Function function;
  for (const char *name : {"query", "key", "value"})
    function.ops.push_back(opIn(name));
  EXPECT_EQ(listed(function),
            (Texts{"query x1 10", "key x1 10", "value x1 10"}));
}

TEST(ReportModules, PutsLossAndOptimizerLast) {
  Function function;
  for (const char *name : {"loss", "optimizer", "a"})
    function.ops.push_back(opIn(name));
  EXPECT_EQ(listed(function),
            (Texts{"a x1 10", "loss x1 10", "optimizer x1 10"}));
}

// If there are too many top-level modules, the smallest share a row.
TEST(ReportModules, ListsTheLargest) {
  Function function;
  for (int i = 0; i < 5; ++i)
    function.ops.push_back(
        opIn(std::string(1, static_cast<char>('a' + i)), "bf16", 10 + i));
  EXPECT_EQ(listed(function, 3),
            (Texts{"d x1 13", "e x1 14", "3 smaller modules x1 33"}));
}

// Names are not trusted: a deep path must not cause deep recursion.
TEST(ReportModules, BoundsDepth) {
  std::string path = "a";
  for (int i = 0; i < 100000; ++i)
    path += ".b";
  Function function;
  function.ops.push_back(opIn(path));
  function.ops.push_back(opIn("a"));
  EXPECT_LE(listed(function).size(), 3u);
}

} // namespace
