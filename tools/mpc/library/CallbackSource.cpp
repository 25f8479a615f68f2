//===- CallbackSource.cpp - Samples that a program reads itself -----------===//

#include "tools/mpc/base/Memory.h"
#include "tools/mpc/data/augment/AugmentedColumn.h"
#include "tools/mpc/library/MemorySources.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace mpc::tool;

static constexpr const char *kCallbackPath = "callbacks";

namespace {
/// Reads samples of all inputs with one call, and keeps them until each input
/// has taken them once.
class CallbackReader {
public:
  CallbackReader(const mpc_dataset_callbacks_t &callbacks,
                 std::vector<Binding> inputs)
      : callbacks(callbacks), inputs(std::move(inputs)),
        buffers(this->inputs.size()), isTaken(this->inputs.size()) {}

  void take(size_t input, const std::vector<uint64_t> &samples, char *to) {
    std::lock_guard<std::mutex> lock(mutex);
    if (samples != read || isTaken[input])
      readSamples(samples);
    isTaken[input] = true;
    std::memcpy(to, buffers[input].data(), buffers[input].size());
  }

  const mpc_dataset_callbacks_t callbacks;
  const std::vector<Binding> inputs;

private:
  void readSamples(const std::vector<uint64_t> &samples) {
    std::vector<std::vector<int64_t>> shapes;
    std::vector<mpc_tensor_t> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      shapes.push_back(inputs[i].shape);
      if (inputs[i].batchDim >= 0)
        shapes[i][inputs[i].batchDim] = static_cast<int64_t>(samples.size());
      uint64_t bytes = mpc_dtype_size(inputs[i].dtype);
      for (int64_t extent : shapes[i])
        bytes *= extent;
      resizeOrThrow(buffers[i], bytes, "a batch of '" + inputs[i].name + "'");
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      tensors.push_back({sizeof(mpc_tensor_t),
                         inputs[i].dtype,
                         static_cast<uint32_t>(shapes[i].size()),
                         shapes[i].data(),
                         buffers[i].data(),
                         {}});
    read.clear(); // Unless the call succeeds.
    check(callbacks.read(callbacks.user, samples.data(), samples.size(),
                         tensors.data(), tensors.size()));
    read = samples;
    isTaken.assign(inputs.size(), false);
  }

  std::mutex mutex;
  std::vector<uint64_t> read;
  std::vector<std::vector<char>> buffers;
  std::vector<bool> isTaken;
};

class CallbackColumn : public Column {
public:
  CallbackColumn(std::shared_ptr<CallbackReader> reader, size_t index)
      : Column(reader->inputs[index]), reader(std::move(reader)), index(index) {
  }

  uint64_t numSamples() const override { return reader->callbacks.num_samples; }
  void gather(const SampleBatch &rows, char *batch) const override {
    reader->take(index, rows.samples, batch);
  }
  bool isSlow() const override { return reader->callbacks.background != 0; }
  std::string fingerprint() const override {
    std::vector<int64_t> shape = input.shape;
    if (input.batchDim >= 0)
      shape[input.batchDim] = static_cast<int64_t>(numSamples());
    return formatType(input.dtype, shape) + " " + kCallbackPath;
  }

private:
  const std::shared_ptr<CallbackReader> reader;
  const size_t index;
};

/// A source of columns only: there are no arrays.
class CallbackSource : public DataSource {
public:
  CallbackSource(const mpc_dataset_callbacks_t &callbacks,
                 const std::vector<Binding> &inputs)
      : DataSource(kCallbackPath),
        reader(std::make_shared<CallbackReader>(callbacks, inputs)) {}

  std::vector<std::string> names() const override { return {}; }
  mpc::npz::ArrayType header(const std::string &name) const override {
    throw Failure(Error, "no array '" + name + "'");
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    throw Failure(Error, "no array '" + name + "'");
  }

  std::unique_ptr<Column>
  makeColumn(const Binding &input, const Scaling &,
             const Augmentation &augmentation) const override {
    const std::vector<Binding> &inputs = reader->inputs;
    auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](const Binding &other) {
          return other.name == input.name;
        });
    if (found == inputs.end())
      throw Failure(
          Usage, path + ": array '" + input.name +
                     "' is not an input of the program; use mpc_dataset_open "
                     "or mpc_dataset_from_arrays for such metrics");
    auto column = std::make_unique<CallbackColumn>(
        reader, static_cast<size_t>(found - inputs.begin()));
    if (!augmentation.changesImages() ||
        findAugmented(augmentation, inputs).name != input.name)
      return column;
    return std::make_unique<AugmentedColumn>(std::move(column), augmentation);
  }

private:
  const std::shared_ptr<CallbackReader> reader;
};
} // namespace

std::unique_ptr<DataSource>
mpc::tool::openCallbacks(const mpc_dataset_callbacks_t &callbacks,
                         const std::vector<Binding> &inputs) {
  return std::make_unique<CallbackSource>(callbacks, inputs);
}
