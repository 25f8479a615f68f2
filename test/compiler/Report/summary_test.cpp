//===- summary_test.cpp - The summary of a report -------------------------===//

#include "compiler/Report/Model/Summary.h"
#include "compiler/Report/Text/Render.h"
#include "compiler/Report/Text/Time.h"

#include <gtest/gtest.h>

using namespace mpc::report;

namespace {

constexpr const char *kReport = R"({
  "version": 1, "model": "net.onnx", "precision": "bf16",
  "functions": [
    {"name": "predict", "ops": [], "totals": {}},
    {"name": "step",
     "casts": [{"from": "f32", "to": "bf16", "bytes": 600, "op": 0}],
     "ops": [
      {"op": "train.add", "node": "/h.0/Add", "class": "transparent",
       "operand_dtype": "f32", "dtype": "f32", "rule": "minimum cut",
       "reason": "exact; 16 bit would move 24 bytes more",
       "flops": 100, "bytes": 1000},
      {"op": "train.add", "node": "/h.1/Add", "class": "transparent",
       "operand_dtype": "f32", "dtype": "f32", "rule": "minimum cut",
       "reason": "exact; 16 bit would move 48 bytes more",
       "flops": 100, "bytes": 2000},
      {"op": "train.matmul", "node": "/fc/MatMul.grad", "class": "low",
       "operand_dtype": "bf16", "dtype": "f32", "rule": "class",
       "reason": "a product", "flops": 700, "flops_16bit": 700,
       "bytes": 3000, "bytes_16bit": 2000,
       "inputs": [{"dtype": "bf16", "op": 0, "cast": 0}]}],
     "totals": {"flops": 1000, "flops_16bit": 700, "bytes": 7000,
                "bytes_16bit": 2000, "casts": 1, "weight_casts": 0}}],
  "totals": {},
  "recompute": [{"function": "step", "ops": 1, "flops": 100, "flops_16bit": 100,
                 "before": {"ops": 3, "kept_stride": 1,
                            "kept_bytes": [0, 600, 0]},
                 "after": {"ops": 4, "kept_stride": 1,
                           "kept_bytes": [0, 200, 100, 0]}}],
  "devices": [{"device": "cpu", "state_bytes": 4096, "arena_bytes": 2048,
               "arena_bytes_unshared": 8192,
               "machine": {"name": "an abacus", "bytes_per_ns": 10,
                           "flops_per_ns": {"f32": 10, "16bit": 20,
                                            "8bit": 40}},
               "entries": [{"name": "step", "launches": 2, "calls": 1,
                            "bytes": 3000, "bytes_16bit": 1000}]}]
})";

std::string summary(size_t width, const std::string &function = "") {
  llvm::Expected<Report> report = read(kReport);
  if (!report)
    return llvm::toString(report.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  Selection selection;
  selection.function = function;
  if (llvm::Error error = printSummary(os, *report, selection, width))
    return llvm::toString(std::move(error));
  return text;
}

// Reasons that differ only in numbers of bytes are grouped.
TEST(ReportSummary, GroupsReasons) {
  Op op;
  op.rule = "minimum cut";
  op.reason = "exact; 16 bit would move 24 bytes more";
  EXPECT_EQ(stemOf(op), "16 bit would move N bytes more");
  op.rule = "user option";
  op.reason = "keep-fp32=a 24 bytes";
  EXPECT_EQ(stemOf(op), op.reason);
}

// TF32 products count as f32, except for their rate.
TEST(ReportSummary, TakesTf32AtItsRate) {
  auto timeOf = [](const std::string &rates) {
    std::string text = R"({"functions": [{"name": "step", "ops": [],
        "totals": {"flops": 1000, "flops_tf32": 600, "bytes": 7000}}],
        "devices": [{"device": "cuda",
          "machine": {"name": "an abacus", "bytes_per_ns": 10,
                      "flops_per_ns": {)" +
                       rates + R"(}},
          "entries": [{"name": "step", "bytes": 3000}]}]})";
    llvm::Expected<Report> report = read(text);
    EXPECT_TRUE(bool(report));
    return report->devices.front().entries.front().time->wide;
  };
  EXPECT_EQ(timeOf(R"("f32": 10, "tf32": 100, "16bit": 20, "8bit": 40)"),
            40 + 6 + 300);
  // A report of an earlier version.
  EXPECT_EQ(timeOf(R"("f32": 10, "16bit": 20, "8bit": 40)"), 100 + 300);
}

