//===- Examine.cpp - What prevents a model from being trained -------------===//

#include "passes/Driver/Examine.h"

#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Import/Import.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Notes.h"
#include "compiler/Support/Threading.h"
#include "passes/Driver/ImportOptions.h"
#include "passes/Grad/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mpc;

/// Counts float tensors by their role in training; returns the parameters.
static llvm::StringMap<int64_t> countStates(ModuleOp module,
                                            Examination &result) {
  llvm::StringMap<int64_t> parameters;
  for (auto state : module.getOps<train::StateOp>()) {
    auto type = cast<RankedTensorType>(state.getType());
    if (!isa<FloatType>(type.getElementType()))
      continue;
    train::StateKind kind = state.getKind();
    Examination::Tensors &tensors =
        kind == train::StateKind::Parameter   ? result.trained
        : kind == train::StateKind::Statistic ? result.statistics
                                              : result.kept;
    ++tensors.count;
    tensors.elements += type.getNumElements();
    if (kind == train::StateKind::Parameter)
      parameters[state.getSymName()] = type.getNumElements();
  }
  return parameters;
}

/// Counts the parameters that no gradient reaches as kept instead of trained:
/// they have become constants, while the trained ones have been packed.
static void moveUntrained(ModuleOp module,
                          const llvm::StringMap<int64_t> &parameters,
                          Examination &result) {
  for (const auto &parameter : parameters) {
    if (!SymbolTable::lookupSymbolIn(module, parameter.getKey()))
      continue;
    --result.trained.count;
    result.trained.elements -= parameter.getValue();
    ++result.kept.count;
    result.kept.elements += parameter.getValue();
  }
}

static std::vector<Examination::Output> listOutputs(ModuleOp module) {
  std::vector<Examination::Output> outputs;
  func::FuncOp predict =
      train::Program(module).entry(train::EntryRole::Predict);
  for (unsigned i = 0; predict && i < predict.getNumResults(); ++i) {
    auto name = predict.getResultAttrOfType<StringAttr>(i, kNameAttr);
    auto type = dyn_cast<RankedTensorType>(predict.getResultTypes()[i]);
    if (name && type)
      outputs.push_back({name.getValue().str(), type.getShape().vec()});
  }
  return outputs;
}

/// Runs the stages in which a model can fail.
static LogicalResult runStages(ModuleOp module, const CompileOptions &options) {
  for (StringRef stage : {"graph", "grad"}) {
    PassManager manager(module->getContext());
    addStage(manager, stage.str(), options);
    if (failed(manager.run(module)))
      return failure();
  }
  return success();
}

static void takeDecisions(ModuleOp module, Examination &result) {
  llvm::append_range(result.notes, takeNotes(module));
  if (auto loss = module->getAttrOfType<StringAttr>(kLossAttr))
    result.loss = loss.getValue().str();
}

Examination mpc::examineModel(const CompileOptions &options) {
  Examination result;
  MLIRContext context(availableThreading());
  SmallVector<Diagnostic> held;
  ImportResult imported;
  {
    ScopedDiagnosticHandler hold(&context, [&](Diagnostic &diagnostic) {
      held.push_back(std::move(diagnostic));
      return success();
    });
    ImportOptions importOptions = toImportOptions(options);
    importOptions.survey = &result.survey;
    imported = importOnnx(options.model, importOptions, context);
    result.notes = imported.notes;
    result.failure = imported.error;
    if (imported.module) {
      ModuleOp module = *imported.module;
      result.outputs = listOutputs(module);
      llvm::StringMap<int64_t> parameters = countStates(module, result);
      result.predictsOnly = result.trained.count == 0;
      if (result.predictsOnly)
        module->setAttr(kPredictOnlyAttr, UnitAttr::get(&context));
      if (failed(runStages(module, options)))
        result.failure = llvm::any_of(held, isUsageError) ? ModelError::Usage
                                                          : ModelError::Invalid;
      else if (!result.predictsOnly)
        moveUntrained(module, parameters, result);
      takeDecisions(module, result);
    }
  }
  if (!result.survey.isRead) {
    llvm::raw_string_ostream os(result.diagnostics);
    ModelDiagnosticHandler handler(&context, options.model, os);
    for (Diagnostic &diagnostic : held)
      context.getDiagEngine().emit(std::move(diagnostic));
    return result;
  }
  for (const Diagnostic &diagnostic : held) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      continue;
    Examination::Fault &fault = result.faults.emplace_back();
    fault.text = describe(diagnostic);
    for (const Diagnostic &note : diagnostic.getNotes())
      if (!StringRef(note.str()).starts_with("see current operation"))
        fault.notes.push_back(describe(note));
  }
  return result;
}
