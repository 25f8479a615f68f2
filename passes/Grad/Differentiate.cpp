//===- Differentiate.cpp - Reverse-mode gradients of train ----------------===//
//
// Implements mpc-differentiate. Knows no op: gradients come from
// DifferentiableOpInterface. A value is active if a parameter feeds it through
// floats, but not by way of an op that stops gradients, and the loss depends on
// it; only active values get a gradient.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Locations.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-differentiate"

namespace mpc {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Activity
//===----------------------------------------------------------------------===//

namespace {

/// Which values get a gradient.
class Activity {
public:
  Activity(func::FuncOp func, ModuleOp module, Value loss) {
    auto ops = func.front().without_terminator();
    for (Operation &op : ops)
      if (!op.hasTrait<train::StopsGradient>() &&
          (readsParameter(op, module) ||
           llvm::any_of(op.getOperands(), [&](Value operand) {
             return varied.contains(operand);
           })))
        for (Value result : op.getResults())
          if (isa<FloatType>(getElementTypeOrSelf(result)))
            varied.insert(result);

    useful.insert(loss);
    feeding.insert(loss);
    for (Operation &op : llvm::reverse(ops)) {
      if (hasResultIn(op, feeding))
        feeding.insert(op.operand_begin(), op.operand_end());
      if (hasResultIn(op, useful) && !op.hasTrait<train::StopsGradient>())
        useful.insert(op.operand_begin(), op.operand_end());
    }
  }

  bool isActive(Value value) const {
    return varied.contains(value) && useful.contains(value);
  }
  /// Also by way of ops that stop gradients.
  bool feedsLoss(Value value) const { return feeding.contains(value); }

private:
  static bool hasResultIn(Operation &op, const llvm::DenseSet<Value> &set) {
    return llvm::any_of(op.getResults(),
                        [&](Value result) { return set.contains(result); });
  }

  static bool readsParameter(Operation &op, ModuleOp module) {
    auto read = dyn_cast<train::ReadOp>(op);
    auto state = read ? module.lookupSymbol<train::StateOp>(read.getState())
                      : train::StateOp();
    return state && state.getKind() == train::StateKind::Parameter;
  }

  llvm::DenseSet<Value> varied;  ///< Changes when a parameter does.
  llvm::DenseSet<Value> useful;  ///< Changes the loss, and is told so.
  llvm::DenseSet<Value> feeding; ///< Changes the loss.
};

} // namespace

/// "'fc1' (Gemm)", or the op's own name if no node is known.
static std::string nodeText(Operation *op) {
  StringRef name = nodeName(op->getLoc()), type = nodeType(op->getLoc());
  if (name.empty())
    return "'" + op->getName().getStringRef().str() + "'";
  return ("'" + name + "' (" +
          (type.empty() ? op->getName().getStringRef() : type) + ")")
      .str();
}

//===----------------------------------------------------------------------===//
// Backward pass
//===----------------------------------------------------------------------===//

namespace {

/// Emits gradient ops before the terminator of one function.
class Backward {
public:
  Backward(func::FuncOp func, const Activity &activity)
      : activity(activity), builder(getReturn(func)) {}

  void seed(Value loss, Value gradient) { gradients[loss] = gradient; }
  Value gradientOf(Value value) const { return gradients.lookup(value); }

  /// Emits the gradient of one op from the gradients of its results.
  LogicalResult visit(Operation *op) {
    SmallVector<Value> results;
    for (Value result : op->getResults())
      results.push_back(gradients.lookup(result));
    SmallVector<bool> needed;
    for (Value operand : op->getOperands())
      needed.push_back(activity.isActive(operand));
    if (llvm::none_of(results, [](Value v) { return bool(v); }) ||
        !llvm::is_contained(needed, true))
      return success();

    LDBG() << "differentiating " << *op;
    SmallVector<Value> operands(op->getNumOperands());
    auto differentiable = cast<train::DifferentiableOpInterface>(op);
    if (failed(
            differentiable.buildGradient(builder, results, needed, operands)))
      return failure();
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (needed[i] && failed(accumulate(op, operand, operands[i])))
        return failure();
    return success();
  }

private:
  LogicalResult accumulate(Operation *op, Value value, Value gradient) {
    if (!gradient ||
        !train::haveSameShapes(value.getType(), gradient.getType()))
      return op->emitError("internal error in mpc-differentiate: the gradient "
                           "of an operand is missing or has another shape");
    Value &sum = gradients[value];
    sum = sum ? train::AddOp::create(builder, gradientLoc(value.getLoc()), sum,
                                     gradient)
                    .getResult()
              : gradient;
    return success();
  }

