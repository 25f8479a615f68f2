//===- Differentiate.cpp - The gradient of the loss -----------------------===//
//
// Implements mpc-differentiate. The differentiation itself is in
// compiler/Dialect/Train/Transforms; this pass chooses the values to
// differentiate by and handles the gradients.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Transforms/Differentiate.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Faults.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"
#include "passes/Options/PassOptions.h"

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

/// The states that the losses depend on, also through ops that stop gradients.
static llvm::StringSet<> statesBehind(ValueRange losses, func::FuncOp func) {
  llvm::DenseSet<Value> feeding(losses.begin(), losses.end());
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

/// What is differentiated: the loss, or the outputs if the caller computes it.
struct Roots {
  SmallVector<Value> values, gradients;
};

struct DifferentiatePass
    : PassWithOptions<mpc::impl::DifferentiatePassBase<DifferentiatePass>,
                      GradientsOptions> {
  using PassWithOptions::PassWithOptions;

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
    FailureOr<Roots> roots =
        module->hasAttr(kExternalLossAttr) ? takeOutputs(func) : takeLoss(func);
    if (failed(roots))
      return signalPassFailure();
    FailureOr<SmallVector<unsigned>> inputs = findInputs(func);
    if (failed(inputs))
      return signalPassFailure();

    OpBuilder builder(getReturn(func));
    SmallVector<Value> reads = parameterReads(func), xs = reads;
    for (unsigned input : *inputs)
      xs.push_back(func.getArgument(input));
    FailureOr<SmallVector<Value>> gradients = train::differentiate(
        builder, roots->values, roots->gradients, xs, module.getLoc(),
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
    returnInputGradients(func, *inputs,
                         ArrayRef(*gradients).drop_front(reads.size()));
    returnGradients(func, roots->values, reads,
                    ArrayRef(*gradients).take_front(reads.size()));
    if (llvm::none_of(func.front(), [](Operation &op) {
          return op.hasAttr(kLossSeedAttr);
        })) {
      func.emitError("the loss depends on parameters only through ops whose "
                     "gradient is 0 everywhere, such as Floor or Sign: nothing "
                     "to train")
          << Fault::NothingToTrain;
      return signalPassFailure();
    }
    eraseStops(func);
  }

  /// The constant 1 that starts the backward pass.
  static Value createSeed(OpBuilder &builder, Location loc, Type element) {
    Value one = createScalar(builder, gradientLoc(loc), element, 1.0);
    one.getDefiningOp()->setAttr(kLossSeedAttr, builder.getUnitAttr());
    return one;
  }

  FailureOr<Roots> takeLoss(func::FuncOp func) {
    if (!func || func.getNumResults() != 1) {
      InFlightDiagnostic error = getOperation().emitError(
          "an entry 'train' that returns the loss is needed");
      error.attachNote() << "mpc-add-loss makes it";
      return error;
    }
    Value loss = getReturn(func).getOperand(0);
    auto type = cast<RankedTensorType>(loss.getType());
    if (type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return func.emitError("the loss must be one float, but is ")
             << Fault::NoLoss << type;
    OpBuilder builder(getReturn(func));
    Roots roots;
    roots.values = {loss};
    roots.gradients = {
        createSeed(builder, loss.getLoc(), type.getElementType())};
    return roots;
  }

  /// Adds an input for the gradient of each output that is a float.
  FailureOr<Roots> takeOutputs(func::FuncOp func) {
    Roots roots;
    OpBuilder builder(getReturn(func));
    llvm::DenseMap<Type, Value> seeds;
    for (auto [i, output] : llvm::enumerate(getOutputs(func))) {
      Type element = getElementTypeOrSelf(output.value);
      if (!isa<FloatType>(element))
        continue;
      StringRef name = resultName(func, i);
      NamedAttrList attributes(
          outputAttributes(&getContext(), gradientName(name),
                           output.attributes.get(kBatchDimAttr)));
      attributes.set(kGradientOfAttr, builder.getStringAttr(name));
      if (failed(func.insertArgument(
              func.getNumArguments(), output.value.getType(),
              attributes.getDictionary(&getContext()), output.value.getLoc())))
        return failure();
      Value &seed = seeds[element];
      if (!seed)
        seed = createSeed(builder, output.value.getLoc(), element);
      roots.values.push_back(output.value);
      roots.gradients.push_back(
          train::MulOp::create(builder, gradientLoc(output.value.getLoc()),
                               func.getArguments().back(), seed));
    }
    if (roots.values.empty())
      return func.emitError("no output is a float, so the caller cannot "
                            "compute a loss from them")
             << Fault::NoLoss;
    return roots;
  }

  /// The inputs whose gradients are asked for.
  FailureOr<SmallVector<unsigned>> findInputs(func::FuncOp func) {
    SmallVector<unsigned> found;
    SmallVector<StringRef> floats;
    for (BlockArgument argument : func.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (!isa<FloatType>(typeOf(argument).getElementType()) ||
          func.getArgAttr(i, kGradientOfAttr))
        continue;
      floats.push_back(argumentName(func, i));
      if (llvm::is_contained(inputGradients, floats.back()))
        found.push_back(i);
    }
    for (const std::string &name : inputGradients)
      if (!llvm::is_contained(floats, name))
        return emitUsageError(func.getLoc())
               << "option 'input-gradients'=" << name
               << " names no input that is a float"
               << (floats.empty() ? "" : "; those of the model are '")
               << llvm::join(floats, "', '") << (floats.empty() ? "" : "'");
    return found;
  }

  /// Appends the gradients of inputs to the results; zeros for those that the
  /// loss does not depend on.
  void returnInputGradients(func::FuncOp func, ArrayRef<unsigned> inputs,
                            ArrayRef<Value> gradients) {
    OpBuilder builder(getReturn(func));
    SmallVector<Output> outputs = getOutputs(func);
    for (auto [input, found] : llvm::zip_equal(inputs, gradients)) {
      BlockArgument argument = func.getArgument(input);
      Value gradient = found;
      if (!gradient)
        gradient = train::BroadcastToOp::create(
            builder, argument.getLoc(), typeOf(argument),
            createScalar(builder, argument.getLoc(),
                         typeOf(argument).getElementType(), 0));
      NamedAttrList attributes(outputAttributes(
          &getContext(), gradientName(argumentName(func, input)),
          func.getArgAttr(input, kBatchDimAttr)));
      attributes.set(kGradientOfAttr, func.getArgAttr(input, kNameAttr));
      outputs.push_back({gradient, attributes.getDictionary(&getContext())});
    }
    setOutputs(func, outputs);
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
        func.emitError("the loss depends on no parameter: nothing to train")
        << Fault::NothingToTrain;
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
  void returnGradients(func::FuncOp func, ValueRange losses,
                       ArrayRef<Value> reads, ArrayRef<Value> gradients) {
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

    llvm::StringSet<> feeding = statesBehind(losses, func);
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

std::unique_ptr<Pass>
mpc::createDifferentiatePass(const CompileOptions &options,
                             DifferentiatePassOptions own) {
  return std::make_unique<DifferentiatePass>(options, own);
}
