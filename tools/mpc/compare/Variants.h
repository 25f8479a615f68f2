//===- Variants.h - One model, compiled in several ways ---------*- C++ -*-===//
//
// Shared by commands that compile a model more than once and train the results
// side by side.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_COMPARE_VARIANTS_H
#define MPC_TOOLS_MPC_COMPARE_VARIANTS_H

#include "passes/Driver/Pipeline.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/training/Sampler.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// A folder for packages, which goes away with the object.
class ScratchFolder {
public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  std::string path;
};

/// Compiles to the file `output`; throws a Failure if that fails, or after
/// saying what is wrong with the model.
CompileResult compileTo(CompileOptions options, const std::string &output);

/// Throws a Failure if there are not enough samples for a batch.
void checkFillsBatch(const Dataset &data);

/// The samples of the batches of one update of the weights.
using Batches = std::vector<std::vector<uint64_t>>;
Batches nextBatches(Sampler &sampler, const Program &program);

/// Updates the weights once; where fp16 skips it, again with the smaller scale.
/// False if it cannot be done: loss, gradients or weights are not finite.
bool update(Session &session, Dataset &data, const Batches &batches,
            mpc_step_info_t &info);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_VARIANTS_H
