//===- Fp8Scales.cpp - States that scale tensors of 8 bit -----------------===//

#include "passes/Precision/Fp8Scales.h"

#include "compiler/Support/Locations.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Precision/PrecisionFacts.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// Elements from one scale to the next: what kernels take a tensor to start at
/// a multiple of, so that scales are written and read in place.
static constexpr int64_t kLane = 16;

double mpc::largestOf(FloatType format, int64_t margin) {
  const llvm::fltSemantics &semantics = format.getFloatSemantics();
  double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
  return std::ldexp(largest, -static_cast<int>(margin));
}

static RankedTensorType floats(ArrayRef<int64_t> shape, MLIRContext *context) {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

RankedTensorType DelayedScales::laneType() {
  return floats({static_cast<int64_t>(tensors.size()), kLane},
                module.getContext());
}

LogicalResult DelayedScales::createStates() {
  MLIRContext *context = module.getContext();
  for (StringRef name : {kFp8ScalesState, kFp8HistoryState, kFp8AmaxState})
    if (Operation *other = module.lookupSymbol(name))
      return emitError(other->getLoc())
             << "'" << name << "' is the name of a state of FP8";
  SmallVector<float> first;
  for (const ScaledTensor &tensor : tensors)
    first.append(kLane, static_cast<float>(tensor.firstScale));
  createState(module, kFp8ScalesState, train::StateKind::Optimizer, laneType(),
              DenseElementsAttr::get(laneType(), ArrayRef<float>(first)));
  int64_t count = tensors.size();
  createState(module, kFp8HistoryState, train::StateKind::Optimizer,
              floats({history, count}, context), /*value=*/nullptr);
  return success();
}

SmallVector<Value> DelayedScales::readScales(func::FuncOp func) {
  auto state = module.lookupSymbol<train::StateOp>(kFp8ScalesState);
  Value all = getOrCreateRead(func, state);
  OpBuilder builder(func.getContext());
  builder.setInsertionPointAfterValue(all);
  SmallVector<Value> scales;
  for (size_t i = 0; i < tensors.size(); ++i)
    scales.push_back(train::UnpackOp::create(
        builder, state.getLoc(), floats({}, func.getContext()), all,
        builder.getI64IntegerAttr(i * kLane)));
  return scales;
}

/// The largest magnitude of each tensor, at multiples of the lane.
Value DelayedScales::packMagnitudes(func::FuncOp func) {
  OpBuilder builder(func.getContext());
  SmallVector<Value> magnitudes;
  SmallVector<int64_t> offsets;
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    builder.setInsertionPointAfterValue(tensor.value);
    magnitudes.push_back(
        amp::AmaxOp::create(builder, tensor.value.getLoc(), tensor.value));
    offsets.push_back(i * kLane);
  }
  builder.setInsertionPoint(getReturn(func));
  return train::PackOp::create(builder, func.getLoc(), laneType(), magnitudes,
                               builder.getDenseI64ArrayAttr(offsets));
}

void DelayedScales::advance(func::FuncOp func, func::FuncOp update) {
  Value magnitudes = packMagnitudes(func);
  if (func == update)
    return advanceWith(magnitudes, update);

  // The largest of all micro-batches; the update begins anew.
  createState(module, kFp8AmaxState, train::StateKind::Optimizer, laneType(),
              /*value=*/nullptr);
  auto state = module.lookupSymbol<train::StateOp>(kFp8AmaxState);
  OpBuilder builder(getReturn(func));
  Location loc = state.getLoc();
  Value most = train::MaximumOp::create(
      builder, loc, getOrCreateRead(func, state), magnitudes);
  train::WriteOp::create(builder, loc, kFp8AmaxState, most);
  advanceWith(getOrCreateRead(update, state), update);
  builder.setInsertionPoint(getReturn(update));
  Value none = train::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(laneType(), builder.getF32FloatAttr(0)));
  train::WriteOp::create(builder, loc, kFp8AmaxState, none);
}

void DelayedScales::advanceWith(Value magnitudes, func::FuncOp update) {
  MLIRContext *context = update.getContext();
  Operation *last = &*std::prev(update.front().end(), 2);
  OpBuilder builder(getReturn(update));
  Location loc = makeNodeLoc(context, kOptimizerNode, "fp8 scales");
  int64_t count = tensors.size();
  // One of each lane.
  auto compact = [&](Value lanes) -> Value {
    Value first =
        train::SliceOp::create(builder, loc, floats({count, 1}, context), lanes,
                               builder.getDenseI64ArrayAttr({0, 0}));
    return train::ReshapeOp::create(builder, loc, floats({1, count}, context),
                                    first);
  };
  Value newest = compact(magnitudes);
  Value all = newest;
  if (history > 1) {
    auto state = module.lookupSymbol<train::StateOp>(kFp8HistoryState);
    Value kept = train::SliceOp::create(
        builder, loc, floats({history - 1, count}, context),
        getOrCreateRead(update, state), builder.getDenseI64ArrayAttr({0, 0}));
    all = train::ConcatOp::create(builder, loc, ValueRange{newest, kept},
                                  builder.getI64IntegerAttr(0));
  }
  train::WriteOp::create(builder, loc, kFp8HistoryState, all);

  Value most = train::ReduceMaxOp::create(builder, loc, all,
                                          builder.getDenseI64ArrayAttr({0}),
                                          builder.getUnitAttr());
  SmallVector<float> largest;
  for (const ScaledTensor &tensor : tensors)
    largest.push_back(static_cast<float>(largestOf(tensor.format, margin)));
  RankedTensorType row = floats({1, count}, context);
  Value limits = train::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(row, ArrayRef<float>(largest)));
  auto scales = module.lookupSymbol<train::StateOp>(kFp8ScalesState);
  Value old = compact(getOrCreateRead(update, scales));
  Value next = amp::ScaleOfOp::create(builder, loc, most, limits, old);
  next =
      train::ReshapeOp::create(builder, loc, floats({count, 1}, context), next);
  next = train::BroadcastToOp::create(builder, loc, laneType(), next);
  train::WriteOp::create(builder, loc, kFp8ScalesState, next);
  for (Operation *op = last->getNextNode(); op != getReturn(update);
       op = op->getNextNode())
    if (isReported(op))
      setDecision(op, kRuleFp8, "keeps the scales of tensors of 8 bit");
}
