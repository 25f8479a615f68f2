//===- ranges_test.cpp - Profiles matched with the ops of a report --------===//

#include "compiler/Report/Html/Html.h"
#include "compiler/Report/Model/Ranges.h"

#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::report;

namespace {

constexpr const char *kRangesReport = R"({
  "version": 1, "model": "net.onnx", "precision": "bf16",
  "functions": [{"name": "step", "ops": [
    {"op": "train.reshape", "node": "flat", "dtype": "f32"},
    {"op": "train.div", "node": "loss", "dtype": "f32", "bytes": 8},
    {"op": "amp.quantize", "node": "fc", "dtype": "f8E4M3FN", "bytes": 8},
    {"op": "train.matmul", "node": "fc", "dtype": "bf16", "class": "low",
     "bytes": 40, "inputs": [{"dtype": "bf16", "bytes": 24, "state": "fc.weight"}]},
    {"op": "train.add", "node": "fc", "dtype": "bf16", "bytes": 16},
    {"op": "train.layer_norm", "node": "ln", "dtype": "bf16", "bytes": 8},
    {"op": "train.layer_norm", "node": "ln", "dtype": "bf16", "bytes": 8},
    {"op": "train.matmul", "node": "fc.grad", "dtype": "bf16"}]}]
})";

constexpr const char *kProfile = R"({
  "version": 1, "model": "dir/net.onnx", "precision": "fp32", "steps": 3,
  "exponents": {"first": -4, "count": 6},
  "tensors": {
    "fc.weight": {"kind": "state", "shape": [4, 3], "largest": 1},
    "fc": {"op": "train.matmul", "shape": [2, 4], "count": 24, "nans": 1,
           "infinities": 2, "zeros": 3, "largest": 7.5, "smallest": 0.25,
           "exponents": [0, 0, 9, 0, 9, 0],
           "sensitivity": {"bf16": 0.25, "f16": 0.0625, "e4m3": 4}},
    "fc#1": {"op": "train.add", "largest": 8},
    "ln": {"op": "train.layer_norm", "largest": 1},
    "ln#1": {"op": "train.layer_norm", "largest": 2},
    "ln#2": {"op": "train.layer_norm", "largest": 3},
    "ln#3": {"op": "train.layer_norm", "largest": 4},
    "fc.grad": {"op": "train.matmul", "largest": 5}}
})";

Report reportOf(llvm::StringRef json) { return llvm::cantFail(read(json)); }

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The result of matching a profile, or the error.
std::string match(const Report &report, const std::string &json) {
  llvm::Expected<Profile> profile = Profile::parse(json, "p.json");
  if (!profile)
    return llvm::toString(profile.takeError());
  llvm::Expected<Ranges> ranges = Ranges::match(report, *profile);
  if (!ranges)
    return llvm::toString(ranges.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Op &op : report.functions[0].ops) {
    for (const ProfiledTensor *tensor : ranges->of(op))
      os << tensor->largest << ' ';
    os << "; ";
  }
  return text + ranges->unknown();
}

// Results are found by node and op. Views have none, nor do ops added by
// precision; with two norms of two results each, the first two belong to the
// first.
TEST(Ranges, FindsResultsInOrder) {
  EXPECT_EQ(match(reportOf(kRangesReport), kProfile),
            "; ; ; 7.500000e+00 ; 8.000000e+00 ; 1.000000e+00 2.000000e+00 ; "
            "3.000000e+00 4.000000e+00 ; 5.000000e+00 ; ");
}

// Results that cannot be distinguished belong to no op; a note counts them.
TEST(Ranges, SaysWhatItDoesNotKnow) {
  std::string odd = replaced(kProfile, "\"ln#3\"", "\"other\"");
  EXPECT_EQ(match(reportOf(kRangesReport), odd),
            "; ; ; 7.500000e+00 ; 8.000000e+00 ; ; ; 5.000000e+00 ; 2 of 5 "
            "tensors of the forward pass, such as 'ln'");
}

