//===- VerifyFusion.cpp - Verify the IR after fusion ----------------------===//
//
// Implements mpc-verify-fusion. Reports all faults, not only the first.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Catalog/Catalog.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "passes/Fusion/Passes.h"
#include "passes/StageFaults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYFUSIONPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Whether `op` is a view that is not lowered further.
static bool isFinalView(Operation &op) {
  return train::isView(&op) && !isa<train::LinalgLoweringOpInterface>(op);
}

namespace {

struct VerifyFusionPass : mpc::impl::VerifyFusionPassBase<VerifyFusionPass>,
                          StageFaults {
  using Base::Base;

  void runOnOperation() override {
    available.clear();
    StringRef(features).split(available, ',');
    SymbolTable table(getOperation());
    symbols = &table;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func->hasAttr(kKernelAttr))
        verifyKernel(func);
      else
        verifyFunction(func);
    }
    if (failed)
      signalPassFailure();
  }

private:
  void verifyFunction(func::FuncOp func) {
    for (Operation &op : func.getBody().front()) {
      StringRef name = op.getName().getStringRef();
      if (auto call = dyn_cast<func::CallOp>(op)) {
        verifyCall(call);
      } else if (auto kernel = dyn_cast<train::KernelOpInterface>(op)) {
        verifyCatalogCall(kernel);
      } else if (isa<arith::ConstantOp>(op)) {
        fail(op.getLoc(), "mpc-lower-to-linalg",
             "a constant must be inside a kernel");
      } else if (isa<linalg::LinalgDialect>(op.getDialect()) ||
                 isa<tensor::EmptyOp>(op)) {
        fail(op.getLoc(), "mpc-fuse-kernels",
             "'" + name + "' must be inside a kernel");
      } else if (!isFinalView(op) && !isa<func::ReturnOp>(op) &&
                 !op.hasTrait<train::AccessesStates>()) {
        fail(op.getLoc(), "mpc-lower-to-linalg",
             "'" + name + "' is neither a kernel nor access to memory");
      }
    }
  }

  void verifyCall(func::CallOp call) {
    auto callee = symbols->lookup<func::FuncOp>(call.getCallee());
    if (!callee || !callee->hasAttr(kKernelAttr))
      fail(call.getLoc(), "mpc-fuse-kernels",
           "calls '" + call.getCallee() + "', which is not a kernel");
  }

  void verifyCatalogCall(train::KernelOpInterface kernel) {
    for (Type type : kernel->getOperandTypes()) {
      auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
      if (element && element.getWidth() == 8 &&
          !device->computesIn(kernel.getKernelName(), element, available)) {
        std::string name;
        llvm::raw_string_ostream(name) << element;
        return fail(kernel.getLoc(), "mpc-legalize-kernel-types",
                    "'" + kernel.getKernelName() + "' does not read " + name +
                        " on " + device->name());
      }
    }
  }

  void verifyKernel(func::FuncOp kernel) {
    for (Operation &op : kernel.getBody().front())
      if (!isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp,
               tensor::CollapseShapeOp, tensor::ExpandShapeOp,
               arith::ConstantOp, func::ReturnOp>(op))
        return fail(op.getLoc(), "mpc-fuse-kernels",
                    "'" + op.getName().getStringRef() +
                        "' cannot be part of a kernel");
    SmallVector<linalg::GenericOp> ops(kernel.getOps<linalg::GenericOp>());
    std::string reason;
    if (!analyzeKernel(ops, &reason))
      fail(kernel.getLoc(), "mpc-fuse-kernels",
           "the ops of '" + kernel.getName() +
               "' have no common domain: " + reason);
  }

  SymbolTable *symbols = nullptr;   ///< The module's, during a run.
  SmallVector<StringRef> available; ///< Features of the device.
};

} // namespace
