//===- AddProbe.cpp - Add a copy of the step that returns values ----------===//
//
// Implements mpc-add-probe: a copy of the step that returns each value or, if
// it is long, a sketch of it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Amp/IR/Amp.h"
#include "passes/Diagnose/DiagnosticStep.h"
#include "passes/Diagnose/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-add-probe"

namespace mpc {
#define GEN_PASS_DEF_ADDPROBEPASS
#include "passes/Diagnose/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Returns -1 or 1 by a deterministic hash of `number` (splitmix64).
static float randomSign(uint64_t number) {
  uint64_t bits = (number + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return (bits ^ (bits >> 31)) & 1 ? 1 : -1;
}

/// Builds the result for a value. A long value is cut into rows of `length`
/// elements, which are added up with random signs (a count sketch). Every
/// element is included, the norm of a sketch is close to that of the value, and
/// the sketch of a difference is the difference of the sketches.
class Sketcher {
public:
  Sketcher(OpBuilder &builder, int64_t length)
      : builder(builder), length(length) {}

  Value sketch(Value value, Location location) {
    loc = location;
    int64_t count = cast<RankedTensorType>(value.getType()).getNumElements();
    value = reshape(widen(value), {count});
    int64_t rows = count / length, rest = count % length;
    if (rows <= 1)
      return value;
    Value sums = addRows(slice(value, 0, rows * length), rows);
    if (rest == 0)
      return sums;
    Value last = slice(value, rows * length, rest);
    return train::ConcatOp::create(builder, loc, ValueRange{sums, last},
                                   /*axis=*/0);
  }

private:
  static RankedTensorType typeOf(Value value, ArrayRef<int64_t> shape) {
    return cast<RankedTensorType>(value.getType()).clone(shape);
  }

  Value widen(Value value) {
    if (!isLowTensor(value.getType()))
      return value;
    auto type = cast<RankedTensorType>(value.getType());
    return amp::CastOp::create(builder, loc, type.clone(builder.getF32Type()),
                               value);
  }

  Value reshape(Value value, ArrayRef<int64_t> shape) {
    RankedTensorType type = typeOf(value, shape);
    return type == value.getType()
               ? value
               : train::ReshapeOp::create(builder, loc, type, value);
  }

  Value slice(Value value, int64_t offset, int64_t count) {
    RankedTensorType type = typeOf(value, {count});
    return type == value.getType()
               ? value
               : train::SliceOp::create(builder, loc, type, value, {offset});
  }

  Value addRows(Value value, int64_t rows) {
    RankedTensorType type = typeOf(value, {rows, 1});
    SmallVector<Attribute> numbers;
    for (int64_t i = 0; i < rows; ++i)
      numbers.push_back(FloatAttr::get(type.getElementType(), randomSign(i)));
    Value signs = train::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, numbers));
    Value matrix = reshape(value, {rows, length});
    matrix = train::MulOp::create(builder, loc, matrix, signs);
    return train::ReduceSumOp::create(builder, loc, matrix,
                                      ArrayRef<int64_t>{0});
  }

  OpBuilder &builder;
  const int64_t length;
  Location loc = builder.getUnknownLoc();
};

namespace {

/// Which values need special treatment, by their origin.
struct Origins {
  llvm::DenseSet<Value> updates; ///< Computed from packed gradients.
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
    func::FuncOp training = Program(getOperation()).trainingEntry();
    if (!training)
      return;
    func::FuncOp probe = copyStep(training, EntryRole::Probe);
    returnOnly(probe, valuesOf(probe));
  }

private:
  /// The values of a copy, named by the op's line in the report of the original
  /// function and the number of the result: "17.0".
  SmallVector<Output> valuesOf(func::FuncOp func) {
    Block &body = func.front();
    Operation *end = body.getTerminator();
    OpBuilder builder(end);
    train::StateOp state = Program::around(func).state(StateRole::LossScale);
    Value scale = state ? getOrCreateRead(func, state) : nullptr;
    SmallVector<Output> values;
    Origins origins;
    int64_t line = -1;
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    for (Operation *at : ops) {
      Operation &op = *at;
      line += isReported(&op);
      origins.add(op);
      if (!isReported(&op))
        continue;
      for (OpResult result : op.getResults()) {
        FloatType type = getFloatElementType(result.getType());
        // Skip scaled values: 8-bit tensors, and products until their scale is
        // removed.
        if (!type || type.getWidth() == 8 || origins.updates.contains(result))
          continue;
        Value shown = result;
        for (Operation *user : result.getUsers())
          if (auto unscaled = dyn_cast<amp::DequantizeOp>(user))
            shown = unscaled.getResult();
        builder.setInsertionPointAfterValue(shown);
        Value value = Sketcher(builder, length).sketch(shown, op.getLoc());
        if (scale && origins.scaled.contains(result))
          value = amp::UnscaleOp::create(builder, op.getLoc(), value, scale);
        std::string name = std::to_string(line) + "." +
                           std::to_string(result.getResultNumber());
        values.push_back({value, outputAttributes(&getContext(), name)});
      }
    }
    LDBG() << values.size() << " values of " << line + 1 << " ops";
    return values;
  }
};

} // namespace
