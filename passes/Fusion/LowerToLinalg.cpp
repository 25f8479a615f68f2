//===- LowerToLinalg.cpp - Ops that become generated code -----------------===//
//
// Implements mpc-lower-to-linalg. Knows no op: each lowers itself.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mpc {
#define GEN_PASS_DEF_LOWERTOLINALGPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct LowerToLinalgPass : mpc::impl::LowerToLinalgPassBase<LowerToLinalgPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Operation *> work;
      func.walk([&](Operation *op) { work.push_back(op); });
      for (Operation *op : work)
        if (failed(lower(op)))
          return signalPassFailure();
      IRRewriter rewriter(func.getContext());
      (void)runRegionDCE(rewriter, func->getRegions());
    }
  }

  LogicalResult lower(Operation *op) {
    if (auto constant = dyn_cast<train::ConstantOp>(op))
      return lowerConstant(constant);
    auto lowering = dyn_cast<train::LinalgLoweringOpInterface>(op);
    if (!lowering)
      return success();
    OpBuilder builder(op);
    SmallVector<Value> results;
    if (failed(lowering.lowerToLinalg(builder, results)))
      return op->emitOpError("could not be lowered to generated code");
    op->replaceAllUsesWith(results);
    op->erase();
    return success();
  }

  /// A repeated value goes into the code; anything else into memory.
  LogicalResult lowerConstant(train::ConstantOp op) {
    OpBuilder builder(op);
    ElementsAttr value = op.getValue();
    if (value.isSplat() || value.getNumElements() == 1) {
      auto type = cast<RankedTensorType>(value.getShapedType());
      auto splat = DenseElementsAttr::get(
          type, *value.getValues<Attribute>().begin());
      auto constant = arith::ConstantOp::create(builder, op.getLoc(), splat);
      op.replaceAllUsesWith(constant.getResult());
      op.erase();
      return success();
    }
    std::string name = ("constant." + llvm::Twine(numConstants++)).str();
    OpBuilder top = OpBuilder::atBlockBegin(getOperation().getBody());
    train::StateOp::create(top, op.getLoc(), name, train::StateKind::Constant,
                           op.getType(), value, ArrayAttr(),
                           FlatSymbolRefAttr());
    auto read = train::ReadOp::create(builder, op.getLoc(), op.getType(), name);
    op.replaceAllUsesWith(read.getResult());
    op.erase();
    return success();
  }

  unsigned numConstants = 0;
};

} // namespace
