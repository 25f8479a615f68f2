//===- DecomposeKernels.cpp - Ops whose kernel a device lacks -------------===//
//
// Implements mpc-decompose-kernels from the table in kernels/catalog.def.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Precision/Passes.h"

#include "mlir/IR/TypeUtilities.h"

namespace mpc {
#define GEN_PASS_DEF_DECOMPOSEKERNELSPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct DecomposeKernelsPass
    : mpc::impl::DecomposeKernelsPassBase<DecomposeKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<StringRef> available;
    StringRef(features).split(available, ',');
    SmallVector<train::DecompositionOpInterface> ops;
    getOperation().walk([&](train::DecompositionOpInterface op) {
      auto kernel = dyn_cast<train::KernelOpInterface>(*op);
      Type element = getElementTypeOrSelf(op->getOperand(0).getType());
      if (!kernel ||
          !device->computesIn(kernel.getKernelName(), element, available))
        ops.push_back(op);
    });
    for (train::DecompositionOpInterface op : ops) {
      OpBuilder builder(op);
      SmallVector<Value> results;
      op.decompose(builder, results);
      op->replaceAllUsesWith(results);
      op->erase();
    }
  }
};

} // namespace
