//===- AddProbe.cpp - A copy of a step that shows what it computes --------===//
//
// Implements mpc-add-probe. Fused programs keep no intermediate values, and to
// keep them would make another program of the step: so a function of its own
// computes them again, in the same types and order, and gives each or, if it is
// long, a sketch of it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/PrecisionFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"

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

/// One of -1 and 1, by chance but always the same (splitmix64).
static float randomSign(uint64_t number) {
  uint64_t bits = (number + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return (bits ^ (bits >> 31)) & 1 ? 1 : -1;
}

/// Builds what is shown of a value. One that is long is laid out in rows of
/// `length`, which are added up with random signs (a count sketch): no element
/// is left out, norms of sketches are near those of values, and the sketch of a
/// difference is the difference of sketches.
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
    returnValues(probe);
    eraseUpdates(probe);
  }

private:
  /// Lets `func` return its values instead of what it does. They go by the line
  /// of the op in the report of the function that it is a copy of, and the
  /// number of the result: "17.0".
  void returnValues(func::FuncOp func) {
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
        // What is 8 bit has a scale; a product has it until it is taken out.
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
