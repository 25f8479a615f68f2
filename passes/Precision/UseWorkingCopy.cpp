//===- UseWorkingCopy.cpp - Read 16-bit weights from a copy ---------------===//
//
// Implements mpc-use-working-copy. An additional state holds the rounded f32
// masters. Every write of the masters also writes this copy, so forward and
// backward pass read 16-bit weights without casts. Frozen weights have no
// masters: they are rounded here, once, unless something reads them in f32 as
// well.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/RoundElements.h"

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
using train::getOrCreateRead;
using train::Program;
using train::StateRole;

/// The working copy of `state` in `type`, created if it does not exist.
static train::StateOp getOrCreateCopy(ModuleOp module, train::StateOp state,
                                      FloatType type) {
  Program program(module);
  for (train::StateOp copy : program.states(StateRole::WorkingCopy))
    if (copy.getOf() == state.getSymName() &&
        getFloatElementType(copy.getType()) == type)
      return copy;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(state);
  auto shape = cast<RankedTensorType>(state.getType()).getShape();
  return train::StateOp::create(
      builder, state.getLoc(),
      program.freeName(state.getSymName() + "." + typeName(type)),
      StateRole::WorkingCopy, RankedTensorType::get(shape, type),
      /*value=*/nullptr, /*slots=*/nullptr, state);
}

/// Replaces `cast`, of a weight, by a read of the same part of the working
/// copy.
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

/// Adds a write of the copy after every write of the masters.
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
    amp::setDecision(rounded.getDefiningOp(), {Rule::ClassUpdate});
    train::WriteOp::create(builder, write.getLoc(), copy, rounded);
  }
}

/// Rounds the constant `state` to `type` if its `reads` are only used by casts
/// to that type. Returns false if it cannot be rounded.
static bool narrowConstant(train::StateOp state, FloatType type,
                           ArrayRef<train::ReadOp> reads) {
  auto isCast = [](Operation *user) {
    auto cast = dyn_cast<amp::CastOp>(user);
    return cast && isLowTensor(cast.getType());
  };
  for (train::ReadOp read : reads)
    if (!llvm::all_of(read->getUsers(), isCast))
      return false;
  ElementsAttr value = state.getInitialValueAttr();
  ElementsAttr rounded;
  if (value && !(rounded = roundElements(value, type, state.getSymName())))
    return false;

  auto shape = cast<RankedTensorType>(state.getType()).getShape();
  auto narrow = RankedTensorType::get(shape, type);
  LDBG() << "keeping " << state.getSymName() << " as " << narrow;
  state.setType(narrow);
  if (rounded)
    state.setInitialValueAttr(rounded);
  for (train::ReadOp read : reads) {
    read.getResult().setType(narrow);
    for (Operation *user : llvm::make_early_inc_range(read->getUsers())) {
      user->replaceAllUsesWith(ValueRange(read.getResult()));
      user->erase();
    }
  }
  return true;
}

namespace {

struct UseWorkingCopyPass
    : mpc::impl::UseWorkingCopyPassBase<UseWorkingCopyPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::MapVector<train::StateOp, SmallVector<amp::CastOp>> casts;
    module.walk([&](amp::CastOp cast) {
      if (isLowTensor(cast.getType()))
        if (train::StateOp state = getWeightState(cast.getInput()))
          casts[state].push_back(cast);
    });
    llvm::StringMap<SmallVector<train::ReadOp>> reads;
    module.walk(
        [&](train::ReadOp read) { reads[read.getState()].push_back(read); });

    for (auto &[state, ofState] : casts) {
      FloatType type = getFloatElementType(ofState.front().getType());
      if (state.getKind() == train::StateKind::Constant &&
          narrowConstant(state, type, reads[state.getSymName()]))
        continue;
      train::StateOp copy = getOrCreateCopy(module, state, type);
      for (amp::CastOp cast : ofState)
        readCopy(cast, copy);
      writeCopy(module, state, copy);
    }
  }
};

} // namespace
