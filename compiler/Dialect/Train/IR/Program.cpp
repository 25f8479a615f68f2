//===- Program.cpp - Entry points and states by role ----------------------===//

#include "compiler/Dialect/Train/IR/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

std::optional<EntryRole> mpc::train::roleOf(Operation *entry) {
  auto role = entry ? entry->getAttrOfType<EntryRoleAttr>(kEntryAttr) : nullptr;
  return role ? std::optional(role.getValue()) : std::nullopt;
}

std::optional<int64_t> mpc::train::otherBatchOf(Operation *entry) {
  auto size = entry ? entry->getAttrOfType<IntegerAttr>(kBatchAttr) : nullptr;
  return size ? std::optional(size.getInt()) : std::nullopt;
}

static std::string nameOf(EntryRole role, std::optional<int64_t> otherBatch) {
  std::string name = stringifyEntryRole(role).str();
  return otherBatch ? name + "@" + std::to_string(*otherBatch) : name;
}

std::string mpc::train::entryName(Operation *entry) {
  if (std::optional<EntryRole> role = roleOf(entry))
    return nameOf(*role, otherBatchOf(entry));
  return SymbolTable::getSymbolName(entry).str();
}

bool mpc::train::isTrainingEntry(Operation *entry) {
  return hasRole(entry, EntryRole::Step) ||
         hasRole(entry, EntryRole::Accumulate);
}

bool mpc::train::isOutput(Operation *op) {
  return isa<WriteOp, func::ReturnOp>(op);
}

Program Program::around(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  return Program(module ? module : op->getParentOfType<ModuleOp>());
}

func::FuncOp Program::entry(EntryRole role) const {
  for (auto func : getModule().getOps<func::FuncOp>())
    if (hasRole(func, role) && !otherBatchOf(func))
      return func;
  return nullptr;
}

func::FuncOp Program::trainingEntry() const {
  func::FuncOp step = entry(EntryRole::Step);
  return step ? step : entry(EntryRole::Accumulate);
}

func::FuncOp Program::updateEntry() const {
  func::FuncOp step = entry(EntryRole::Step);
  return step ? step : entry(EntryRole::Apply);
}

void Program::setRole(func::FuncOp func, EntryRole role,
                      std::optional<int64_t> otherBatch) {
  MLIRContext *context = func.getContext();
  func->setAttr(kEntryAttr, EntryRoleAttr::get(context, role));
  if (otherBatch)
    func->setAttr(kBatchAttr, Builder(context).getI64IntegerAttr(*otherBatch));
  std::string name = nameOf(role, otherBatch);
  if (func.getSymName() != name)
    func.setSymName(freeName(name));
}

