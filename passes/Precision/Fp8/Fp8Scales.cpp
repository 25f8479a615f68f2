//===- Fp8Scales.cpp - States for delayed FP8 scaling ---------------------===//

#include "passes/Precision/Fp8/Fp8Scales.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Support/Locations.h"
#include "passes/Grad/EntryPoints.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// Distance between scales in elements. Kernels require tensors to start at a
/// multiple of it, so scales can be written and read in place.
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

void DelayedScales::createStates() {
  SmallVector<float> first;
  for (const ScaledTensor &tensor : tensors)
    first.append(kLane, static_cast<float>(tensor.firstScale));
  Program program(module);
  scales = program.createState(
      StateRole::Fp8Scales, laneType(),
      DenseElementsAttr::get(laneType(), ArrayRef<float>(first)));
  int64_t count = tensors.size();
  magnitudes = program.createState(
      StateRole::Fp8History, floats({history, count}, module.getContext()));
}

SmallVector<Value> DelayedScales::readScales(func::FuncOp func) {
  Value all = getOrCreateRead(func, scales);
  OpBuilder builder(func.getContext());
  builder.setInsertionPointAfterValue(all);
  SmallVector<Value> views;
  for (size_t i = 0; i < tensors.size(); ++i)
    views.push_back(train::UnpackOp::create(
        builder, scales.getLoc(), floats({}, func.getContext()), all,
        builder.getI64IntegerAttr(i * kLane)));
  return views;
}

/// The largest magnitude of each tensor, at multiples of kLane.
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
  Value largest = packMagnitudes(func);
  if (func == update)
    return advanceWith(largest, update);

  // The maximum over all micro-batches; the update resets it.
  train::StateOp state =
      Program(module).createState(StateRole::Fp8Amax, laneType());
  OpBuilder builder(getReturn(func));
  Location loc = state.getLoc();
  Value most = train::MaximumOp::create(builder, loc,
                                        getOrCreateRead(func, state), largest);
  train::WriteOp::create(builder, loc, state, most);
  advanceWith(getOrCreateRead(update, state), update);
  builder.setInsertionPoint(getReturn(update));
  Value none = train::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(laneType(), builder.getF32FloatAttr(0)));
  train::WriteOp::create(builder, loc, state, none);
}

void DelayedScales::advanceWith(Value lanesOfLargest, func::FuncOp update) {
  MLIRContext *context = update.getContext();
  Operation *last = &*std::prev(update.front().end(), 2);
  OpBuilder builder(getReturn(update));
  Location loc = makeNodeLoc(context, kOptimizerNode, "fp8 scales");
  int64_t count = tensors.size();
  // Takes the one element of each lane.
  auto compact = [&](Value lanes) -> Value {
    Value first =
        train::SliceOp::create(builder, loc, floats({count, 1}, context), lanes,
                               builder.getDenseI64ArrayAttr({0, 0}));
    return train::ReshapeOp::create(builder, loc, floats({1, count}, context),
                                    first);
  };
  Value newest = compact(lanesOfLargest);
  Value all = newest;
  if (history > 1) {
    Value kept = train::SliceOp::create(builder, loc,
                                        floats({history - 1, count}, context),
                                        getOrCreateRead(update, magnitudes),
                                        builder.getDenseI64ArrayAttr({0, 0}));
    all = train::ConcatOp::create(builder, loc, ValueRange{newest, kept},
                                  builder.getI64IntegerAttr(0));
  }
  train::WriteOp::create(builder, loc, magnitudes, all);

  Value most = train::ReduceMaxOp::create(builder, loc, all,
                                          builder.getDenseI64ArrayAttr({0}),
                                          builder.getUnitAttr());
  SmallVector<float> largest;
  for (const ScaledTensor &tensor : tensors)
    largest.push_back(static_cast<float>(largestOf(tensor.format, margin)));
  RankedTensorType row = floats({1, count}, context);
  Value limits = train::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(row, ArrayRef<float>(largest)));
  Value old = compact(getOrCreateRead(update, scales));
  Value next = amp::ScaleOfOp::create(builder, loc, most, limits, old);
  next =
      train::ReshapeOp::create(builder, loc, floats({count, 1}, context), next);
  next = train::BroadcastToOp::create(builder, loc, laneType(), next);
  train::WriteOp::create(builder, loc, scales, next);
  for (Operation *op = last->getNextNode(); op != getReturn(update);
       op = op->getNextNode())
    if (isReported(op))
      amp::setDecision(op, {Rule::Fp8Scales});
}
