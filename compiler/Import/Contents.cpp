//===- Contents.cpp - What initializers are by what they hold -------------===//

#include "compiler/Import/Contents.h"

#include "compiler/Import/Elements.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

using namespace mpc;

static bool isNumber(llvm::StringRef text) {
  return !text.empty() && llvm::all_of(text, llvm::isDigit);
}

bool mpc::isExportersValue(llvm::StringRef name) {
  return name.consume_front("val_") && isNumber(name);
}

bool mpc::isExportersTable(llvm::StringRef name) {
  static const llvm::StringSet<> functions = {
      "arange", "cos",  "linspace", "scalar_tensor_default",
      "sin",    "tril", "triu"};
  auto [stem, number] = name.rsplit('_');
  return functions.contains(name) ||
         (isNumber(number) && functions.contains(stem));
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
  // Of a weight already the first numbers are neither.
  size_t size = dataTypeSize(dataType), few = 64 * size;
  TensorBytes begin = data;
  begin.bytes = begin.bytes.take_front(few);
  if (size == 0 || !llvm::all_of(readFloats(begin, dataType), isPart))
    return false;
  std::vector<double> values = readFloats(data, dataType);
  return llvm::all_of(values, isPart) &&
         llvm::any_of(values, [](double value) { return value != 0; });
}

std::optional<llvm::StringRef> mpc::findCopy(const onnx::TensorProto &copy,
                                             const TensorBytes &copyData,
                                             const onnx::TensorProto &original,
                                             const TensorBytes &originalData) {
  llvm::ArrayRef<char> a = copyData.bytes, b = originalData.bytes;
  size_t size = dataTypeSize(copy.data_type());
  if (copy.data_type() != original.data_type() || a.size() != b.size() ||
      size == 0 || isSplat(copyData, size))
    return std::nullopt;
  if (llvm::equal(copy.dims(), original.dims()) && a == b)
    return "";
  if (copy.dims_size() != 2 || original.dims_size() != 2 ||
      copy.dims(0) != original.dims(1) || copy.dims(1) != original.dims(0))
    return std::nullopt;
  size_t rows = copy.dims(0), columns = copy.dims(1);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      if (std::memcmp(a.data() + (row * columns + column) * size,
                      b.data() + (column * rows + row) * size, size) != 0)
        return std::nullopt;
  return " transposed";
}
