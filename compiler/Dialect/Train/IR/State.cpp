//===- State.cpp - Weights, statistics, moments, constants ----------------===//

#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// StateOp
//===----------------------------------------------------------------------===//

/// The end of a slot's elements; none if the slot does not lie inside
/// `capacity` elements.
static std::optional<int64_t> slotEnd(SlotAttr slot, int64_t capacity) {
  int64_t offset = slot.getOffset();
  if (offset < 0 || offset > capacity)
    return std::nullopt;
  int64_t size = 1; // Stays below 2^63: checked before each product.
  ArrayRef<int64_t> shape = slot.getShape().asArrayRef();
  for (int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && size > (capacity - offset) / extent))
      return std::nullopt;
    size *= extent;
  }
  return offset + size;
}

static LogicalResult verifySlots(StateOp state, int64_t capacity) {
  SmallVector<SlotAttr> slots(state.getSlots()->getAsRange<SlotAttr>());
  for (SlotAttr slot : slots)
    if (!slotEnd(slot, capacity)) // state_c2
      return state.emitOpError("slot '")
             << slot.getName() << "' must lie inside the " << capacity
             << " elements of the state, but is " << slot;

  llvm::stable_sort(slots, [](SlotAttr a, SlotAttr b) {
    return a.getOffset() < b.getOffset();
  });
  for (auto [slot, next] : llvm::zip(slots, llvm::drop_begin(slots)))
    if (*slotEnd(slot, capacity) > next.getOffset()) // state_c2
      return state.emitOpError("slots must not overlap, but '")
             << slot.getName() << "' ends at " << *slotEnd(slot, capacity)
             << " and '" << next.getName() << "' begins at "
             << next.getOffset();
  return success();
}

/// Working copies belong to another state; states of the model do not.
static LogicalResult verifyOf(StateOp state) {
  StateKind kind = state.getKind();
  StringRef role = stringifyStateRole(state.getRole());
  if (kind == StateKind::WorkingCopy && !state.getOf())
    return state.emitOpError("with role ")
           << role << " must name its original in 'of'";
  bool isAlone = kind == StateKind::Parameter || kind == StateKind::Statistic ||
                 kind == StateKind::Constant || kind == StateKind::Derived;
  if (isAlone && state.getOf())
    return state.emitOpError("with role ")
           << role << " must not have 'of': it belongs to no other state";
  return success();
}

LogicalResult StateOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  ElementsAttr initial = getInitialValueAttr();
  if (initial && initial.getShapedType() != type) // state_c1
    return emitOpError("'initial_value' must have the type of the state, ")
           << type << ", but has " << initial.getShapedType();

  if (getKind() == StateKind::Derived && initial) // state_c4
    return emitOpError("with role derived must not have 'initial_value': the "
                       "entry 'derive' makes it");
  if (getKind() == StateKind::Control && type.getRank() != 0) // state_c5
    return emitOpError("with role ") << stringifyStateRole(getRole())
                                     << " must be one number, but is " << type;
  if (failed(verifyOf(*this))) // state_c3
    return failure();
  return getSlots() ? verifySlots(*this, type.getNumElements()) : success();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (isUnique(getRole()))
    for (auto other : (*this)->getBlock()->getOps<StateOp>()) {
      if (other == *this) // The second one is wrong.
        break;
      if (other.getRole() == getRole()) { // state_c5
        InFlightDiagnostic diagnostic =
            emitOpError("must be the only one with role ")
            << stringifyStateRole(getRole());
        diagnostic.attachNote(other.getLoc()) << "another is here";
        return diagnostic;
      }
    }
  if (!getOf())
    return success();
  auto original = symbols.lookupNearestSymbolFrom<StateOp>(*this, getOfAttr());
  if (!original) // state_c3
    return emitOpError("'of' must name a state, but @")
           << *getOf() << " is none";
  auto type = cast<RankedTensorType>(getType());
  auto originalType = cast<RankedTensorType>(original.getType());
  if (type.getShape() != originalType.getShape()) { // state_c3
    InFlightDiagnostic diagnostic =
        emitOpError("must have the shape of the state that it belongs to, but "
                    "they are ")
        << type << " and " << originalType;
    diagnostic.attachNote(original.getLoc()) << "that state is here";
    return diagnostic;
  }
  return success();
}

