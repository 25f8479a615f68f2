//===- report_test.cpp - The report of a compilation as text --------------===//

#include "compiler/Report/Model/Complete.h"
#include "compiler/Report/Model/Reasons.h"
#include "compiler/Report/Model/Rules.h"
#include "compiler/Report/Text/Render.h"

#include <gtest/gtest.h>

#include <set>

using namespace mpc;
using namespace mpc::report;

namespace {

constexpr const char *kProfiledReport = R"({
  "version": 1, "model": "mlp.onnx", "precision": "bf16",
  "functions": [
    {"name": "step", "ops": [
      {"op": "train.matmul", "node": "fc1", "type": "Gemm", "class": "low",
       "operand_dtype": "bf16", "dtype": "f32", "accumulate_dtype": "f32",
       "casts_in": 1, "casts_out": 12, "rule": "class", "reason": "a product",
       "flops": 2048, "bytes": 896},
      {"op": "train.relu", "node": "", "type": "", "class": "transparent",
       "operand_dtype": "bf16", "dtype": "bf16", "accumulate_dtype": "",
       "casts_in": 0, "casts_out": 0, "rule": "minimum cut", "reason": "exact",
       "flops": 64, "bytes": 256}],
     "totals": {"flops": 2112, "flops_16bit": 2048, "bytes": 1152,
                "bytes_16bit": 576, "casts": 2, "weight_casts": 0}},
    {"name": "predict", "ops": [], "totals": {}}],
  "totals": {"flops": 3000000000, "flops_16bit": 1500000000, "bytes": 999,
             "bytes_16bit": 0, "casts": 3, "weight_casts": 1}
})";

std::string render(llvm::StringRef json, llvm::StringRef function = {},
                   size_t width = 200) {
  llvm::Expected<Report> report = read(json);
  if (!report)
    return "error: " + llvm::toString(report.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  Selection selection;
  selection.function = function;
  if (llvm::Error error = printTables(os, *report, selection, width))
    return "error: " + llvm::toString(std::move(error));
  return text;
}

TEST(Report, AlignsColumns) {
  EXPECT_EQ(render(kProfiledReport, "step"), R"(step
  op            node        class        dtype        sums  casts in/out  rule         reason
  train.matmul  fc1 (Gemm)  low          bf16 -> f32  f32           1/12  class        a product
  train.relu                transparent  bf16         -              0/0  minimum cut  exact
step: 97.0 % of 2.1 kFLOP and 50.0 % of 1.2 kB in 16 bit, 2 casts, 0 of weights

)");
}

TEST(Report, EndsWithTheTotals) {
  std::string text = render(kProfiledReport);
  EXPECT_NE(text.find("predict\n"), std::string::npos);
  EXPECT_NE(text.find("all functions: 50.0 % of 3.0 GFLOP and 0.0 % of 999 B "
                      "in 16 bit, 3 casts, 1 of weights\n"),
            std::string::npos)
      << text;
}

// Devices are listed at the end; accumulation counts as a step.
TEST(Report, TellsOfDevices) {
  const std::string bare = R"({"functions": []})";
  const std::string kernels = R"({
      "kernels": [{"name": "kernel_0", "node": "conv1",
                   "launches": {"accumulate": 3, "predict": 7}},
                  {"name": "kernel_1", "node": "\u001b", "launches": {}},
                  {"name": "kernel_2", "node": "", "launches": {}}],
      "transposes": [{"function": "accumulate", "kernel": "kernel_0",
                      "node": "conv1", "origin": "layout", "bytes": 3000},
                     {"function": "predict", "kernel": "kernel_0",
                      "node": "conv1", "origin": "layout", "bytes": 50},
                     {"function": "accumulate", "kernel": "kernel_0",
                      "node": "turn", "origin": "model", "bytes": 200}]})";
  mpc::ArchitectureReport assembled = {
      "sm_90",
      true,
      {{"kernel_1", -1, -1, 80, -1, -1}, {"kernel_0", 40, 0, 0, 0, 2048}}};
  std::string report = mpc::completeReport(
      bare, "",
      {{"cpu", R"({"kernels": [], "transposes": []})", {}, {}},
       {"cuda", kernels, {assembled, {"sm_80", false, {}}}, {}}},
      {});
  EXPECT_EQ(
      render(report),
      R"(all functions: 0.0 % of 0 FLOP and 0.0 % of 0 B in 16 bit, 0 casts, 0 of weights

cpu: no kernel of a step only transposes

cuda: 2 transposes in a step, 3.2 kB read and written, 1 to put channels last or first
  kernel     bytes  origin  node
  kernel_0  3.0 kB  layout  conv1
  kernel_0   200 B  model   turn
cuda sm_90: 3 kernels, at most 40 registers in a thread and 2.0 kB of shared memory in a block, 1 spills
  kernel    launches  registers  spilled bytes  shared bytes  node
  kernel_0         3         40              0          2048  conv1
  kernel_1         0          ?             80             ?  ?
  kernel_2         0          ?              ?             ?
cuda sm_80: registers, spills and shared memory of 3 kernels are unknown, because 'ptxas' was not on the path at compile time
)");
}

// Node names come from files, so they must not control the terminal.
TEST(Report, ReplacesControlCharacters) {
  std::string text = render(R"({"functions": [{"name": "step", "ops": [
      {"op": "train.relu", "node": "a\u001b[31m\nb\u009b1m"}]}]})");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_NE(text.find("a?[31m?b"), std::string::npos) << text;
}

