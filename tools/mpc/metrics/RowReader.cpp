//===- RowReader.cpp - Rows of a batch of predictions ---------------------===//

#include "tools/mpc/metrics/RowReader.h"
#include "tools/mpc/base/Text.h"

#include "runtime/src/base/number.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mpc::tool;

template <typename T> static T load(const void *data, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

double mpc::tool::elementAt(const void *data, mpc_dtype_t dtype,
                            uint64_t index) {
  switch (dtype) {
  case MPC_DTYPE_F64:
    return load<double>(data, index);
  case MPC_DTYPE_F32:
    return load<float>(data, index);
  case MPC_DTYPE_F16:
    return runtime::f32_from_f16(load<uint16_t>(data, index));
  case MPC_DTYPE_BF16:
    return runtime::f32_from_bf16(load<uint16_t>(data, index));
  case MPC_DTYPE_I64:
    return double(load<int64_t>(data, index));
  case MPC_DTYPE_I32:
    return load<int32_t>(data, index);
  default:
    return load<uint8_t>(data, index);
  }
}

static int64_t labelAt(const void *data, mpc_dtype_t dtype, uint64_t index) {
  switch (dtype) {
  case MPC_DTYPE_I64:
    return load<int64_t>(data, index);
  case MPC_DTYPE_I32:
    return load<int32_t>(data, index);
  default:
    return load<uint8_t>(data, index);
  }
}

RowReader::RowReader(const MetricSource &source)
    : source(source), values(source.shape.columns),
      targets(source.shape.columns) {
  const std::vector<int64_t> &shape = source.output.shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != source.axis)
      (i < source.axis ? outer : inner) *= uint64_t(shape[i]);
}

template <typename Use>
void RowReader::forEachRow(uint64_t samples, Use use) const {
  const std::vector<int64_t> &shape = source.output.shape;
  int64_t dim = source.output.batchDim;
  bool isOuter = dim >= 0 && size_t(dim) < source.axis;
  // The elements between the samples, within `outer` or `inner`.
  uint64_t stride = 1;
  size_t end = isOuter ? std::min(source.axis, shape.size()) : shape.size();
  for (size_t i = size_t(dim + 1); dim >= 0 && i < end; ++i)
    stride *= uint64_t(shape[i]);
  // A model may merge samples and positions: a sample then has several rows.
  uint64_t merged = dim < 0 ? 1 : uint64_t(shape[dim]) / source.batch;
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t i = 0; i < inner; ++i) {
      uint64_t sample = dim < 0 ? 0
                                : ((isOuter ? o : i) / stride) %
                                      uint64_t(shape[dim]) /
                                      std::max<uint64_t>(merged, 1);
      if (sample < samples)
        use(o * source.shape.columns * inner + i, o * inner + i, sample);
    }
}

void RowReader::read(const void *predictions, const void *truth,
                     uint64_t samples, uint64_t first,
                     const std::function<void(const Row &)> &use) {
  const MetricShape &shape = source.shape;
  const auto &range = source.truth.range;
  Row row;
  row.values = values.data();
  if (shape.task != Task::Classes)
    row.targets = targets.data();
  forEachRow(samples, [&](uint64_t base, uint64_t number, uint64_t sample) {
    if (shape.task == Task::Classes) {
      int64_t label = labelAt(truth, source.truth.dtype, number);
      if (range && range->ignored == label)
        return;
      row.label = uint64_t(label);
    }
    bool isNan = false;
    for (uint64_t i = 0; i < shape.columns; ++i) {
      uint64_t at = base + i * inner;
      values[i] = elementAt(predictions, source.output.dtype, at);
      isNan |= std::isnan(values[i]);
      if (row.targets)
        targets[i] = elementAt(truth, source.truth.dtype, at);
    }
    if (isNan)
      throw Failure(Numeric,
                    format("output '%s' is nan for sample %llu of the "
                           "evaluation data",
                           source.output.name.c_str(),
                           static_cast<unsigned long long>(first + sample)));
    row.predicted = uint64_t(std::max_element(values.begin(), values.end()) -
                             values.begin());
    use(row);
  });
}

void RowReader::checkTruth(const void *truth, uint64_t samples,
                           uint64_t first) const {
  const MetricShape &shape = source.shape;
  const auto &range = source.truth.range;
  auto fail = [&](const std::string &value, uint64_t sample,
                  const std::string &rule) {
    throw Failure(Usage, format("'%s' is %s for sample %llu; %s",
                                source.truth.name.c_str(), value.c_str(),
                                static_cast<unsigned long long>(first + sample),
                                rule.c_str()));
  };
  if (shape.task == Task::Numbers)
    return;
  forEachRow(samples, [&](uint64_t base, uint64_t number, uint64_t sample) {
    if (shape.task == Task::Classes) {
      int64_t label = labelAt(truth, source.truth.dtype, number);
      if (range && range->ignored == label)
        return;
      if (label < 0 || uint64_t(label) >= shape.columns)
        fail(std::to_string(label), sample,
             format("labels of output '%s' must be in [0, %llu)",
                    source.output.name.c_str(),
                    static_cast<unsigned long long>(shape.columns)));
      return;
    }
    for (uint64_t i = 0; i < shape.columns; ++i) {
      double target = elementAt(truth, source.truth.dtype, base + i * inner);
      if (target != 0 && target != 1)
        fail(format("%g", target), sample,
             "metrics of binary predictions need targets that are 0 or 1; use "
             "metrics of numbers, such as mae, or round the targets");
    }
  });
}
