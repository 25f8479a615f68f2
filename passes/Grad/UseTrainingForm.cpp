//===- UseTrainingForm.cpp - BatchNormalization and Dropout in training ---===//
//
// Implements mpc-use-training-form. Which form an op has in training is the
// op's own knowledge; this pass says where training is.
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
    for (auto func : module.getOps<func::FuncOp>()) {
      bool training = func.getName() == "train";
      SmallVector<train::TrainingFormOpInterface> ops;
      func.walk([&](train::TrainingFormOpInterface op) { ops.push_back(op); });
      for (auto [index, op] : llvm::enumerate(ops)) {
        rewriter.setInsertionPoint(op);
        if (!training)
          op.replaceByInferenceForm(rewriter);
        else if (!op.keepsFormInTraining() &&
                 failed(op.replaceByTrainingForm(rewriter, index)))
          return signalPassFailure();
      }
      eraseDeadOps(func);
    }
  }
};

} // namespace
