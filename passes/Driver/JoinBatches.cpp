//===- JoinBatches.cpp - One program for several batch sizes --------------===//

#include "passes/Driver/JoinBatches.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Support/Diagnostics.h"
#include "passes/Driver/ShareStates.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using train::EntryRole;
using train::Program;

static bool isInference(func::FuncOp func) {
  return train::hasRole(func, EntryRole::Predict) ||
         train::hasRole(func, EntryRole::Evaluate);
}

/// Whether two functions do the same to the same states.
static bool areSame(func::FuncOp a, func::FuncOp b) {
  return OperationEquivalence::isEquivalentTo(
      a, b, OperationEquivalence::IgnoreLocations);
}

/// Whether there can be only one of these functions: sessions call them on
/// their own.
static bool mustBeShared(func::FuncOp func) {
  return train::hasRole(func, EntryRole::Derive) ||
         train::hasRole(func, EntryRole::Initialize);
}

/// What a training step rounds to 8 bit, in order. The states with the scales
/// have an element for each.
static SmallVector<std::string> quantizedBy(ModuleOp module) {
  SmallVector<std::string> names;
  if (func::FuncOp step = Program(module).trainingEntry())
    step.walk([&](amp::QuantizeOp quantize) {
      std::string text;
      llvm::raw_string_ostream(text) << quantize.getLoc();
      names.push_back(std::move(text));
    });
  return names;
}

/// Copies the functions of `other` that `module` does not have.
static LogicalResult addFunctions(ModuleOp module, OtherBatch other) {
  Program program(module);
  for (auto func : other.module.getOps<func::FuncOp>()) {
    if (!other.trains && !isInference(func))
      continue;
    func::FuncOp own = program.entry(*train::roleOf(func));
    if (own && areSame(own, func))
      continue;
    if (mustBeShared(func))
      return emitUsageError(func.getLoc())
             << "option 'batch': for batches of " << other.size << ", '"
             << train::entryName(func)
             << "' is not the same as for the first size; compile a package "
                "for each";
    func::FuncOp copy = func.clone();
    copy->removeAttr(train::kEntryAttr);
    program.setRole(copy, *train::roleOf(func), other.size);
    module.push_back(copy);
  }
  return success();
}

/// Makes every function that writes the weights also write the working copies
/// that only other functions read.
static void writeAllCopies(ModuleOp module) {
  for (train::StateOp copy :
       Program(module).states(train::StateRole::WorkingCopy)) {
    auto of = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
        module, copy.getOfAttr());
    for (auto func : module.getOps<func::FuncOp>()) {
      train::WriteOp write = train::findWrite(func, of);
      if (!write || train::findWrite(func, copy))
        continue;
      OpBuilder builder(write);
      builder.setInsertionPointAfter(write);
      Value rounded = amp::CastOp::create(builder, write.getLoc(),
                                          copy.getType(), write.getValue());
      amp::setDecision(rounded.getDefiningOp(), {Rule::ClassUpdate});
      train::WriteOp::create(builder, write.getLoc(), copy, rounded);
    }
  }
}

/// The scales start from a guess that depends on the batch size; all sizes take
/// that of the first one.
static void takeScales(ModuleOp module, ModuleOp other) {
  for (train::StateOp scales :
       Program(other).states(train::StateRole::Fp8Scales))
    if (train::StateOp own = Program(module).state(train::StateRole::Fp8Scales);
        own && own.getType() == scales.getType())
      scales.setInitialValueAttr(own.getInitialValueAttr());
}

/// Removes what only training needs, such as the scales of FP8 tensors.
static void keepInference(ModuleOp module) {
  for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!isInference(func))
      func.erase();
  for (auto state : llvm::make_early_inc_range(module.getOps<train::StateOp>()))
    if (SymbolTable::symbolKnownUseEmpty(state, module))
      state.erase();
}

LogicalResult mpc::joinBatches(ModuleOp module, ArrayRef<OtherBatch> others) {
  SmallVector<ModuleOp> modules = {module};
  for (const OtherBatch &other : others) {
    if (!other.trains)
      keepInference(other.module);
    else if (quantizedBy(module) != quantizedBy(other.module))
      return emitUsageError(UnknownLoc::get(module.getContext()))
             << "option 'batch': for batches of " << other.size
             << ", other layers use FP8 than for the first size, so both "
                "cannot share their scales; compile a package for each";
    takeScales(module, other.module);
    modules.push_back(other.module);
  }
  if (failed(agreeOnConstants(modules)) ||
      failed(shareStates(modules, "for all batch sizes")))
    return failure();
  for (const OtherBatch &other : others)
    if (failed(addFunctions(module, other)))
      return failure();
  writeAllCopies(module);
  return success();
}

bool mpc::haveSameWords(StringRef note, StringRef other) {
  auto withoutDigits = [](StringRef text) {
    std::string rest;
    llvm::copy_if(text, std::back_inserter(rest),
                  [](char c) { return !llvm::isDigit(c); });
    return rest;
  };
  return withoutDigits(note) == withoutDigits(other);
}
