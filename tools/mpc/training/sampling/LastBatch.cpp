//===- LastBatch.cpp - Samples that do not fill a batch -------------------===//

#include "tools/mpc/training/sampling/LastBatch.h"
#include "tools/mpc/metrics/LossFacts.h"

#include <algorithm>

using namespace mpc::tool;

/// Whether `evaluate` returns a loss for each sample: then the loss is a mean
/// over samples, and has no other terms.
static bool isMeanOverSamples(const Program &program) {
  if (!program.has("evaluate") ||
      program.option("loss-parts").rfind("sum", 0) == 0)
    return false;
  const std::vector<Binding> outputs = program.outputs("evaluate");
  return std::any_of(outputs.begin(), outputs.end(), [](const Binding &output) {
    return output.name == "sample_loss";
  });
}

LastBatch::LastBatch(const Program &program,
                     const std::vector<Binding> &inputs) {
  auto find = [&](const std::string &name) {
    return std::find_if(
        inputs.begin(), inputs.end(),
        [&](const Binding &binding) { return binding.name == name; });
  };
  auto found = inputs.end();
  if (program.option("sample-weights") == "yes") {
    found = find("sample_weights");
  } else if (isMeanOverSamples(program)) {
    found = find(LossFacts(program).input);
    if (found != inputs.end() && found->range && found->range->ignored)
      value = double(*found->range->ignored);
    else
      found = inputs.end();
  }
  if (found == inputs.end() || found->batchDim < 0)
    throw Failure(Usage,
                  "--last-batch=train needs a loss that can leave out samples: "
                  "one against labels, such as cross-entropy, or any one that "
                  "was compiled with --sample-weights");
  input = found - inputs.begin();
}

void LastBatch::leaveOutRest(Dataset &data, uint64_t counted) const {
  data.fillRows(input, counted, value);
}
