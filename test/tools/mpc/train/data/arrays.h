// Helpers for arrays and inputs that match or do not match.
#ifndef MPC_TEST_TOOLS_MPC_TRAIN_DATA_ARRAYS_H
#define MPC_TEST_TOOLS_MPC_TRAIN_DATA_ARRAYS_H

#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/Dataset.h"

#include <gtest/gtest.h>

namespace mpc::test {

using namespace tool;

template <typename T>
inline npz::Array makeArray(const char *name, const char *dtype,
                            std::vector<int64_t> shape, std::vector<T> values) {
  npz::Array array;
  array.name = name;
  array.dtype = dtype;
  array.shape = std::move(shape);
  const char *bytes = reinterpret_cast<const char *>(values.data());
  array.data.assign(bytes, bytes + values.size() * sizeof(T));
  return array;
}

template <typename T> std::vector<T> valuesOf(const mpc_tensor_t &tensor) {
  size_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    count *= tensor.shape[i];
  const T *data = static_cast<const T *>(tensor.data);
  return std::vector<T>(data, data + count);
}

const Binding kPairs = {"pairs", MPC_DTYPE_F32, {2, 2}, 0};
const Binding kLabels = {"labels", MPC_DTYPE_I64, {2}, 0};

inline npz::Arrays threeSamples() {
  return {makeArray<float>("pairs", "float32", {3, 2}, {0, 1, 10, 11, 20, 21}),
          makeArray<int64_t>("labels", "int64", {3}, {5, 6, 7})};
}

/// The error of binding `arrays` to `inputs`; "" if there is none.
inline std::string failure(npz::Arrays arrays, std::vector<Binding> inputs) {
  std::vector<std::string> notes;
  try {
    Dataset data("d.npz", std::move(arrays), inputs, notes);
  } catch (const Failure &error) {
    EXPECT_EQ(error.exitCode, Usage);
    return error.what();
  }
  return "";
}

} // namespace mpc::test

#endif // MPC_TEST_TOOLS_MPC_TRAIN_DATA_ARRAYS_H
