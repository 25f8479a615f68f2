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
  if (input.name != "targets" || input.dtype != MPC_DTYPE_F32 ||
      input.batchDim != 0 || input.shape.size() != 2 || input.shape[1] < 2 ||
      source.has("targets") || !source.has("labels"))
    return nullptr;
  const npz::ArrayType header = source.header("labels");
  if (header.shape.size() != 1 || !mayConvert(header.dtype, MPC_DTYPE_I64))
    return nullptr;
  Binding labels = {"labels", MPC_DTYPE_I64, {input.shape[0]}, 0};
  labels.range = {0, input.shape[1], std::nullopt};
  return std::make_unique<OneHotColumn>(
      input,
      std::make_shared<StoredColumn>(labels, source.read("labels"), Scaling()));
}
