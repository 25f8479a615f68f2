//===- UseTrainingForm.cpp - Training form of ops -------------------------===//
//
// Implements mpc-use-training-form. Each op defines its own training form; this
// pass decides where it applies.
//
//===----------------------------------------------------------------------===//

#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

namespace mpc {
#define GEN_PASS_DEF_USETRAININGFORMPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct UseTrainingFormPass
    : mpc::impl::UseTrainingFormPassBase<UseTrainingFormPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    IRRewriter rewriter(&getContext());
    int64_t index = 0; // No two ops of a program draw the same numbers.
    for (auto func : module.getOps<func::FuncOp>()) {
      bool training = train::hasRole(func, EntryRole::Train) ||
                      train::hasRole(func, EntryRole::Initialize);
      SmallVector<train::TrainingFormOpInterface> ops;
      func.walk([&](train::TrainingFormOpInterface op) { ops.push_back(op); });
      for (train::TrainingFormOpInterface op : ops) {
        rewriter.setInsertionPoint(op);
        if (!training)
          op.replaceByInferenceForm(rewriter);
        else if (!op.keepsFormInTraining() &&
                 failed(op.replaceByTrainingForm(rewriter, index++)))
          return signalPassFailure();
      }
      eraseDeadOps(func);
    }
  }
};

} // namespace
