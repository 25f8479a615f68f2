// Arrays bound to inputs, batches gathered from them, outputs put together.

#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/data/Predictions.h"

#include <gtest/gtest.h>

#include <cmath>

#include <cstring>
#include <numeric>

using namespace mpc;
using namespace mpc::tool;

namespace {

template <typename T>
npz::Array makeArray(const char *name, const char *dtype,
                     std::vector<int64_t> shape, std::vector<T> values) {
  npz::Array array;
  array.name = name;
  array.dtype = dtype;
  array.shape = std::move(shape);
  const char *bytes = reinterpret_cast<const char *>(values.data());
  array.data.assign(bytes, bytes + values.size() * sizeof(T));
  return array;
}

template <typename T> std::vector<T> valuesOf(const mpc_tensor_t &tensor) {
  size_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    count *= tensor.shape[i];
  const T *data = static_cast<const T *>(tensor.data);
  return std::vector<T>(data, data + count);
}

const Binding kPairs = {"pairs", MPC_DTYPE_F32, {2, 2}, 0};
const Binding kLabels = {"labels", MPC_DTYPE_I64, {2}, 0};

npz::Arrays threeSamples() {
  return {makeArray<float>("pairs", "float32", {3, 2}, {0, 1, 10, 11, 20, 21}),
          makeArray<int64_t>("labels", "int64", {3}, {5, 6, 7})};
}

/// What binding `arrays` to `inputs` throws; "" if nothing.
std::string failure(npz::Arrays arrays, std::vector<Binding> inputs) {
  std::vector<std::string> notes;
  try {
    Dataset data("d.npz", std::move(arrays), inputs, notes);
  } catch (const Failure &error) {
    EXPECT_EQ(error.exitCode, Usage);
    return error.what();
  }
  return "";
}

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

TEST(Dataset, ConvertsWithANote) {
  std::vector<std::string> notes;
  Dataset data("d.npz",
               {makeArray<double>("pairs", "float64", {2, 2}, {.5, 1, 2, 3}),
                makeArray<int32_t>("labels", "int32", {2}, {-100, 9})},
               {kPairs, kLabels}, notes);
  const std::vector<mpc_tensor_t> &batch = data.gather({0, 1});
  EXPECT_EQ(valuesOf<float>(batch[0]), (std::vector<float>{.5, 1, 2, 3}));
  EXPECT_EQ(valuesOf<int64_t>(batch[1]), (std::vector<int64_t>{-100, 9}));
  EXPECT_EQ(notes,
            (std::vector<std::string>{
                "d.npz: array 'pairs' is converted from float64 to float32",
                "d.npz: array 'labels' is converted from int32 to int64"}));
}

TEST(Dataset, NarrowsIntegersThatFit) {
  std::vector<std::string> notes;
  const Binding tokens = {"tokens", MPC_DTYPE_I32, {2}, 0};
  constexpr int64_t most = 2147483647;
  Dataset data("d.npz",
               {makeArray<int64_t>("tokens", "int64", {2}, {-most - 1, most})},
               {tokens}, notes);
  EXPECT_EQ(valuesOf<int32_t>(data.gather({0, 1})[0]),
            (std::vector<int32_t>{-2147483647 - 1, 2147483647}));
  EXPECT_EQ(notes,
            (std::vector<std::string>{
                "d.npz: array 'tokens' is converted from int64 to int32"}));
  EXPECT_EQ(failure({makeArray<int64_t>("tokens", "int64", {2}, {0, most + 1})},
                    {tokens}),
            "d.npz: array 'tokens' must be i32[N], but is int64[2] and holds "
            "2147483648, which int32 cannot hold exactly");
}

TEST(Dataset, RefusesOtherTypes) {
  npz::Arrays arrays = {makeArray<float>("labels", "float32", {2}, {0, 1})};
  EXPECT_EQ(failure(arrays, {kLabels}),
            "d.npz: array 'labels' must be i64[N], but is float32[2]; convert "
            "it, for example with .astype('int64')");
  // What rounding makes of large integers has to be meant.
  EXPECT_EQ(failure({makeArray<int64_t>("pairs", "int64", {1, 2},
                                        {1 << 24, (1 << 24) + 1})},
                    {kPairs}),
            "d.npz: array 'pairs' must be f32[N,2], but is int64[1,2] and "
            "holds 16777217, which float32 cannot hold exactly");
  const Binding mask = {"mask", MPC_DTYPE_BOOL, {2}, 0};
  EXPECT_NE(failure({makeArray<uint8_t>("mask", "uint8", {2}, {1, 2})}, {mask})
                .find("holds 2, which bool cannot hold"),
            std::string::npos);
}

/// What 'pairs' becomes of these values.
template <typename T>
std::vector<float> asFloats(const char *type, const std::vector<T> &values,
                            std::vector<std::string> &notes) {
  notes.clear();
  Dataset data("d.npz", {makeArray<T>("pairs", type, {1, 2}, values)},
               {{"pairs", MPC_DTYPE_F32, {1, 2}, 0}}, notes);
  return valuesOf<float>(data.gather({0})[0]);
}

TEST(Dataset, TakesNumbersOfEveryTypeAsFloats) {
  std::vector<std::string> notes;
  using Floats = std::vector<float>;
  const std::string said = "d.npz: array 'pairs' is converted from ";
  EXPECT_EQ(asFloats<uint8_t>("uint8", {0, 255}, notes), (Floats{0, 255}));
  EXPECT_EQ(notes, (std::vector<std::string>{
                       said + "uint8 to float32; its values, 0 to 255, are "
                              "not scaled"}));
  EXPECT_EQ(asFloats<int16_t>("int16", {-3, 7}, notes), (Floats{-3, 7}));
  EXPECT_NE(notes.at(0).find("-3 to 7"), std::string::npos);
  // Of labels that are 0 and 1 nothing needs scaling.
  EXPECT_EQ(asFloats<int64_t>("int64", {0, 1}, notes), (Floats{0, 1}));
  EXPECT_EQ(notes, (std::vector<std::string>{said + "int64 to float32"}));
  EXPECT_EQ(asFloats<uint8_t>("bool", {1, 0}, notes), (Floats{1, 0}));
  EXPECT_EQ(notes, (std::vector<std::string>{said + "bool to float32"}));
  // 1.5, the smallest subnormal; infinity, and the largest number below 0.
  EXPECT_EQ(asFloats<uint16_t>("float16", {0x3e00, 0x0001}, notes),
            (Floats{1.5f, 5.9604645e-08f}));
  EXPECT_EQ(asFloats<uint16_t>("float16", {0x7c00, 0xfbff}, notes),
            (Floats{INFINITY, -65504}));
  EXPECT_EQ(notes, (std::vector<std::string>{said + "float16 to float32"}));
}

TEST(Dataset, TakesSmallIntegersAsLabels) {
  std::vector<std::string> notes;
  Dataset data("d.npz", {makeArray<uint8_t>("labels", "uint8", {2}, {3, 9})},
               {kLabels}, notes);
  EXPECT_EQ(valuesOf<int64_t>(data.gather({0, 1})[0]),
            (std::vector<int64_t>{3, 9}));
  EXPECT_EQ(notes,
            (std::vector<std::string>{
                "d.npz: array 'labels' is converted from uint8 to int64"}));
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
      "; .squeeze(-1) makes it so");
  EXPECT_EQ(remedyOf(makeArray<float>("labels", "float32", {1, 3}, {0, 1, 0}),
                     classes),
            "; if it is one-hot, .argmax(-1) makes numbers of classes of it");
  EXPECT_EQ(
      remedyOf(makeArray<float>("labels", "float32", {1, 2}, {0, 1}), classes),
      "");
  Binding targets = {"targets", MPC_DTYPE_F32, {2, 1}, 0};
  EXPECT_EQ(
      remedyOf(makeArray<float>("targets", "float32", {2}, {0, 1}), targets),
      "; .reshape(-1, 1) makes it so");
  EXPECT_EQ(
      remedyOf(makeArray<float>("targets", "float32", {2, 2}, {0, 1, 2, 3}),
               targets),
      "");
}

