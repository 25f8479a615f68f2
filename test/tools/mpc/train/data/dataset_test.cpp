// Arrays bound to inputs, and batches gathered from them.

#include "test/tools/mpc/train/data/arrays.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/data/images/ImageFolder.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mpc;
using namespace mpc::tool;
using namespace mpc::test;

namespace {

TEST(Dataset, GathersInTheOrderOfTheInputs) {
  std::vector<std::string> notes;
  Dataset data("d.npz", threeSamples(), {kLabels, kPairs}, notes);
  EXPECT_EQ(data.numSamples(), 3u);
  EXPECT_EQ(data.batchSize(), 2u);
  EXPECT_TRUE(notes.empty());
  const std::vector<mpc_tensor_t> &batch = data.gather({2, 0});
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(valuesOf<int64_t>(batch[0]), (std::vector<int64_t>{7, 5}));
  EXPECT_EQ(valuesOf<float>(batch[1]), (std::vector<float>{20, 21, 0, 1}));
}

TEST(Dataset, FillsABatchWithTheLastSample) {
  std::vector<std::string> notes;
  Dataset data("d.npz", threeSamples(), {kPairs}, notes);
  EXPECT_EQ(valuesOf<float>(data.gather({1})[0]),
            (std::vector<float>{10, 11, 10, 11}));
}

TEST(Dataset, TakesSamplesFromAnyDimension) {
  std::vector<std::string> notes;
  Dataset data(
      "d.npz",
      {makeArray<float>("x", "float32", {2, 3}, {0, 1, 2, 10, 11, 12})},
      {{"x", MPC_DTYPE_F32, {2, 2}, 1}}, notes);
  EXPECT_EQ(data.numSamples(), 3u);
  EXPECT_EQ(valuesOf<float>(data.gather({2, 1})[0]),
            (std::vector<float>{2, 1, 12, 11}));
}

TEST(Dataset, PassesInputsWithoutSamplesAsTheyAre) {
  std::vector<std::string> notes;
  npz::Arrays arrays = threeSamples();
  arrays.push_back(makeArray<float>("scale", "float32", {2}, {3, 4}));
  Dataset data("d.npz", arrays, {kPairs, {"scale", MPC_DTYPE_F32, {2}, -1}},
               notes);
  EXPECT_EQ(valuesOf<float>(data.gather({0, 1})[1]),
            (std::vector<float>{3, 4}));
}

TEST(Dataset, SaysWhatMakesAShapeFit) {
  Binding classes = {"labels", MPC_DTYPE_I64, {2}, 0};
  classes.range = {0, 3, std::nullopt};
  auto remedyOf = [](npz::Array array, const Binding &input) {
    std::string text = failure({std::move(array)}, {input});
    return text.substr(std::min(text.find(';'), text.size()));
  };
  EXPECT_EQ(
      remedyOf(makeArray<int64_t>("labels", "int64", {2, 1}, {0, 1}), classes),
      "; fix it with .squeeze(-1)");
  EXPECT_EQ(remedyOf(makeArray<float>("labels", "float32", {1, 3}, {0, 1, 0}),
                     classes),
            "; if it is one-hot, convert it to class labels with .argmax(-1)");
  EXPECT_EQ(
      remedyOf(makeArray<float>("labels", "float32", {1, 2}, {0, 1}), classes),
      "");
  Binding targets = {"targets", MPC_DTYPE_F32, {2, 1}, 0};
  EXPECT_EQ(
      remedyOf(makeArray<float>("targets", "float32", {2}, {0, 1}), targets),
      "; fix it with .reshape(-1, 1)");
  EXPECT_EQ(
      remedyOf(makeArray<float>("targets", "float32", {2, 2}, {0, 1, 2, 3}),
               targets),
      "");
}

TEST(Dataset, SuggestsTheOtherNameOfTargets) {
  EXPECT_EQ(failure(threeSamples(), {{"targets", MPC_DTYPE_F32, {2, 1}, 0}}),
            "d.npz has no array 'targets', which the model takes as "
            "float32[N,1]; it has 'labels', but this model's loss takes "
            "numbers: rename 'labels' to 'targets' if it contains numbers");
  npz::Arrays arrays = {makeArray<float>("targets", "float32", {2}, {0, 1})};
  EXPECT_EQ(failure(arrays, {kLabels}),
            "d.npz has no array 'labels', which the model takes as int64[N]; "
            "it has 'targets', but this model's loss takes class labels: "
            "rename 'targets' to 'labels' if it contains class labels");
}

TEST(Dataset, NamesMissingArrays) {
  EXPECT_EQ(failure(threeSamples(), {{"pears", MPC_DTYPE_F32, {2, 2}, 0}}),
            "d.npz has no array 'pears', which the model takes as "
            "float32[N,2]; did you mean 'pairs'?");
  EXPECT_EQ(failure(threeSamples(), {{"tokens", MPC_DTYPE_I64, {2}, 0}}),
            "d.npz has no array 'tokens', which the model takes as int64[N]; "
            "it has 'pairs' and 'labels'");
}

TEST(Dataset, RefusesOtherShapes) {
  EXPECT_EQ(failure(threeSamples(), {{"pairs", MPC_DTYPE_F32, {2, 3}, 0}}),
            "d.npz: array 'pairs' must be float32[N,3], but is float32[3,2]");
  EXPECT_EQ(failure(threeSamples(), {{"labels", MPC_DTYPE_I64, {2, 1}, 0}}),
            "d.npz: array 'labels' must be int64[N,1], but is int64[3]; "
            "fix it with .reshape(-1, 1)");
  EXPECT_EQ(
      failure({makeArray<float>("pairs", "float32", {0, 2}, {})}, {kPairs}),
      "d.npz: array 'pairs' has no samples");
}

TEST(Dataset, RefusesArraysThatDoNotMatch) {
  npz::Arrays arrays = {
      makeArray<float>("pairs", "float32", {3, 2}, {0, 1, 10, 11, 20, 21}),
      makeArray<int64_t>("labels", "int64", {2}, {5, 6})};
  EXPECT_EQ(failure(arrays, {kPairs, kLabels}),
            "d.npz: array 'labels' has 2 samples, but 'pairs' has 3");
}

/// An input `labels` of integers in [0, 10) or -1.
Binding ranged(mpc_dtype_t dtype, std::vector<int64_t> shape,
               int32_t batchDim = 0) {
  Binding binding = {"labels", dtype, std::move(shape), batchDim};
  binding.range = {0, 10, -1};
  return binding;
}

TEST(Dataset, NamesValuesOutOfRange) {
  EXPECT_EQ(failure({makeArray<int64_t>("labels", "int64", {3}, {9, -1, 10})},
                    {ranged(MPC_DTYPE_I64, {2})}),
            "d.npz: labels[2] is 10; labels must be in [0, 10), or -1 "
            "(ignored by the loss)");
  EXPECT_EQ(failure({makeArray<int32_t>("labels", "int32", {2, 3},
                                        {0, 1, 2, 3, -2, 11})},
                    {ranged(MPC_DTYPE_I32, {2, 3})}),
            "d.npz: labels[1,1] is -2; labels must be in [0, 10), or -1 "
            "(ignored by the loss); 1 other value is out of range too");
  EXPECT_EQ(failure({makeArray<uint8_t>("mask", "bool", {2}, {1, 2})},
                    {{"mask", MPC_DTYPE_BOOL, {2}, 0}}),
            "d.npz: mask[1] is 2; values must be in [0, 2)");
  EXPECT_EQ(failure({makeArray<int64_t>("labels", "int64", {2}, {0, 9})},
                    {ranged(MPC_DTYPE_I64, {2})}),
            "");
}

TEST(Dataset, RejectsDataWithOnlyIgnoredLabels) {
  EXPECT_EQ(failure({makeArray<int64_t>("labels", "int64", {3}, {-1, -1, -1})},
                    {ranged(MPC_DTYPE_I64, {2})}),
            "d.npz: no label counts: every value of 'labels' is -1, which the "
            "loss ignores");
}

TEST(Dataset, ExplainsBatchesWithoutLabels) {
  std::vector<std::string> notes;
  // The labels of four samples are in the columns.
  Dataset data("d.npz",
               {makeArray<int64_t>("labels", "int64", {2, 4},
                                   {-1, -1, 3, -1, -1, 0, -1, -1})},
               {ranged(MPC_DTYPE_I64, {2, 2}, 1)}, notes);
  EXPECT_EQ(data.explainNoLabels({0, 1}), "");
  EXPECT_EQ(data.explainNoLabels({2, 3}), "");
  EXPECT_EQ(data.explainNoLabels({3, 0}),
            "no label of the batch counts: 'labels' is -1, which the loss "
            "ignores, for samples 3 and 0 of d.npz; leave out what has no "
            "label, or compile with a larger --batch");
}

TEST(Dataset, ExplainsWhatIsNotFinite) {
  std::vector<std::string> notes;
  npz::Arrays arrays = {
      makeArray<float>("pairs", "float32", {3, 2}, {0, 1, INFINITY, NAN, 2, 3}),
      makeArray<uint16_t>("halves", "float16", {2, 3},
                          {0, 0x7c00, 0xfc00, 1, 2, 0xfe00})};
  Dataset data("d.npz", arrays, {kPairs, {"halves", MPC_DTYPE_F16, {2, 2}, 1}},
               notes);
  EXPECT_EQ(data.explainNonFinite({0, 0}), "");
  EXPECT_EQ(data.explainNonFinite({0, 1}),
            "pairs[1,1] in d.npz is nan; fix or remove such samples");
  EXPECT_EQ(data.explainNonFinite({2, 0}),
            "halves[1,2] in d.npz is nan; fix or remove such samples");
}

TEST(ImageFolder, KnownClassesOfOtherInputsDoNotMatter) {
  const std::string folder = MPC_FUZZ_CORPORA "/../goldens/images";
  std::unique_ptr<DataSource> images =
      openImageFolder(folder, {{"colours", {"red"}}});
  ASSERT_TRUE(images);
  EXPECT_EQ(images->classesOf("labels"),
            (std::vector<std::string>{"large", "small"}));
  images = openImageFolder(folder, {{"labels", {"tiny", "small", "large"}}});
  EXPECT_EQ(images->classesOf("labels"),
            (std::vector<std::string>{"tiny", "small", "large"}));
}

} // namespace
