//===- kernels_test.cpp - Every walk, on awkward shapes -------------------===//

#include "test/codegen/harness.h"

#include "gtest/gtest.h"

using namespace mpc::test;

namespace {

/// Replaces each `{N}`, `{M}`, `{K}` (2 M + 3) and `{T}` in `text`.
std::string fill(std::string text, int64_t n, int64_t m, const char *type) {
  for (auto [name, value] :
       {std::pair<const char *, std::string>{"{N}", std::to_string(n)},
        {"{M}", std::to_string(m)},
        {"{K}", std::to_string(2 * m + 3)},
        {"{T}", type}})
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, 3, value);
  return text;
}

const char *const kTypes[] = {"f32", "bf16", "f16", "f64"};
const std::pair<int64_t, int64_t> kShapes[] = {
    {1, 1}, {1, 17}, {33, 1}, {7, 3}, {13, 10}, {5, 33}, {3, 1000}, {130, 64}};

/// Every test runs on the CPU and, in the simulator, as on a GPU.
class Kernels : public ::testing::TestWithParam<mpc::DeviceKind> {
protected:
  static size_t check(const std::string &text, double low = -3,
                      double high = 3) {
    return checkKernels(text, low, high, GetParam());
  }

  static void checkAll(const char *text, double low = -3, double high = 3) {
    for (const char *type : kTypes)
      for (auto [n, m] : kShapes)
        check(fill(text, n, m, type), low, high);
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, Kernels,
                         ::testing::Values(mpc::DeviceKind::Cpu,
                                           mpc::DeviceKind::Cuda),
                         [](const auto &info) {
                           return mpc::nameOf(info.param).str();
                         });

TEST_P(Kernels, Elementwise) {
  checkAll(R"(
    func.func @f(%x: tensor<{N}x{M}x{T}>, %b: tensor<{M}x{T}>, %c: tensor<{N}x1x{T}>, %s: tensor<{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) {
      %0 = train.add %x, %b : (tensor<{N}x{M}x{T}>, tensor<{M}x{T}>) -> tensor<{N}x{M}x{T}>
      %1 = train.mul %0, %c : (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x{M}x{T}>
      %2 = train.sub %1, %s : (tensor<{N}x{M}x{T}>, tensor<{T}>) -> tensor<{N}x{M}x{T}>
      %3 = train.relu %2 : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
      return %1, %3 : tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>
    })");
}

TEST_P(Kernels, LargeFlat) {
  for (const char *type : kTypes)
    for (int64_t n : {4096, 4097, 9001})
      check(fill(R"(
        func.func @f(%x: tensor<{N}x{T}>) -> tensor<{N}x{T}> {
          %0 = train.mul %x, %x : (tensor<{N}x{T}>, tensor<{N}x{T}>) -> tensor<{N}x{T}>
          return %0 : tensor<{N}x{T}>
        })",
                 n, 0, type));
}

TEST_P(Kernels, Transposed) {
  checkAll(R"(
    func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<{M}x{N}x{T}>) -> tensor<{M}x{N}x{T}> {
      %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{N}x{T}>
      %1 = train.add %0, %y : (tensor<{M}x{N}x{T}>, tensor<{M}x{N}x{T}>) -> tensor<{M}x{N}x{T}>
      return %1 : tensor<{M}x{N}x{T}>
    })");
}

TEST_P(Kernels, SlicesAndConcats) {
  for (const char *type : kTypes)
    for (auto [n, m] : kShapes)
      check(fill(R"(
        func.func @f(%x: tensor<5x40x{T}>, %y: tensor<{N}x{M}x{T}>, %z: tensor<{N}x3x{T}>) -> (tensor<3x17x{T}>, tensor<{N}x{K}x{T}>) {
          %0 = train.slice %x {offsets = array<i64: 1, 7>} : (tensor<5x40x{T}>) -> tensor<3x17x{T}>
          %1 = train.neg %0 : (tensor<3x17x{T}>) -> tensor<3x17x{T}>
          %2 = train.concat %y, %z, %y {axis = 1 : i64} : (tensor<{N}x{M}x{T}>, tensor<{N}x3x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{K}x{T}>
          return %1, %2 : tensor<3x17x{T}>, tensor<{N}x{K}x{T}>
        })",
                 n, m, type));
}

TEST_P(Kernels, RowSums) {
  checkAll(R"(
    func.func @f(%x: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{T}>, tensor<{N}x{T}>) {
      %0 = train.mul %x, %x : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
      %1 = train.reduce_sum %0 {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{T}>
      %2 = train.reduce_mean %x {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{T}>
      return %1, %2 : tensor<{N}x{T}>, tensor<{N}x{T}>
    })",
           -1, 1);
}

TEST_P(Kernels, ColumnSums) {
  checkAll(R"(
    func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<{N}x{M}x{T}>) -> (tensor<{M}x{T}>, tensor<{M}x{T}>, tensor<{N}x{M}x{T}>) {
      %0 = train.mul %x, %y : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
      %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{T}>
      %2 = train.reduce_mean %x {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{T}>
      return %1, %2, %0 : tensor<{M}x{T}>, tensor<{M}x{T}>, tensor<{N}x{M}x{T}>
    })",
           -1, 1);
}

TEST_P(Kernels, WholeSums) {
  checkAll(R"(
    func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<{M}x4x{N}x{T}>) -> (tensor<{T}>, tensor<4x{T}>) {
      %0 = train.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{T}>
      %1 = train.reduce_mean %y {axes = array<i64: 0, 2>} : (tensor<{M}x4x{N}x{T}>) -> tensor<4x{T}>
      return %0, %1 : tensor<{T}>, tensor<4x{T}>
    })",
           -0.01, 0.01);
}