TEST(Dataset, KnowsTheOtherNameOfWhatALossComparesWith) {
  EXPECT_EQ(failure(threeSamples(), {{"targets", MPC_DTYPE_F32, {2, 1}, 0}}),
            "d.npz: has no array 'targets', which the model takes as f32[2,1]; "
            "it has 'labels', but what the loss of this model compares with "
            "are numbers: call it 'targets' if it holds these");
  npz::Arrays arrays = {makeArray<int64_t>("targets", "int64", {2}, {0, 1})};
  EXPECT_EQ(failure(arrays, {kLabels}),
            "d.npz: has no array 'labels', which the model takes as i64[2]; it "
            "has 'targets', but what the loss of this model compares with are "
            "classes: call it 'labels' if it holds these");
}

TEST(Dataset, NamesMissingArrays) {
  EXPECT_EQ(failure(threeSamples(), {{"pears", MPC_DTYPE_F32, {2, 2}, 0}}),
            "d.npz: has no array 'pears', which the model takes as f32[2,2]; "
            "did you mean 'pairs'?");
  EXPECT_EQ(failure(threeSamples(), {{"tokens", MPC_DTYPE_I64, {2}, 0}}),
            "d.npz: has no array 'tokens', which the model takes as i64[2]; it "
            "has 'pairs' and 'labels'");
}

