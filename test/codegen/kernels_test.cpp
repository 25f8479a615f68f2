//===- kernels_test.cpp - Every walk, on awkward shapes -------------------===//

#include "test/codegen/harness.h"
#include "test/codegen/sources.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace mpc::test;

namespace {

using Case = std::tuple<std::string, const char *>;

/// On the CPU, and in the GPU simulator.
class Kernels : public ::testing::TestWithParam<Case> {};

TEST_P(Kernels, DoWhatTheirOpsSay) {
  auto [source, device] = GetParam();
  for (const KernelProgram &program : programsOf(source)) {
    SCOPED_TRACE(program.name);
    EXPECT_GE(checkKernels(program.text, program.low, program.high, device),
              1u);
  }
}

/// Replaces placeholders {name} in `text`.
std::string
fill(std::string text,
     std::initializer_list<std::pair<const char *, std::string>> values) {
  for (const auto &[name, value] : values)
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, strlen(name), value);
  return text;
}

// FP8 cannot be an input or output of a program, so these are separate kernels:
// a tensor that is rounded and read in both orders, and one that is transposed.
TEST(KernelsOfFp8, Transpose) {
  const char *const text = R"(
    func.func @f(%x: tensor<1x{N}x{M}xbf16>, %s: tensor<f32>, %y: tensor<3x{N}x{M}x{T}>) -> (tensor<1x{N}x{M}x{T}>, tensor<{M}x{N}x{T}>, tensor<3x{M}x{N}x{T}>) {
      %0 = amp.quantize %x by %s : tensor<1x{N}x{M}xbf16> to tensor<1x{N}x{M}x{T}>
      %1 = train.reshape %0 : (tensor<1x{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
      %2 = train.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{N}x{T}>
      %3 = train.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<3x{N}x{M}x{T}>) -> tensor<3x{M}x{N}x{T}>
      return %0, %2, %3 : tensor<1x{N}x{M}x{T}>, tensor<{M}x{N}x{T}>, tensor<3x{M}x{N}x{T}>
    })";
  const std::pair<int, int> shapes[] = {{32, 64}, {80, 48},  {8, 16},
                                        {7, 16},  {33, 30},  {20, 36},
                                        {64, 64}, {130, 66}, {128, 192}};
  for (const char *type : {"f8E4M3FN", "f8E5M2"})
    for (auto [n, m] : shapes)
      for (const char *device : {"cpu", "cuda", "reference"})
        EXPECT_GE(checkKernels(fill(text, {{"{N}", std::to_string(n)},
                                           {"{M}", std::to_string(m)},
                                           {"{T}", type}}),
                               -3, 3, device),
                  2u);
}

INSTANTIATE_TEST_SUITE_P(Sources, Kernels,
                         ::testing::Combine(::testing::ValuesIn(sourceNames()),
                                            ::testing::Values("cpu", "cuda",
                                                              "reference")),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" +
                                  std::get<1>(info.param);
                         });

} // namespace
