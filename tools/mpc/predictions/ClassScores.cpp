//===- ClassScores.cpp - Probabilities and classes of outputs -------------===//

#include "tools/mpc/predictions/ClassScores.h"
#include "tools/mpc/Command.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mpc::tool;

/// Calls `use` with the values of each row along `axis`, and the index of the
/// row. What `use` leaves in the values is stored.
template <typename Value, typename Use>
static void forEachRow(mpc::npz::Array &array, size_t axis, Use use) {
  const uint64_t classes = array.shape[axis];
  uint64_t inner = 1;
  for (size_t i = axis + 1; i < array.shape.size(); ++i)
    inner *= array.shape[i];
  const uint64_t rows = classes == 0 ? 0 : array.count() / classes;
  std::vector<Value> values(classes);
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t first = row / inner * inner * classes + row % inner;
    auto place = [&](uint64_t i) {
      return array.data.data() + (first + i * inner) * sizeof(Value);
    };
    for (uint64_t i = 0; i < classes; ++i)
      std::memcpy(&values[i], place(i), sizeof(Value));
    use(values, row);
    for (uint64_t i = 0; i < classes; ++i)
      std::memcpy(place(i), &values[i], sizeof(Value));
  }
}

/// Calls `use` with a value of the array's type.
template <typename Use>
static void withFloats(const mpc::npz::Array &array, const char *option,
                       Use use) {
  if (array.dtype == "float32")
    return use(float());
  if (array.dtype == "float64")
    return use(double());
  throw Failure(Usage, std::string(option) + ": output '" + array.name +
                           "' is " + array.dtype +
                           "; scores of classes are float32 or float64");
}

void mpc::tool::applySoftmax(npz::Array &array, size_t axis) {
  withFloats(array, "--softmax", [&](auto zero) {
    using Value = decltype(zero);
    forEachRow<Value>(array, axis, [](std::vector<Value> &values, uint64_t) {
      const double highest = *std::max_element(values.begin(), values.end());
      double sum = 0;
      for (Value value : values)
        sum += std::exp(value - highest);
      for (Value &value : values)
        value = static_cast<Value>(std::exp(value - highest) / sum);
    });
  });
}

void mpc::tool::applyArgmax(npz::Array &array, size_t axis) {
  std::vector<int64_t> winners;
  withFloats(array, "--argmax", [&](auto zero) {
    using Value = decltype(zero);
    forEachRow<Value>(array, axis, [&](std::vector<Value> &values, uint64_t) {
      size_t best = 0;
      for (size_t i = 1; i < values.size() && !std::isnan(values[best]); ++i)
        if (values[i] > values[best] || std::isnan(values[i]))
          best = i;
      winners.push_back(static_cast<int64_t>(best));
    });
  });
  array.dtype = "int64";
  array.shape.erase(array.shape.begin() + static_cast<int64_t>(axis));
  array.data.resize(winners.size() * sizeof(int64_t));
  if (!winners.empty())
    std::memcpy(array.data.data(), winners.data(), array.data.size());
}