TEST(Ranges, RefusesOtherModels) {
  Report report = reportOf(kRangesReport);
  const std::string end =
      "; record one for this model (mpc compile option 'precision'=fp32 option "
      "'observe'=profile, mpc profile)";
  std::string other = replaced(kProfile, "\"ln\"", "\"a\\u001b\"");
  other = replaced(replaced(other, "\"fc\"", "\"b\""), "dir/net", "other");
  EXPECT_EQ(
      match(report, other),
      "profile 'p.json' belongs to another model, 'other.onnx': it lacks 4 of "
      "5 tensors of the forward pass, such as 'fc'" +
          end);
  EXPECT_EQ(
      match(report, replaced(kProfile, "[4, 3]", "[8, 3]")),
      "profile 'p.json' belongs to another model, 'net.onnx': its 'fc.weight' "
      "has 24 elements, not 12" +
          end);
}

TEST(Ranges, RefusesWhatIsNoProfile) {
  Report report = reportOf(kRangesReport);
  EXPECT_EQ(match(report, std::string(1000000, '[')),
            "profile 'p.json' is nested too deeply");
  EXPECT_EQ(match(report, "x"), "profile 'p.json' is not JSON");
  EXPECT_EQ(
      match(report, "[]"),
      "profile 'p.json' must have version 1, as written by 'mpc profile'");
  EXPECT_EQ(match(report, replaced(kProfile, "fp32", "bf16")),
            "profile 'p.json' must be recorded with option 'precision'=fp32");
}

// Histograms without the empty bins at both ends.
TEST(Ranges, AreWrittenToThePage) {
  Report report = reportOf(kRangesReport);
  Profile profile = llvm::cantFail(Profile::parse(kProfile, "dir/p.json"));
  Ranges ranges = llvm::cantFail(Ranges::match(report, profile));
  std::string page = htmlPage(report, &ranges);
  for (
      const char *part :
      {R"("count":24,"exponents":{"counts":[9,0,9],"first":-2},"infinities":2)",
       R"("largest":7.5,"nans":1,"sensitivity":{"bf16":0.25,"e4m3":4,)",
       R"("profile":{"file":"p.json","steps":3})"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(htmlPage(report).find(R"("ranges")"), std::string::npos);
}

/// All values in a value, itself first.
void collectValues(llvm::json::Value &value,
                   std::vector<llvm::json::Value *> &all) {
  all.push_back(&value);
  if (llvm::json::Object *object = value.getAsObject())
    for (auto &entry : *object)
      collectValues(entry.second, all);
  if (llvm::json::Array *array = value.getAsArray())
    for (llvm::json::Value &entry : *array)
      collectValues(entry, all);
}

TEST(Ranges, HandleArbitraryValuesInProfiles) {
  Report report = reportOf(kRangesReport);
  llvm::json::Value whole = llvm::cantFail(llvm::json::parse(kProfile));
  std::vector<llvm::json::Value *> places;
  collectValues(whole, places);
  size_t understood = 0;
  for (size_t place = 0; place < places.size(); ++place)
    for (const llvm::json::Value &value : std::vector<llvm::json::Value>{
             nullptr, -1, INT64_MAX, INT64_MIN, 1e300, -1e300, "\x1b",
             llvm::json::Array{nullptr}, llvm::json::Object{{"op", 0}}}) {
      llvm::json::Value copy = whole;
      std::vector<llvm::json::Value *> values;
      collectValues(copy, values);
      *values[place] = value;
      std::string text;
      llvm::raw_string_ostream(text) << copy;
      llvm::Expected<Profile> profile = Profile::parse(text, "p.json");
      if (!profile) {
        llvm::consumeError(profile.takeError());
        continue;
      }
      llvm::Expected<Ranges> ranges = Ranges::match(report, *profile);
      if (!ranges) {
        EXPECT_EQ(llvm::toString(ranges.takeError()).find('\x1b'),
                  std::string::npos);
        continue;
      }
      ++understood;
      EXPECT_EQ(htmlPage(report, &*ranges).find('\x1b'), std::string::npos);
    }
  EXPECT_GT(understood, places.size());
}

} // namespace