TEST_P(Kernels, Softmax) {
  checkAll(R"(
    func.func @f(%x: tensor<{N}x{M}x{T}>, %g: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) {
      %0 = train.softmax %x {axis = 1 : i64} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
      %1 = train.log_softmax %x {axis = 1 : i64} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
      %2 = train.softmax_grad %g, %0 {axis = 1 : i64} : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
      return %0, %1, %2 : tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>
    })");
}

TEST_P(Kernels, LossOfLabels) {
  for (const char *type : {"f32", "bf16"})
    for (auto [n, m] : kShapes)
      if (m > 2)
        check(fill(R"(
          func.func @f(%x: tensor<{N}x{M}x{T}>, %l: tensor<{N}xi64>) -> tensor<f32> {
            %0 = train.softmax_cross_entropy %x, %l {reduction = #train<reduction mean>} : (tensor<{N}x{M}x{T}>, tensor<{N}xi64>) -> tensor<f32>
            return %0 : tensor<f32>
          })",
                   n, m, type));
}

TEST_P(Kernels, ChosenByABoolean) {
  checkAll(R"(
    func.func @f(%c: tensor<i1>, %x: tensor<{N}x{M}x{T}>, %y: tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}> {
      %0 = train.select %c, %x, %y : (tensor<i1>, tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
      return %0 : tensor<{N}x{M}x{T}>
    })");
}

TEST_P(Kernels, LossAndItsGradient) {
  for (const char *type : {"f32", "bf16"})
    for (auto [n, m] : {std::pair<int64_t, int64_t>{9, 10}, {5, 4096}})
      check(fill(R"(
        func.func @f(%x: tensor<{N}x{M}x{T}>, %l: tensor<{N}xi64>, %s: tensor<f32>) -> (tensor<f32>, tensor<{N}x{M}x{T}>) {
          %0 = train.softmax_cross_entropy %x, %l {reduction = #train<reduction mean>} : (tensor<{N}x{M}x{T}>, tensor<{N}xi64>) -> tensor<f32>
          %1 = train.softmax_cross_entropy_grad %s, %x, %l {reduction = #train<reduction mean>} : (tensor<f32>, tensor<{N}x{M}x{T}>, tensor<{N}xi64>) -> tensor<{N}x{M}x{T}>
          return %0, %1 : tensor<f32>, tensor<{N}x{M}x{T}>
        })",
                 n, m, type));
}

/// Rows that several warps share, and rows too long to be held.
TEST_P(Kernels, LongRows) {
  for (const char *type : {"f32", "bf16"})
    for (auto [n, m] : {std::pair<int64_t, int64_t>{3, 2048},
                        {300, 1024},
                        {2, 9999},
                        {1, 40000}})
      check(fill(R"(
        func.func @f(%x: tensor<{N}x{M}x{T}>, %g: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}xf32>) {
          %0 = train.softmax %x {axis = 1 : i64} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
          %1 = train.softmax_grad %g, %0 {axis = 1 : i64} : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
          %2 = train.reduce_mean %g {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}xf32>
          return %0, %1, %2 : tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}xf32>
        })",
                 n, m, type));
}

