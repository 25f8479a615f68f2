//===- VerifyPrecision.cpp - Verify the IR after precision ----------------===//
//
// Implements mpc-verify-precision. Each check has a note that names the pass
// that most likely caused the fault.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/Masters.h"
#include "compiler/Analysis/Precision/Origins.h"
#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Support/Precision/Precisions.h"
#include "passes/Precision/Fp8/VerifyFp8.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/Report/DecisionText.h"

#include "llvm/ADT/SmallSet.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYPRECISIONPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using amp::PrecisionClass;

/// Adds the note and returns failure.
//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult verifySignature(func::FuncOp func) {
  for (Type type :
       llvm::concat<const Type>(func.getArgumentTypes(), func.getResultTypes()))
    if (isLowTensor(type))
      return nameResponsiblePass(emitError(func.getLoc(), "the signature of '")
                                     << train::entryName(func)
                                     << "' must not have 16-bit floats, "
                                     << "but has " << type,
                                 func, "mpc-assign-precision");
  return success();
}

/// Whether `state` holds bf16 master weights or their compensation, which
/// verifyMasters checks.
static bool isMasterOrCompensation(train::StateOp state) {
  auto module = state->getParentOfType<ModuleOp>();
  if (!module->hasAttr(kMastersAttr))
    return false;
  return state.getRole() == train::StateRole::Parameter ||
         state.getRole() == train::StateRole::Compensation;
}

static LogicalResult verifyState(train::StateOp state) {
  FloatType type = getFloatElementType(state.getType());
  if (type && type.getWidth() == 8 &&
      state.getKind() != train::StateKind::Derived)
    return nameResponsiblePass(emitError(state.getLoc(), "state '")
                                   << state.getSymName()
                                   << "' must not be of 8 bit: only "
                                   << "what is derived from weights is",
                               state, "mpc-hoist-weight-quantization");
  if (!isLowTensor(state.getType()) ||
      state.getKind() == train::StateKind::WorkingCopy ||
      state.getKind() == train::StateKind::Constant ||
      isMasterOrCompensation(state))
    return success();
  return nameResponsiblePass(emitError(state.getLoc(), "state '")
                                 << state.getSymName()
                                 << "' must not be 16-bit: only "
                                 << "working copies and constants are",
                             state, "mpc-use-working-copy");
}

static LogicalResult verifyOneLowType(Operation *op, FloatType lowType) {
  for (Type type : op->getResultTypes())
    if (isLowTensor(type) && getFloatElementType(type) != lowType) {
      InFlightDiagnostic error = op->emitOpError("has a result of ") << type;
      if (lowType)
        error << ", but the 16-bit type of the module is " << lowType;
      else
        error << ", but the module has no 16-bit type";
      return nameResponsiblePass(std::move(error), op, "mpc-assign-precision");
    }
  return success();
}

/// Checks that TF32 is used only for products of f32 that the user does not
/// keep in fp32.
static LogicalResult verifyTf32(Operation *op) {
  if (!op->hasAttr(kTf32Attr))
    return success();
  std::optional<Format> format = amp::getFormat(op);
  if (format && *format != Format::Tf32)
    return nameResponsiblePass(
        op->emitOpError("must not be multiplied in tf32: the user requested ")
            << factsOf(*format).name,
        op, "mpc-use-tf32");
  if (isLowOp(op) && isa<train::KernelOpInterface>(op) &&
      llvm::all_of(op->getOperandTypes(), isF32Tensor))
    return success();
  return nameResponsiblePass(
      op->emitOpError("must be an f32 product to be multiplied in tf32"), op,
      "mpc-use-tf32");
}

