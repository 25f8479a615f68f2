//===- ShareJoins.cpp - Concatenations that begin with others -------------===//
//
// Implements mpc-share-joins. Operands of concatenations are compared by the
// numbers of their beginnings: two beginnings have one number if and only if
// they are equal, so each concatenation takes time linear in its operands.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Fusion/Passes.h"

#include "llvm/ADT/DenseMap.h"

#include <tuple>

namespace mpc {
#define GEN_PASS_DEF_SHAREJOINSPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct ShareJoinsPass : mpc::impl::ShareJoinsPassBase<ShareJoinsPass> {
  using Base::Base;

  void runOnOperation() override {
    // A beginning is numbered by its last operand and the number of what
    // precedes it. Number 0 is empty.
    llvm::DenseMap<std::pair<unsigned, Value>, unsigned> numbers;
    // The first concatenation of a beginning, by dimension and element type.
    using Key = std::tuple<unsigned, int64_t, Type>;
    llvm::DenseMap<Key, Value> joined;
    for (Operation &op : getOperation().front()) {
      auto join = dyn_cast<train::JoinOpInterface>(op);
      if (!join || op.getNumOperands() < 2)
        continue;
      Type element = getElementTypeOrSelf(op.getResult(0));
      Value shared;
      unsigned number = 0, length = 0;
      for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
        auto next = std::pair(number, operand);
        number = numbers.try_emplace(next, numbers.size() + 1).first->second;
        Value found = joined.lookup({number, join.getJoinAxis(), element});
        if (i > 0 && found) {
          shared = found;
          length = i + 1;
        }
      }
      joined.try_emplace({number, join.getJoinAxis(), element},
                         op.getResult(0));
      if (!shared || length == op.getNumOperands())
        continue; // CSE removes equal ones.
      SmallVector<Value> operands = {shared};
      llvm::append_range(operands, op.getOperands().drop_front(length));
      op.setOperands(operands);
    }
  }
};

} // namespace