TEST(Dataset, RefusesOtherShapes) {
  EXPECT_EQ(failure(threeSamples(), {{"pairs", MPC_DTYPE_F32, {2, 3}, 0}}),
            "d.npz: array 'pairs' must be f32[N,3], but is float32[3,2]");
  EXPECT_EQ(failure(threeSamples(), {{"labels", MPC_DTYPE_I64, {2, 1}, 0}}),
            "d.npz: array 'labels' must be i64[N,1], but is int64[3]; "
            ".reshape(-1, 1) makes it so");
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
            "d.npz: labels[2] is 10, but must lie in [0, 10) or be -1, which "
            "the loss ignores");
  EXPECT_EQ(failure({makeArray<int32_t>("labels", "int32", {2, 3},
                                        {0, 1, 2, 3, -2, 11})},
                    {ranged(MPC_DTYPE_I32, {2, 3})}),
            "d.npz: labels[1,1] is -2, but must lie in [0, 10) or be -1, which "
            "the loss ignores; so must 1 other value");
  EXPECT_EQ(failure({makeArray<uint8_t>("mask", "bool", {2}, {1, 2})},
                    {{"mask", MPC_DTYPE_BOOL, {2}, 0}}),
            "d.npz: mask[1] is 2, but must lie in [0, 2)");
  EXPECT_EQ(failure({makeArray<int64_t>("labels", "int64", {2}, {0, 9})},
                    {ranged(MPC_DTYPE_I64, {2})}),
            "");
}

TEST(Dataset, RefusesLabelsThatAllDoNotCount) {
  EXPECT_EQ(failure({makeArray<int64_t>("labels", "int64", {3}, {-1, -1, -1})},
                    {ranged(MPC_DTYPE_I64, {2})}),
            "d.npz: no label counts: every value of 'labels' is -1, which the "
            "loss ignores");
}

TEST(Dataset, ExplainsBatchesWithoutLabels) {
  std::vector<std::string> notes;
  // Labels of four samples lie in the columns.
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
            "in the data pairs[1,1] of d.npz is nan: repair such samples, or "
            "leave them out");
  EXPECT_EQ(data.explainNonFinite({2, 0}),
            "in the data halves[1,2] of d.npz is nan: repair such samples, or "
            "leave them out");
}

TEST(Predictions, KeepsOnlyRealSamples) {
  Predictions predictions({{"y", MPC_DTYPE_F32, {2, 2}, 0}}, 2, 3);
  float *batch = static_cast<float *>(predictions.tensors()[0].data);
  std::iota(batch, batch + 4, 0.0f);
  predictions.store(0, 2);
  std::iota(batch, batch + 4, 10.0f);
  predictions.store(2, 1);
  npz::Arrays arrays = predictions.take();
  EXPECT_EQ(npz::typeText(arrays[0]), "float32[3,2]");
  std::vector<float> values(6);
  std::memcpy(values.data(), arrays[0].data.data(), arrays[0].data.size());
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 3, 10, 11}));
}

TEST(Predictions, PutsSamplesIntoTheirDimension) {
  Predictions predictions({{"y", MPC_DTYPE_I32, {2, 2}, 1}}, 2, 3);
  int32_t *batch = static_cast<int32_t *>(predictions.tensors()[0].data);
  std::iota(batch, batch + 4, 0);
  predictions.store(0, 2);
  std::iota(batch, batch + 4, 10);
  predictions.store(2, 1);
  std::vector<int32_t> values(6);
  npz::Arrays arrays = predictions.take();
  std::memcpy(values.data(), arrays[0].data.data(), arrays[0].data.size());
  EXPECT_EQ(values, (std::vector<int32_t>{0, 1, 10, 2, 3, 12}));
}

TEST(ConvertArray, NumPyHasNamesForWhatItHas) {
  EXPECT_EQ(numpyName(MPC_DTYPE_F16), "float16");
  EXPECT_EQ(numpyName(MPC_DTYPE_U8), "uint8");
  EXPECT_EQ(numpyName(MPC_DTYPE_BF16), "");
  EXPECT_EQ(numpyName(MPC_DTYPE_F8E4M3), "");
}

TEST(Predictions, WidensBf16) {
  Predictions predictions({{"y", MPC_DTYPE_BF16, {1}, 0}}, 1, 1);
  uint16_t half = 0x3fc0; // 1.5
  std::memcpy(predictions.tensors()[0].data, &half, 2);
  predictions.store(0, 1);
  npz::Arrays arrays = predictions.take();
  EXPECT_EQ(npz::typeText(arrays[0]), "float32[1]");
  float value;
  std::memcpy(&value, arrays[0].data.data(), 4);
  EXPECT_EQ(value, 1.5f);
}

TEST(Predictions, SayForWhatThereIsNoMemory) {
  // More than a machine addresses, and more than a vector holds.
  for (int64_t extent : {int64_t(1) << 59, int64_t(1) << 61})
    try {
      Predictions({{"y", MPC_DTYPE_F32, {1, extent}, 0}}, 1, 1);
      FAIL() << extent << " numbers have room";
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.exitCode, Limit);
      EXPECT_EQ(failure.what(), "cannot allocate " +
                                    formatBytes(4 * uint64_t(extent)) +
                                    " for a batch of 'y'");
    }
}

TEST(Predictions, RefusesOneOutputForSeveralBatches) {
  EXPECT_THROW(Predictions({{"mean", MPC_DTYPE_F32, {}, -1}}, 2, 3), Failure);
  Predictions fine({{"mean", MPC_DTYPE_F32, {}, -1}}, 2, 2);
}

} // namespace