static LogicalResult verifyPins(amp::PrecisionOpInterface op, FloatType lowType,
                                bool isProven) {
  auto refuse = [&](StringRef what, unsigned index, Type type,
                    const char *why) {
    return nameResponsiblePass(op->emitOpError() << what << " #" << index
                                                 << " must be f32 because "
                                                 << why << ", but is " << type,
                               op, "mpc-assign-precision");
  };
  PrecisionClass kind =
      isProven ? classInFullRange(op) : op.getPrecisionClass(lowType);
  bool sensitive = kind == PrecisionClass::Sensitive && !isUserChosen(op);
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    // The guard tests the stored values.
    if (isa_and_nonnull<amp::SplitCompensatedOp, amp::RoundStochasticallyOp>(
            op->getOperand(i).getDefiningOp()))
      continue;
    if (isLowTensor(type) && op.isOperandPinned(i))
      return refuse("operand", i, type, "it is pinned");
    if (isLowTensor(type) && sensitive)
      return refuse("operand", i, type, "the op is sensitive");
  }
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    if (isLowTensor(type) && op.isResultPinned(i))
      return refuse("result", i, type, "it is pinned");
    if (isLowTensor(type) && sensitive)
      return refuse("result", i, type, "the op is sensitive");
  }
  return success();
}

/// Checks that a pinned operand was never rounded, except at the user's
/// request.
static LogicalResult verifyPinsKept(amp::PrecisionOpInterface op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto cast = operand.getDefiningOp<amp::CastOp>();
    if (!cast || !isLowTensor(cast.getInput().getType()) ||
        !op.isOperandPinned(i))
      continue;
    Operation *producer = cast.getInput().getDefiningOp();
    if (producer && isUserChosen(producer))
      continue;
    if (getWeightState(cast.getInput())) // The weight has no more precision.
      continue;
    InFlightDiagnostic error = op->emitOpError("operand #")
                               << i << " is pinned and must not be cast, but "
                               << "was rounded before";
    error.attachNote(cast.getLoc()) << "cast here";
    return nameResponsiblePass(std::move(error), op, "mpc-assign-precision");
  }
  return success();
}

/// Checks that operands of matrix units and catalog kernels have one type.
/// Generated code may mix types, because it widens each operand in registers.
static LogicalResult verifyMixed(amp::PrecisionOpInterface op) {
  if (!isLowOp(op) && !isa<train::KernelOpInterface>(*op))
    return success();
  FloatType first;
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    FloatType element = getFloatElementType(type);
    // Matrix units can multiply the two FP8 formats with each other.
    if (!element || op.isOperandPinned(i) || element.getWidth() == 8)
      continue;
    if (first && element != first)
      return nameResponsiblePass(
          op->emitOpError(
              "must read operands of one float type, but they are of ")
              << first << " and " << element,
          op, "mpc-assign-precision");
    first = element;
  }
  return success();
}

