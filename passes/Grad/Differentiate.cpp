//===- Differentiate.cpp - The gradient of the loss -----------------------===//
//
// Implements mpc-differentiate. The differentiation itself is in
// compiler/Dialect/Train/Transforms; this pass chooses the values to
// differentiate by and handles the gradients.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Transforms/Differentiate.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"

namespace mpc {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The reads of parameters, in program order.
static SmallVector<Value> parameterReads(func::FuncOp func) {
  SmallVector<Value> reads;
  for (auto read : func.getOps<train::ReadOp>()) {
    train::StateOp state = read.getStateOp();
    if (state && state.getRole() == StateRole::Parameter)
      reads.push_back(read);
  }
  return reads;
}

/// The states that the loss depends on, also through ops that stop gradients.
static llvm::StringSet<> statesBehind(Value loss, func::FuncOp func) {
  llvm::DenseSet<Value> feeding = {loss};
  llvm::StringSet<> states;
  for (Operation &op : llvm::reverse(func.front().without_terminator())) {
    if (llvm::none_of(op.getResults(),
                      [&](Value result) { return feeding.contains(result); }))
      continue;
    feeding.insert(op.operand_begin(), op.operand_end());
    if (auto read = dyn_cast<train::ReadOp>(op))
      states.insert(read.getState());
  }
  return states;
}

namespace {

struct DifferentiatePass : mpc::impl::DifferentiatePassBase<DifferentiatePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp func = Program(module).entry(EntryRole::Train);
    for (auto any : module.getOps<func::FuncOp>())
      if (failed(expandGradients(any)))
        return signalPassFailure();
    if (predictsOnly(module))
      return;
    if (func && hasImportedStep(module))
      return eraseStops(func);
    if (!func || func.getNumResults() != 1) {
      module.emitError("an entry 'train' that returns the loss is needed")
              .attachNote()
          << "mpc-add-loss makes it";
      return signalPassFailure();
    }
    Value loss = getReturn(func).getOperand(0);
    auto type = cast<RankedTensorType>(loss.getType());
    if (type.getRank() != 0 || !isa<FloatType>(type.getElementType())) {
      func.emitError("the loss must be one float, but is ") << type;
      return signalPassFailure();
    }

    OpBuilder builder(getReturn(func));
    Value one = createScalar(builder, gradientLoc(loss.getLoc()),
                             type.getElementType(), 1.0);
    one.getDefiningOp()->setAttr(kLossSeedAttr, builder.getUnitAttr());
    SmallVector<Value> reads = parameterReads(func);
    FailureOr<SmallVector<Value>> gradients = train::differentiate(
        builder, loss, one, reads, module.getLoc(),
        "the parameters and the loss", [&](Value value, Value gradient) {
          if (rounding)
            train::RoundingOp::create(builder, value.getLoc(), value, gradient);
        });
    if (failed(gradients))
      return signalPassFailure();
    if (llvm::none_of(*gradients, [](Value value) { return bool(value); })) {
      reportNothingToTrain(func);
      return signalPassFailure();
    }
    returnGradients(func, loss, reads, *gradients);
    if (llvm::none_of(func.front(), [](Operation &op) {
          return op.hasAttr(kLossSeedAttr);
        })) {
      func.emitError("the loss depends on parameters only through ops whose "
                     "gradient is 0 everywhere, such as Floor or Sign: nothing "
                     "to train");
      return signalPassFailure();
    }
    eraseStops(func);
  }

  /// Replaces gradient ops of the model by backward passes. One whose results
  /// are returned, as gradients of parameters, starts from a loss seed; others
  /// are part of the loss.
  static LogicalResult expandGradients(func::FuncOp func) {
    auto isReturned = [](Operation *user) { return isa<func::ReturnOp>(user); };
    for (auto op :
         llvm::make_early_inc_range(func.getOps<train::GradientOp>())) {
      OpBuilder builder(op);
      Operation *seed = nullptr;
      auto gradients = train::differentiateSum(
          builder, op.getY(), op.getXs(), op.getLoc(), "'xs' and 'y'", &seed);
      if (failed(gradients))
        return failure();
      if (llvm::any_of(op->getUsers(), isReturned))
        seed->setAttr(kLossSeedAttr, builder.getUnitAttr());
      op.replaceAllUsesWith(*gradients);
      op.erase();
    }
    return success();
  }

  static void reportNothingToTrain(func::FuncOp func) {
    InFlightDiagnostic error =
        func.emitError("the loss depends on no parameter: nothing to train");
    SmallVector<Location> stops;
    for (Operation &op : func.front())
      if (op.hasTrait<train::StopsGradient>())
        stops.push_back(op.getLoc());
    constexpr size_t shown = 5;
    if (stops.size() == 1)
      error.attachNote(stops.front()) << "no gradient flows back from here";
    if (stops.size() < 2)
      return;
    Diagnostic &note = error.attachNote(func.getLoc());
    note << "no gradient flows back from ";
    for (auto [i, loc] : llvm::enumerate(ArrayRef(stops).take_front(shown)))
      note << (i ? ", '" : "'") << nodeName(loc) << "'";
    if (stops.size() > shown)
      note << " and " << int64_t(stops.size() - shown) << " more nodes";
  }

  /// Appends the gradients to the results, in the order of the states.
  void returnGradients(func::FuncOp func, Value loss, ArrayRef<Value> reads,
                       ArrayRef<Value> gradients) {
    ModuleOp module = getOperation();
    OpBuilder builder(getReturn(func));
    llvm::StringMap<Value> byState;
    for (auto [value, gradient] : llvm::zip_equal(reads, gradients)) {
      if (!gradient)
        continue;
      // If a state is read several times, its gradient is the sum over the
      // reads.
      auto read = value.getDefiningOp<train::ReadOp>();
      Value &sum = byState[read.getState()];
      sum = sum ? train::AddOp::create(builder, gradientLoc(read.getLoc()), sum,
                                       gradient)
                      .getResult()
                : gradient;
    }

    llvm::StringSet<> feeding = statesBehind(loss, func);
    SmallVector<Output> outputs = getOutputs(func);
    std::string untrained, stopped;
    for (train::StateOp state : Program(module).states(StateRole::Parameter)) {
      StringRef name = state.getSymName();
      if (Value gradient = byState.lookup(name)) {
        NamedAttribute attr(kGradientOfAttr, builder.getStringAttr(name));
        outputs.push_back({gradient, builder.getDictionaryAttr(attr)});
        continue;
      }
      state.setRole(StateRole::Constant);
      std::string &list = feeding.contains(name) ? stopped : untrained;
      list += (list.empty() ? "'" : ", '") + name.str() + "'";
    }
    setOutputs(func, outputs);
    eraseDeadOps(func);
    if (!untrained.empty())
      addNote(module,
              "not trained, because the loss does not depend on: " + untrained);
    if (!stopped.empty())
      addNote(module, "not trained, because no gradient reaches: " + stopped);
  }

  /// Replaces ops that stop gradients by their forward part.
  void eraseStops(func::FuncOp func) {
    for (Operation &op : llvm::make_early_inc_range(func.front()))
      if (op.hasTrait<train::StopsGradient>()) {
        op.replaceAllUsesWith(op.getOperands());
        op.erase();
      }
  }
};

} // namespace
