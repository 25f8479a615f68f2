//===- pad_classes_test.cpp - Classifiers with padded rows ----------------===//
//
// mpc-pad-classes changes no bit of a loss, a metric or a gradient: the padding
// only adds zeros at the end of sums, which the interpreter forms in order.
// Generated kernels ignore the padding, whatever it holds.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "compiler/Reference/Interpreter.h"
#include "passes/Fusion/Passes.h"
#include "test/codegen/harness.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;
using reference::HostTensor;

namespace {

// {T} is the type of operands of products, {R} and {C} are tensors of logits in
// f32 and in {T}, {NARROW} casts the former to the latter, {LOSS} are
// attributes of the loss.
const char kStep[] = R"(
  func.func @f(%x: tensor<64x4x{T}>, %w: tensor<515x4x{T}>, %b: tensor<515xf32>, %l: tensor<64xi64>, %s: tensor<f32>) -> (tensor<f32>, tensor<64xf32>, tensor<64x4x{T}>, tensor<515x4xf32>, tensor<515xf32>) {
    %0 = train.matmul %x, %w {transpose_rhs} : (tensor<64x4x{T}>, tensor<515x4x{T}>) -> {R}
    %y = train.add %0, %b : ({R}, tensor<515xf32>) -> {R}
    %loss = train.softmax_cross_entropy %y, %l {{LOSS}, ignore_index = -100 : i64} : ({R}, tensor<64xi64>) -> tensor<f32>
    %ok = train.is_correct %y, %l : ({R}, tensor<64xi64>) -> tensor<64xf32>
    %g = train.softmax_cross_entropy_grad %s, %y, %l {{LOSS}, ignore_index = -100 : i64} : (tensor<f32>, {R}, tensor<64xi64>) -> {R}
    %d = {NARROW} %g : {R} to {C}
    %dx = train.matmul %d, %w : ({C}, tensor<515x4x{T}>) -> tensor<64x4x{T}>
    %dw = train.matmul %d, %x {transpose_lhs, weight_gradient} : ({C}, tensor<64x4x{T}>) -> tensor<515x4xf32>
    %db = train.reduce_sum %g {axes = array<i64: 0>} : ({R}) -> tensor<515xf32>
    return %loss, %ok, %dx, %dw, %db : tensor<f32>, tensor<64xf32>, tensor<64x4x{T}>, tensor<515x4xf32>, tensor<515xf32>
  })";

constexpr int64_t kRows = 64, kDepth = 4, kClasses = 515;

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  for (size_t at; (at = text.find(from)) != std::string::npos;)
    text.replace(at, from.size(), to);
  return text;
}

std::string stepOf(const std::string &type, const std::string &loss) {
  std::string logits = "tensor<64x515xf32>", text = kStep;
  text = replaced(text, "{LOSS}", loss);
  if (type == "f32")
    text = replaced(text, "%d = {NARROW} %g : {R} to {C}",
                    "%d = train.reshape %g : ({R}) -> {R}");
  text = replaced(text, "{NARROW}", "amp.cast");
  text = replaced(text, "{C}", "tensor<64x515x{T}>");
  return replaced(replaced(text, "{R}", logits), "{T}", type);
}

/// A product of two matrices, summed in order.
llvm::Error multiply(train::KernelOpInterface op,
                     ArrayRef<const HostTensor *> operands,
                     MutableArrayRef<HostTensor> results) {
  auto at = [&](unsigned operand, bool transposed, int64_t row,
                int64_t column) {
    const HostTensor &matrix = *operands[operand];
    if (transposed)
      std::swap(row, column);
    return matrix.elements[row * matrix.type.getDimSize(1) + column].real;
  };
  auto product = cast<train::MatmulOp>(op);
  ArrayRef<int64_t> shape = product.getType().getShape();
  int64_t sum = operands[0]->type.getDimSize(product.getTransposeLhs() ? 0 : 1);
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) {
      double total = 0;
      for (int64_t k = 0; k < sum; ++k)
        total += at(0, product.getTransposeLhs(), i, k) *
                 at(1, product.getTransposeRhs(), k, j);
      results[0].elements[i * shape[1] + j].real =
          reference::roundTo(product.getType().getElementType(), total);
    }
  return llvm::Error::success();
}