/// Checks that a transparent op, which only moves bits, keeps the type.
static LogicalResult verifyTransparent(amp::PrecisionOpInterface op) {
  if (!isTransparent(op))
    return success();
  FloatType first;
  auto check = [&](Type type) -> LogicalResult {
    FloatType element = getFloatElementType(type);
    if (!element || !first || element == first) {
      first = element ? element : first;
      return success();
    }
    return nameResponsiblePass(
        op->emitOpError("is transparent and must have one float type")
            << ", but has " << first << " and " << element,
        op, "mpc-assign-precision");
  };
  for (Type type : op->getOperandTypes())
    if (failed(check(type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

/// Checks the rules about origins, which are computed again from the final
/// graph.
static LogicalResult verifyOrigins(Operation *op, const Origins &origins,
                                   const Ranges &ranges, FloatType lowType) {
  auto precision = dyn_cast<amp::PrecisionOpInterface>(op);
  if (precision && op->hasAttr(kProvenAttr) &&
      classForRange(precision, lowType, ranges) != classInFullRange(precision))
    return nameResponsiblePass(op->emitOpError("is not proven to stay within ")
                                   << lowType,
                               op, "mpc-assign-precision");
  for (Value result : op->getResults()) {
    if (!isLowTensor(result.getType()))
      continue;
    auto refuse = [&](const Twine &why) {
      return nameResponsiblePass(op->emitOpError("result must be f32 because ")
                                     << why << ", but is " << result.getType(),
                                 op, "mpc-assign-precision");
    };
    if (origins.isParameterGradient(result))
      return refuse("it is the gradient of a parameter or a part of one");
    if (isUserChosen(op))
      continue;
    if (origins.isUnbounded(result))
      return refuse("it is computed from unbounded inputs");
    if (origins.feedsIndex(result))
      return refuse("it is used as an index");
    if (const TensorFacts &facts = ranges.of(result); facts.exceeds(lowType))
      return refuse(textOf(explainExcess(facts, lowType)));
  }
  return success();
}

/// Checks that tensors are rounded only for `low` ops, except weights by the
/// optimizer, and at the user's request anything but gradients of parameters.
static LogicalResult verifyReaders(amp::CastOp cast, const Origins &origins) {
  if (!isLowTensor(cast.getType()))
    return success();
  bool isGradient = origins.isParameterGradient(cast.getInput());
  for (Operation *user : cast->getUsers()) {
    if (isLowOp(user) || (isUserChosen(user) && !isGradient) ||
        writesState(user))
      continue;
    InFlightDiagnostic error =
        cast.emitOpError("must not round ")
        << (isGradient ? "the gradient of a parameter" : "a tensor")
        << " for an op that is not low";
    error.attachNote(user->getLoc()) << "this one";
    return nameResponsiblePass(std::move(error), cast, "mpc-assign-precision");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

static LogicalResult verifyCast(amp::CastOp cast) {
  if (auto inner = cast.getInput().getDefiningOp<amp::CastOp>()) {
    InFlightDiagnostic error = cast.emitOpError("must not follow another cast");
    error.attachNote(inner.getLoc()) << "this one";
    return nameResponsiblePass(std::move(error), cast, "mpc-elide-casts");
  }
  if (train::StateOp state = getWeightState(cast.getInput());
      state && isLowTensor(cast.getType()))
    return nameResponsiblePass(
        cast.emitOpError("must not cast a weight; it comes from '")
            << state.getSymName() << "'",
        cast, "mpc-use-working-copy");
  for (Operation *user : cast.getInput().getUsers()) {
    auto other = dyn_cast<amp::CastOp>(user);
    if (!other || other == cast || other.getType() != cast.getType() ||
        !cast->isBeforeInBlock(other))
      continue;
    InFlightDiagnostic error =
        other.emitOpError("casts a tensor a second time to the same type");
    error.attachNote(cast.getLoc()) << "the first time";
    return nameResponsiblePass(std::move(error), other, "mpc-assign-precision");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Guards and loss scaling
//===----------------------------------------------------------------------===//

static bool isScaling(Operation *op) {
  return isa<amp::ScaleLossOp, amp::UnscaleOp, amp::UpdateScaleOp>(op);
}

/// True if the state of `write` keeps its old value in a step that is not
/// finite.
static bool isGuarded(train::WriteOp write) {
  Value value = write.getValue();
  if (auto cast = value.getDefiningOp<amp::CastOp>())
    value = cast.getInput(); // Working copy of guarded masters.
  auto commit = value.getDefiningOp<amp::SelectIfFiniteOp>();
  return commit && commit.getFinite().getDefiningOp<amp::AllFiniteOp>();
}

/// Checks that in functions that train every write is guarded, except those of
/// sums that are reset, and of the loss scale, which an overflow must change.
static LogicalResult verifyGuards(func::FuncOp func,
                                  const llvm::StringSet<> &carried) {
  if (!updatesParameters(func))
    return success();
  for (auto write : func.front().getOps<train::WriteOp>()) {
    StringRef state = write.getState();
    train::StateRole role = write.getStateOp().getRole();
    if (role == train::StateRole::LossScale ||
        role == train::StateRole::LossScaleStreak || carried.contains(state) ||
        isGuarded(write))
      continue;
    return nameResponsiblePass(write.emitOpError("must keep the old value of '")
                                   << state << "' in a step that is not finite",
                               write, "mpc-guard-states");
  }
  return success();
}

/// Checks that micro-batches write only states that carry sums to the update,
/// and pending states, not statistics of the model.
static LogicalResult verifyCarried(ModuleOp module,
                                   const llvm::StringSet<> &carried) {
  if (module->hasAttr(kExternalUpdateAttr))
    return success(); // Statistics follow the steps, updated or not.
  for (auto state : module.getOps<train::StateOp>())
    if (carried.contains(state.getSymName()) &&
        state.getKind() == train::StateKind::Statistic)
      return nameResponsiblePass(emitError(state.getLoc(), "statistic '")
                                     << state.getSymName()
                                     << "' must not change without "
                                     << "the weights",
                                 state, "mpc-defer-states");
  return success();
}

/// Checks that with loss scaling every backward pass starts from a scaled loss.
static LogicalResult verifyScaling(Operation *op) {
  if (!op->hasTrait<OpTrait::ConstantLike>() || !op->hasAttr(kLossSeedAttr))
    return success();
  for (Operation *user : op->getUsers())
    if (!isa<amp::ScaleLossOp>(user)) {
      InFlightDiagnostic error =
          op->emitOpError("starts a backward pass whose loss is not scaled");
      error.attachNote(user->getLoc()) << "used here";
      return nameResponsiblePass(std::move(error), op,
                                 "mpc-insert-loss-scaling");
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct VerifyPrecisionPass
    : mpc::impl::VerifyPrecisionPassBase<VerifyPrecisionPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto attr = module->getAttrOfType<StringAttr>(kPrecisionAttr);
    if (!attr) {
      (void)nameResponsiblePass(
          emitError(module.getLoc(), "the module has no attribute '")
              << kPrecisionAttr << "'",
          module, "mpc-assign-precision");
      return signalPassFailure();
    }
    bool scales = precisionOf(attr.getValue()).scalesLoss() &&
                  !module->hasAttr(kUnscaledAttr);
    FloatType lowType = getLowType(&getContext(), attr.getValue());
    llvm::StringSet<> carried = findCarriedStates(module);
    if (failed(verifyCarried(module, carried)) || failed(verifyMasters(module)))
      return signalPassFailure();
    for (auto func : module.getOps<func::FuncOp>())
      if (failed(verifyGuards(func, carried)))
        return signalPassFailure();
    WalkResult result = module.walk([&](Operation *op) {
      return WalkResult(verifyOp(op, lowType, scales));
    });
    if (result.wasInterrupted() ||
        (lowType && failed(verifyAllOrigins(module, lowType))))
      signalPassFailure();
  }

  static LogicalResult verifyAllOrigins(ModuleOp module, FloatType lowType) {
    ConstantFacts constants;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      Origins origins(func);
      Ranges ranges(func, constants);
      for (Operation &op : func.front()) {
        // The ops that store new weights are checked elsewhere.
        if (isa<amp::SplitCompensatedOp, amp::RoundStochasticallyOp,
                amp::SelectIfFiniteOp>(op))
          continue;
        auto cast = dyn_cast<amp::CastOp>(op);
        if (failed(cast ? verifyReaders(cast, origins)
                        : verifyOrigins(&op, origins, ranges, lowType)))
          return failure();
      }
    }
    return success();
  }

  static LogicalResult verifyOp(Operation *op, FloatType lowType, bool scales) {
    if (auto func = dyn_cast<func::FuncOp>(op))
      return verifySignature(func);
    if (auto state = dyn_cast<train::StateOp>(op))
      return verifyState(state);
    if (failed(verifyOneLowType(op, lowType)) || failed(verifyFp8(op)))
      return failure();
    if (auto precision = dyn_cast<amp::PrecisionOpInterface>(op))
      if (failed(verifyTf32(precision)) ||
          failed(verifyPins(precision, lowType, op->hasAttr(kProvenAttr))) ||
          failed(verifyPinsKept(precision)) || failed(verifyMixed(precision)) ||
          failed(verifyTransparent(precision)))
        return failure();
    if (auto cast = dyn_cast<amp::CastOp>(op))
      if (failed(verifyCast(cast)))
        return failure();
    if (scales)
      return verifyScaling(op);
    if (isScaling(op))
      return nameResponsiblePass(op->emitOpError("requires a scaled loss"), op,
                                 "mpc-insert-loss-scaling");
    return success();
  }
};

} // namespace
