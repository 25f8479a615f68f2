//===- ZeroMaskedRows.cpp - Rows of softmax that see nothing --------------===//
//
// Implements mpc-zero-masked-rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Ranges.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Graph/Passes.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-zero-masked-rows"

namespace mpc {
#define GEN_PASS_DEF_ZEROMASKEDROWSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct ZeroMaskedRowsPass
    : mpc::impl::ZeroMaskedRowsPassBase<ZeroMaskedRowsPass> {
  using Base::Base;

  void runOnOperation() override {
    ConstantFacts constants;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || func.getOps<train::SoftmaxOp>().empty())
        continue;
      Ranges ranges(func, constants);
      for (auto softmax : func.getOps<train::SoftmaxOp>()) {
        if (!ranges.of(softmax.getInput()).isMasked)
          continue;
        LDBG() << "zeros for masked rows of " << softmax;
        softmax.setZeroEmpty(true);
      }
    }
  }
};

} // namespace