  const Activity &activity;
  OpBuilder builder;
  llvm::DenseMap<Value, Value> gradients;
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct DifferentiatePass : mpc::impl::DifferentiatePassBase<DifferentiatePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto func = module.lookupSymbol<func::FuncOp>("train");
    if (predictsOnly(module))
      return;
    if (!func || func.getNumResults() != 1) {
      module.emitError("a function 'train' that returns the loss is needed")
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

    Activity activity(func, module, loss);
    if (!activity.isActive(loss)) {
      InFlightDiagnostic error =
          func.emitError("the loss depends on no parameter: nothing to train");
      for (Operation &op : func.front())
        if (op.hasTrait<train::StopsGradient>())
          error.attachNote(op.getLoc()) << "no gradient flows back from here";
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    for (Operation &op : llvm::reverse(func.front().without_terminator()))
      if (llvm::any_of(op.getResults(),
                       [&](Value v) { return activity.isActive(v); }))
        ops.push_back(&op);
    if (failed(checkDifferentiable(ops, activity)))
      return signalPassFailure();

    OpBuilder builder(getReturn(func));
    Value one = createScalar(builder, gradientLoc(loss.getLoc()),
                             type.getElementType(), 1.0);
    one.getDefiningOp()->setAttr(train::kLossSeedAttr, builder.getUnitAttr());
    Backward backward(func, activity);
    backward.seed(loss, one);
    // Go on after a failure, so that all of them are reported at once.
    bool complete = true;
    for (Operation *op : ops)
      complete &= succeeded(backward.visit(op));
    if (!complete)
      return signalPassFailure();
    returnGradients(func, activity, backward);
    eraseStops(func);
  }

  /// Reports all ops between parameters and loss that have no gradient.
  LogicalResult checkDifferentiable(ArrayRef<Operation *> ops,
                                    const Activity &activity) {
    SmallVector<Operation *> missing;
    for (Operation *op : llvm::reverse(ops))
      if (!isa<train::DifferentiableOpInterface>(op) &&
          llvm::any_of(op->getOperands(),
                       [&](Value v) { return activity.isActive(v); }))
        missing.push_back(op);
    if (missing.empty())
      return success();
    InFlightDiagnostic error = getOperation().emitError(
        "between the parameters and the loss, these nodes have no gradient: ");
    llvm::interleaveComma(missing, error,
                          [&](Operation *op) { error << nodeText(op); });
    for (Operation *op : missing)
      error.attachNote(op->getLoc()) << nodeText(op)
                                     << " has no gradient; freeze what feeds "
                                        "it or take it out of the loss";
    return error;
  }

  /// Appends the gradients to the results, in the order of the states.
  void returnGradients(func::FuncOp func, const Activity &activity,
                       const Backward &backward) {
    ModuleOp module = getOperation();
    OpBuilder builder(getReturn(func));
    llvm::StringMap<Value> gradients;
    llvm::StringSet<> feeding;
    func.walk([&](train::ReadOp read) {
      if (activity.feedsLoss(read))
        feeding.insert(read.getState());
      Value gradient = backward.gradientOf(read);
      if (!gradient)
        return;
      // Several reads of one state: its gradient is their sum.
      Value &sum = gradients[read.getState()];
      sum = sum ? train::AddOp::create(builder, gradientLoc(read.getLoc()), sum,
                                       gradient)
                      .getResult()
                : gradient;
    });

    SmallVector<Output> outputs = getOutputs(func);
    std::string untrained, stopped;
    for (auto state : module.getOps<train::StateOp>()) {
      if (state.getKind() != train::StateKind::Parameter)
        continue;
      StringRef name = state.getSymName();
      if (Value gradient = gradients.lookup(name)) {
        NamedAttribute attr(kGradientOfAttr, builder.getStringAttr(name));
        outputs.push_back({gradient, builder.getDictionaryAttr(attr)});
        continue;
      }
      state.setKind(train::StateKind::Constant);
      std::string &list = feeding.contains(name) ? stopped : untrained;
      list += (list.empty() ? "'" : ", '") + name.str() + "'";
    }
    setOutputs(func, outputs);
    eraseDeadOps(func);
    if (!untrained.empty())
      addNote(module,
              "warning: not trained, because the loss does not depend on: " +
                  untrained);
    if (!stopped.empty())
      addNote(module,
              "not trained, because no gradient gets back to: " + stopped);
  }

  /// All that is left to do for ops that stop gradients is their forward part.
  void eraseStops(func::FuncOp func) {
    for (Operation &op : llvm::make_early_inc_range(func.front()))
      if (op.hasTrait<train::StopsGradient>()) {
        op.replaceAllUsesWith(op.getOperands());
        op.erase();
      }
  }
};

} // namespace
