//===- AddProbe.cpp - A copy of a step that shows what it computes --------===//
//
// Implements mpc-add-probe. Fused programs keep no intermediate values, and to
// keep them would make another program of the step: so a function of its own
// computes them again, in the same types and order, and gives samples of each.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/PrecisionFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"

#include <numeric>

#define DEBUG_TYPE "mpc-add-probe"

namespace mpc {
#define GEN_PASS_DEF_ADDPROBEPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The function that computes gradients; null if the model is not trained.
static func::FuncOp findTraining(ModuleOp module) {
  for (StringRef name : {"step", "accumulate"})
    if (auto func = module.lookupSymbol<func::FuncOp>(name))
      return func;
  return nullptr;
}

/// Of `count` elements at most `most`, so far apart. Coprime to the count, so
/// that samples of a matrix do not all lie in a few columns.
static int64_t findStride(int64_t count, int64_t most) {
  int64_t stride = llvm::divideCeil(count, most);
  while (std::gcd(stride, count) != 1)
    ++stride;
  return stride;
}

/// Every stride-th element of `value`, from the first on: a column of what it
/// is in rows of so many.
static Value sample(OpBuilder &builder, Location loc, Value value,
                    int64_t most) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t count = type.getNumElements(), stride = findStride(count, most);
  int64_t rows = std::max<int64_t>(count / stride, 1);
  auto shaped = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, type.getElementType());
  };
  auto reshape = [&](ArrayRef<int64_t> shape) {
    if (value.getType() != shaped(shape))
      value = train::ReshapeOp::create(builder, loc, shaped(shape), value);
  };
  auto slice = [&](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> offsets(shape.size(), 0);
    if (value.getType() != shaped(shape))
      value =
          train::SliceOp::create(builder, loc, shaped(shape), value, offsets);
  };
  reshape({count});
  if (stride > 1) {
    slice({rows * stride});
    reshape({rows, stride});
    slice({rows, 1});
    reshape({rows});
  }
  if (isF32Tensor(value.getType()) || !isLowTensor(value.getType()))
    return value;
  auto wide = RankedTensorType::get({rows}, builder.getF32Type());
  return amp::CastOp::create(builder, loc, wide, value);
}

namespace {

/// What values are made of, as far as it matters to who looks at them.
struct Origins {
  llvm::DenseSet<Value> updates; ///< Made of packed gradients.
  llvm::DenseSet<Value> scaled;  ///< Gradients of the scaled loss.

  void add(Operation &op) {
    auto among = [&](const llvm::DenseSet<Value> &values) {
      return llvm::any_of(op.getOperands(),
                          [&](Value value) { return values.contains(value); });
    };
    if (isa<train::PackOp>(op) || among(updates))
      updates.insert(op.result_begin(), op.result_end());
    if (isa<amp::ScaleLossOp>(op) ||
        (among(scaled) && !isa<amp::UnscaleOp>(op)))
      scaled.insert(op.result_begin(), op.result_end());
  }
};

struct AddProbePass : mpc::impl::AddProbePassBase<AddProbePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp training = findTraining(module);
    if (!training)
      return;
    if (Operation *taken = module.lookupSymbol("probe")) {
      taken->emitError("the name 'probe' is taken");
      return signalPassFailure();
    }
    auto probe = cast<func::FuncOp>(training->clone());
    probe.setName("probe");
    module.push_back(probe);
    returnSamples(probe);
    eraseUpdates(probe);
  }

private:
  /// Lets `func` return samples of its values instead of what it does. They go
  /// by the line of the op in the report of the function that it is a copy of,
  /// and the number of the result: "17.0".
  void returnSamples(func::FuncOp func) {
    Block &body = func.front();
    Operation *end = body.getTerminator();
    OpBuilder builder(end);
    auto state = func->getParentOfType<ModuleOp>().lookupSymbol<train::StateOp>(
        kLossScaleState);
    Value scale = state ? getOrCreateRead(func, state) : nullptr;
    SmallVector<Value> values;
    SmallVector<Attribute> attributes;
    Origins origins;
    int64_t line = -1;
    for (Operation &op :
         llvm::make_early_inc_range(body.without_terminator())) {
      line += isReported(&op);
      origins.add(op);
      if (!isReported(&op))
        continue;
      builder.setInsertionPointAfter(&op);
      for (OpResult result : op.getResults()) {
        if (!getFloatElementType(result.getType()) ||
            origins.updates.contains(result))
          continue;
        Value value = sample(builder, op.getLoc(), result, samples);
        if (scale && origins.scaled.contains(result))
          value = amp::UnscaleOp::create(builder, op.getLoc(), value, scale);
        values.push_back(value);
        std::string name = std::to_string(line) + "." +
                           std::to_string(result.getResultNumber());
        attributes.push_back(builder.getDictionaryAttr(
            builder.getNamedAttr("mpc.name", builder.getStringAttr(name))));
      }
    }
    LDBG() << values.size() << " values of " << line + 1 << " ops";
    end->setOperands(values);
    func.setType(builder.getFunctionType(func.getArgumentTypes(),
                                         TypeRange(ValueRange(values))));
    func.setAllResultAttrs(attributes);
  }

  /// What is left of the update changes states, or nobody reads it.
  static void eraseUpdates(func::FuncOp func) {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(func.front())))
      if (isa<train::WriteOp>(op) || isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