func::FuncOp Program::copyEntry(func::FuncOp func, EntryRole role) {
  func::FuncOp copy = func.clone();
  copy->removeAttr(kEntryAttr);
  setRole(copy, role);
  module.push_back(copy);
  return copy;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

SmallVector<StateOp> Program::states(StateRole role) const {
  return llvm::filter_to_vector(
      getModule().getOps<StateOp>(),
      [&](StateOp state) { return state.getRole() == role; });
}

SmallVector<StateOp> Program::states(StateKind kind) const {
  return llvm::filter_to_vector(
      getModule().getOps<StateOp>(),
      [&](StateOp state) { return state.getKind() == kind; });
}

StateOp Program::state(StateRole role, StateOp of) const {
  for (auto state : getModule().getOps<StateOp>())
    if (state.getRole() == role && (!of || state.getOf() == of.getSymName()))
      return state;
  return nullptr;
}

std::string Program::freeName(const Twine &wanted) const {
  std::string name = wanted.str();
  auto isTaken = [&](StringRef other) {
    return other == name || (other.starts_with(name) &&
                             other.drop_front(name.size()).starts_with("/"));
  };
  auto isTakenBy = [&](Operation &op) {
    StringAttr symbol = SymbolTable::getSymbolName(&op);
    if (symbol && isTaken(symbol))
      return true;
    auto state = dyn_cast<StateOp>(op);
    return state && state.getSlots() &&
           llvm::any_of(state.getSlots()->getAsRange<SlotAttr>(),
                        [&](SlotAttr slot) { return isTaken(slot.getName()); });
  };
  while (llvm::any_of(*getModule().getBody(), isTakenBy))
    name.insert(0, "mpc.");
  return name;
}

StateOp Program::createState(StateRole role, RankedTensorType type,
                             ElementsAttr value, ArrayAttr slots) {
  assert(!usualName(role).empty() && "its states have individual names");
  return createState(role, usualName(role), type, value, slots);
}

StateOp Program::createState(StateRole role, const Twine &wanted,
                             RankedTensorType type, ElementsAttr value,
                             ArrayAttr slots, StateOp of) {
  std::string name = freeName(wanted);
  OpBuilder builder(module.getContext());
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    builder.setInsertionPointToEnd(module.getBody());
  else
    builder.setInsertionPoint(*functions.begin());
  Location loc = NameLoc::get(builder.getStringAttr(name));
  return StateOp::create(builder, loc, name, role, type, value, slots, of);
}

StateOp Program::carriedGradients() const {
  StateOp sum = state(StateRole::GradientSum);
  return sum ? sum : state(StateRole::RankGradients);
}

StateOp Program::getOrCreateNumber(StateRole role, TypedAttr value) {
  if (StateOp known = state(role))
    return known;
  auto type = RankedTensorType::get({}, value.getType());
  return createState(role, type,
                     DenseElementsAttr::get(type, Attribute(value)));
}

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

ReadOp mpc::train::findRead(func::FuncOp func, StateOp state) {
  for (auto read : func.front().getOps<ReadOp>())
    if (read.getState() == state.getSymName())
      return read;
  return nullptr;
}

WriteOp mpc::train::findWrite(func::FuncOp func, StateOp state) {
  for (auto write : func.front().getOps<WriteOp>())
    if (write.getState() == state.getSymName())
      return write;
  return nullptr;
}

Value mpc::train::getOrCreateRead(func::FuncOp func, StateOp state) {
  if (ReadOp read = findRead(func, state))
    return read;
  OpBuilder builder = OpBuilder::atBlockBegin(&func.front());
  return ReadOp::create(builder, state.getLoc(), state);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// `train.entry` belongs on symbols of a module, at most once for each role and
/// batch size.
static LogicalResult verifyEntry(Operation *op, Attribute value) {
  auto role = dyn_cast<EntryRoleAttr>(value);
  if (!role)
    return op->emitError("'")
           << kEntryAttr << "' must be a role such as #train.entry<step>, "
           << "but is " << value;
  if (!SymbolTable::getSymbolName(op) || !op->getBlock())
    return op->emitError("'")
           << kEntryAttr << "' is only allowed on functions of a module";
  for (Operation &other : *op->getBlock()) {
    if (&other == op) // The second one is wrong.
      break;
    if (hasRole(&other, role.getValue()) &&
        otherBatchOf(&other) == otherBatchOf(op)) {
      InFlightDiagnostic error = op->emitError("a program has one entry '")
                                 << entryName(op)
                                 << "', but this is a second one";
      error.attachNote(other.getLoc()) << "the other is here";
      return error;
    }
  }
  return success();
}

static LogicalResult verifyBatch(Operation *op, Attribute value) {
  auto size = dyn_cast<IntegerAttr>(value);
  if (size && size.getType().isSignlessInteger(64) && size.getInt() > 0 &&
      op->hasAttr(kEntryAttr))
    return success();
  return op->emitError("'")
         << kBatchAttr << "' must be a positive i64 on an entry point, but is "
         << value;
}

LogicalResult TrainDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == kEntryAttr)
    return verifyEntry(op, attribute.getValue());
  if (attribute.getName() == kBatchAttr)
    return verifyBatch(op, attribute.getValue());
  return op->emitError("'") << attribute.getName().getValue()
                            << "' is not an attribute of the train dialect";
}
