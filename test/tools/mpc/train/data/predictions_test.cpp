// Collecting the outputs of batches.

#include "test/tools/mpc/train/data/arrays.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/predictions/Predictions.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using namespace mpc;
using namespace mpc::tool;
using namespace mpc::test;

namespace {

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

TEST(ConvertArray, NumpyNameIsEmptyForOtherTypes) {
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
  // More than a machine can address, and more than a vector can hold.
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