/// Sums that are done in two steps, and more.
TEST_P(Kernels, LargeSums) {
  for (const char *type : {"f32", "bf16"})
    for (auto [n, m] : {std::pair<int64_t, int64_t>{2048, 72},
                        {96, 3000},
                        {997, 130},
                        {70000, 2}})
      check(fill(R"(
        func.func @f(%x: tensor<{N}x{M}x{T}>) -> (tensor<{M}xf32>, tensor<f32>, tensor<{N}xf32>) {
          %0 = train.reduce_sum %x {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}xf32>
          %1 = train.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<{N}x{M}x{T}>) -> tensor<f32>
          %2 = train.reduce_sum %x {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}xf32>
          return %0, %1, %2 : tensor<{M}xf32>, tensor<f32>, tensor<{N}xf32>
        })",
                 n, m, type),
            -0.01, 0.01);
}

/// Squares of a transpose that are whole and that are not.
TEST_P(Kernels, LargeTransposes) {
  for (const char *type : {"f32", "bf16"})
    for (auto [n, m] : {std::pair<int64_t, int64_t>{64, 96}, {33, 70}})
      check(fill(R"(
        func.func @f(%x: tensor<3x{N}x{M}x{T}>, %y: tensor<3x{M}x{N}x{T}>) -> (tensor<3x{M}x{N}x{T}>, tensor<{M}x3x{N}x{T}>) {
          %0 = train.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<3x{N}x{M}x{T}>) -> tensor<3x{M}x{N}x{T}>
          %1 = train.add %0, %y : (tensor<3x{M}x{N}x{T}>, tensor<3x{M}x{N}x{T}>) -> tensor<3x{M}x{N}x{T}>
          %2 = train.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<3x{N}x{M}x{T}>) -> tensor<{M}x3x{N}x{T}>
          return %1, %2 : tensor<3x{M}x{N}x{T}>, tensor<{M}x3x{N}x{T}>
        })",
                 n, m, type));
}

/// Phases of a row with kept values, column sums in the same walk.
TEST_P(Kernels, LayerNorm) {
  std::vector<std::pair<int64_t, int64_t>> shapes(std::begin(kShapes),
                                                  std::end(kShapes));
  shapes.push_back({6, 512});
  shapes.push_back({130, 1024});
  for (auto [n, m] : shapes)
    if (m > 1)
      check(fill(R"(
        func.func @f(%x: tensor<{N}x{M}x{T}>, %s: tensor<{M}xf32>, %b: tensor<{M}xf32>) -> (tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>, tensor<{M}xf32>) {
          %0, %m, %i = train.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<{N}x{M}x{T}>, tensor<{M}xf32>, tensor<{M}xf32>) -> (tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>)
          %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}xf32>
          return %0, %m, %i, %1 : tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>, tensor<{M}xf32>
        })",
                 n, m, "f32"));
}

} // namespace
