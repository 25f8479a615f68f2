//===- VerifyMasters.cpp - Verify bf16 master weights ---------------------===//

#include "compiler/Analysis/Precision/Masters.h"
#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/HalfFloat.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mpc;

std::optional<Masters> mpc::parseMasters(StringRef name) {
  if (name == "fp32")
    return Masters::Fp32;
  if (name == "bf16-kahan")
    return Masters::Kahan;
  if (name == "bf16-stochastic")
    return Masters::Stochastic;
  return std::nullopt;
}

/// The pass that should have prevented these faults.
static constexpr llvm::StringLiteral kMastersPass = "mpc-use-bf16-masters";

/// The read of `state` that `value` is or views; null if there is none.
static train::ReadOp readOf(Value value, StringRef state) {
  if (auto view = value.getDefiningOp<train::UnpackOp>())
    value = view.getPacked();
  auto read = value.getDefiningOp<train::ReadOp>();
  return read && read.getState() == state ? read : nullptr;
}

static int64_t placeOf(Value value) {
  auto view = value.getDefiningOp<train::UnpackOp>();
  return view ? static_cast<int64_t>(view.getOffset()) : 0;
}

static LogicalResult verifyJoin(amp::JoinCompensatedOp join, StringRef value,
                                StringRef rest) {
  if (readOf(join.getValue(), value) && readOf(join.getRest(), rest) &&
      placeOf(join.getValue()) == placeOf(join.getRest()))
    return success();
  return nameResponsiblePass(join.emitOpError("must join a weight of '")
                                 << value << "' with its rounding error",
                             join, kMastersPass);
}

/// Checks that a compensation is only read together with its weight, or to keep
/// the old value.
static LogicalResult verifyRest(train::ReadOp read) {
  SmallVector<Operation *> users;
  for (Operation *user : read->getUsers()) {
    if (train::isView(user))
      llvm::append_range(users, user->getUsers());
    else
      users.push_back(user);
  }
  for (Operation *user : users)
    if (!isa<amp::JoinCompensatedOp, amp::SelectIfFiniteOp>(user))
      return nameResponsiblePass(user->emitOpError("reads '")
                                     << read.getState()
                                     << "', which is not a weight without "
                                     << "its value",
                                 user, kMastersPass);
  return success();
}

/// The rounding whose result number `result` is what `write` stores. Null if
/// there is none, or if the write does not keep the old value in a step that is
/// not finite.
static Operation *storedBy(train::WriteOp write, unsigned result) {
  auto commit = write.getValue().getDefiningOp<amp::SelectIfFiniteOp>();
  if (!commit || !readOf(commit.getOld(), write.getState()))
    return nullptr;
  auto rounded = dyn_cast<OpResult>(commit.getValue());
  if (!rounded || rounded.getResultNumber() != result ||
      !isa<amp::SplitCompensatedOp, amp::RoundStochasticallyOp>(
          rounded.getOwner()))
    return nullptr;
  return rounded.getOwner();
}

static LogicalResult verifyWrites(func::FuncOp func, StringRef value,
                                  StringRef rest, Masters masters) {
  Operation *ofValue = nullptr, *ofRest = nullptr;
  for (auto write : func.front().getOps<train::WriteOp>()) {
    bool isRest = write.getState() == rest;
    if (!isRest && write.getState() != value)
      continue;
    Operation *rounding = storedBy(write, isRest ? 1 : 0);
    bool fits = rounding && (masters == Masters::Kahan) ==
                                isa<amp::SplitCompensatedOp>(rounding);
    if (!fits)
      return nameResponsiblePass(
          write.emitOpError("must store what rounding an f32 weight "
                            "gave, and keep the old value of '")
              << write.getState() << "' in a step that is not finite",
          write, kMastersPass);
    (isRest ? ofRest : ofValue) = rounding;
  }
  if (masters == Masters::Kahan && ofValue != ofRest)
    return nameResponsiblePass(
        emitError(func.getLoc(), "'")
            << train::entryName(func) << "' must store value and rest of "
            << "one weight, in '" << value << "' and '" << rest << "'",
        func, kMastersPass);
  return success();
}

static const uint16_t *initialBits(train::StateOp state) {
  auto elements =
      dyn_cast_or_null<DenseResourceElementsAttr>(state.getInitialValueAttr());
  AsmResourceBlob *blob =
      elements ? elements.getRawHandle().getBlob() : nullptr;
  return blob ? reinterpret_cast<const uint16_t *>(blob->getData().data())
              : nullptr;
}

/// Checks that initial compensations are possible: rounding to nearest has an
/// error of at most half a step of bf16, 2^-8 of the number, and subnormals
/// have a fixed step.
static LogicalResult verifyInitial(train::StateOp state, train::StateOp rest) {
  const uint16_t *value = initialBits(state), *left = initialBits(rest);
  if (!value || !left)
    return success();
  int64_t count = cast<RankedTensorType>(state.getType()).getNumElements();
  for (int64_t i = 0; i < count; ++i) {
    float kept = std::abs(bfloatToFloat(value[i]));
    float most = std::max(kept * 0x1p-8f, 0x1p-134f);
    if (std::isfinite(kept) && kept < 0x1.fep127f &&
        !(std::abs(bfloatToFloat(left[i])) <= most))
      return nameResponsiblePass(
          emitError(state.getLoc(), "element ")
              << i << " of '" << rest.getSymName()
              << "' must be at most half a step of the weight",
          rest, kMastersPass);
  }
  return success();
}

LogicalResult mpc::verifyMasters(ModuleOp module) {
  auto attr = module->getAttrOfType<StringAttr>(kMastersAttr);
  std::optional<Masters> masters =
      attr ? parseMasters(attr.getValue()) : std::nullopt;
  if (!masters || *masters == Masters::Fp32)
    return success();
  for (auto state : module.getOps<train::StateOp>()) {
    if (state.getKind() == train::StateKind::Parameter) {
      StringRef value = state.getSymName();
      train::StateOp left =
          train::Program(module).state(train::StateRole::Compensation, state);
      StringRef rest = left ? left.getSymName() : StringRef();
      FloatType element = getFloatElementType(state.getType());
      if (!element.isBF16() || bool(left) != (*masters == Masters::Kahan))
        return nameResponsiblePass(emitError(state.getLoc(), "the weights '")
                                       << value << "' must be "
                                       << attr.getValue() << ", but are "
                                       << state.getType(),
                                   state, kMastersPass);
      if (left && failed(verifyInitial(state, left)))
        return failure();
      for (auto func : module.getOps<func::FuncOp>()) {
        if (func.isExternal())
          continue;
        if (failed(verifyWrites(func, value, rest, *masters)))
          return failure();
        for (auto join : func.front().getOps<amp::JoinCompensatedOp>())
          if (readOf(join.getValue(), value) &&
              failed(verifyJoin(join, value, rest)))
            return failure();
        for (auto read : func.front().getOps<train::ReadOp>())
          if (read.getState() == rest && failed(verifyRest(read)))
            return failure();
      }
    }
    if (state.getKind() == train::StateKind::WorkingCopy &&
        state.getOfState().getKind() == train::StateKind::Parameter)
      return nameResponsiblePass(emitError(state.getLoc(), "'")
                                     << state.getSymName()
                                     << "' copies weights that are "
                                     << "bf16 already",
                                 state, kMastersPass);
  }
  return success();
}
