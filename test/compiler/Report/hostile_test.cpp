//===- hostile_test.cpp - Damaged and malicious reports -------------------===//

#include "compiler/Report/Compare/Diff.h"
#include "compiler/Report/Html/Html.h"
#include "compiler/Report/Model/Notes.h"
#include "compiler/Report/Text/Render.h"

#include <gtest/gtest.h>

using namespace mpc::report;
using llvm::json::Value;

namespace {

constexpr const char *kReport = R"({
  "version": 1, "model": "m", "precision": "bf16",
  "functions": [{"name": "step",
    "casts": [{"from": "f32", "to": "bf16", "bytes": 6, "op": 0,
               "weight": false}],
    "ops": [
      {"op": "train.add", "node": "/h.0/a", "type": "Add", "class": "follow",
       "operand_dtype": "f32", "dtype": "f32", "rule": "minimum cut",
       "rule_id": "cut.reads-f32", "reason": "sum; what it reads is f32",
       "module": "h.0", "casts_in": 0, "casts_out": 1, "flops": 8,
       "flops_16bit": 0, "bytes": 9, "bytes_16bit": 0,
       "inputs": [{"dtype": "f32", "bytes": 4, "op": 1}]},
      {"op": "train.mul", "node": "/h.1/a.grad", "operand_dtype": "bf16",
       "rule": "class", "reason": "", "flops": 1, "bytes": 2,
       "inputs": [{"dtype": "bf16", "bytes": 4, "op": 0, "cast": 0},
                  {"dtype": "bf16", "bytes": 4, "state": "w"}]}],
    "totals": {"flops": 9, "flops_16bit": 1, "bytes": 11, "bytes_16bit": 2,
               "casts": 1, "weight_casts": 0}}],
  "totals": {"flops": 9, "bytes": 11},
  "recompute": [{"function": "step", "ops": 1, "flops": 4, "flops_16bit": 2,
    "before": {"ops": 2, "kept_stride": 1, "kept_bytes": [0, 8]},
    "after": {"ops": 3, "kept_stride": 1, "kept_bytes": [0, 4, 0]}}],
  "devices": [{"device": "cpu", "arena_bytes": 8, "state_bytes": 4,
    "machine": {"name": "a machine", "bytes_per_ns": 2,
                "flops_per_ns": {"f32": 1, "16bit": 2, "8bit": 4}},
    "entries": [{"name": "step", "launches": 1, "calls": 1, "bytes": 9,
                 "bytes_16bit": 8, "bytes_8bit": 1, "live_stride": 1,
                 "live_bytes": [4, 8]}],
    "kernels": [{"name": "k", "node": "a", "launches": {"step": 1}}],
    "transposes": [{"function": "step", "kernel": "k", "bytes": 3}],
    "architectures": [{"name": "sm_90", "assembled": true,
                       "kernels": [{"name": "k", "registers": 3}]}]}]
})";

/// All values in a value, itself first.
void collect(Value &value, std::vector<Value *> &all) {
  all.push_back(&value);
  if (llvm::json::Object *object = value.getAsObject())
    for (auto &entry : *object)
      collect(entry.second, all);
  if (llvm::json::Array *array = value.getAsArray())
    for (Value &entry : *array)
      collect(entry, all);
}

/// All output that is made from a report.
std::string showAll(const Report &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Selection all, casts, module;
  casts.kind = Selection::Casts;
  module.module = "h";
  for (size_t width : {60, 10000}) {
    llvm::consumeError(printSummary(os, report, all, width));
    llvm::consumeError(printTables(os, report, all, width));
    llvm::consumeError(printTables(os, report, casts, width));
    llvm::consumeError(printModule(os, report, module, width));
    llvm::consumeError(printExplanation(os, report, "/h.0/a", all, width));
  }
  printDifference(os, compare(report, llvm::cantFail(read(kReport))), true, 60);
  for (const auto &[node, notes] : notesOfNodes(report))
    os << node << notes.size();
  return text + htmlPage(report);
}

TEST(ReportHostile, HandlesArbitraryValuesInReports) {
  const std::vector<Value> junk = {nullptr,
                                   true,
                                   -1,
                                   INT64_MAX,
                                   INT64_MIN,
                                   1e300,
                                   "",
                                   "a.b/c.",
                                   "\x1b[31m",
                                   " ; 3 byte",
                                   llvm::json::Array{nullptr},
                                   llvm::json::Object{{"op", 0}}};
  Value whole = llvm::cantFail(llvm::json::parse(kReport));
  std::vector<Value *> places;
  collect(whole, places);
  size_t understood = 0;
  for (size_t place = 0; place < places.size(); ++place)
    for (const Value &value : junk) {
      Value copy = whole;
      std::vector<Value *> values;
      collect(copy, values);
      *values[place] = value;
      llvm::Expected<Report> report = readJson(std::move(copy));
      if (!report) {
        llvm::consumeError(report.takeError());
        continue;
      }
      ++understood;
      EXPECT_EQ(showAll(*report).find('\x1b'), std::string::npos);
    }
  EXPECT_GT(understood, places.size());
}

} // namespace
