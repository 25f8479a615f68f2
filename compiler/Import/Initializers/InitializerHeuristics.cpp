//===- InitializerHeuristics.cpp - Roles of initializers ------------------===//

#include "compiler/Import/Initializers/InitializerHeuristics.h"

#include "compiler/Import/Graph/Elements.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <cstring>

using namespace mpc;

static bool isNumber(llvm::StringRef text) {
  return !text.empty() && llvm::all_of(text, llvm::isDigit);
}

bool mpc::isExportersValue(llvm::StringRef name) {
  return name.consume_front("val_") && isNumber(name);
}

/// Returns true for one of these names, optionally with a number.
static bool isNameOf(const llvm::StringSet<> &functions, llvm::StringRef name) {
  auto [stem, number] = name.rsplit('_');
  return functions.contains(name) ||
         (isNumber(number) && functions.contains(stem));
}

bool mpc::isExportersTable(llvm::StringRef name) {
  static const llvm::StringSet<> functions = {
      "arange", "cos",  "linspace", "scalar_tensor_default",
      "sin",    "tril", "triu"};
  return isNameOf(functions, name);
}

bool mpc::isExporterFillConstant(llvm::StringRef name) {
  static const llvm::StringSet<> functions = {
      "eye",       "full", "full_like", "new_full",  "new_ones",
      "new_zeros", "ones", "zeros",     "ones_like", "zeros_like"};
  return isNameOf(functions, name);
}

bool mpc::isSplat(const TensorBytes &data, size_t size) {
  for (size_t at = size; at + size <= data.bytes.size(); at += size)
    if (std::memcmp(data.bytes.data(), data.bytes.data() + at, size) != 0)
      return false;
  return true;
}

bool mpc::isMask(const TensorBytes &data, int32_t dataType) {
  constexpr double masked = -1e4;
  auto isPart = [](double value) { return value == 0 || value <= masked; };
  // The first numbers of a weight already suffice to reject it.
  size_t size = dataTypeSize(dataType), few = 64 * size;
  TensorBytes begin = data;
  begin.bytes = begin.bytes.take_front(few);
  if (size == 0 || !llvm::all_of(readFloats(begin, dataType), isPart))
    return false;
  std::vector<double> values = readFloats(data, dataType);
  return llvm::all_of(values, isPart) &&
         llvm::any_of(values, [](double value) { return value != 0; });
}

/// Returns true if rows consist of pairs at distance `step` with sin^2 + cos^2
/// = 1.
static bool hasPairs(llvm::ArrayRef<double> values, int64_t columns,
                     int64_t step) {
  auto isPair = [](double a, double b) {
    return std::fabs(a * a + b * b - 1) < 1e-4;
  };
  bool any = false;
  for (; !values.empty(); values = values.drop_front(columns)) {
    llvm::ArrayRef<double> row = values.take_front(columns);
    if (llvm::all_of(row, [](double value) { return value == 0; }))
      continue; // Padding.
    for (int64_t i = 0; i < columns; ++i)
      if (i / step % 2 == 0 && !isPair(row[i], row[i + step]))
        return false;
    any = true;
  }
  return any;
}

/// Returns true if columns are sines or cosines of multiples of an angle: each
/// number is 2 cos(angle) times the previous one minus the one before that.
static bool isSinusoidRecurrence(llvm::ArrayRef<double> values, int64_t rows,
                                 int64_t columns) {
  double first = values[0];
  if (rows < 4 || (first != 0 && first != 1))
    return false;
  bool varies = false;
  for (int64_t column = 0; column < columns; ++column) {
    auto at = [&](int64_t row) { return values[row * columns + column]; };
    if (at(0) != first)
      return false;
    double cosine = first == 1 ? at(1) : at(1) == 0 ? 1 : at(2) / (2 * at(1));
    for (int64_t row = 2; row < rows; ++row)
      if (std::fabs(at(row) - 2 * cosine * at(row - 1) + at(row - 2)) > 1e-3)
        return false;
    varies |= at(1) != at(0);
  }
  return varies;
}

