// Recognizing initializers by their contents.

#include "compiler/Import/Initializers/InitializerHeuristics.h"
#include "test/compiler/Import/signature_models.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mpc;
using namespace mpc::test;

namespace {

/// A matrix of `rows` x `columns` distinct numbers.
onnx::TensorProto numbers(int64_t rows, int64_t columns, bool isTransposed) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(isTransposed ? columns : rows);
  tensor.add_dims(isTransposed ? rows : columns);
  for (int64_t i = 0; i < rows * columns; ++i)
    tensor.add_float_data(
        float(isTransposed ? i % rows * columns + i / rows : i));
  return tensor;
}

TensorBytes bytesOf(const onnx::TensorProto &tensor) {
  TensorBytes data;
  data.bytes = {reinterpret_cast<const char *>(tensor.float_data().data()),
                tensor.float_data_size() * sizeof(float)};
  return data;
}

TEST(CopyFinder, FindsTheFirstOfMany) {
  for (auto [rows, columns] : {std::pair(1, 7), {7, 1}, {3, 5}, {40, 33}}) {
    onnx::TensorProto original = numbers(rows, columns, false);
    onnx::TensorProto turned = numbers(rows, columns, true);
    onnx::TensorProto other = original;
    other.set_float_data(other.float_data_size() - 2, -1);
    CopyFinder finder;
    finder.add(other, bytesOf(other));
    EXPECT_FALSE(finder.find(original, bytesOf(original)));
    EXPECT_FALSE(finder.find(turned, bytesOf(turned)));
    finder.add(original, bytesOf(original));
    auto copy = finder.find(turned, bytesOf(turned));
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->original, &original);
    EXPECT_TRUE(copy->isTransposed);
    copy = finder.find(original, bytesOf(original));
    ASSERT_TRUE(copy);
    EXPECT_FALSE(copy->isTransposed);
  }
}

using Table = double (*)(int row, int column);

bool isTable(Table table, int rows = 9, int columns = 6) {
  std::vector<float> values;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      values.push_back(float(table(row, column)));
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int extent : {1, rows, columns})
    tensor.add_dims(extent);
  TensorBytes data;
  data.bytes = {reinterpret_cast<const char *>(values.data()),
                values.size() * sizeof(float)};
  return isPositionalTable(data, tensor);
}

double angle(int row, int pair) { return row * std::pow(10, -pair); }

TEST(TableOfSines, IsFoundInEveryLayout) {
  EXPECT_TRUE(isTable([](int row, int column) { // Sine and cosine alternate.
    double x = angle(row, column / 2);
    return column % 2 ? std::cos(x) : std::sin(x);
  }));
  EXPECT_TRUE(isTable([](int row, int column) { // All sines first.
    double x = angle(row, column % 3);
    return column < 3 ? std::sin(x) : std::cos(x);
  }));
  EXPECT_TRUE(isTable([](int row, int column) { // After a row of padding.
    double x = angle(row, column / 2);
    return row == 0 ? 0 : column % 2 ? std::cos(x) : std::sin(x);
  }));
  EXPECT_TRUE(isTable(
      [](int row, int column) { return std::cos(angle(row, column)); }));
  EXPECT_TRUE(isTable(
      [](int row, int column) { return std::sin(angle(row, column)); }));
}

TEST(TableOfSines, RejectsOtherMatrices) {
  EXPECT_FALSE(isTable([](int, int) { return 0.0; }));
  EXPECT_FALSE(isTable([](int, int) { return 1.0; }));
  EXPECT_FALSE(
      isTable([](int row, int column) { return double(row == column); }));
  EXPECT_FALSE(isTable([](int row, int column) { // A weight.
    return std::sin(12.9898 * row + 78.233 * column * column);
  }));
  EXPECT_FALSE(isTable([](int row, int column) { // Nearly a table.
    double x = angle(row, column / 2);
    return (column % 2 ? std::cos(x) : std::sin(x)) + (row == 5 ? 0.01 : 0);
  }));
  EXPECT_FALSE(isTable(
      [](int row, int column) { return std::cos(angle(row, column)); }, 3));
}

} // namespace