TEST(Report, RefusesWhatIsNoReport) {
  EXPECT_EQ(render("").rfind("error: the precision report is not JSON: ", 0),
            0u);
  EXPECT_EQ(render(std::string(1000000, '[')),
            "error: the precision report is nested too deeply");
  EXPECT_EQ(render("[]"), "error: the precision report has no functions");
  EXPECT_EQ(render("{}"), "error: the precision report has no functions");
  EXPECT_EQ(render(R"({"functions": [1]})"),
            "error: the precision report has a function without ops");
  EXPECT_EQ(render(R"({"functions": [{"ops": [1]}]})"),
            "error: the precision report has an op that is not an object");
  EXPECT_EQ(render(R"({"version": 2, "functions": []})"),
            "error: the precision report has version 2, but this program reads "
            "versions up to 1");
  EXPECT_EQ(render(R"({"functions": [], "devices": 1})"),
            "error: the precision report has devices that are not a list");
  EXPECT_EQ(render(kProfiledReport, "apply"),
            "error: the precision report has no function 'apply'; it has "
            "'step', 'predict'");
}

// Programs rely on ids: no id is used twice, and each can be found.
TEST(Report, NamesRulesForPrograms) {
  std::set<std::string> ids;
  for (Rule rule : {
#define MPC_RULE(Name, id, arguments) Rule::Name,
#include "compiler/Support/Precision/Rules.def"
       }) {
    EXPECT_TRUE(ids.insert(idOf(rule).str()).second) << idOf(rule).str();
    EXPECT_EQ(ruleOf(idOf(rule)), rule);
    EXPECT_FALSE(groupOf(rule).empty());
  }
  EXPECT_EQ(ruleOf("a later rule"), std::nullopt);
  EXPECT_TRUE(isWithin("option.fp8", Rule::Option));
  EXPECT_TRUE(isWithin("option", Rule::Option));
  EXPECT_FALSE(isWithin("options", Rule::Option));
}

// Every argument of every rule is part of its text.
TEST(Report, WritesReasonsOfDecisions) {
  for (Rule rule : {
#define MPC_RULE(Name, id, arguments) Rule::Name,
#include "compiler/Support/Precision/Rules.def"
       }) {
    std::vector<Argument> arguments;
    for (size_t i = 0; i < numArgumentsOf(rule); ++i)
      arguments.push_back("<" + std::to_string(i) + ">");
    std::string text = textOf(rule, arguments);
    EXPECT_EQ(text.find('{'), std::string::npos) << text;
    for (size_t i = 0; i < numArgumentsOf(rule); ++i)
      EXPECT_NE(text.find(std::get<std::string>(arguments[i])),
                std::string::npos)
          << text;
  }
  EXPECT_EQ(reasonOf(Rule::CutMovesMore, {"f32", int64_t(24)}, "view"),
            "view; f32 would move 24 bytes more");
  EXPECT_EQ(reasonOf(Rule::PinRange, {1e9, "f16", 65504.0}, "view"),
            "values up to 1e+09 do not fit f16 (65504)");
  EXPECT_EQ(reasonOf(Rule::Class, {}, "a product"), "a product");
  EXPECT_EQ(reasonOf(Rule::Fp8Untrained, {}, "a product"),
            "16 bit, not fp8: it is not trained");
}

// Reports of earlier versions have no ids.
TEST(Report, FindsRulesOfOldReports) {
  for (const OldRule &rule : oldRules())
    EXPECT_EQ(oldRuleId(rule.rule, ("a" + rule.phrase + "b").str()), rule.id);
  EXPECT_EQ(oldRuleId("minimum cut", "view; f32 would move 24 bytes more"),
            "cut.moves-more");
  EXPECT_EQ(oldRuleId("user option", "keep-fp32=head"), "option.keep-fp32");
  EXPECT_EQ(oldRuleId("a later rule", ""), "other");
  EXPECT_EQ(oldRuleId("", ""), "");
}

// Information that is added after compilation: the module, from the exporter's
// metadata or otherwise from the node name, and the id of the rule.
TEST(Report, CompletesOps) {
  std::string text = mpc::completeReport(
      R"({"functions": [{"name": "step", "ops": [
          {"node": "/h.0/fc/MatMul", "rule": "class", "reason": ""},
          {"node": "node_4.grad", "rule": "pin", "reason": ""}]}]})",
      "", {}, {{"node_4", "h.1.f\xff"}});
  llvm::Expected<Report> report = read(text);
  ASSERT_TRUE(bool(report));
  const std::vector<Op> &ops = report->functions.front().ops;
  EXPECT_EQ(ops[0].module, "h.0.fc");
  EXPECT_EQ(ops[0].ruleId, "class");
  EXPECT_EQ(ops[1].module, "h.1.f\xef\xbf\xbd");
  EXPECT_EQ(ops[1].phase, Phase::Backward);
  EXPECT_NE(text.find(R"("summary":{)"), std::string::npos);
}

// A report that is truncated anywhere is an error.
TEST(Report, SurvivesTruncation) {
  llvm::StringRef whole = kProfiledReport;
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(render(whole.take_front(length)).rfind("error: ", 0), 0u)
        << length;
}

} // namespace
