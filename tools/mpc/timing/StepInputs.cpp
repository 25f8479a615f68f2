//===- StepInputs.cpp - The batch of measured steps -----------------------===//

#include "tools/mpc/timing/StepInputs.h"

#include "tools/mpc/base/Text.h"

#include <numeric>

using namespace mpc::tool;

StepInputs::StepInputs(const DataOptions &from,
                       const std::vector<Binding> &inputs) {
  if (from.path.empty()) {
    random.emplace(inputs);
    batch = &random->tensors();
    samples = random->numSamples();
    return;
  }
  data.emplace(from, inputs);
  samples = data->batchSize();
  if (data->numSamples() < samples)
    throw Failure(Usage,
                  from.path + " has " + formatCount(data->numSamples(), "sample") +
                      ", fewer than one batch of " + std::to_string(samples));
  std::vector<uint64_t> first(samples);
  std::iota(first.begin(), first.end(), uint64_t(0));
  batch = &data->gather(first);
}

std::string StepInputs::describe() const {
  return data ? data->path : "random inputs (--data names a file of real ones)";
}
