// Every op, with everything that can be wrong with a node: the importer may
// reject the model, but it must not crash, hang or use excessive memory.

#include "test/compiler/Import/Hostile/mutator.h"
#include "test/compiler/Import/small_models.h"

#include "compiler/Import/Graph/OpTable.h"

#include <set>

using namespace mpc;
using namespace mpc::test;

namespace {

/// The names of all ops.
std::set<std::string> allOps() {
  std::set<std::string> ops;
  forEachOp(
      [&](llvm::StringRef, const OpRow &row) { ops.insert(row.op.str()); });
  return ops;
}

TEST(HostileOps, SurviveEveryMutation) {
  Mutator mutator;
  for (const onnx::ModelProto &model : smallModels())
    mutator.run(model);
  EXPECT_GT(mutator.numModels, 5000u);
  EXPECT_EQ(mutator.ops, allOps());
}

} // namespace
