//===- PrecisionFacts.cpp - Helpers of the precision passes ---------------===//

#include "compiler/Analysis/Precision/PrecisionFacts.h"

#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/Precision/Precisions.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpc;

bool mpc::readsWeights(Operation *op) {
  auto read = dyn_cast<train::ReadOp>(op);
  train::StateOp state = read ? read.getStateOp() : nullptr;
  return state && (state.getKind() == train::StateKind::Parameter ||
                   state.getKind() == train::StateKind::Constant ||
                   state.getKind() == train::StateKind::WorkingCopy ||
                   state.getKind() == train::StateKind::Derived);
}

bool mpc::writesState(Operation *op) { return isa<train::WriteOp>(op); }

std::string mpc::typeName(FloatType type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

LogicalResult mpc::nameResponsiblePass(InFlightDiagnostic &&error,
                                       Operation *op, StringRef pass) {
  error.attachNote(op->getLoc()) << "expected " << pass << " to prevent this";
  return failure();
}

FloatType mpc::getFloatElementType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
}

bool mpc::isLowTensor(Type type) {
  FloatType element = getFloatElementType(type);
  return element && element.getWidth() == 16;
}

bool mpc::isF32Tensor(Type type) {
  FloatType element = getFloatElementType(type);
  return element && element.isF32();
}

static bool hasClass(Operation *op, amp::PrecisionClass kind) {
  auto precision = dyn_cast_or_null<amp::PrecisionOpInterface>(op);
  return precision && precision.getPrecisionClass(nullptr) == kind;
}

bool mpc::isLowOp(Operation *op) {
  return hasClass(op, amp::PrecisionClass::Low);
}

bool mpc::isTransparent(Operation *op) {
  return hasClass(op, amp::PrecisionClass::Transparent);
}

amp::PrecisionClass mpc::classInFullRange(amp::PrecisionOpInterface op) {
  return op.getPrecisionClass(BFloat16Type::get(op->getContext()));
}

amp::PrecisionClass mpc::classForRange(amp::PrecisionOpInterface op,
                                       FloatType low, const Ranges &ranges) {
  amp::PrecisionClass own = op.getPrecisionClass(low);
  amp::PrecisionClass other = classInFullRange(op);
  if (own != amp::PrecisionClass::Sensitive || own == other)
    return own;
  auto fits = [&](Value value) {
    return !getFloatElementType(value.getType()) ||
           ranges.of(value).range.fits(low);
  };
  for (OpOperand &use : op->getOpOperands())
    if (!op.isOperandPinned(use.getOperandNumber()) && !fits(use.get()))
      return own;
  return llvm::all_of(op->getResults(), fits) ? other : own;
}

FloatType mpc::getLowType(MLIRContext *context, StringRef precision) {
  std::optional<Format> tensors = precisionOf(precision).tensors;
  return tensors ? amp::elementTypeOf(context, *tensors) : FloatType();
}

train::StateOp mpc::getWeightState(Value value) {
  if (auto unpack = value.getDefiningOp<train::UnpackOp>())
    value = unpack.getPacked();
  auto read = value.getDefiningOp<train::ReadOp>();
  if (!read)
    return nullptr;
  train::StateOp state = read.getStateOp();
  if (!state || (state.getKind() != train::StateKind::Parameter &&
                 state.getKind() != train::StateKind::Constant))
    return nullptr;
  return state;
}

StringRef mpc::stateName(Value value) {
  // A weight that is kept in 16 bit and read in f32.
  if (auto join = value.getDefiningOp<amp::JoinCompensatedOp>())
    value = join.getValue();
  auto unpack = value.getDefiningOp<train::UnpackOp>();
  if (unpack)
    value = unpack.getPacked();
  auto read = value.getDefiningOp<train::ReadOp>();
  if (!read)
    return "";
  train::StateOp state = read.getStateOp();
  if (state && state.getKind() == train::StateKind::WorkingCopy)
    state = state.getOfState();
  if (!state)
    return "";
  if (ArrayAttr slots = state.getSlotsAttr(); slots && unpack)
    for (auto slot : slots.getAsRange<train::SlotAttr>())
      if (slot.getOffset() == static_cast<int64_t>(unpack.getOffset()))
        return slot.getName();
  return state.getSymName();
}

bool mpc::updatesParameters(func::FuncOp func) {
  if (func.isExternal())
    return false;
  return llvm::any_of(
      func.front().getOps<train::WriteOp>(), [](train::WriteOp write) {
        train::StateOp state = write.getStateOp();
        return state && state.getKind() == train::StateKind::Parameter;
      });
}

llvm::StringSet<> mpc::findCarriedStates(ModuleOp module) {
  llvm::StringSet<> carried;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && !updatesParameters(func))
      for (auto write : func.front().getOps<train::WriteOp>())
        carried.insert(write.getState());
  return carried;
}

SmallVector<Value> mpc::findGradientPacks(func::FuncOp func) {
  SmallVector<Value> packs;
  for (auto pack : func.front().getOps<train::PackOp>())
    if (pack->hasAttr(kGradientsAttr))
      packs.push_back(pack.getResult());
  return packs;
}

bool mpc::computesNumbers(Operation *op) {
  return !op->hasTrait<amp::ComputesNoNumbers>() && !train::isView(op);
}

bool mpc::isReported(Operation *op) {
  auto isFloat = [](Type type) { return getFloatElementType(type) != nullptr; };
  return isa<amp::PrecisionOpInterface>(op) &&
         isa<train::CostOpInterface>(op) &&
         !op->hasTrait<train::AccessesStates>() &&
         (llvm::any_of(op->getOperandTypes(), isFloat) ||
          llvm::any_of(op->getResultTypes(), isFloat));
}

bool mpc::isUserChosen(Operation *op) {
  amp::DecisionAttr decision = amp::getDecision(op);
  return decision && isWithin(decision.getRule(), Rule::Option);
}

amp::Decision mpc::explainExcess(const TensorFacts &facts, FloatType type) {
  Builder builder(type.getContext());
  auto decide = [&](Rule rule, double value, double limit) -> amp::Decision {
    return {rule,
            {builder.getF64FloatAttr(value), TypeAttr::get(type),
             builder.getF64FloatAttr(limit)}};
  };
  if (std::optional<double> large = facts.findTooLarge(type))
    return decide(Rule::PinRange, *large, amp::largestOf(type));
  return decide(
      Rule::PinSmall, facts.smallest,
      llvm::APFloat::getSmallest(type.getFloatSemantics()).convertToDouble());
}
