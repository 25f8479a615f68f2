//===- ReferenceProgram.cpp - Interpreted training program ----------------===//

#include "passes/Driver/ReferenceProgram.h"

#include "compiler/Dialect/Train/IR/Program.h"
#include "passes/Fusion/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::reference;

std::unique_ptr<ReferenceProgram>
ReferenceProgram::create(LoweredModule lowered, KernelRunner runner,
                         std::string &error) {
  std::unique_ptr<ReferenceProgram> program(
      new ReferenceProgram(std::move(lowered), std::move(runner)));
  ScopedDiagnosticHandler handler(
      program->lowered.context.get(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          error += (error.empty() ? "" : "; ") + diagnostic.str();
        return success();
      });
  PassManager manager(program->lowered.context.get());
  manager.addPass(createLowerToLinalgPass());
  if (failed(manager.run(*program->lowered.module))) {
    if (error.empty())
      error = "the model cannot be lowered for the interpreter";
    return nullptr;
  }
  program->listStates();
  return program;
}

void ReferenceProgram::listStates() {
  for (auto state : lowered.module->getOps<train::StateOp>()) {
    auto type = cast<RankedTensorType>(state.getType());
    std::string name = state.getSymName().str();
    ElementsAttr initial = state.getInitialValueAttr();
    interpreter.states[name] =
        initial ? HostTensor::of(initial) : HostTensor::zeros(type);
    const bool isParameter = state.getKind() == train::StateKind::Parameter;
    ArrayAttr slots = state.getSlotsAttr();
    if (!slots || slots.empty()) {
      tensors[name] = {name, 0, type, isParameter};
      continue;
    }
    const bool ownNames = state.getOwnNames() || isParameter ||
                          state.getKind() == train::StateKind::Statistic ||
                          state.getKind() == train::StateKind::Constant;
    for (auto slot : slots.getAsRange<train::SlotAttr>())
      tensors[(ownNames ? "" : name + "/") + slot.getName().str()] = {
          name, slot.getOffset(),
          RankedTensorType::get(slot.getShape().asArrayRef(),
                                type.getElementType()),
          isParameter};
  }
}

std::string ReferenceProgram::totalStepsState() const {
  train::StateOp state =
      train::Program(*lowered.module).state(train::StateRole::TotalSteps);
  return state ? state.getSymName().str() : "";
}

std::vector<Element> ReferenceProgram::read(const State &state) const {
  const HostTensor &whole = interpreter.states.at(state.symbol);
  auto begin = whole.elements.begin() + state.offset;
  return {begin, begin + state.type.getNumElements()};
}

void ReferenceProgram::write(const State &state, ArrayRef<Element> elements) {
  assert(int64_t(elements.size()) == state.type.getNumElements());
  llvm::copy(elements, interpreter.states.at(state.symbol).elements.begin() +
                           state.offset);
}

func::FuncOp ReferenceProgram::find(StringRef entry) const {
  std::optional<train::EntryRole> role = train::symbolizeEntryRole(entry);
  return role ? train::Program(*lowered.module).entry(*role) : nullptr;
}

bool ReferenceProgram::has(StringRef entry) const { return bool(find(entry)); }

std::vector<std::pair<std::string, RankedTensorType>>
ReferenceProgram::inputs(StringRef entry) const {
  std::vector<std::pair<std::string, RankedTensorType>> list;
  func::FuncOp func = find(entry);
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    list.emplace_back(func.getArgAttrOfType<StringAttr>(i, kNameAttr).str(),
                      cast<RankedTensorType>(func.getArgumentTypes()[i]));
  return list;
}

std::vector<std::pair<std::string, RankedTensorType>>
ReferenceProgram::outputs(StringRef entry) const {
  std::vector<std::pair<std::string, RankedTensorType>> list;
  func::FuncOp func = find(entry);
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttr))
      list.emplace_back(name.str(),
                        cast<RankedTensorType>(func.getResultTypes()[i]));
  return list;
}

llvm::Expected<std::map<std::string, HostTensor>>
ReferenceProgram::run(StringRef entry, std::vector<HostTensor> inputs) {
  func::FuncOp func = find(entry);
  auto results = interpreter.run(func, std::move(inputs));
  if (!results)
    return results.takeError();
  std::map<std::string, HostTensor> named;
  for (auto [i, result] : llvm::enumerate(*results))
    if (auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttr))
      named[name.str()] = std::move(result);
  return named;
}
