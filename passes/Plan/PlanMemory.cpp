//===- PlanMemory.cpp - Turn functions into programs ----------------------===//
//
// Implements mpc-plan-memory: StoragePlan decides where values lie; this file
// creates the instructions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/ItemElements.h"
#include "compiler/Catalog/Catalog.h"
#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/Locations.h"
#include "passes/Plan/Dataflow.h"
#include "passes/Plan/Passes.h"
#include "passes/Plan/Storage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mpc {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Plan/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The nodes that an instruction comes from, for errors and profiles: the first
/// node and the number of others.
static std::string describe(Location loc) {
  SmallVector<StringRef> names;
  loc->walk([&](Location part) {
    if (isa<NameLoc>(part)) {
      StringRef name = nodeName(part);
      if (!llvm::is_contained(names, name))
        names.push_back(name);
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
  if (names.empty())
    return "";
  std::string text = names[0].str();
  if (names.size() > 1)
    text += " and " + std::to_string(names.size() - 1) + " more";
  return text;
}

namespace {

/// Writes the instructions of one function.
class EntryWriter {
public:
  EntryWriter(func::FuncOp func, const Backend &backend, SymbolTable &symbols,
              const StoragePlan &plan)
      : func(func), backend(backend), symbols(symbols), plan(plan),
        dataflow(func), builder(func) {}

  LogicalResult run() {
    auto entry = exec::EntryOp::create(builder, func.getLoc(), func.getName(),
                                       describeInputs(), describeOutputs(),
                                       dataflow.describe());
    for (StringRef name :
         {StringRef(train::kEntryAttr), StringRef(train::kBatchAttr),
          StringRef(kObservationsAttr), StringRef(kTestedAttr)})
      if (Attribute attribute = func->getAttr(name))
        entry->setAttr(name, attribute);
    builder.setInsertionPointToStart(&entry.getBody().emplaceBlock());
    prepareStatePacks();
    SmallVector<train::WriteOp> writes;
    for (Operation &op : func.getBody().front()) {
      if (auto write = dyn_cast<train::WriteOp>(op))
        writes.push_back(write);
      else if (failed(emit(&op)))
        return failure();
      for (auto [input, place] : early.lookup(&op))
        emitCopy(op.getLoc(), input, place);
    }
    for (train::WriteOp write : writes) {
      auto type = cast<RankedTensorType>(write.getValue().getType());
      emitCopy(write.getLoc(), write.getValue(),
               plan.stateBuffer(write.getState(), type));
    }
    return success();
  }

private:
  ArrayAttr describeInputs() {
    SmallVector<Attribute> inputs;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      inputs.push_back(describeBinding(plan.bufferOf(func.getArgument(i)),
                                       func.getArgAttrDict(i)));
    return builder.getArrayAttr(inputs);
  }

  ArrayAttr describeOutputs() {
    Operation *terminator = func.getBody().front().getTerminator();
    SmallVector<Attribute> outputs;
    for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
      outputs.push_back(describeBinding(
          plan.bufferOf(terminator->getOperand(i)), func.getResultAttrDict(i)));
    return builder.getArrayAttr(outputs);
  }

  /// `mpc.name` -> name, and so on.
  Attribute describeBinding(exec::BufferAttr buffer,
                            DictionaryAttr attributes) {
    NamedAttrList list;
    list.set("buffer", buffer);
    if (attributes)
      for (NamedAttribute attribute : attributes)
        if (attribute.getName().getValue().starts_with("mpc."))
          list.set(attribute.getName().getValue().drop_front(4),
                   attribute.getValue());
    return list.getDictionary(builder.getContext());
  }

  LogicalResult emit(Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op))
      return emitLaunch(call);
    if (auto kernel = dyn_cast<train::KernelOpInterface>(op)) {
      SmallVector<int64_t> attributes = kernel.getKernelAttributes();
      if (op->hasAttr(kTf32Attr))
        attributes.push_back(1);
      emitCall(op->getLoc(), kernel.getKernelName(), attributes, operandsOf(op),
               valuesOf(op));
      return success();
    }
    if (auto pack = dyn_cast<train::PackOp>(op)) {
      if (!isInState(pack))
        emitPack(pack);
      return success();
    }
    if (train::isView(op) || op->hasTrait<train::AccessesStates>() ||
        isa<func::ReturnOp>(op))
      return success();
    return op->emitOpError("internal error in mpc-plan-memory: is not an "
                           "instruction; expected mpc-fuse-kernels to take it");
  }

  SmallVector<Attribute> operandsOf(Operation *op) {
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(plan.bufferOf(operand));
    for (Value result : op->getResults())
      operands.push_back(plan.bufferOf(result));
    return operands;
  }

  ArrayAttr valuesOf(Operation *op) {
    SmallVector<Attribute> values;
    for (Value operand : op->getOperands())
      values.push_back(dataflow.valueOf(operand));
    for (Value result : op->getResults())
      values.push_back(dataflow.valueOf(result));
    return builder.getArrayAttr(values);
  }

  LogicalResult emitLaunch(func::CallOp call) {
    auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
    SmallVector<linalg::GenericOp> ops(kernel.getOps<linalg::GenericOp>());
    std::optional<KernelDomain> domain = analyzeKernel(ops);
    if (!domain)
      return call.emitOpError("internal error in mpc-plan-memory: its kernel "
                              "has no domain");
    std::optional<LaunchShape> shape = backend.launchShape(*domain);
    if (!shape)
      return call.emitOpError("internal error in mpc-plan-memory: its kernel "
                              "has no launch");
    auto launch = exec::LaunchOp::create(
        builder, call.getLoc(), call.getCallee(), shape->items, shape->grain,
        shape->threads, shape->sharedBytes,
        builder.getArrayAttr(operandsOf(call)), /*results=*/0,
        /*item_elements=*/nullptr, valuesOf(call));
    name(launch);
    if (train::hasRole(func, train::EntryRole::Apply))
      describeItems(launch, kernel, *domain, *shape);
    return success();
  }

  /// Says what the items of an update access, so that ranks can share them.
  void describeItems(exec::LaunchOp launch, func::FuncOp kernel,
                     const KernelDomain &domain, const LaunchShape &shape) {
    launch.setResults(kernel.getNumResults());
    if (auto elements = elementsOfItems(kernel, domain, shape))
      launch.setItemElements(*elements);
  }

  void emitCall(Location loc, StringRef kernel, ArrayRef<int64_t> attributes,
                ArrayRef<Attribute> operands, ArrayAttr values) {
    auto call = exec::CallOp::create(builder, loc, kernel, attributes,
                                     builder.getArrayAttr(operands), values);
    name(call);
  }

  /// Emits a copy; in the dataflow, a copy of a tensor is the same tensor.
  void emitCopy(Location loc, Value from, exec::BufferAttr to) {
    Attribute value = dataflow.valueOf(from);
    if (!plan.liesAt(from, to))
      emitCall(loc, "copy", {}, {plan.bufferOf(from), to},
               builder.getArrayAttr({value, value}));
  }

  bool isInState(train::PackOp pack) const {
    return plan.bufferOf(pack).getSpace() == exec::Space::State;
  }

  /// Visits the parts of a pack that are not computed in place, and its gaps.
  void visitPack(train::PackOp pack,
                 llvm::function_ref<void(Value, exec::BufferAttr)> copy,
                 llvm::function_ref<void(exec::BufferAttr, ArrayAttr)> zero) {
    auto type = cast<RankedTensorType>(pack.getType());
    int64_t end = 0;
    auto clear = [&](int64_t until) {
      if (until == end)
        return;
      auto gap = RankedTensorType::get({until - end}, type.getElementType());
      auto before = RankedTensorType::get({end}, type.getElementType());
      auto value = exec::ValueAttr::get(builder.getContext(),
                                        dataflow.valueOf(pack).getNumber(),
                                        byteSize(before));
      zero(plan.slice(pack, end, gap), builder.getArrayAttr({value}));
    };
    for (auto [input, offset] :
         llvm::zip(pack.getInputs(), pack.getOffsets())) {
      auto part = cast<RankedTensorType>(input.getType());
      clear(offset);
      copy(input, plan.slice(pack, offset, part));
      end = offset + part.getNumElements();
    }
    clear(type.getNumElements());
  }

  void emitPack(train::PackOp pack) {
    visitPack(
        pack,
        [&](Value input, exec::BufferAttr place) {
          emitCopy(pack.getLoc(), input, place);
        },
        [&](exec::BufferAttr gap, ArrayAttr value) {
          emitCall(pack.getLoc(), "zero", {}, {gap}, value);
        });
  }

  /// Packs in states are complete as early as possible, because processes that
  /// train together exchange each range when its last instruction has run: gaps
  /// are filled first, and parts are copied when they have been computed.
  void prepareStatePacks() {
    for (auto pack : func.getOps<train::PackOp>())
      if (isInState(pack))
        visitPack(
            pack,
            [&](Value input, exec::BufferAttr place) {
              if (Operation *op = input.getDefiningOp())
                early[op].emplace_back(input, place);
              else
                emitCopy(pack.getLoc(), input, place);
            },
            [&](exec::BufferAttr gap, ArrayAttr value) {
              emitCall(pack.getLoc(), "zero", {}, {gap}, value);
            });
  }

  void name(Operation *op) {
    std::string text = describe(op->getLoc());
    if (!text.empty())
      op->setAttr("name", builder.getStringAttr(text));
  }

  func::FuncOp func;
  const Backend &backend;
  SymbolTable &symbols;
  const StoragePlan &plan;
  const Dataflow dataflow;
  OpBuilder builder;
  /// Copies into packs in states that follow an op.
  llvm::DenseMap<Operation *,
                 SmallVector<std::pair<Value, exec::BufferAttr>, 1>>
      early;
};

struct PlanMemoryPass : mpc::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    Builder builder(&getContext());

    llvm::StringMap<int64_t> offsets;
    int64_t stateSize = 0;
    for (auto state : module.getOps<train::StateOp>()) {
      offsets[state.getSymName()] = stateSize;
      state->setAttr("exec.offset", builder.getI64IntegerAttr(stateSize));
      stateSize += llvm::alignTo(
          byteSize(cast<RankedTensorType>(state.getType())), kBufferAlignment);
    }

    int64_t arena = 0, unshared = 0;
    SmallVector<func::FuncOp> entries;
    for (auto func : module.getOps<func::FuncOp>())
      if (!func->hasAttr(kKernelAttr))
        entries.push_back(func);
    for (func::FuncOp func : entries) {
      StoragePlan plan(func, symbols, offsets);
      // On hosts the runtime computes gradients in memory of the caller.
      if (train::hasRole(func, train::EntryRole::Backward) &&
          !device->isAccelerator())
        plan.separateResults();
      arena = std::max(arena, plan.layOut());
      unshared = std::max(unshared, plan.unsharedSize());
      if (failed(EntryWriter(func, *device, symbols, plan).run()))
        return signalPassFailure();
      func.erase();
    }
    module->setAttr("exec.state_size", builder.getI64IntegerAttr(stateSize));
    module->setAttr("exec.arena_size", builder.getI64IntegerAttr(arena));
    module->setAttr("exec.arena_unshared_size",
                    builder.getI64IntegerAttr(unshared));
  }
};

} // namespace
