//===- report_test.cpp - The precision report as text ---------------------===//

#include "compiler/Support/Report.h"

#include <gtest/gtest.h>

using mpc::renderReport;

namespace {

constexpr const char *kReport = R"({
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

std::string render(llvm::StringRef json, llvm::StringRef function = {}) {
  llvm::Expected<std::string> text = renderReport(json, function);
  return text ? *text : "error: " + llvm::toString(text.takeError());
}

TEST(Report, AlignsColumns) {
  EXPECT_EQ(render(kReport, "step"),
            "step\n"
            "  op            node        class        dtype        sums  casts in/out  rule         reason\n"
            "  train.matmul  fc1 (Gemm)  low          bf16 -> f32  f32           1/12  class        a product\n"
            "  train.relu                transparent  bf16         -              0/0  minimum cut  exact\n"
            "step: 97.0 % of 2.1 kFLOP and 50.0 % of 1.2 kB in 16 bit, 2 casts, 0 of weights\n"
            "\n");
}

TEST(Report, EndsWithTheTotals) {
  std::string text = render(kReport);
  EXPECT_NE(text.find("predict\n"), std::string::npos);
  EXPECT_NE(text.find("all functions: 50.0 % of 3.0 GFLOP and 0.0 % of 999 B "
                      "in 16 bit, 3 casts, 1 of weights\n"),
            std::string::npos)
      << text;
}

// Node names come from files: they must not steer the terminal.
TEST(Report, ReplacesControlCharacters) {
  std::string text = render(R"({"functions": [{"name": "step", "ops": [
      {"op": "train.relu", "node": "a\u001b[31m\nb\u009b1m"}]}]})");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_NE(text.find("a?[31m?b"), std::string::npos) << text;
}

TEST(Report, RefusesWhatIsNoReport) {
  EXPECT_EQ(render("").rfind("error: the precision report is not JSON: ", 0), 0u);
  EXPECT_EQ(render("[]"), "error: the precision report has no functions");
  EXPECT_EQ(render("{}"), "error: the precision report has no functions");
  EXPECT_EQ(render(R"({"functions": [1]})"),
            "error: the precision report has a function without ops");
  EXPECT_EQ(render(R"({"functions": [{"ops": [1]}]})"),
            "error: the precision report has an op that is no object");
  EXPECT_EQ(render(R"({"version": 2, "functions": []})"),
            "error: the precision report has version 2, but this program reads "
            "versions up to 1");
  EXPECT_EQ(render(kReport, "apply"),
            "error: the precision report has no function 'apply'");
}

// Wherever a report is cut off, the answer is an error.
TEST(Report, SurvivesTruncation) {
  llvm::StringRef whole = kReport;
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(render(whole.take_front(length)).rfind("error: ", 0), 0u) << length;
}

} // namespace
