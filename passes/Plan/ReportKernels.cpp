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

static int64_t iterationsOf(linalg::GenericOp op) {
  int64_t iterations = 1;
  for (int64_t range : op.getStaticLoopRanges())
    iterations *= range;
  return iterations;
}

/// The number of elements of `memory` that a kernel reads: one in each
/// iteration of each op that reads it. A table need not be read completely.
static int64_t countReads(func::FuncOp kernel, Value memory) {
  auto reads = [&](linalg::GenericOp op) {
    auto is = [&](Value value) { return memoryRoot(value) == memory; };
    return llvm::any_of(op.getDpsInputs(), is) ||
           llvm::any_of(computedReads(op), is) ||
           llvm::any_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
             return is(init.get()) && op.payloadUsesValueFromOperand(&init);
           });
  };
  int64_t count = 0;
  for (auto op : kernel.getOps<linalg::GenericOp>())
    if (reads(op))
      count += iterationsOf(op);
  return count;
}

/// The number of elements of a result that a kernel writes. It may complete a
/// tensor that another op or the caller began.
static int64_t countWrites(Value result) {
  int64_t count = 0;
  while (auto op = memoryRoot(result).getDefiningOp<linalg::GenericOp>()) {
    count += iterationsOf(op);
    auto made = cast<OpResult>(memoryRoot(result));
    result = op.getDpsInitOperand(made.getResultNumber())->get();
  }
  return count;
}

namespace {

/// The maximum number of elements of each operand that a kernel accesses;
/// unknown for kernels that are only declared.
std::vector<int64_t> countTouched(func::FuncOp kernel) {
  std::vector<int64_t> counts;
  if (kernel.isExternal())
    return counts;
  for (BlockArgument argument : kernel.getArguments())
    counts.push_back(countReads(kernel, argument));
  for (Value result : kernel.front().getTerminator()->getOperands())
    counts.push_back(countWrites(result));
  return counts;
}

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

/// A kernel, and how often each entry point launches it.
struct Kernel {
  func::FuncOp func;
  bool isTranspose = false;
  std::vector<int64_t> touched; ///< See countTouched.
  std::string node;             ///< Node of the first launch.
  std::vector<std::pair<StringRef, int64_t>> launches;

  void addLaunch(StringRef entry) {
    if (launches.empty() || launches.back().first != entry)
      launches.push_back({entry, 0});
    ++launches.back().second;
  }
};

struct ReportKernelsPass : mpc::impl::ReportKernelsPassBase<ReportKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<Kernel> kernels;
    llvm::StringMap<size_t> indices;
    for (auto func : module.getOps<func::FuncOp>()) {
      indices[func.getSymName()] = kernels.size();
      kernels.push_back({func, isTranspose(func), countTouched(func), "", {}});
    }
    llvm::json::Array transposes;
    for (auto entry : module.getOps<exec::EntryOp>())
      for (auto launch : entry.getBody().front().getOps<exec::LaunchOp>()) {
        auto found = indices.find(launch.getKernel());
        if (found == indices.end())
          continue;
        Kernel &kernel = kernels[found->second];
        std::string node = nodeOf(launch);
        if (kernel.launches.empty())
          kernel.node = node;
        kernel.addLaunch(entry.getSymName());
        if (kernel.isTranspose)
          transposes.push_back(llvm::json::Object{
              {"function", entry.getSymName()},
              {"kernel", launch.getKernel()},
              {"node", node},
              {"origin", isFromModel(launch.getLoc()) ? "model" : "layout"},
              {"bytes", bytesMoved(launch)}});
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
      trafficOf(body, [&](StringRef name) -> ArrayRef<int64_t> {
        auto found = indices.find(name);
        if (found == indices.end())
          return {};
        return kernels[found->second].touched;
      }).addTo(line);
      entries.push_back(std::move(line));
    }
    llvm::json::Array list;
    for (Kernel &kernel : kernels) {
      llvm::json::Object launches;
      for (auto [entry, count] : kernel.launches)
        launches[entry] = count;
      list.push_back(llvm::json::Object{{"name", kernel.func.getSymName()},
                                        {"node", kernel.node},
                                        {"launches", std::move(launches)}});
    }
    llvm::json::Value report = llvm::json::Object{
        {"entries", std::move(entries)},
        {"kernels", std::move(list)},
        {"transposes", std::move(transposes)},
        {"arena_bytes", bytesAt(module, "exec.arena_size")},
        {"arena_bytes_unshared", bytesAt(module, "exec.arena_unshared_size")},
        {"state_bytes", bytesAt(module, "exec.state_size")}};
    std::string text;
    llvm::raw_string_ostream(text) << report;
    module->setAttr(kKernelReportAttr, StringAttr::get(&getContext(), text));
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

  /// Names come from the user's file and may not be valid UTF-8, which JSON
  /// requires.
  static std::string nodeOf(exec::LaunchOp launch) {
    auto name = launch->getAttrOfType<StringAttr>("name");
    return name ? llvm::json::fixUTF8(name.getValue()) : std::string();
  }
};

} // namespace