/// The results of `text`, padded or not, on numbers up to `magnitude`. If that
/// is infinite, one row has no finite logits.
std::vector<HostTensor> run(const std::string &text, bool isPadded,
                            double magnitude) {
  DialectRegistry registry;
  registry.insert<amp::AmpDialect, train::TrainDialect, func::FuncDialect>();
  train::registerAmpLowering(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(bool(module)) << text;
  PassManager manager(&context);
  if (isPadded)
    manager.addNestedPass<func::FuncOp>(
        createPadClassesPass({findBackend("cuda")}));
  manager.addPass(createLowerToLinalgPass());
  EXPECT_TRUE(succeeded(manager.run(*module)));
  std::string lowered;
  llvm::raw_string_ostream(lowered) << *module;
  EXPECT_EQ(lowered.find("576x4") != std::string::npos, isPadded);

  auto func = *module->getOps<func::FuncOp>().begin();
  double scale = std::isinf(magnitude) ? 1 : magnitude;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<HostTensor> arguments;
  for (Type type : func.getArgumentTypes()) {
    HostTensor tensor = HostTensor::zeros(cast<RankedTensorType>(type));
    for (auto [i, element] : llvm::enumerate(tensor.elements))
      if (!tensor.isFloat())
        element.whole = i % 5 == 4 ? -100 : int64_t(i * 509) % kClasses;
      else
        element.real = reference::roundTo(tensor.type.getElementType(),
                                          scale * uniform(random));
    arguments.push_back(std::move(tensor));
  }
  if (std::isinf(magnitude))
    arguments[0].elements[kDepth * (kRows - 1)].real = magnitude;
  auto results =
      reference::Interpreter(multiply).run(func, std::move(arguments));
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  // Types belong to the context.
  for (HostTensor &tensor : *results)
    tensor.type = {};
  return std::move(*results);
}

struct LossCase {
  const char *type, *attributes;
  double magnitude;
};

class PadClasses : public ::testing::TestWithParam<LossCase> {};

TEST_P(PadClasses, KeepsEveryBit) {
  const double magnitude = GetParam().magnitude;
  std::string text = stepOf(GetParam().type, GetParam().attributes);
  std::vector<HostTensor> expected = run(text, false, magnitude);
  std::vector<HostTensor> found = run(text, true, magnitude);
  ASSERT_EQ(found.size(), 5u);
  ASSERT_EQ(expected.size(), 5u);
  size_t numbers = 0;
  for (size_t result = 0; result < found.size(); ++result) {
    SCOPED_TRACE("result " + std::to_string(result));
    ASSERT_EQ(found[result].elements.size(), expected[result].elements.size());
    for (auto [i, want] : llvm::enumerate(expected[result].elements)) {
      double got = found[result].elements[i].real;
      if (std::isnan(want.real)) {
        EXPECT_TRUE(std::isnan(got)) << "element " << i;
        continue;
      }
      ++numbers;
      EXPECT_EQ(got, want.real) << "element " << i;
    }
  }
  // An infinite row leaves only the metrics and gradients of the other rows.
  EXPECT_GE(numbers, size_t(kRows + (kRows - 1) * kDepth));
  if (std::isfinite(magnitude)) {
    EXPECT_EQ(numbers,
              size_t(1 + kRows + (kRows + kClasses) * kDepth + kClasses));
  }
}

const LossCase kLosses[] = {
    {"f32", "reduction = #train<reduction mean>", INFINITY},
    {"bf16", "reduction = #train<reduction mean>", 1},
    {"f16", "reduction = #train<reduction sum>, label_smoothing = 0.1 : f64",
     100},
};

INSTANTIATE_TEST_SUITE_P(Losses, PadClasses, ::testing::ValuesIn(kLosses),
                         [](const auto &info) { return info.param.type; });

/// The losses, gradients and hits of rows of 30 classes in `columns` columns.
std::vector<Elements> runKernels(const char *device, int64_t columns,
                                 const Elements &x, const Elements &labels) {
  std::string text = R"(
    func.func @f(%x: {X}, %l: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>, {X}, tensor<8xf32>) {
      %s = train.constant dense<1.0> : tensor<8xf32> : tensor<8xf32>
      %0 = train.softmax_cross_entropy %x, %l {classes = 30 : i64, reduction = #train<reduction none>} : ({X}, tensor<8xi64>) -> tensor<8xf32>
      %1 = train.softmax_cross_entropy %x, %l {classes = 30 : i64, label_smoothing = 0.25 : f64, reduction = #train<reduction none>} : ({X}, tensor<8xi64>) -> tensor<8xf32>
      %2 = train.softmax_cross_entropy_grad %s, %x, %l {classes = 30 : i64, label_smoothing = 0.25 : f64, reduction = #train<reduction none>} : (tensor<8xf32>, {X}, tensor<8xi64>) -> {X}
      %3 = train.is_correct %x, %l {classes = 30 : i64} : ({X}, tensor<8xi64>) -> tensor<8xf32>
      return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, {X}, tensor<8xf32>
    })";
  Compiled compiled(
      replaced(text, "{X}", "tensor<8x" + std::to_string(columns) + "xf32>"),
      device);
  EXPECT_EQ(compiled.kernels.size(), 1u);
  return call(compiled.kernels.front(), {x, labels});
}

class PaddedKernels
    : public ::testing::TestWithParam<std::tuple<const char *, double>> {};

TEST_P(PaddedKernels, IgnorePadding) {
  auto [device, magnitude] = GetParam();
  constexpr size_t kWidth = 37, kUsed = 30;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const double extras[] = {NAN, INFINITY, 3e38, -INFINITY};
  Elements padded, plain, labels;
  for (size_t row = 0; row < 8; ++row) {
    for (size_t i = 0; i < kWidth; ++i) {
      padded.push_back(i < kUsed ? float(magnitude * uniform(random))
                                 : extras[(i + row) % 4]);
      if (i < kUsed)
        plain.push_back(padded.back());
    }
    auto begin = plain.end() - kUsed;
    // Every other label is that of the largest score, the last is no class.
    size_t largest = std::max_element(begin, plain.end()) - begin;
    labels.push_back(double(row == 7 ? kUsed : (largest + row % 2) % kUsed));
  }
  auto found = runKernels(device, kWidth, padded, labels);
  auto wanted = runKernels(device, kUsed, plain, labels);
  for (size_t row = 0; row < 8; ++row) {
    SCOPED_TRACE("row " + std::to_string(row));
    auto check = [](double got, double want) {
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got));
      else // Sums are formed in another order.
        EXPECT_NEAR(got, want, 1e-6 * std::max(1.0, std::fabs(want)));
    };
    check(found[0][row], wanted[0][row]);
    check(found[1][row], wanted[1][row]);
    for (size_t i = 0; i < kUsed; ++i)
      check(found[2][row * kWidth + i], wanted[2][row * kUsed + i]);
    for (size_t i = kUsed; i < kWidth; ++i)
      EXPECT_EQ(found[2][row * kWidth + i], 0) << "column " << i;
    EXPECT_EQ(found[3][row], row % 2 == 0 ? 1 : 0);
    EXPECT_EQ(wanted[3][row], row % 2 == 0 ? 1 : 0);
  }
  EXPECT_TRUE(std::isnan(found[0][7]));
}

INSTANTIATE_TEST_SUITE_P(Devices, PaddedKernels,
                         ::testing::Combine(::testing::Values("cpu", "cuda"),
                                            ::testing::Values(1.0, 1e4)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::to_string(info.index);
                         });

} // namespace
