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

/// Where the elements of a slot end; none if not inside `capacity` elements.
static std::optional<int64_t> slotEnd(SlotAttr slot, int64_t capacity) {
  int64_t offset = slot.getOffset();
  if (offset < 0 || offset > capacity)
    return std::nullopt;
  int64_t size = 1; // Stays below 2^63: checked before each product.
  for (int64_t extent : slot.getShape().asArrayRef()) {
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

LogicalResult StateOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  ElementsAttr initial = getInitialValueAttr();
  if (initial && initial.getShapedType() != type) // state_c1
    return emitOpError("'initial_value' must have the type of the state, ")
           << type << ", but has " << initial.getShapedType();

  bool isCopy = getKind() == StateKind::WorkingCopy;
  if (isCopy && !getCopyOf()) // state_c3
    return emitOpError("of kind working_copy must name its original in "
                       "'copy_of'");
  if (!isCopy && getCopyOf()) // state_c3
    return emitOpError("of kind ")
           << stringifyStateKind(getKind())
           << " must not have 'copy_of', which is for working copies";
  if (getKind() == StateKind::Derived && initial) // state_c4
    return emitOpError("of kind derived must not have 'initial_value': @derive "
                       "makes it");

  return getSlots() ? verifySlots(*this, type.getNumElements()) : success();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getCopyOf())
    return success();
  auto original =
      symbols.lookupNearestSymbolFrom<StateOp>(*this, getCopyOfAttr());
  if (!original) // state_c3
    return emitOpError("'copy_of' must name a state, but @")
           << *getCopyOf() << " is none";
  auto type = cast<RankedTensorType>(getType());
  auto originalType = cast<RankedTensorType>(original.getType());
  if (type.getShape() != originalType.getShape()) { // state_c3
    InFlightDiagnostic diagnostic =
        emitOpError("must have the shape of its original, but they are ")
        << type << " and " << originalType;
    diagnostic.attachNote(original.getLoc()) << "the original is here";
    return diagnostic;
  }
  return success();
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
             << ", before the end of what precedes it at " << end;
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
    return emitOpError("a view has the element type of ")
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
  // What starts the backward pass is no number yet: loss scaling changes it. A
  // value of its own keeps it from merging with equal constants, and from
  // being folded into its users.
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
