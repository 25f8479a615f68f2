// Every op, with everything that can be wrong with a node: the importer may say
// no, it may not crash, hang or take memory out of proportion.

#include "test/compiler/Import/Hostile/mutator.h"
#include "test/compiler/Import/small_models.h"

#include "compiler/Import/Graph/OpTable.h"

#include <set>

using namespace mpc;
using namespace mpc::test;

namespace {

/// All ops that there are.
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
