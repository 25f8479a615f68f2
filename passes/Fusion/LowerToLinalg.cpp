//===- LowerToLinalg.cpp - Lower ops to linalg ----------------------------===//
//
// Implements mpc-lower-to-linalg. Each op lowers itself
// (LinalgLoweringOpInterface).
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Dialect/Train/Lowering/Lowering.h"
#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"

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
    SymbolTable table(getOperation());
    symbols = &table;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Operation *> work;
      func.walk([&](Operation *op) { work.push_back(op); });
      for (Operation *op : work)
        if (failed(lower(op)))
          return signalPassFailure();
      materializeConstants(func);
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

  /// A splat becomes part of the code; any other constant becomes a state.
  LogicalResult lowerConstant(train::ConstantOp op) {
    OpBuilder builder(op);
    ElementsAttr value = op.getValue();
    if (value.isSplat() || value.getNumElements() == 1) {
      auto type = cast<RankedTensorType>(value.getShapedType());
      auto splat =
          DenseElementsAttr::get(type, *value.getValues<Attribute>().begin());
      auto constant = arith::ConstantOp::create(builder, op.getLoc(), splat);
      op.replaceAllUsesWith(constant.getResult());
      op.erase();
      return success();
    }
    op.replaceAllUsesWith(store(builder, op.getLoc(), value));
    op.erase();
    return success();
  }

  /// Generated code contains splats; all other users need them in memory. A
  /// value that must outlive the state it views needs memory of its own, too:
  /// states change when the function returns, one after the other.
  void materializeConstants(func::FuncOp func) {
    llvm::StringSet<> written;
    for (auto write : func.getOps<train::WriteOp>())
      written.insert(write.getState());
    DenseMap<Value, Value> copies;
    auto give = [&](Operation *user, OpOperand &operand) {
      Value &copy = copies[operand.get()];
      if (!copy)
        copy = emitCopy(user, operand.get());
      operand.set(copy);
    };
    for (Operation &op : func.getBody().front()) {
      bool isView = isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op);
      if (isView)
        continue;
      if (isa<linalg::LinalgDialect>(op.getDialect())) {
        op.walk([&](tensor::ExtractOp read) {
          if (isConstant(read.getTensor()))
            give(&op, read.getTensorMutable());
        });
        continue;
      }
      for (OpOperand &operand : op.getOpOperands())
        if (isa<RankedTensorType>(operand.get().getType()) &&
            (isConstant(operand.get()) || outlivesStateWrite(operand, written)))
          give(&op, operand);
    }
  }

  static bool isConstant(Value value) {
    Operation *def = memoryRoot(value).getDefiningOp();
    return def && isa<arith::ConstantOp, linalg::FillOp>(def);
  }

  /// Whether the old value of a state is written to another state or returned
  /// while the state itself gets a new value.
  static bool outlivesStateWrite(OpOperand &operand,
                                 const llvm::StringSet<> &written) {
    Operation *user = operand.getOwner();
    if (!train::isOutput(user))
      return false;
    Value root = train::skipViews(operand.get());
    auto read = root.getDefiningOp<train::ReadOp>();
    if (!read || !written.contains(read.getState()))
      return false;
    auto write = dyn_cast<train::WriteOp>(user);
    return !write || write.getState() != read.getState();
  }

  static Value emitCopy(Operation *user, Value value) {
    OpBuilder builder(user);
    return train::emitElementwise(
        builder, user->getLoc(), value.getType(), value,
        [](OpBuilder &, Location, ValueRange elements) {
          return SmallVector<Value>(elements);
        })[0];
  }

  Value store(OpBuilder &builder, Location loc, ElementsAttr value) {
    auto type = cast<RankedTensorType>(value.getShapedType());
    std::string name = ("constant." + llvm::Twine(numConstants++)).str();
    OpBuilder apart(&getContext());
    auto state = train::StateOp::create(
        apart, loc, name, train::StateRole::Constant, type, value);
    // The symbol table renames the new state if a state of the model has its
    // name.
    StringAttr own = symbols->insert(state, getOperation().getBody()->begin());
    return train::ReadOp::create(builder, loc, type, own.getValue());
  }

  SymbolTable *symbols = nullptr; ///< Set while the pass runs.
  unsigned numConstants = 0;
};

} // namespace
