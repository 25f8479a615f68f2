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

/// A temporary folder for packages, which the destructor removes.
class ScratchFolder {
public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  std::string path;
};

/// Compiles to the file `output`. Throws a Failure if that fails; problems of
/// the model are printed first.
CompileResult compileTo(CompileOptions options, const std::string &output);

/// Throws a Failure if there are not enough samples for a batch.
void checkFillsBatch(const Dataset &data);

/// The samples of each batch of one update.
using Batches = std::vector<std::vector<uint64_t>>;
Batches nextBatches(Sampler &sampler, const Program &program);

/// Updates the weights once; if fp16 skips the update, tries again with the
/// smaller loss scale. Returns false if loss, gradients or weights are not
/// finite.
bool update(Session &session, Dataset &data, const Batches &batches,
            mpc_step_info_t &info);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPARE_VARIANTS_H
