//===- OneHotColumn.cpp - Class numbers as rows of targets ----------------===//

#include "tools/mpc/data/sources/OneHotColumn.h"

#include <algorithm>
#include <cstring>

using namespace mpc::tool;

void OneHotColumn::gather(const SampleBatch &batch, char *to) const {
  const size_t classes = static_cast<size_t>(input.shape[1]);
  std::vector<int64_t> numbers(batch.samples.size());
  original->gather(batch, reinterpret_cast<char *>(numbers.data()));
  std::fill_n(reinterpret_cast<float *>(to), numbers.size() * classes, 0.0f);
  for (size_t i = 0; i < numbers.size(); ++i)
    reinterpret_cast<float *>(to)[i * classes + numbers[i]] = 1;
}

std::unique_ptr<Column> mpc::tool::makeOneHot(const DataSource &source,
                                              const Binding &input) {
  if (input.dtype != MPC_DTYPE_F32 || input.batchDim != 0 ||
      input.shape.size() != 2 || input.shape[1] < 2 || !source.has(input.name))
    return nullptr;
  const npz::ArrayType header = source.header(input.name);
  if (header.shape.size() != 2 || header.shape[1] != 1 ||
      !mayConvert(header.dtype, MPC_DTYPE_I64))
    return nullptr;
  Binding classes = {input.name, MPC_DTYPE_I64, {input.shape[0], 1}, 0};
  classes.range = {0, input.shape[1], std::nullopt};
  return std::make_unique<OneHotColumn>(
      input, std::make_shared<StoredColumn>(classes, source.read(input.name),
                                            Scaling()));
}
