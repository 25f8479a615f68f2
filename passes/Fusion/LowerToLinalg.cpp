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
      for (auto constant :
           llvm::to_vector(func.getOps<arith::ConstantOp>()))
        storeWhereNeeded(constant);
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
    op.replaceAllUsesWith(store(builder, op.getLoc(), value));
    op.erase();
    return success();
  }

  /// Code can take a repeated value in; results of the function, calls of the
  /// catalog and views of either need memory.
  void storeWhereNeeded(arith::ConstantOp op) {
    auto value = dyn_cast<ElementsAttr>(op.getValue());
    auto isMemory = [](OpOperand &use) {
      return !isa<linalg::GenericOp, linalg::FillOp>(use.getOwner());
    };
    if (!value || llvm::none_of(op->getUses(), isMemory))
      return;
    OpBuilder builder(op);
    Value stored = store(builder, op.getLoc(), value);
    op.getResult().replaceUsesWithIf(stored, isMemory);
  }

  Value store(OpBuilder &builder, Location loc, ElementsAttr value) {
    auto type = cast<RankedTensorType>(value.getShapedType());
    std::string name = ("constant." + llvm::Twine(numConstants++)).str();
    OpBuilder top = OpBuilder::atBlockBegin(getOperation().getBody());
    train::StateOp::create(top, loc, name, train::StateKind::Constant, type,
                           value, ArrayAttr(), FlatSymbolRefAttr());
    return train::ReadOp::create(builder, loc, type, name);
  }

  unsigned numConstants = 0;
};

} // namespace
