//===- DeriveTransposes.cpp - Transpose derived weights once --------------===//
//
// Implements mpc-derive-transposes. Which weights a device reads transposed is
// known only after mpc-legalize-kernel-types. The transposes of values that
// mpc-hoist-weight-quantization has moved to @derive by then move there, too.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"
#include "passes/Fusion/Passes.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Precision/HoistWeightQuantization.h"

#include "llvm/ADT/MapVector.h"

namespace mpc {
#define GEN_PASS_DEF_DERIVETRANSPOSESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The value computed in @derive that `transpose` transposes; null if it
/// transposes anything else.
static Value derivedInputOf(train::TransposeOp transpose) {
  Value input = train::skipBarriers(transpose.getInput());
  Value made = derivedFrom(input);
  return made == input ? Value() : made;
}

namespace {

struct DeriveTransposesPass
    : mpc::impl::DeriveTransposesPassBase<DeriveTransposesPass> {
  using Base::Base;

  void runOnOperation() override {
    Program program(getOperation());
    func::FuncOp derive = program.entry(EntryRole::Derive);
    func::FuncOp accumulate = program.entry(EntryRole::Accumulate);
    if (!derive || !accumulate)
      return;
    // Equal transposes, such as those of recomputed ops, are done once.
    using Turned = std::pair<Value, Attribute>;
    llvm::MapVector<Turned, train::TransposeOp> first;
    for (auto transpose : llvm::make_early_inc_range(
             accumulate.front().getOps<train::TransposeOp>())) {
      Value made = derivedInputOf(transpose);
      if (!made)
        continue;
      auto [it, isNew] = first.insert(
          {Turned(made, transpose.getPermutationAttr()), transpose});
      if (isNew)
        continue;
      transpose.getResult().replaceAllUsesWith(it->second.getResult());
      transpose.erase();
    }
    if (!first.empty())
      moveOut(first, accumulate, derive);
  }

private:
  template <typename MapTy>
  static void moveOut(const MapTy &transposes, func::FuncOp accumulate,
                      func::FuncOp derive) {
    OpBuilder builder(getReturn(derive));
    SmallVector<Value> values, made;
    for (auto [turned, transpose] : transposes) {
      values.push_back(transpose.getResult());
      made.push_back(train::TransposeOp::create(
          builder, transpose.getLoc(), turned.first,
          llvm::to_vector(transpose.getPermutation())));
    }
    shareDerived(accumulate, derive, values, made, kFp8TurnedWeightsState);
    for (Value value : values)
      value.getDefiningOp()->erase();
  }
};

} // namespace
