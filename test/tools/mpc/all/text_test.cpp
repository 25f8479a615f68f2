// Formatting of numbers, suggestions and progress.

#include "tools/mpc/base/Text.h"
#include "tools/mpc/training/EpochLoss.h"
#include "tools/mpc/training/Progress.h"

#include <gtest/gtest.h>

using namespace mpc::tool;

namespace {

TEST(Text, Counts) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(1000), "1 000");
  EXPECT_EQ(formatCount(1234567), "1 234 567");
  EXPECT_EQ(formatCount(1, "step"), "1 step");
  EXPECT_EQ(formatCount(0, "step"), "0 steps");
}

TEST(Text, Bytes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(999), "999 B");
  EXPECT_EQ(formatBytes(1000), "1.0 kB");
  EXPECT_EQ(formatBytes(999999), "1.0 MB");
  EXPECT_EQ(formatBytes(1500000000), "1.5 GB");
  EXPECT_EQ(formatBytes(~uint64_t(0)), "18.4 EB");
}

TEST(Text, Durations) {
  EXPECT_EQ(formatDuration(6.3e-05), "63 us");
  EXPECT_EQ(formatDuration(0.00421), "4.2 ms");
  EXPECT_EQ(formatDuration(0.0421), "0.042 s");
  EXPECT_EQ(formatDuration(0.9996), "1.0 s");
  EXPECT_EQ(formatDuration(12.34), "12.3 s");
  EXPECT_EQ(formatDuration(59.7), "1:00");
  EXPECT_EQ(formatDuration(3600 * 2 + 61), "2:01:01");
  EXPECT_EQ(formatDuration(-1), "?");
  EXPECT_EQ(formatDuration(1e300), "?");
  EXPECT_EQ(formatClock(6.7), "0:07");
}

TEST(Text, Suggestions) {
  std::vector<std::string> words = {"compile", "train", "eval", "export"};
  EXPECT_EQ(findNearest("trian", words), "train");
  EXPECT_EQ(findNearest("complie", words), "compile");
  EXPECT_EQ(findNearest("exprot", words), "export");
  EXPECT_EQ(findNearest("evaluate", words), "");
  EXPECT_EQ(findNearest("mae", {"mse", "l1"}), "l1");
  EXPECT_EQ(findNearest("gpu", {"cpu", "cuda"}), "cuda");
  EXPECT_EQ(findNearest("zzz", words), "");
  EXPECT_EQ(findNearest("", words), "");
  EXPECT_EQ(findNearest("adamW", {"adam", "adamw"}), "adamw");
  EXPECT_EQ(findNearest("ADAM", {"adamw", "adam"}), "adam");
  EXPECT_EQ(suggest("bf61", {"fp32", "bf16", "fp16"}),
            "; did you mean 'bf16'?");
  // Equally near, but the word is a prefix of one.
  EXPECT_EQ(findNearest("sm_9", {"sm_89", "sm_90"}), "sm_90");
  EXPECT_EQ(findNearest("sm_8", {"sm_89", "sm_80"}), "sm_89");
}

ProgressState someState() {
  ProgressState state;
  state.title = "mlp.mpc";
  state.done = 345;
  state.total = 690;
  state.epoch = 15;
  state.epochs = 30;
  state.trainLoss = 0.04213;
  state.evalLoss = 0.0517;
  state.samplesPerSecond = 38120.4;
  state.evalAccuracy = 0.9798;
  state.secondsLeft = 3.2;
  return state;
}

TEST(Progress, Bar) {
  EXPECT_EQ(formatProgressBar(someState(), 180, /*utf8=*/false),
            "mlp.mpc  epoch 15/30  ===============>--------------   50 %  "
            "train loss 0.0421  eval loss 0.0517  eval accuracy 97.98 %  "
            "38 120 samples/s  0:03 left");
}

TEST(Progress, BarShowsTheLossScale) {
  ProgressState state = someState();
  state.lossScale = 65536;
  EXPECT_NE(formatProgressBar(state, 160, false).find("scale 65536"),
            std::string::npos);
}

TEST(Progress, BarFitsEveryWidth) {
  ProgressState state = someState();
  state.lossScale = 1024;
  for (unsigned columns = 1; columns < 200; ++columns)
    EXPECT_LE(formatProgressBar(state, columns, false).size(), columns);
  // The title is dropped first, then the accuracy.
  std::string line = formatProgressBar(state, 120, false);
  EXPECT_EQ(line.find("mlp.mpc"), std::string::npos);
  EXPECT_NE(line.find("epoch 15/30"), std::string::npos);
  // Loss and percentage are never dropped.
  EXPECT_EQ(formatProgressBar(state, 26, false), " 50 %  train loss 0.0421");
}

TEST(Progress, BarInUtf8HasAsManyColumns) {
  auto columnsOf = [](const std::string &text) {
    size_t columns = 0;
    for (unsigned char byte : text)
      columns += (byte & 0xc0) != 0x80;
    return columns;
  };
  EXPECT_EQ(columnsOf(formatProgressBar(someState(), 90, true)),
            formatProgressBar(someState(), 90, false).size());
}

TEST(Progress, FullBar) {
  ProgressState state = someState();
  state.done = state.total;
  state.secondsLeft = 0;
  std::string line = formatProgressBar(state, 160, false);
  EXPECT_NE(line.find("==============================  100 %"),
            std::string::npos);
}

TEST(Progress, LogLine) {
  EXPECT_EQ(formatProgressLine(someState()),
            "epoch 15/30, step 345/690: train loss 0.0421, eval loss 0.0517, "
            "eval accuracy 97.98 %, 38 120 samples/s, 3.2 s left");
  ProgressState fresh;
  fresh.done = 1;
  fresh.total = 10;
  fresh.trainLoss = 2.5;
  EXPECT_EQ(formatProgressLine(fresh), "step 1/10: train loss 2.5000");
}

TEST(Progress, PerplexitiesOfBothDataSets) {
  ProgressState state = someState();
  state.hasPerplexity = true;
  EXPECT_NE(formatProgressLine(state).find(
                "train loss 0.0421, train perplexity 1.04, eval loss 0.0517, "
                "eval perplexity 1.05"),
            std::string::npos);
}

TEST(EpochLoss, IsTheMeanOfOneEpoch) {
  EpochLoss loss;
  EXPECT_FALSE(loss.mean());
  loss.add(1, 8, 100);
  loss.add(2, 1, 30);
  loss.add(2, 4, 10);
  EXPECT_EQ(loss.epoch(), 2u);
  EXPECT_EQ(loss.mean(), 1.75);
  // An interruption changes no bit.
  loss.add(2, 0.1, 3);
  EpochLoss other;
  other.restore(loss.toText());
  loss.add(2, 0.7, 3);
  other.add(2, 0.7, 3);
  EXPECT_EQ(other.mean(), loss.mean());
  EXPECT_EQ(other.toText(), loss.toText());
  other.restore("nonsense");
  EXPECT_FALSE(other.mean());
}

} // namespace
