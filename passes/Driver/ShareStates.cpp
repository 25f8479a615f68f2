//===- ShareStates.cpp - Make devices share states ------------------------===//

#include "passes/Driver/ShareStates.h"

#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Support/Diagnostics.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mpc;

static bool areEqual(ElementsAttr a, ElementsAttr b) {
  auto blobOf = [](ElementsAttr value) {
    auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(value);
    return resource ? resource.getRawHandle().getBlob() : nullptr;
  };
  if (a == b)
    return true;
  // Each device has rounded its own copy.
  AsmResourceBlob *left = blobOf(a), *right = blobOf(b);
  return left && right && a.getType() == b.getType() &&
         left->getData() == right->getData();
}

/// Whether two definitions of a state agree.
static bool areSame(train::StateOp a, train::StateOp b) {
  auto others = [](train::StateOp state) {
    NamedAttrList list(state->getAttrs());
    list.erase(state.getInitialValueAttrName());
    return list.getDictionary(state.getContext());
  };
  return others(a) == others(b) &&
         areEqual(a.getInitialValueAttr(), b.getInitialValueAttr());
}

static bool isFloat(train::StateOp state, unsigned width) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(state.getType()));
  return type && type.getWidth() == width;
}

/// Turns `constant`, which is narrow only in this module, into a working copy
/// of an f32 constant, which is cloned from `wide`, of another module.
static LogicalResult makeCopy(ModuleOp module, train::StateOp constant,
                              train::StateOp wide) {
  std::string type;
  llvm::raw_string_ostream(type) << getElementTypeOrSelf(constant.getType());
  StringAttr name = constant.getSymNameAttr();
  auto copy = StringAttr::get(
      module.getContext(),
      train::Program(module).freeName(name.getValue() + "." + type));
  if (failed(SymbolTable::replaceAllSymbolUses(constant, copy, module)))
    return failure();
  OpBuilder(constant).clone(*wide);
  constant.setSymNameAttr(copy);
  constant.setRole(train::StateRole::WorkingCopy);
  constant.removeInitialValueAttr();
  constant.setOfAttr(FlatSymbolRefAttr::get(name));
  return success();
}

LogicalResult mpc::agreeOnConstants(ArrayRef<ModuleOp> modules) {
  llvm::StringMap<train::StateOp> wide;
  for (ModuleOp module : modules)
    for (auto state : module.getOps<train::StateOp>())
      if (state.getKind() == train::StateKind::Constant && isFloat(state, 32))
        wide[state.getSymName()] = state;
  for (ModuleOp module : modules)
    for (auto state :
         llvm::make_early_inc_range(module.getOps<train::StateOp>()))
      if (state.getKind() == train::StateKind::Constant && isFloat(state, 16))
        if (train::StateOp other = wide.lookup(state.getSymName()))
          if (failed(makeCopy(module, state, other)))
            return failure();
  return success();
}

/// Renames constants whose name another module uses for a different state: the
/// compiler numbers the constants that it creates.
static LogicalResult renameConstants(ArrayRef<ModuleOp> modules) {
  llvm::StringMap<train::StateOp> known;
  for (ModuleOp module : modules)
    for (auto state : module.getOps<train::StateOp>()) {
      auto [other, isNew] = known.try_emplace(state.getSymName(), state);
      if (isNew || state.getKind() != train::StateKind::Constant ||
          areSame(other->second, state))
        continue;
      std::string name;
      for (int number = 1;
           name.empty() || known.contains(name) || module.lookupSymbol(name);
           ++number)
        name = (other->first() + "." + Twine(number)).str();
      auto attribute = StringAttr::get(module.getContext(), name);
      if (failed(SymbolTable::replaceAllSymbolUses(state, attribute, module)))
        return failure();
      state.setSymNameAttr(attribute);
      known[name] = state;
    }
  return success();
}

/// The states of all modules, each once. A state that only some modules have
/// follows the state that precedes it there.
static FailureOr<std::vector<train::StateOp>>
mergeStates(ArrayRef<ModuleOp> modules, StringRef where) {
  std::vector<train::StateOp> merged;
  for (ModuleOp module : modules) {
    size_t next = 0;
    for (auto state : module.getOps<train::StateOp>()) {
      auto found = llvm::find_if(merged, [&](train::StateOp other) {
        return other.getSymName() == state.getSymName();
      });
      if (found == merged.end()) {
        merged.insert(merged.begin() + next++, state);
        continue;
      }
      if (!areSame(*found, state)) {
        InFlightDiagnostic error = emitUsageError(state.getLoc())
                                   << "state '" << state.getSymName()
                                   << "' is not the same " << where
                                   << "; compile a package for each";
        error.attachNote(found->getLoc()) << "the other is here";
        return failure();
      }
      next = found - merged.begin() + 1;
    }
  }
  return merged;
}

LogicalResult mpc::shareStates(ArrayRef<ModuleOp> modules, StringRef where) {
  if (failed(renameConstants(modules)))
    return failure();
  FailureOr<std::vector<train::StateOp>> merged = mergeStates(modules, where);
  if (failed(merged))
    return failure();
  for (ModuleOp module : modules) {
    llvm::StringMap<train::StateOp> own;
    for (auto state : module.getOps<train::StateOp>())
      own[state.getSymName()] = state;
    // Move each to the front, starting with the last.
    Block *block = module.getBody();
    for (train::StateOp state : llvm::reverse(*merged)) {
      if (train::StateOp here = own.lookup(state.getSymName()))
        here->moveBefore(block, block->begin());
      else
        OpBuilder::atBlockBegin(block).clone(*state);
    }
  }
  return success();
}
