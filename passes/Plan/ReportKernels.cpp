//===- ReportKernels.cpp - Report generated kernels -----------------------===//
//
// Implements mpc-report-kernels: collects launches and transposes of the
// planned program as JSON. It makes no decisions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Report.h"
#include "passes/Plan/ArenaUse.h"
#include "passes/Plan/InstructionCost.h"
#include "passes/Plan/Passes.h"
#include "passes/Plan/Storage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

namespace mpc {
#define GEN_PASS_DEF_REPORTKERNELSPASS
#include "passes/Plan/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Transposes
//===----------------------------------------------------------------------===//

/// Returns true if `op` only moves data: every result is an input, at most
/// rounded.
static bool onlyMoves(linalg::GenericOp op) {
  Block &body = *op.getBody();
  for (Operation &inner : body.without_terminator())
    if (!isa<arith::ExtFOp, arith::TruncFOp>(inner))
      return false;
  return llvm::all_of(body.getTerminator()->getOperands(), [&](Value value) {
    while (Operation *cast = value.getDefiningOp())
      value = cast->getOperand(0);
    auto arg = dyn_cast<BlockArgument>(value);
    return arg && arg.getOwner() == &body &&
           arg.getArgNumber() < op.getNumDpsInputs();
  });
}

/// Returns true if two dimensions are in opposite order in an input and a
/// result. Dimensions along which an input is broadcast do not count.
static bool reorders(const KernelNode &node, ArrayRef<int64_t> sizes) {
  for (const KernelAccess &from : node.inputs)
    for (const KernelAccess &to : node.outputs)
      for (size_t i = 0; i < sizes.size(); ++i)
        for (size_t j = 0; j < sizes.size(); ++j)
          if (sizes[i] > 1 && sizes[j] > 1 && from.strides[i] != 0 &&
              from.strides[i] < from.strides[j] &&
              to.strides[i] > to.strides[j])
            return true;
  return false;
}

/// Returns true if `kernel` only reorders elements: a transpose that was not
/// fused into another kernel.
static bool isTranspose(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> ops(kernel.getOps<linalg::GenericOp>());
  if (ops.empty() || !llvm::all_of(ops, onlyMoves))
    return false;
  std::optional<KernelDomain> domain = analyzeKernel(ops);
  return domain && llvm::any_of(domain->nodes, [&](const KernelNode &node) {
           return reorders(node, domain->sizes);
         });
}

/// Returns true if the location is that of a node of the model that moves
/// elements, or of its gradient.
static bool isFromModel(Location loc) {
  static const llvm::StringSet<> moves = {"Transpose", "Split",  "Slice",
                                          "Concat",    "Gather", "Pad"};
  bool found = false;
  loc->walk([&](Location part) {
    found |= isa<NameLoc>(part) && moves.contains(nodeType(part));
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

static int64_t bytesMoved(exec::LaunchOp launch) {
  int64_t bytes = 0;
  for (auto buffer : launch.getOperands().getAsRange<exec::BufferAttr>())
    bytes += byteSize(buffer.getType());
  return bytes;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

namespace {

/// Bytes of floats that instructions read and write.
struct Traffic {
  int64_t bytes = 0, lowBytes = 0, fp8Bytes = 0;

  void add(exec::BufferAttr buffer, int64_t most = INT64_MAX) {
    auto element = dyn_cast<FloatType>(buffer.getType().getElementType());
    if (!element)
      return;
    int64_t moved = std::min(most, buffer.getType().getNumElements()) *
                    llvm::divideCeil(element.getWidth(), 8);
    bytes += moved;
    if (element.getWidth() <= 16)
      lowBytes += moved;
    if (element.getWidth() <= 8)
      fp8Bytes += moved;
  }

  void add(exec::CallOp call) {
    SmallVector<exec::BufferAttr> buffers(
        call.getOperands().getAsRange<exec::BufferAttr>());
    // An embedding reads as many table rows as there are indices.
    bool looksUp = call.getKernel() == "embedding";
    for (auto [i, buffer] : llvm::enumerate(buffers))
      add(buffer,
          looksUp ? buffers.back().getType().getNumElements() : INT64_MAX);
  }

  void addTo(llvm::json::Object &object) const {
    object["bytes"] = bytes;
    object["bytes_16bit"] = lowBytes;
    // Only for programs that use FP8.
    if (fp8Bytes > 0)
      object["bytes_8bit"] = fp8Bytes;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

template <typename OpTy> static int64_t count(Block &block) {
  return llvm::count_if(block, [](Operation &op) { return isa<OpTy>(op); });
}

namespace {

/// How often each entry point runs an instruction, and the node of the first.
struct Runs {
  std::string node;
  std::vector<std::pair<StringRef, int64_t>> counts;

  void add(StringRef entry, Operation *instruction) {
    if (counts.empty())
      node = nodeOf(instruction);
    if (counts.empty() || counts.back().first != entry)
      counts.push_back({entry, 0});
    ++counts.back().second;
  }

  void addTo(llvm::json::Object &line) const {
    llvm::json::Object launches;
    for (auto [entry, count] : counts)
      launches[entry] = count;
    line["launches"] = std::move(launches);
    line["node"] = node;
  }

  /// Names come from the user's file and may not be valid UTF-8, which JSON
  /// requires.
  static std::string nodeOf(Operation *instruction) {
    auto name = instruction->getAttrOfType<StringAttr>("name");
    return name ? llvm::json::fixUTF8(name.getValue()) : std::string();
  }
};

/// A generated kernel.
struct Kernel {
  func::FuncOp func;
  bool isTranspose = false;
  std::vector<int64_t> touched; ///< See countTouched.
  InstructionCost cost;         ///< The cost of its first launch.
  Runs runs;
};

/// Calls of a catalog kernel with the same operands: one line of the report.
struct Call {
  std::string kernel, dtype;
  InstructionCost cost;
  Runs runs;
};

void addTo(llvm::json::Object &line, const InstructionCost &cost) {
  line["flops"] = cost.flops;
  line["bytes"] = cost.bytes;
  // Most programs in f32 have neither.
  if (cost.wideFlops != cost.flops)
    line["flops_f32"] = cost.wideFlops;
  if (cost.wideBytes != cost.bytes)
    line["bytes_f32"] = cost.wideBytes;
}

struct ReportKernelsPass : mpc::impl::ReportKernelsPassBase<ReportKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<Kernel> kernels;
    llvm::StringMap<size_t> indices;
    for (auto func : module.getOps<func::FuncOp>()) {
      indices[func.getSymName()] = kernels.size();
      kernels.push_back(
          {func, isTranspose(func), countTouched(func), InstructionCost(), {}});
    }
    const CostOfInstructions costs(module);
    std::vector<Call> calls;
    llvm::json::Array transposes;
    llvm::StringMap<llvm::json::Array> sequences;
    for (auto entry : module.getOps<exec::EntryOp>()) {
      llvm::json::Array &sequence = sequences[entry.getSymName()];
      for (Operation &op : entry.getBody().front()) {
        if (auto call = dyn_cast<exec::CallOp>(op))
          sequence.push_back(
              int64_t(kernels.size() + addCall(calls, entry.getSymName(), call,
                                               costs.of(call))));
        auto launch = dyn_cast<exec::LaunchOp>(op);
        auto found = launch ? indices.find(launch.getKernel()) : indices.end();
        if (found == indices.end())
          continue;
        sequence.push_back(int64_t(found->second));
        Kernel &kernel = kernels[found->second];
        if (kernel.runs.counts.empty())
          kernel.cost =
              costs.of(launch, kernel.func, kernel.touched, kernel.isTranspose);
        kernel.runs.add(entry.getSymName(), launch);
        if (kernel.isTranspose)
          transposes.push_back(llvm::json::Object{
              {"function", entry.getSymName()},
              {"kernel", launch.getKernel()},
              {"node", Runs::nodeOf(launch)},
              {"origin", isFromModel(launch.getLoc()) ? "model" : "layout"},
              {"bytes", bytesMoved(launch)}});
      }
    }

    llvm::json::Array entries;
    for (auto entry : module.getOps<exec::EntryOp>()) {
      Block &body = entry.getBody().front();
      ArenaUse use = findArenaUse(entry);
      llvm::json::Object line{{"name", entry.getSymName()},
                              {"launches", count<exec::LaunchOp>(body)},
                              {"calls", count<exec::CallOp>(body)},
                              {"live_stride", static_cast<int64_t>(use.stride)},
                              {"live_bytes", llvm::json::Array(use.bytes)}};
      auto touchedBy = [&](StringRef name) -> ArrayRef<int64_t> {
        auto found = indices.find(name);
        if (found == indices.end())
          return {};
        return kernels[found->second].touched;
      };
      trafficOf(body, touchedBy).addTo(line);
      line["bytes_required"] = requiredBytes(entry, touchedBy);
      line["sequence"] = std::move(sequences[entry.getSymName()]);
      entries.push_back(std::move(line));
    }
    llvm::json::Array list;
    for (Kernel &kernel : kernels) {
      llvm::json::Object line{{"name", kernel.func.getSymName()}};
      kernel.runs.addTo(line);
      addTo(line, kernel.cost);
      list.push_back(std::move(line));
    }
    llvm::json::Array callList;
    for (const Call &call : calls) {
      llvm::json::Object line{{"kernel", call.kernel}, {"dtype", call.dtype}};
      call.runs.addTo(line);
      addTo(line, call.cost);
      callList.push_back(std::move(line));
    }
    llvm::json::Value report = llvm::json::Object{
        {"entries", std::move(entries)},
        {"kernels", std::move(list)},
        {"library_calls", std::move(callList)},
        {"transposes", std::move(transposes)},
        {"arena_bytes", bytesAt(module, "exec.arena_size")},
        {"arena_bytes_unshared", bytesAt(module, "exec.arena_unshared_size")},
        {"state_bytes", bytesAt(module, "exec.state_size")}};
    std::string text;
    llvm::raw_string_ostream(text) << report;
    module->setAttr(kKernelReportAttr, StringAttr::get(&getContext(), text));
  }

  /// Adds a call to the line of those with the same costs; returns its index.
  static size_t addCall(std::vector<Call> &calls, StringRef entry,
                        exec::CallOp call, const InstructionCost &cost) {
    std::string dtype = CostOfInstructions::dtypeOf(call);
    auto found = llvm::find_if(calls, [&](const Call &other) {
      return other.kernel == call.getKernel() && other.dtype == dtype &&
             other.cost == cost;
    });
    if (found == calls.end()) {
      calls.push_back({call.getKernel().str(), dtype, cost, Runs()});
      found = std::prev(calls.end());
    }
    found->runs.add(entry, call);
    return size_t(found - calls.begin());
  }

  static Traffic
  trafficOf(Block &body,
            llvm::function_ref<ArrayRef<int64_t>(StringRef)> touchedBy) {
    Traffic traffic;
    for (Operation &op : body) {
      if (auto call = dyn_cast<exec::CallOp>(op))
        traffic.add(call);
      auto launch = dyn_cast<exec::LaunchOp>(op);
      if (!launch)
        continue;
      ArrayRef<int64_t> touched = touchedBy(launch.getKernel());
      for (auto [i, operand] : llvm::enumerate(launch.getOperands()))
        traffic.add(cast<exec::BufferAttr>(operand),
                    i < touched.size() ? touched[i] : INT64_MAX);
    }
    return traffic;
  }

  /// A size attribute set by mpc-plan-memory; 0 if it has not run.
  static int64_t bytesAt(ModuleOp module, StringRef name) {
    auto bytes = module->getAttrOfType<IntegerAttr>(name);
    return bytes ? bytes.getInt() : 0;
  }
};

} // namespace
