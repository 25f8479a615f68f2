//===- sources.cpp - What kernels are tested on ---------------------------===//

#include "test/codegen/sources.h"

using namespace mpc::test;

namespace {

using Shapes = std::vector<std::pair<int64_t, int64_t>>;
using Types = std::vector<const char *>;

/// Functions of the train dialect in which {T} is a type, {N} and {M} are
/// extents, and {K} is 2 M + 3. Inputs are in [low, high].
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
    // Rows and columns of whole vectors, of every width; the last source also
    // rounds.
    {"TransposedVectors",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<3x{N}x{M}x{T}>, %z: tensor<{N}x{M}xf32>, %b: tensor<{M}x1xf32>) -> (tensor<{M}x{N}x{T}>, tensor<3x{M}x{N}x{T}>, tensor<{M}x{N}xbf16>) {
        %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{N}x{T}>
        %1 = train.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<3x{N}x{M}x{T}>) -> tensor<3x{M}x{N}x{T}>
        %2 = train.transpose %z {permutation = array<i64: 1, 0>} : (tensor<{N}x{M}xf32>) -> tensor<{M}x{N}xf32>
        %3 = train.mul %2, %b : (tensor<{M}x{N}xf32>, tensor<{M}x1xf32>) -> tensor<{M}x{N}xf32>
        %4 = amp.cast %3 : tensor<{M}x{N}xf32> to tensor<{M}x{N}xbf16>
        return %0, %1, %4 : tensor<{M}x{N}x{T}>, tensor<3x{M}x{N}x{T}>, tensor<{M}x{N}xbf16>
      })",
     {"f32", "bf16", "f64"},
     {{64, 64}, {48, 80}, {16, 8}, {20, 36}, {130, 66}}},
    {"SlicesAndConcats", R"(
      func.func @f(%x: tensor<5x40x{T}>, %y: tensor<{N}x{M}x{T}>, %z: tensor<{N}x3x{T}>) -> (tensor<3x17x{T}>, tensor<{N}x{K}x{T}>) {
        %0 = train.slice %x {offsets = array<i64: 1, 7>} : (tensor<5x40x{T}>) -> tensor<3x17x{T}>
        %1 = train.neg %0 : (tensor<3x17x{T}>) -> tensor<3x17x{T}>
        %2 = train.concat %y, %z, %y {axis = 1 : i64} : (tensor<{N}x{M}x{T}>, tensor<{N}x3x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{K}x{T}>
        return %1, %2 : tensor<3x17x{T}>, tensor<{N}x{K}x{T}>
      })",
     kAllTypes, kShapes},
    // Equal parts share a kernel, which also sums them if they are large.
    {"EqualParts",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<{N}x{M}x{T}>, %z: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{M}x3x{T}>, tensor<{N}x3x{M}x{T}>, tensor<3x{M}x{T}>) {
        %0 = train.reshape %x : (tensor<{N}x{M}x{T}>) -> tensor<{N}x1x{M}x{T}>
        %1 = train.reshape %y : (tensor<{N}x{M}x{T}>) -> tensor<{N}x1x{M}x{T}>
        %2 = train.neg %z : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %3 = train.reshape %2 : (tensor<{N}x{M}x{T}>) -> tensor<{N}x1x{M}x{T}>
        %4 = train.concat %0, %1, %3 {axis = 1 : i64} : (tensor<{N}x1x{M}x{T}>, tensor<{N}x1x{M}x{T}>, tensor<{N}x1x{M}x{T}>) -> tensor<{N}x3x{M}x{T}>
        %5 = train.reduce_sum %4 {axes = array<i64: 0>} : (tensor<{N}x3x{M}x{T}>) -> tensor<3x{M}x{T}>
        %6 = train.reshape %x : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x1x{T}>
        %7 = train.reshape %y : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x1x{T}>
        %8 = train.concat %6, %7, %6 {axis = 2 : i64} : (tensor<{N}x{M}x1x{T}>, tensor<{N}x{M}x1x{T}>, tensor<{N}x{M}x1x{T}>) -> tensor<{N}x{M}x3x{T}>
        return %8, %4, %5 : tensor<{N}x{M}x3x{T}>, tensor<{N}x3x{M}x{T}>, tensor<3x{M}x{T}>
      })",
     kTwoTypes,
     {{1, 1}, {1, 17}, {33, 1}, {7, 3}, {13, 10}, {130, 64}, {1025, 130}},
     -1,
     1},
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
    // On a GPU, in blocks with a shorter last one: 16411, 65537 and 1009 are
    // prime.
    {"SumsOfManyRows",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>) -> (tensor<{T}>, tensor<f32>) {
        %0 = train.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{T}>
        %1 = train.global_norm %x : (tensor<{N}x{M}x{T}>) -> tensor<f32>
        return %0, %1 : tensor<{T}>, tensor<f32>
      })",
     {"f32"},
     {{16411, 5}},
     -0.01,
     0.01},
    {"LongSums",
     R"(
      func.func @f(%x: tensor<{N}x{T}>, %y: tensor<3x{N}x{T}>) -> (tensor<{T}>, tensor<3x{T}>) {
        %0 = train.mul %x, %x : (tensor<{N}x{T}>, tensor<{N}x{T}>) -> tensor<{N}x{T}>
        %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<{N}x{T}>) -> tensor<{T}>
        %2 = train.reduce_max %y {axes = array<i64: 1>} : (tensor<3x{N}x{T}>) -> tensor<3x{T}>
        return %1, %2 : tensor<{T}>, tensor<3x{T}>
      })",
     kTwoTypes,
     {{65537, 0}},
     -0.01,
     0.01},
    {"SumsDownManyRows",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %y: tensor<2x{N}x{M}x{T}>, %s: tensor<{M}x{T}>) -> (tensor<{M}x{T}>, tensor<{M}x{T}>, tensor<{N}x{M}x{T}>) {
        %0 = train.mul %x, %s : (tensor<{N}x{M}x{T}>, tensor<{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{T}>
        %2 = train.reduce_max %y {axes = array<i64: 0, 1>} : (tensor<2x{N}x{M}x{T}>) -> tensor<{M}x{T}>
        return %1, %2, %0 : tensor<{M}x{T}>, tensor<{M}x{T}>, tensor<{N}x{M}x{T}>
      })",
     kTwoTypes,
     {{1009, 67}},
     -0.01,
     0.01},
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
    // Two sums of a row, one after the other, of a value that is also stored.
    {"KeptLogits",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %b: tensor<{M}x{T}>, %l: tensor<{N}xi64>) -> (tensor<f32>, tensor<{N}x{M}x{T}>) {
        %0 = train.add %x, %b : (tensor<{N}x{M}x{T}>, tensor<{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %1 = train.softmax_cross_entropy %0, %l {reduction = #train<reduction mean>} : (tensor<{N}x{M}x{T}>, tensor<{N}xi64>) -> tensor<f32>
        return %1, %0 : tensor<f32>, tensor<{N}x{M}x{T}>
      })",
     kTwoTypes,
     {{7, 3}, {13, 10}, {5, 33}, {3, 1000}, {130, 64}}},
    {"KeptOfTwoSums", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %c: tensor<{N}x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{T}>, tensor<{N}x{T}>) {
        %0 = train.neg %x : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %1 = train.reduce_max %0 {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{T}>
        %2 = train.mul %1, %c : (tensor<{N}x{T}>, tensor<{N}x{T}>) -> tensor<{N}x{T}>
        %3 = train.reshape %2 : (tensor<{N}x{T}>) -> tensor<{N}x1x{T}>
        %4 = train.mul %0, %3 : (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x{M}x{T}>
        %5 = train.reduce_max %4 {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{T}>
        return %0, %5, %2 : tensor<{N}x{M}x{T}>, tensor<{N}x{T}>, tensor<{N}x{T}>
      })",
     kTwoTypes, kShapes},
    // Columns and numbers, where one result overwrites an operand that another
    // result also reads.
    {"KeptColumns", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %a: tensor<{M}x{T}>, %s: tensor<{T}>) -> (tensor<{N}x{T}>, tensor<{M}x{T}>, tensor<{M}x{T}>, tensor<{T}>, tensor<{T}>) {
        %0 = train.reduce_max %x {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}x{T}>
        %1 = train.reduce_max %x {axes = array<i64: 1>} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{T}>
        %2 = train.reduce_max %1 {axes = array<i64: 0>} : (tensor<{N}x{T}>) -> tensor<{T}>
        %3 = train.neg %a : (tensor<{M}x{T}>) -> tensor<{M}x{T}>
        %4 = train.relu %0 : (tensor<{M}x{T}>) -> tensor<{M}x{T}>
        %5 = train.mul %3, %0 : (tensor<{M}x{T}>, tensor<{M}x{T}>) -> tensor<{M}x{T}>
        %6 = train.neg %s : (tensor<{T}>) -> tensor<{T}>
        %7 = train.relu %2 : (tensor<{T}>) -> tensor<{T}>
        %8 = train.mul %6, %2 : (tensor<{T}>, tensor<{T}>) -> tensor<{T}>
        return %1, %4, %5, %7, %8 : tensor<{N}x{T}>, tensor<{M}x{T}>, tensor<{M}x{T}>, tensor<{T}>, tensor<{T}>
      })",
     kTwoTypes, kShapes},
    // Numbers per row that change and that whole rows read.
    {"KeptRowNumbers", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %c: tensor<{N}x1x{T}>, %d: tensor<{N}x1x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>) {
        %0 = train.neg %c : (tensor<{N}x1x{T}>) -> tensor<{N}x1x{T}>
        %1 = train.mul %x, %0 : (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x{M}x{T}>
        %2 = train.add %d, %d : (tensor<{N}x1x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x1x{T}>
        %3 = train.add %1, %2 : (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x{M}x{T}>
        return %3, %2 : tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>
      })",
     kTwoTypes, kShapes},
    {"KeptRowNumbersOfSums", R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %c: tensor<{N}x1x{T}>, %d: tensor<{N}x1x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>, tensor<{N}x1x{T}>) {
        %0 = train.neg %c : (tensor<{N}x1x{T}>) -> tensor<{N}x1x{T}>
        %1 = train.mul %x, %0 : (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x{M}x{T}>
        %2 = train.add %d, %d : (tensor<{N}x1x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x1x{T}>
        %3 = train.add %1, %2 : (tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>) -> tensor<{N}x{M}x{T}>
        %4 = train.reduce_max %3 {axes = array<i64: 1>, keepdims} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x1x{T}>
        return %3, %2, %4 : tensor<{N}x{M}x{T}>, tensor<{N}x1x{T}>, tensor<{N}x1x{T}>
      })",
     kTwoTypes, kShapes},
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
     {{9, 10}, {5, 4096}, {2, 33001}, {1, 40000}}},
    // Rows shared by several warps of a GPU, and rows too long to keep in
    // registers.
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
    // Sums that are computed in two or more steps.
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
    // Complete and incomplete square tiles of a transpose.
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
    // Phases of a row with kept values, and column sums in the same walk, which
    // are added to others.
    {"LayerNorm",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %s: tensor<{M}xf32>, %b: tensor<{M}xf32>, %old: tensor<{M}xf32>) -> (tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>, tensor<{M}xf32>) {
        %0, %m, %i = train.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<{N}x{M}x{T}>, tensor<{M}xf32>, tensor<{M}xf32>) -> (tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>)
        %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<{N}x{M}x{T}>) -> tensor<{M}xf32>
        %2 = train.add %old, %1 : (tensor<{M}xf32>, tensor<{M}xf32>) -> tensor<{M}xf32>
        return %0, %m, %i, %2 : tensor<{N}x{M}x{T}>, tensor<{N}xf32>, tensor<{N}xf32>, tensor<{M}xf32>
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
    // Reads at positions from data, together with elements in order.
    {"ComputedReads",
     R"(
      func.func @f(%t: tensor<5x{M}x{T}>, %i: tensor<{N}xi64>, %j: tensor<{N}x{M}xi32>, %x: tensor<{N}x{M}x{T}>) -> (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}x{M}xi64>) {
        %0 = train.gather %t, %i : (tensor<5x{M}x{T}>, tensor<{N}xi64>) -> tensor<{N}x{M}x{T}>
        %1 = train.add %0, %x : (tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}x{T}>
        %2 = train.slice %t {offsets = array<i64: 0, 0>} : (tensor<5x{M}x{T}>) -> tensor<5x1x{T}>
        %3 = train.reshape %2 : (tensor<5x1x{T}>) -> tensor<5x{T}>
        %4 = train.gather %3, %j : (tensor<5x{T}>, tensor<{N}x{M}xi32>) -> tensor<{N}x{M}x{T}>
        %5 = train.flat_index %j {axes = array<i64: 1>, extents = array<i64: {N}, 3>} : (tensor<{N}x{M}xi32>) -> tensor<{N}x{M}xi64>
        return %1, %4, %5 : tensor<{N}x{M}x{T}>, tensor<{N}x{M}x{T}>, tensor<{N}x{M}xi64>
      })",
     kAllTypes, kShapes},
    {"Resampled",
     R"(
      func.func @f(%x: tensor<{N}x3x{M}x{T}>, %y: tensor<{M}x{N}x3x{T}>) -> (tensor<{N}x4x{M}x{T}>, tensor<{M}x{N}x4x{T}>, tensor<{M}x{N}x4x{T}>) {
        %p = train.constant dense<[[0, 1], [2, -1], [1, 1], [-1, -1]]> : tensor<4x2xi64> : tensor<4x2xi64>
        %w = train.constant dense<[[0.5, 0.25], [2.0, 1.0], [1.0, -1.0], [3.0, 4.0]]> : tensor<4x2xf32> : tensor<4x2xf32>
        %q = train.constant dense<[[2], [0], [-1], [1]]> : tensor<4x1xi64> : tensor<4x1xi64>
        %0 = train.resample %x, %p, %w {axis = 1 : i64} : (tensor<{N}x3x{M}x{T}>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<{N}x4x{M}x{T}>
        %1 = train.resample %y, %p, %w {axis = 2 : i64} : (tensor<{M}x{N}x3x{T}>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<{M}x{N}x4x{T}>
        %2 = train.resample %y, %q {axis = 2 : i64} : (tensor<{M}x{N}x3x{T}>, tensor<4x1xi64>) -> tensor<{M}x{N}x4x{T}>
        return %0, %1, %2 : tensor<{N}x4x{M}x{T}>, tensor<{M}x{N}x4x{T}>, tensor<{M}x{N}x4x{T}>
      })",
     kTwoTypes, kShapes},
    {"CumulativeSums",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>, %i: tensor<{N}x{M}xi32>) -> (tensor<{N}x{M}xf32>, tensor<{N}x{M}xf32>, tensor<{N}x{M}xi32>) {
        %0 = train.cumsum %x {axis = 1 : i64} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}xf32>
        %1 = train.cumsum %x {axis = 0 : i64, exclusive, reverse} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}xf32>
        %2 = train.cumsum %i {axis = 1 : i64, reverse} : (tensor<{N}x{M}xi32>) -> tensor<{N}x{M}xi32>
        return %0, %1, %2 : tensor<{N}x{M}xf32>, tensor<{N}x{M}xf32>, tensor<{N}x{M}xi32>
      })",
     {"f32"},
     {{1, 1}, {33, 1}, {7, 3}, {5, 33}, {2, 300}, {70, 5}},
     -1,
     1},
    {"Order",
     R"(
      func.func @f(%x: tensor<{N}x{M}x{T}>) -> (tensor<{N}xi64>, tensor<{M}xi64>, tensor<{N}x{M}xi64>, tensor<1x{M}xi64>) {
        %0 = train.arg_extreme %x {axis = 1 : i64, last} : (tensor<{N}x{M}x{T}>) -> tensor<{N}xi64>
        %1 = train.arg_extreme %x {axis = 0 : i64, smallest} : (tensor<{N}x{M}x{T}>) -> tensor<{M}xi64>
        %2 = train.top_indices %x {axis = 1 : i64, k = {M} : i64} : (tensor<{N}x{M}x{T}>) -> tensor<{N}x{M}xi64>
        %3 = train.top_indices %x {axis = 0 : i64, k = 1 : i64, smallest} : (tensor<{N}x{M}x{T}>) -> tensor<1x{M}xi64>
        return %0, %1, %2, %3 : tensor<{N}xi64>, tensor<{M}xi64>, tensor<{N}x{M}xi64>, tensor<1x{M}xi64>
      })",
     {"f32", "f64"},
     {{1, 1}, {1, 17}, {33, 1}, {7, 3}, {13, 10}, {5, 33}}},
    {"Windows",
     R"(
      func.func @f(%x: tensor<{N}x2x7x{M}x{T}>) -> (tensor<{N}x2x3x1x4x{M}x{T}>, tensor<{N}x2x7x{M}x{T}>) {
        %0 = train.unfold %x {kernel_shape = array<i64: 3, 1>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 0>, padding = -2.0 : f64} : (tensor<{N}x2x7x{M}x{T}>) -> tensor<{N}x2x3x1x4x{M}x{T}>
        %1 = train.fold %0 {image_shape = array<i64: {N}, 2, 7, {M}>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 0>} : (tensor<{N}x2x3x1x4x{M}x{T}>) -> tensor<{N}x2x7x{M}x{T}>
        return %0, %1 : tensor<{N}x2x3x1x4x{M}x{T}>, tensor<{N}x2x7x{M}x{T}>
      })",
     kTwoTypes,
     {{1, 1}, {1, 17}, {7, 3}, {2, 33}}},
    {"Integers",
     R"(
      func.func @f(%a: tensor<{N}x{M}xi32>, %b: tensor<{M}xi32>) -> (tensor<{N}x{M}xi32>, tensor<{N}x{M}xi32>, tensor<{N}xi32>, tensor<{M}xi32>) {
        %0 = train.integer %a, %b {kind = #train<integer_operation div>} : (tensor<{N}x{M}xi32>, tensor<{M}xi32>) -> tensor<{N}x{M}xi32>
        %1 = train.integer %a, %b {kind = #train<integer_operation mod>} : (tensor<{N}x{M}xi32>, tensor<{M}xi32>) -> tensor<{N}x{M}xi32>
        %2 = train.reduce_by %a {axes = array<i64: 1>, kind = #train<integer_operation max>} : (tensor<{N}x{M}xi32>) -> tensor<{N}xi32>
        %3 = train.reduce_by %a {axes = array<i64: 0>, kind = #train<integer_operation add>} : (tensor<{N}x{M}xi32>) -> tensor<{M}xi32>
        return %0, %1, %2, %3 : tensor<{N}x{M}xi32>, tensor<{N}x{M}xi32>, tensor<{N}xi32>, tensor<{M}xi32>
      })",
     {"f32"},
     kShapes},
    {"ScatterReductions",
     R"(
      func.func @f(%x: tensor<5x{M}x{T}>, %i: tensor<{N}xi64>, %u: tensor<{N}x{M}x{T}>, %y: tensor<4xi32>, %v: tensor<{N}xi32>) -> (tensor<5x{M}x{T}>, tensor<5x{M}x{T}>, tensor<4xi32>) {
        %0 = train.scatter_reduce %x, %i, %u {kind = #train<integer_operation max>} : (tensor<5x{M}x{T}>, tensor<{N}xi64>, tensor<{N}x{M}x{T}>) -> tensor<5x{M}x{T}>
        %1 = train.scatter_reduce %x, %i, %u {kind = #train<integer_operation mul>} : (tensor<5x{M}x{T}>, tensor<{N}xi64>, tensor<{N}x{M}x{T}>) -> tensor<5x{M}x{T}>
        %2 = train.scatter_reduce %y, %i, %v {kind = #train<integer_operation add>} : (tensor<4xi32>, tensor<{N}xi64>, tensor<{N}xi32>) -> tensor<4xi32>
        return %0, %1, %2 : tensor<5x{M}x{T}>, tensor<5x{M}x{T}>, tensor<4xi32>
      })",
     kTwoTypes,
     {{1, 1}, {1, 17}, {33, 1}, {7, 3}, {13, 33}}},
    {"LastIndices",
     R"(
      func.func @f(%i: tensor<{N}xi64>, %s: tensor<i64>, %c: tensor<i64>) -> (tensor<4xi64>, tensor<{M}xf32>, tensor<{M}xf32>) {
        %0 = train.last_index %i {rows = 4 : i64} : (tensor<{N}xi64>) -> tensor<4xi64>
        %1 = train.random %s, %c {shape = array<i64: {M}>, index = 2 : i64} : (tensor<i64>, tensor<i64>) -> tensor<{M}xf32>
        %2 = train.random %s, %c {shape = array<i64: {M}>, index = 2 : i64, normal} : (tensor<i64>, tensor<i64>) -> tensor<{M}xf32>
        return %0, %1, %2 : tensor<4xi64>, tensor<{M}xf32>, tensor<{M}xf32>
      })",
     {"f32"},
     kShapes},
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
