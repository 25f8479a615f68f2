//===- Predictions.cpp - Collect the outputs of batches -------------------===//

#include "tools/mpc/predictions/Predictions.h"
#include "tools/mpc/base/Memory.h"
#include "tools/mpc/data/ConvertArray.h"

#include <cassert>
#include <cstring>

using namespace mpc::tool;

Predictions::Predictions(const std::vector<Binding> &outputs, uint64_t batch,
                         uint64_t samples)
    : batch(batch), samples(samples) {
  for (const Binding &output : outputs) {
    if (output.batchDim < 0 && samples > batch)
      throw Failure(Usage, "output '" + output.name +
                               "' is one for the whole batch, so only one "
                               "batch can be predicted at a time");
    Column column;
    column.output = output;
    column.innerBytes = mpc_dtype_size(output.dtype);
    uint64_t all = column.innerBytes;
    for (size_t i = 0; i < output.shape.size(); ++i) {
      all *= output.shape[i];
      if (static_cast<int64_t>(i) < output.batchDim)
        column.outer *= output.shape[i];
      else if (static_cast<int64_t>(i) > output.batchDim)
        column.innerBytes *= output.shape[i];
    }
    if (output.batchDim >= 0) {
      // A model may merge samples and positions; a sample then has several
      // rows.
      column.rows = output.shape[output.batchDim] / batch;
      if (column.rows * batch != uint64_t(output.shape[output.batchDim]))
        throw Failure(Damaged, "output '" + output.name +
                                   "' has no whole number of rows for each "
                                   "sample of a batch");
      column.innerBytes *= column.rows;
    }
    resizeOrThrow(column.batch, all, "a batch of '" + output.name + "'");
    resizeOrThrow(column.all, output.batchDim < 0 ? all : all / batch * samples,
                  "the output '" + output.name + "'");
    columns.push_back(std::move(column));
  }
  // Only now, because `columns` must not reallocate any more.
  for (Column &column : columns)
    batchTensors.push_back({sizeof(mpc_tensor_t),
                            column.output.dtype,
                            static_cast<uint32_t>(column.output.shape.size()),
                            column.output.shape.data(),
                            column.batch.data(),
                            {}});
}

void Predictions::store(uint64_t first, uint64_t count) {
  assert(count <= batch && first + count <= samples && "too many samples");
  for (Column &column : columns) {
    if (column.output.batchDim < 0) {
      column.all = column.batch;
      continue;
    }
    for (uint64_t o = 0; o < column.outer; ++o)
      std::memcpy(column.all.data() + (o * samples + first) * column.innerBytes,
                  column.batch.data() + o * batch * column.innerBytes,
                  count * column.innerBytes);
  }
}

/// Converts bf16 to f32, because NumPy has no bf16. A bf16 number is the upper
/// half of the f32 number of the same value.
static std::vector<char> widenBf16(const std::vector<char> &from) {
  std::vector<char> to(2 * from.size());
  for (size_t i = 0; i < from.size(); i += 2)
    std::memcpy(&to[2 * i + 2], &from[i], 2);
  return to;
}

mpc::npz::Arrays Predictions::take() {
  npz::Arrays arrays;
  for (Column &column : columns) {
    npz::Array array;
    array.name = column.output.name;
    const bool isBf16 = column.output.dtype == MPC_DTYPE_BF16;
    array.dtype = numpyName(isBf16 ? MPC_DTYPE_F32 : column.output.dtype);
    array.shape = column.output.shape;
    if (column.output.batchDim >= 0)
      array.shape[column.output.batchDim] = samples * column.rows;
    array.data = isBf16 ? widenBf16(column.all) : std::move(column.all);
    arrays.push_back(std::move(array));
  }
  return arrays;
}
