//===- UseWorkingCopy.cpp - 16-bit weights that nobody casts --------------===//
//
// Implements mpc-use-working-copy. A state beside the FP32 masters holds them
// rounded; whoever writes the masters writes it too, so that forward and
// backward read 16-bit weights without casting any.
//
//===----------------------------------------------------------------------===//

#include "passes/Precision/Passes.h"
#include "passes/Precision/PrecisionFacts.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-use-working-copy"

namespace mpc {
#define GEN_PASS_DEF_USEWORKINGCOPYPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static std::string typeName(FloatType type) {
  return type.isBF16() ? "bf16" : "f16";
}

/// The working copy of `state` in `type`, made if it is not there; null, with
/// an error, if another state has its name.
static train::StateOp getOrCreateCopy(ModuleOp module, train::StateOp state,
                                      FloatType type) {
  std::string name = (state.getSymName() + "." + typeName(type)).str();
  if (Operation *other = module.lookupSymbol(name)) {
    auto copy = dyn_cast<train::StateOp>(other);
    if (copy && copy.getCopyOf() == state.getSymName())
      return copy;
    InFlightDiagnostic error = emitError(state.getLoc())
                               << "the working copy of '" << state.getSymName()
                               << "' must be called '" << name
                               << "', but that name is taken";
    error.attachNote(other->getLoc()) << "by this";
    return nullptr;
  }
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(state);
  auto shape = cast<RankedTensorType>(state.getType()).getShape();
  return train::StateOp::create(
      builder, state.getLoc(), name, train::StateKind::WorkingCopy,
      RankedTensorType::get(shape, type), /*initial_value=*/nullptr,
      /*slots=*/nullptr, FlatSymbolRefAttr::get(state.getSymNameAttr()));
}

/// Replaces `cast`, of a weight, by the same part of the working copy.
static void readCopy(amp::CastOp cast, train::StateOp copy) {
  auto func = cast->getParentOfType<func::FuncOp>();
  Value value = getOrCreateRead(func, copy);
  Operation *weight = cast.getInput().getDefiningOp();
  if (auto unpack = dyn_cast<train::UnpackOp>(weight)) {
    OpBuilder builder(cast);
    value = train::UnpackOp::create(builder, unpack.getLoc(), cast.getType(),
                                    value, unpack.getOffsetAttr());
  }
  LDBG() << "reading " << copy.getSymName() << " for " << cast;
  cast.replaceAllUsesWith(value);
  cast.erase();
  if (isOpTriviallyDead(weight))
    weight->erase();
}

/// Lets every write of the masters write the copy.
static void writeCopy(ModuleOp module, train::StateOp state,
                      train::StateOp copy) {
  SmallVector<train::WriteOp> writes;
  module.walk([&](train::WriteOp write) {
    if (write.getState() == state.getSymName())
      writes.push_back(write);
  });
  for (train::WriteOp write : writes) {
    OpBuilder builder(write);
    builder.setInsertionPointAfter(write);
    Value rounded = amp::CastOp::create(builder, write.getLoc(), copy.getType(),
                                        write.getValue());
    setDecision(rounded.getDefiningOp(), kRuleClass,
                "written by the optimizer");
    train::WriteOp::create(builder, write.getLoc(),
                           FlatSymbolRefAttr::get(copy.getSymNameAttr()),
                           rounded);
  }
}

namespace {

struct UseWorkingCopyPass
    : mpc::impl::UseWorkingCopyPassBase<UseWorkingCopyPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<amp::CastOp> casts;
    module.walk([&](amp::CastOp cast) {
      if (isLowTensor(cast.getType()) && getWeightState(cast.getInput()))
        casts.push_back(cast);
    });

    llvm::MapVector<train::StateOp, train::StateOp> copies;
    for (amp::CastOp cast : casts) {
      train::StateOp state = getWeightState(cast.getInput());
      FloatType type = getFloatElementType(cast.getType());
      train::StateOp copy = getOrCreateCopy(module, state, type);
      if (!copy)
        return signalPassFailure();
      copies[state] = copy;
      readCopy(cast, copy);
    }
    for (auto [state, copy] : copies)
      writeCopy(module, state, copy);
  }
};

} // namespace