TEST(ReportSummary, TellsWhatMattersFirst) {
  EXPECT_EQ(summary(100), R"(net.onnx: bf16

              ops   computes      f32     bf16   moves      f32    bf16  casts
  predict       0     0 FLOP    0.0 %    0.0 %     0 B    0.0 %   0.0 %      0    0 B
  step          3  1.0 kFLOP   30.0 %   70.0 %  7.0 kB   71.4 %  28.6 %      1  600 B
    forward     2   200 FLOP  100.0 %    0.0 %  3.0 kB  100.0 %   0.0 %      1  600 B
    backward    1   700 FLOP    0.0 %  100.0 %  3.0 kB   33.3 %  66.7 %      0    0 B
    update      0     0 FLOP    0.0 %    0.0 %     0 B    0.0 %   0.0 %      0    0 B
    commit      0   100 FLOP  100.0 %    0.0 %  1.0 kB  100.0 %   0.0 %      0    0 B

What stays f32 in 'step'
  ops    FLOP   bytes  rule         largest   reason
    2  20.0 %  42.9 %  minimum cut  /h.1/Add  16 bit would move N bytes more
    1   0.0 %  14.3 %                         in ops with 16 bit: results, scales, arithmetic

Casts in 'step': 1, 600 B read and written; 0 of weights
Recomputation in 'step': at most 200 B are saved for the backward pass instead of 600 B; 1 op is
recomputed
Time of 'step' on cpu: 62.2 % in f32, 37.8 % in bf16 (estimated from the rates of an abacus)
Memory on cpu: 4.1 kB of states, 2.0 kB of arena (8.2 kB if no buffers shared memory)
Launches on cpu: step 3 (2 generated)

  Modules of 'step'  ops    FLOP  in 16 bit   bytes  in 16 bit  casts
  h.0                  1  10.0 %      0.0 %  14.3 %      0.0 %      1
  h.1                  1  10.0 %      0.0 %  28.6 %      0.0 %      0
  fc                   1  70.0 %    100.0 %  42.9 %     66.7 %      0
)");
}

TEST(ReportSummary, FitsTheTerminal) {
  for (size_t width : {60, 80, 100}) {
    std::string text = summary(width);
    for (llvm::StringRef rest = text; !rest.empty();
         rest = rest.split('\n').second)
      EXPECT_LE(rest.split('\n').first.size(), width)
          << rest.split('\n').first.str();
  }
}

// The time of operations plus the time of bytes at the rates of the machine,
// including recomputation: 300 / 10 + 2000 / 10 and 800 / 20 + 1000 / 10.
TEST(ReportSummary, EstimatesTimes) {
  Report report = llvm::cantFail(read(kReport));
  const Device::Entry &entry = report.devices[0].entries[0];
  ASSERT_TRUE(entry.time.has_value());
  EXPECT_EQ(entry.time->wide, 230);
  EXPECT_EQ(entry.time->low, 140);
  EXPECT_EQ(entry.time->fp8, 0);
  EXPECT_NE(summary(100).find("62.2 % in f32"), std::string::npos);

  report.precision = "fp8";
  Rates rates = *report.devices[0].rates;
  EXPECT_EQ(describeTime(report, rates, {50, 25, 25}),
            "50.0 % in f32, 25.0 % in bf16, 25.0 % in fp8 (estimated from the "
            "rates of an abacus)");
  rates.fp8 = rates.low;
  EXPECT_EQ(describeTime(report, rates, {50, 25, 25}),
            "50.0 % in f32, 25.0 % in bf16, 25.0 % in fp8, multiplied as bf16 "
            "(estimated from the rates of an abacus)");
  rates.low = rates.fp8 = rates.wide;
  EXPECT_EQ(describeTime(report, rates, {75, 25, 0}),
            "75.0 % in f32, 25.0 % in bf16, multiplied as f32 (estimated from "
            "the rates of an abacus)");
  EXPECT_EQ(
      describeTime(report, rates, {100, 0, 0}),
      "100.0 % in f32, 0.0 % in bf16 (estimated from the rates of an abacus)");
}

// Without rates, or without the numbers that they apply to, nothing is
// estimated.
TEST(ReportSummary, GuessesNoTimes) {
  for (const char *part : {"\"bytes\": 3000, \"bytes_16bit\": 1000",
                           "\"bytes_per_ns\"", "\"8bit\""}) {
    std::string text = kReport;
    text.replace(text.find(part), 2, "\"x");
    Report report = llvm::cantFail(read(text));
    EXPECT_FALSE(report.devices[0].entries[0].time.has_value()) << part;
  }
}

// Reports of earlier versions do not say how much of an op is in 16 bit: known
// parts are shown, and no part exceeds the total.
TEST(ReportSummary, ReadsEarlierReports) {
  llvm::Expected<Report> report =
      read(R"({"functions": [{"name": "step", "ops": [
      {"op": "train.matmul", "node": "fc", "class": "low", "dtype": "f32",
       "operand_dtype": "bf16", "flops": 70, "bytes": 300},
      {"op": "train.relu", "node": "act", "class": "transparent",
       "dtype": "bf16", "operand_dtype": "bf16", "flops": 5, "bytes": 20}],
      "totals": {"flops": 75, "flops_16bit": 70, "bytes": 320,
                 "bytes_16bit": 220}}]})");
  ASSERT_TRUE(bool(report));
  const Function &function = report->functions.front();
  EXPECT_EQ(function.ops[0].cost.lowFlops, 70u);
  EXPECT_EQ(function.ops[1].cost.lowBytes, 20u);
  FunctionSummary summary = summarize(function);
  EXPECT_EQ(summary.rest.bytes, 0u);
  EXPECT_EQ(summary.rest.wideBytes(), 0u);
}

TEST(ReportSummary, KnowsFunctions) {
  EXPECT_NE(summary(100, "predict").find("What stays f32 in 'predict'"),
            std::string::npos);
  EXPECT_EQ(summary(100, "stp"), "the precision report has no function 'stp'; "
                                 "it has 'predict', 'step'");
}

} // namespace
