//===- sources.cpp - What kernels are tested on ---------------------------===//

#include "test/codegen/sources.h"

using namespace mpc::test;

namespace {

using Shapes = std::vector<std::pair<int64_t, int64_t>>;
using Types = std::vector<const char *>;

/// Functions of the train dialect in which {T} is a type, {N} and {M} are
/// extents, and {K} is 2 M + 3. Their inputs lie in [low, high].
struct Source {
  const char *name, *text;
  Types types;
  Shapes shapes;
  double low = -3, high = 3;
};

const Types kAllTypes = {"f32", "bf16", "f16", "f64"};
const Types kTwoTypes = {"f32", "bf16"};
const Shapes kShapes = {{1, 1},   {1, 17}, {33, 1},   {7, 3},
                        {13, 10}, {5, 33}, {3, 1000}, {130, 64}};

const Source kSources[] = {
    {"Elementwise", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %b: tensor<{M}x{T}>, %c: tensor<{N}x1x{T}>, %s: tensor<{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) {
        %0 = train.add %x, %b : (tensor<{N}x{M}x{T}>, tensor<{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %1 = train.mul %0, %c : (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x{M}x{T}>
        %2 = train.sub %1, %s : (tensor<{N}x{M}x{T}>, tensor<{T}>) -> tensor<{N}x{M}x{T}>
        %3 = train.relu %2 : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        return %1, %3 : tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>
      })",
     kAllTypes, kShapes},
    {"LargeFlat",
     R"(
      func.func @f(%x: tensor<{N}x{T}>) -> tensor<{N}x{T}> {
        %0 = train.mul %x, %x : (tensor<{N}x{T}>, tensor<{N}x{T}>) -> tensor<{N}x{T}>
        return %0 : tensor<{N}x{T}>
      })",
     kAllTypes,
     {{4096, 0}, {4097, 0}, {9001, 0}}},
    {"Transposed", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<{M}x{N}x{T}>) -> tensor<{M}x{N}x{T}> {
        %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{N}x{T}>
        %1 = train.add %0, %y : (tensor<{M}x{N}x{T}>, tensor<{M}x{N}x{T}>) -> tensor<{M}x{N}x{T}>
        return %1 : tensor<{M}x{N}x{T}>
      })",
     kAllTypes, kShapes},
    {"SlicesAndConcats", R"(
      func.func @f(%x: tensor<5x40x{T}>, %y: tensor<{N}x{M}x{T}>, %z: tensor<{N}x3x{T}>) -> (tensor<3x17x{T}>, tensor<{N}x{K}x{T}>) {
        %0 = train.slice %x {offsets = array<i64: 1, 7>} : (tensor<5x40x{T}>) -> tensor<3x17x{T}>
        %1 = train.neg %0 : (tensor<3x17x{T}>) -> tensor<3x17x{T}>
        %2 = train.concat %y, %z, %y {axis = 1 : i64} : (tensor<{N}x{M}x{T}>, tensor<{N}x3x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{K}x{T}>
        return %1, %2 : tensor<3x17x{T}>, tensor<{N}x{K}x{T}>
      })",
     kAllTypes, kShapes},
    {"RowSums", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{T}>, tensor<{N}x{T}>) {
        %0 = train.mul %x, %x : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %1 = train.reduce_sum %0 {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{T}>
        %2 = train.reduce_mean %x {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{T}>
        return %1, %2 : tensor<{N}x{T}>, tensor<{N}x{T}>
      })",
     kAllTypes, kShapes, -1, 1},
    {"ColumnSums", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<{N}x{M}x{T}>) -> (tensor<{M}x{T}>, tensor<{M}x{T}>, tensor<{N}x{M}x{T}>) {
        %0 = train.mul %x, %y : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{T}>
        %2 = train.reduce_mean %x {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{T}>
        return %1, %2, %0 : tensor<{M}x{T}>, tensor<{M}x{T}>, tensor<{N}x{M}x{T}>
      })",
     kAllTypes, kShapes, -1, 1},
    {"WholeSums", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<{M}x4x{N}x{T}>) -> (tensor<{T}>, tensor<4x{T}>) {
        %0 = train.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{T}>
        %1 = train.reduce_mean %y {axes = array<i64: 0, 2>} : (tensor<{M}x4x{N}x{T}>) -> tensor<4x{T}>
        return %0, %1 : tensor<{T}>, tensor<4x{T}>
      })",
     kAllTypes, kShapes, -0.01, 0.01},
    {"Softmax", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %g: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) {
        %0 = train.softmax %x {axis = 1 : i64} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %1 = train.log_softmax %x {axis = 1 : i64} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %2 = train.softmax_grad %g, %0 {axis = 1 : i64} : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        return %0, %1, %2 : tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>
      })",
     kAllTypes, kShapes},
    {"LossOfLabels",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %l: tensor<{N}xi64>) -> tensor<f32> {
        %0 = train.softmax_cross_entropy %x, %l {reduction = #train<reduction mean>} : (tensor<{N}x{M}x{T}>, tensor<{N}xi64>) -> tensor<f32>
        return %0 : tensor<f32>
      })",
     kTwoTypes,
     {{7, 3}, {13, 10}, {5, 33}, {3, 1000}, {130, 64}}},
    {"ChosenByABoolean", R"(
      func.func @f(%c: tensor<i1>, %x: tensor<{N}x{M}x{T}>, %y: tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}> {
        %0 = train.select %c, %x, %y : (tensor<i1>, tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        return %0 : tensor<{N}x{M}x{T}>
      })",
     kAllTypes, kShapes},
    {"LossAndItsGradient",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %l: tensor<{N}xi64>, %s: tensor<f32>) -> (tensor<f32>, tensor<{N}x{M}x{T}>) {
        %0 = train.softmax_cross_entropy %x, %l {reduction = #train<reduction mean>} : (tensor<{N}x{M}x{T}>, tensor<{N}xi64>) -> tensor<f32>
        %1 = train.softmax_cross_entropy_grad %s, %x, %l {reduction = #train<reduction mean>} : (tensor<f32>, tensor<{N}x{M}x{T}>, tensor<{N}xi64>) -> tensor<{N}x{M}x{T}>
        return %0, %1 : tensor<f32>, tensor<{N}x{M}x{T}>
      })",
     kTwoTypes,
     {{9, 10}, {5, 4096}}},
    // Rows that several warps of a GPU share, and rows too long to be held.
    {"LongRows",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %g: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}xf32>) {
        %0 = train.softmax %x {axis = 1 : i64} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %1 = train.softmax_grad %g, %0 {axis = 1 : i64} : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %2 = train.reduce_mean %g {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}xf32>
        return %0, %1, %2 : tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}xf32>
      })",
     kTwoTypes,
     {{3, 2048}, {300, 1024}, {2, 9999}, {1, 40000}}},
    // Sums that are done in two steps, and more.
    {"LargeSums",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>) -> (tensor<{M}xf32>, tensor<f32>, tensor<{N}xf32>) {
        %0 = train.reduce_sum %x {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}xf32>
        %1 = train.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<{N}x{M}x{T}>) -> tensor<f32>
        %2 = train.reduce_sum %x {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}xf32>
        return %0, %1, %2 : tensor<{M}xf32>, tensor<f32>, tensor<{N}xf32>
      })",
     kTwoTypes,
     {{2048, 72}, {96, 3000}, {997, 130}, {70000, 2}},
     -0.01,
     0.01},
    // Squares of a transpose that are whole and that are not.
    {"LargeTransposes",
     R"(
      func.func @f(%x: tensor<3x{N}x{M}x{T}>, %y: tensor<3x{M}x{N}x{T}>) -> (tensor<3x{M}x{N}x{T}>, tensor<{M}x3x{N}x{T}>) {
        %0 = train.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<3x{N}x{M}x{T}>) -> tensor<3x{M}x{N}x{T}>
        %1 = train.add %0, %y : (tensor<3x{M}x{N}x{T}>, tensor<3x{M}x{N}x{T}>) -> tensor<3x{M}x{N}x{T}>
        %2 = train.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<3x{N}x{M}x{T}>) -> tensor<{M}x3x{N}x{T}>
        return %1, %2 : tensor<3x{M}x{N}x{T}>, tensor<{M}x3x{N}x{T}>
      })",
     kTwoTypes,
     {{64, 96}, {33, 70}}},
    // Phases of a row with kept values, column sums in the same walk.
    {"LayerNorm",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %s: tensor<{M}xf32>, %b: tensor<{M}xf32>) -> (tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>, tensor<{M}xf32>) {
        %0, %m, %i = train.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<{N}x{M}x{T}>, tensor<{M}xf32>, tensor<{M}xf32>) -> (tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>)
        %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}xf32>
        return %0, %m, %i, %1 : tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>, tensor<{M}xf32>
      })",
     {"f32"},
     {{1, 17},
      {7, 3},
      {13, 10},
      {5, 33},
      {3, 1000},
      {130, 64},
      {6, 512},
      {130, 1024}}},
    {"RmsNorm",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %s: tensor<{M}xf32>, %d: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{M}xf32>) {
        %0, %i = train.rms_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<{N}x{M}x{T}>, tensor<{M}xf32>) -> (tensor<{N}x{M}x{T}>, tensor<{N}xf32>)
        %1, %2 = train.rms_norm_grad %d, %x, %s, %i {axis = 1 : i64} : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{M}xf32>, tensor<{N}xf32>) -> (tensor<{N}x{M}x{T}>, tensor<{M}xf32>)
        return %0, %1, %2 : tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{M}xf32>
      })",
     kTwoTypes,
     {{1, 17}, {7, 3}, {13, 10}, {3, 1000}, {130, 64}, {6, 512}}},
};

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

} // namespace

std::vector<std::string> mpc::test::sourceNames() {
  std::vector<std::string> names;
  for (const Source &source : kSources)
    names.push_back(source.name);
  return names;
}

std::vector<KernelProgram> mpc::test::programsOf(const std::string &name) {
  std::vector<KernelProgram> programs;
  for (const Source &source : kSources)
    if (source.name == name)
      for (const char *type : source.types)
        for (auto [n, m] : source.shapes)
          programs.push_back({name + "-" + type + "-" + std::to_string(n) +
                                  "x" + std::to_string(m),
                              fill(source.text, n, m, type), source.low,
                              source.high});
  return programs;
}
