//===- HoistWeightQuantization.cpp - Round weights once -------------------===//
//
// Implements mpc-hoist-weight-quantization. Each micro-batch would round the
// same weights again. Here the roundings move to a separate function, which the
// runtime calls whenever weights have changed.
//
//===----------------------------------------------------------------------===//

#include "passes/Precision/HoistWeightQuantization.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Precision/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mpc {
#define GEN_PASS_DEF_HOISTWEIGHTQUANTIZATIONPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Alignment of the parts of a packed state in bytes, the same as that of
/// states.
static constexpr int64_t kPartAlignment = 64;

Value mpc::derivedFrom(Value value) {
  auto unpack = value.getDefiningOp<train::UnpackOp>();
  auto read =
      unpack ? unpack.getPacked().getDefiningOp<train::ReadOp>() : nullptr;
  train::StateOp state = read ? read.getStateOp() : nullptr;
  if (!state || state.getRole() != StateRole::Derived)
    return value;
  func::FuncOp derive = Program::around(state).entry(EntryRole::Derive);
  if (!derive)
    return nullptr;
  for (auto write : derive.front().getOps<train::WriteOp>()) {
    auto pack = write.getValue().getDefiningOp<train::PackOp>();
    if (!pack || write.getState() != state.getSymName())
      continue;
    for (auto [part, offset] :
         llvm::zip_equal(pack.getInputs(), pack.getOffsets()))
      if (offset == static_cast<int64_t>(unpack.getOffset()) &&
          part.getType() == value.getType())
        return part;
  }
  return nullptr;
}

void mpc::shareDerived(func::FuncOp func, func::FuncOp derive,
                       ValueRange values, ValueRange made, StringRef name) {
  SmallVector<int64_t> offsets;
  int64_t end = 0;
  for (Value value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    offsets.push_back(end);
    int64_t bytes = type.getNumElements() * (type.getElementTypeBitWidth() / 8);
    end += llvm::alignTo(bytes, kPartAlignment) /
           (type.getElementTypeBitWidth() / 8);
  }
  auto type =
      RankedTensorType::get({end}, getElementTypeOrSelf(values[0].getType()));
  train::StateOp state =
      Program::around(func).createState(StateRole::Derived, name, type);

  OpBuilder builder(getReturn(derive));
  Value packed = train::PackOp::create(builder, derive.getLoc(), type, made,
                                       builder.getDenseI64ArrayAttr(offsets));
  train::WriteOp::create(builder, derive.getLoc(), state, packed);
  Value read = getOrCreateRead(func, state);
  builder.setInsertionPointAfterValue(read);
  for (auto [value, offset] : llvm::zip_equal(values, offsets)) {
    Value part =
        train::UnpackOp::create(builder, value.getLoc(), value.getType(), read,
                                builder.getI64IntegerAttr(offset));
    Value(value).replaceAllUsesWith(part);
  }
}

namespace {

/// Values of one function that depend on weights alone.
class Derivation {
public:
  explicit Derivation(func::FuncOp func) {
    for (Operation &op : func.front())
      if (followsFromWeights(&op))
        derived.insert(op.result_begin(), op.result_end());
    for (auto quantize : func.front().getOps<amp::QuantizeOp>())
      if (derived.contains(quantize.getResult())) {
        weights.insert(quantize.getResult());
        scales.insert(quantize.getScale());
      }
  }

  bool empty() const { return weights.empty(); }

  /// Moves the values to a new function `derive` before `func`, which then
  /// reads states instead.
  void moveOut(func::FuncOp func) {
    OpBuilder builder(func);
    auto derive = func::FuncOp::create(builder, func.getLoc(), "",
                                       builder.getFunctionType({}, {}));
    Program::around(func).setRole(derive, EntryRole::Derive);
    builder.setInsertionPointToStart(derive.addEntryBlock());
    IRMapping copies;
    for (Operation &op : func.front())
      if (op.getNumResults() > 0 && derived.contains(op.getResult(0)))
        builder.clone(op, copies);
    func::ReturnOp::create(builder, func.getLoc());
    share(func, derive, weights.getArrayRef(), copies, kFp8WeightsState);
    share(func, derive, scales.getArrayRef(), copies, kFp8WeightScalesState);
    eraseDeadOps(derive);
    eraseDeadOps(func);
  }

private:
  bool followsFromWeights(Operation *op) const {
    if (auto read = dyn_cast<train::ReadOp>(op))
      return readsWeights(read);
    return isPure(op) && op->getNumRegions() == 0 &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return derived.contains(operand);
           });
  }

  static void share(func::FuncOp func, func::FuncOp derive,
                    ArrayRef<Value> values, const IRMapping &copies,
                    StringRef name) {
    shareDerived(func, derive, values,
                 llvm::map_to_vector(
                     values, [&](Value value) { return copies.lookup(value); }),
                 name);
  }

  llvm::DenseSet<Value> derived;
  llvm::SetVector<Value> weights, scales;
};

struct HoistWeightQuantizationPass
    : mpc::impl::HoistWeightQuantizationPassBase<HoistWeightQuantizationPass> {
  using Base::Base;

  void runOnOperation() override {
    Program program(getOperation());
    func::FuncOp accumulate = program.entry(EntryRole::Accumulate);
    if (!accumulate || !program.entry(EntryRole::Apply))
      return;
    Derivation derivation(accumulate);
    if (!derivation.empty())
      derivation.moveOut(accumulate);
  }
};

} // namespace
