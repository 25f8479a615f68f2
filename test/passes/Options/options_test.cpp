//===- options_test.cpp - The table of options ----------------------------===//

#include "passes/Options/OptimizerRows.h"
#include "passes/Options/OptionText.h"
#include "passes/Options/PackageText.h"

#include <gtest/gtest.h>

#include <set>

using namespace mpc;

namespace {

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

TEST(Options, HaveUniqueNames) {
  std::set<std::string> names;
  for (const OptionRow &row : optionRows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(findOption(row.name), &row);
    EXPECT_EQ(&optionRow(row.id), &row);
  }
  EXPECT_EQ(findOption("no-such-option"), nullptr);
}

TEST(Options, SayWhatTheyAre) {
  for (const OptionRow &row : optionRows()) {
    SCOPED_TRACE(row.name);
    EXPECT_FALSE(row.help.empty());
    EXPECT_NE(row.help.back(), '.');
    EXPECT_EQ(row.isSwitch(), row.type == std::string("bool"));
    for (const auto &[name, values] : row.needed) {
      const OptionRow *other = findOption(name);
      ASSERT_NE(other, nullptr) << name;
      EXPECT_FALSE(values.empty());
      for (const std::string &value : values)
        EXPECT_EQ(other->check(value), "");
    }
  }
}

// A value that the package does not record cannot be compared or rejected.
TEST(Options, AreRememberedWhereThatMatters) {
  for (const OptionRow &row : optionRows())
    if (row.resume != Resume::Silent || row.exported != Export::Allowed) {
      EXPECT_NE(row.package.when, Remembered::When::Never) << row.name;
    }
}

TEST(Options, AreReadAsTheyAreWritten) {
  CompileOptions options;
  visitOptions(options, [](OptionId id, auto &field) {
    auto copy = field;
    const OptionRow &row = optionRow(id);
    EXPECT_EQ(setWhole(row, row.byDefault, copy), "") << row.name;
    EXPECT_EQ(writeValue(row, copy), writeValue(row, field)) << row.name;
  });
}

TEST(Options, OfSeveralValuesAreLists) {
  Texts groups;
  const OptionRow &row = optionRow(OptionId::groups);
  EXPECT_EQ(setWhole(row, "{fc:lr=0.1x,weight-decay=0},b:lr=2x", groups), "");
  EXPECT_EQ(groups, (Texts{"fc:lr=0.1x,weight-decay=0", "b:lr=2x"}));
  EXPECT_EQ(writeWhole(row, groups), "{{fc:lr=0.1x,weight-decay=0},b:lr=2x}");
}

TEST(Options, NameWhatIsGivenTwice) {
  NumberByName dims;
  const OptionRow &row = optionRow(OptionId::dims);
  EXPECT_EQ(setOption(row, "a=b:=3", dims), "");
  EXPECT_EQ(dims, (NumberByName{{"a=b:", 3}}));
  EXPECT_EQ(setOption(row, "a=b:=4", dims), "names 'a=b:' twice");
  EXPECT_NE(setOption(row, "a=0", dims).find("positive N"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

TEST(Options, HaveValidDefaults) {
  EXPECT_EQ(checkOptions(CompileOptions()), "");
  EXPECT_EQ(checkGiven(CompileOptions()), "");
}

// The library reports invalid values that no command line has checked.
TEST(Options, AreCheckedInTheLibrary) {
  CompileOptions options;
  options.ema = 1;
  EXPECT_EQ(checkOptions(options),
            "option 'ema' must be in [0, 1), but is '1'");
  options = {};
  options.lr = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(checkOptions(options).find("option 'lr' must be a number"),
            std::string::npos);
  options = {};
  options.lossScaleMin = 4;
  options.lossScaleMax = 2;
  EXPECT_NE(checkOptions(options).find(
                "(4) must be less than option 'loss-scale-max'"),
            std::string::npos);
  options = {};
  options.optimizer = "adamww";
  EXPECT_NE(checkOptions(options).find("did you mean 'adamw'?"),
            std::string::npos);
}

TEST(Options, WithoutEffectAreRefusedIfGiven) {
  CompileOptions options;
  options.fp8Margin = 2;
  EXPECT_EQ(checkGiven(options), "");
  options.given = {"fp8-margin"};
  EXPECT_NE(checkGiven(options).find("option 'precision'=bf16"),
            std::string::npos);
  options.precision = "fp8";
  EXPECT_EQ(checkGiven(options), "");

  options = {};
  options.given = {"momentum"};
  EXPECT_NE(checkGiven(options).find("option 'optimizer'=adamw"),
            std::string::npos);
  options.optimizer = "rmsprop";
  EXPECT_EQ(checkGiven(options), "");

  options = {};
  options.schedule = "step";
  EXPECT_EQ(checkGiven(options),
            "option 'lr-schedule'=step requires option 'lr-period'");
}

TEST(Options, OfFormulasHaveTheDefaultsOfTheOptimizer) {
  OptimizerOptions given;
  given.beta2 = 0.5;
  OptimizerOptions lamb = withDefaults("lamb", given);
  EXPECT_EQ(lamb.beta1, 0.9);
  EXPECT_EQ(lamb.beta2, 0.5);
  EXPECT_EQ(lamb.epsilon, 1e-6);
  EXPECT_EQ(lamb.momentum, 0); // Not used by LAMB.
  EXPECT_TRUE(optimizerTakes("momentum", "nesterov"));
  EXPECT_FALSE(optimizerTakes("lion", "epsilon"));
}

//===----------------------------------------------------------------------===//
// Packages
//===----------------------------------------------------------------------===//

std::vector<std::string>
namesOf(const std::vector<std::pair<std::string, std::string>> &options) {
  std::vector<std::string> names;
  for (const auto &[name, value] : options)
    names.push_back(name);
  return names;
}

// Packages must stay bit-identical, so new options are recorded after the old
// ones and only if they differ from the default.
TEST(Options, AreRememberedInTheOldOrder) {
  CompileOptions options;
  auto described = describeOptions(
      options, {{"metrics", ""}, {"learning-rates", "learning_rate"}}, false);
  EXPECT_EQ(
      namesOf(described),
      (std::vector<std::string>{
          "precision",       "loss",           "metrics",        "accumulate",
          "optimizer",       "learning-rates", "master-weights", "lr",
          "weight-decay",    "clip-norm",      "freeze",         "train-only",
          "train",           "detach",         "padding-idx",    "batchnorm",
          "beta1",           "beta2",          "epsilon",        "momentum",
          "alpha",           "group",          "no-decay",       "lr-schedule",
          "lr-min",          "warmup",         "total-steps",    "ema",
          "label-smoothing", "clip-value",     "correct-bias",   "nesterov"}));
  EXPECT_EQ(described[8],
            (std::pair<std::string, std::string>("weight-decay", "0.01")));
}

TEST(Options, OfUpdatesAreNotThoseOfAModelsOwnStep) {
  CompileOptions options;
  options.recompute = "full";
  auto described = describeOptions(
      options, {{"optimizer", "own"}, {"own-step", "yes"}}, true);
  EXPECT_EQ(namesOf(described),
            (std::vector<std::string>{"precision", "loss", "accumulate",
                                      "recompute", "optimizer", "own-step"}));
}

TEST(Options, OfOnePrecisionAreRecordedOnlyThere) {
  CompileOptions options;
  options.precision = "fp16";
  options.lossScale = "512";
  EXPECT_EQ(lossScaleText(options), "512");
  EXPECT_EQ(lossScaleMinText(options), "512");
  EXPECT_EQ(fp8Text(options), "");
  options.precision = "fp8";
  EXPECT_EQ(fp8Text(options), "delayed over 1024 updates");
  EXPECT_EQ(lossScaleText(options), "");
}

TEST(Options, DescribeSchedulesWithTheirNumbers) {
  CompileOptions options;
  options.schedule = "cosine-restarts";
  options.lrPeriod = 7;
  options.lrFactor = 2;
  options.lrGamma = 0.5;
  EXPECT_EQ(scheduleText(options),
            "cosine-restarts, min 0, period 7, factor 2");
}

} // namespace