StateOp StateOp::getOfState() {
  return getOfAttr()
             ? SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getOfAttr())
             : StateOp();
}

void StateOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                    StateRole role, Type type, ElementsAttr value,
                    ArrayAttr slots, StateOp of) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.sym_name = builder.getStringAttr(name);
  properties.role = StateRoleAttr::get(builder.getContext(), role);
  properties.type = TypeAttr::get(type);
  properties.initial_value = value;
  properties.slots = slots;
  if (of)
    properties.of = FlatSymbolRefAttr::get(of.getSymNameAttr());
}

//===----------------------------------------------------------------------===//
// ReadOp, WriteOp
//===----------------------------------------------------------------------===//

/// Checks that `symbol` is a state of this type.
static LogicalResult verifyState(Operation *op, FlatSymbolRefAttr symbol,
                                 Type type, SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, symbol);
  if (!state)
    return op->emitOpError("needs a state, but ") << symbol << " is none";
  if (state.getType() != type) {
    InFlightDiagnostic diagnostic = op->emitOpError("value of type ")
                                    << type << " does not fit state " << symbol
                                    << " of type " << state.getType();
    diagnostic.attachNote(state.getLoc()) << "the state is here";
    return diagnostic;
  }
  return success();
}

StateOp ReadOp::getStateOp() {
  return SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
}

StateOp WriteOp::getStateOp() {
  return SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
}

void ReadOp::build(OpBuilder &builder, OperationState &op, StateOp state) {
  build(builder, op, state.getType(),
        FlatSymbolRefAttr::get(state.getSymNameAttr()));
}

void WriteOp::build(OpBuilder &builder, OperationState &op, StateOp state,
                    Value value) {
  build(builder, op, FlatSymbolRefAttr::get(state.getSymNameAttr()), value);
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyState(*this, getStateAttr(), getType(), symbols); // read_c1
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyState(*this, getStateAttr(), getValue().getType(),
                     symbols); // write_c1
}

//===----------------------------------------------------------------------===//
// PackOp, UnpackOp
//===----------------------------------------------------------------------===//

LogicalResult PackOp::verify() {
  ArrayRef<int64_t> offsets = getOffsets();
  if (offsets.size() != getInputs().size()) // pack_c1
    return emitOpError("needs one offset per operand, but has ")
           << offsets.size() << " for " << getInputs().size();

  int64_t end = 0;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    if (offsets[index] < end) // pack_c1
      return emitOpError("operands must follow each other, but operand ")
             << index << " begins at " << offsets[index]
             << ", before the end of the preceding operand at " << end;
    auto part = cast<RankedTensorType>(input.getType());
    if (part.getElementType() != getType().getElementType()) // pack_c2
      return emitOpError("operands must have the element type of ")
             << getType() << ", but operand " << index << " is " << part;
    end = offsets[index] + part.getNumElements();
  }
  if (end > getType().getNumElements()) // pack_c1
    return emitOpError("operands must lie inside ")
           << getType() << ", but end at element " << end;
  return success();
}

LogicalResult UnpackOp::verify() {
  int64_t begin = getOffset();
  int64_t end = begin + getType().getNumElements();
  if (begin < 0 || end > getPacked().getType().getNumElements()) // unpack_c1
    return emitOpError("elements ")
           << begin << " to " << end << " must lie inside "
           << getPacked().getType();
  if (getPacked().getType().getElementType() !=
      getType().getElementType()) // unpack_c2
    return emitOpError("must have the element type of its packed state, ")
           << getPacked().getType() << ", but is " << getType();
  return success();
}

MPC_OP_FACTS(UnpackOp, Transparent, 0, "a view of the packed state")

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (getValue().getShapedType() != getType()) // constant_c1
    return emitOpError("value must have the type of the result, ")
           << getType() << ", but has " << getValue().getShapedType();
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) {
  // Loss scaling changes the seed of the backward pass, so its value is not
  // known yet. Folding to a unique attribute keeps it from merging with equal
  // constants and from being folded into its users.
  if ((*this)->hasAttr(kLossSeedAttr))
    return (*this)->getAttrDictionary();
  return getValueAttr();
}

Operation *TrainDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getShapedType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}
