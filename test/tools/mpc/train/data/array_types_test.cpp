// Arrays whose type differs from that of the input.

#include "test/tools/mpc/train/data/arrays.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/Dataset.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mpc;
using namespace mpc::tool;
using namespace mpc::test;

namespace {

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
            "d.npz: array 'tokens' must be int32[N], but is int64[2] and holds "
            "2147483648, which int32 cannot hold exactly");
}

TEST(Dataset, RefusesOtherTypes) {
  npz::Arrays arrays = {makeArray<float>("labels", "float32", {2}, {0, 1})};
  EXPECT_EQ(
      failure(arrays, {kLabels}),
      "d.npz: array 'labels' must be int64[N], but is float32[2]; convert "
      "it, for example with .astype('int64')");
  // Large integers are not rounded implicitly.
  EXPECT_EQ(failure({makeArray<int64_t>("pairs", "int64", {1, 2},
                                        {1 << 24, (1 << 24) + 1})},
                    {kPairs}),
            "d.npz: array 'pairs' must be float32[N,2], but is int64[1,2] and "
            "holds 16777217, which float32 cannot hold exactly");
  const Binding mask = {"mask", MPC_DTYPE_BOOL, {2}, 0};
  EXPECT_NE(failure({makeArray<uint8_t>("mask", "uint8", {2}, {1, 2})}, {mask})
                .find("holds 2, which bool cannot hold"),
            std::string::npos);
}

/// The contents of 'pairs' after converting these values.
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
  EXPECT_EQ(
      notes,
      (std::vector<std::string>{
          said + "uint8 to float32; its values, 0 to 255, are not scaled"}));
  EXPECT_EQ(asFloats<int16_t>("int16", {-3, 7}, notes), (Floats{-3, 7}));
  EXPECT_NE(notes.at(0).find("-3 to 7"), std::string::npos);
  // Labels that are 0 and 1 need no scaling.
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

} // namespace
