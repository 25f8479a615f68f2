//===- VerifyPlan.cpp - Verify the IR after the plan stage ----------------===//
//
// Implements mpc-verify-plan. Reports all faults, not only the first.
//
//===----------------------------------------------------------------------===//

#include "compiler/Catalog/Catalog.h"
#include "passes/Plan/MemoryProof.h"
#include "passes/Plan/Passes.h"
#include "passes/Plan/Storage.h"
#include "passes/StageFaults.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "passes/Plan/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct VerifyPlanPass : mpc::impl::VerifyPlanPassBase<VerifyPlanPass>,
                        StageFaults {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable table(module);
    symbols = &table;
    arenaSize = sizeOf("exec.arena_size");
    stateSize = sizeOf("exec.state_size");
    for (Operation &op : *module.getBody()) {
      if (auto state = dyn_cast<train::StateOp>(op))
        verifyState(state);
      else if (auto entry = dyn_cast<exec::EntryOp>(op))
        verifyEntry(entry);
      else if (!isa<func::FuncOp>(op) || !op.hasAttr(kKernelAttr))
        fail(op.getLoc(), "a program holds only states, entries and kernels");
    }
    // The proof requires that all buffers lie inside their memory.
    if (!failed)
      proveMemory();
    if (failed)
      signalPassFailure();
  }

private:
  /// Proves that no instruction overwrites bytes that a later one, an output or
  /// a state needs.
  void proveMemory() {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto states = llvm::to_vector(module.getOps<train::StateOp>());
    for (auto entry : module.getOps<exec::EntryOp>())
      MemoryProof(
          entry, symbols, states,
          [&](Location loc, const Twine &message) { fail(loc, message); })
          .run();
  }

  void fail(Location loc, const Twine &message) {
    StageFaults::fail(loc, "mpc-plan-memory", message);
  }

  int64_t sizeOf(StringRef name) {
    if (auto size = getOperation()->getAttrOfType<IntegerAttr>(name))
      return size.getInt();
    fail(getOperation().getLoc(), "the module lacks '" + name + "'");
    return 0;
  }

  void verifyState(train::StateOp state) {
    auto offset = state->getAttrOfType<IntegerAttr>("exec.offset");
    if (!offset)
      return fail(state.getLoc(),
                  "state '" + state.getSymName() + "' has no place");
    auto type = cast<RankedTensorType>(state.getType());
    verifyBuffer(state.getLoc(),
                 exec::BufferAttr::get(&getContext(), exec::Space::State,
                                       offset.getInt(), type));
  }

  void verifyEntry(exec::EntryOp entry) {
    for (ArrayAttr bindings : {entry.getInputs(), entry.getOutputs()})
      for (auto binding : bindings.getAsRange<DictionaryAttr>()) {
        auto buffer = binding.getAs<exec::BufferAttr>("buffer");
        if (buffer)
          verifyBuffer(entry.getLoc(), buffer);
        else
          fail(entry.getLoc(), "an input or output of '" + entry.getSymName() +
                                   "' has no buffer");
      }
    for (Operation &op : entry.getBody().front()) {
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        verifyLaunch(launch);
      else if (!isa<exec::CallOp>(op))
        fail(op.getLoc(),
             "'" + op.getName().getStringRef() + "' is not an instruction");
      if (auto operands = op.getAttrOfType<ArrayAttr>("operands"))
        for (auto [i, buffer] :
             llvm::enumerate(operands.getAsRange<exec::BufferAttr>())) {
          verifyBuffer(op.getLoc(), buffer);
          verifyAlignment(&op, i, buffer);
        }
    }
  }

  /// Checks that each operand has the size that the kernel reads or writes.
  void verifyLaunch(exec::LaunchOp launch) {
    auto kernel = symbols->lookup<func::FuncOp>(launch.getKernel());
    if (!kernel || !kernel->hasAttr(kKernelAttr))
      return fail(launch.getLoc(), "launches '" + launch.getKernel() +
                                       "', which is not a kernel");
    SmallVector<Type> types(kernel.getArgumentTypes());
    llvm::append_range(types, kernel.getResultTypes());
    if (types.size() != launch.getOperands().size())
      return fail(launch.getLoc(), "'" + launch.getKernel() + "' takes " +
                                       Twine(types.size()) +
                                       " operands, but gets " +
                                       Twine(launch.getOperands().size()));
    auto buffers = launch.getOperands().getAsRange<exec::BufferAttr>();
    for (auto [i, type, buffer] : llvm::enumerate(types, buffers)) {
      int64_t wanted = byteSize(cast<RankedTensorType>(type));
      int64_t given = byteSize(buffer.getType());
      if (wanted != given)
        fail(launch.getLoc(), "operand " + Twine(i) + " of '" +
                                  launch.getKernel() + "' has " + Twine(given) +
                                  " bytes, but the kernel takes " +
                                  Twine(wanted));
    }
  }

  /// Checks alignment. Copies and zeros, which also fill the gaps of packed
  /// tensors, work on bytes and need none.
  void verifyAlignment(Operation *op, unsigned i, exec::BufferAttr buffer) {
    auto call = dyn_cast<exec::CallOp>(op);
    if (call && (call.getKernel() == "copy" || call.getKernel() == "zero"))
      return;
    if (buffer.getOffset() % kBufferAlignment != 0)
      fail(op->getLoc(), "operand " + Twine(i) + " starts at byte " +
                             Twine(buffer.getOffset()) +
                             ", which is not a multiple of " +
                             Twine(kBufferAlignment));
  }

  void verifyBuffer(Location loc, exec::BufferAttr buffer) {
    bool inState = buffer.getSpace() == exec::Space::State;
    int64_t begin = buffer.getOffset();
    int64_t end = begin + byteSize(buffer.getType());
    int64_t size = inState ? stateSize : arenaSize;
    if (begin < 0 || end > size)
      fail(loc, "a buffer takes bytes " + Twine(begin) + " to " + Twine(end) +
                    " of the " + exec::stringifySpace(buffer.getSpace()) +
                    " memory, which has " + Twine(size));
  }

  int64_t arenaSize = 0, stateSize = 0;
  SymbolTable *symbols = nullptr; ///< The module's, during a run.
};

} // namespace