bool mpc::isPositionalTable(const TensorBytes &data,
                            const onnx::TensorProto &tensor) {
  llvm::SmallVector<int64_t> shape;
  for (int64_t extent : tensor.dims())
    if (extent != 1)
      shape.push_back(extent);
  size_t size = dataTypeSize(tensor.data_type());
  if (shape.size() != 2 || shape[0] < 2 || shape[1] < 1 || size == 0)
    return false;
  int64_t rows = shape[0], columns = shape[1];
  auto isSmall = [](double value) { return std::fabs(value) <= 1 + 1e-6; };
  auto isOfPairs = [&](llvm::ArrayRef<double> values) {
    return columns % 2 == 0 && (hasPairs(values, columns, columns / 2) ||
                                hasPairs(values, columns, 1));
  };
  // The first row of a weight already suffices to reject it.
  TensorBytes begin = data;
  begin.bytes = begin.bytes.take_front(size * columns);
  std::vector<double> row = readFloats(begin, tensor.data_type());
  bool isFirst = llvm::all_of(row, [](double v) { return v == 0 || v == 1; });
  if (!isFirst && !isOfPairs(row))
    return false;
  std::vector<double> values = readFloats(data, tensor.data_type());
  return llvm::all_of(values, isSmall) &&
         (isOfPairs(values) || isSinusoidRecurrence(values, rows, columns));
}

/// The extents of a tensor as a matrix; one row if it does not have two
/// dimensions.
static std::pair<int64_t, int64_t> rowsAndColumns(const onnx::TensorProto &of,
                                                  int64_t count) {
  return of.dims_size() == 2 ? std::pair(of.dims(0), of.dims(1))
                             : std::pair(int64_t(1), count);
}

/// A hash that is equal for tensors of equal type, shape and elements. With
/// `isTransposed`, that of the transposed matrix.
static uint64_t keyOf(const onnx::TensorProto &tensor, const TensorBytes &data,
                      bool isTransposed) {
  constexpr int64_t kSamples = 8; // In each dimension.
  size_t size = dataTypeSize(tensor.data_type());
  auto [rows, columns] = rowsAndColumns(tensor, data.bytes.size() / size);
  llvm::SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (isTransposed) {
    std::reverse(shape.begin(), shape.end());
    std::swap(rows, columns);
  }
  uint64_t key = llvm::hash_combine(
      tensor.data_type(), llvm::hash_combine_range(shape.begin(), shape.end()));
  for (int64_t k = 0; k < kSamples * kSamples; ++k) {
    int64_t row = k / kSamples * rows / kSamples;
    int64_t column = k % kSamples * columns / kSamples;
    int64_t at = isTransposed ? column * rows + row : row * columns + column;
    uint64_t element = 0;
    std::memcpy(&element, data.bytes.data() + at * size,
                std::min(size, sizeof(element)));
    key = llvm::hash_combine(key, element);
  }
  return key;
}

static bool isTransposeOf(const onnx::TensorProto &copy,
                          llvm::ArrayRef<char> bytes,
                          const onnx::TensorProto &original,
                          llvm::ArrayRef<char> originalBytes) {
  if (copy.dims_size() != 2 || original.dims_size() != 2 ||
      copy.dims(0) != original.dims(1) || copy.dims(1) != original.dims(0))
    return false;
  size_t size = dataTypeSize(copy.data_type());
  size_t rows = copy.dims(0), columns = copy.dims(1);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      if (std::memcmp(bytes.data() + (row * columns + column) * size,
                      originalBytes.data() + (column * rows + row) * size,
                      size) != 0)
        return false;
  return true;
}

void CopyFinder::add(const onnx::TensorProto &tensor, const TensorBytes &data) {
  size_t size = dataTypeSize(tensor.data_type());
  if (size == 0 || isSplat(data, size))
    return;
  byKey[keyOf(tensor, data, /*isTransposed=*/false)].push_back(entries.size());
  entries.push_back({&tensor, data});
}

std::optional<CopyFinder::Copy>
CopyFinder::find(const onnx::TensorProto &tensor, const TensorBytes &data) {
  size_t size = dataTypeSize(tensor.data_type());
  if (size == 0 || isSplat(data, size))
    return std::nullopt;
  llvm::SmallVector<size_t> candidates;
  for (bool isTransposed : {false, true})
    if (auto found = byKey.find(keyOf(tensor, data, isTransposed));
        found != byKey.end() && (!isTransposed || tensor.dims_size() == 2))
      llvm::append_range(candidates, found->second);
  llvm::sort(candidates);
  for (size_t index : candidates) {
    const Entry &entry = entries[index];
    left -= data.bytes.size();
    if (left < 0)
      return std::nullopt;
    if (entry.tensor->data_type() != tensor.data_type() ||
        entry.data.bytes.size() != data.bytes.size())
      continue;
    if (llvm::equal(tensor.dims(), entry.tensor->dims()) &&
        data.bytes == entry.data.bytes)
      return Copy{entry.tensor, false};
    if (isTransposeOf(tensor, data.bytes, *entry.tensor, entry.data.bytes))
      return Copy{entry.tensor, true};
  }
  return std::nullopt;
}
