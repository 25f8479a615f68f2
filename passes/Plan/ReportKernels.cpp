//===- ReportKernels.cpp - What generated kernels are for -----------------===//
//
// Implements mpc-report-kernels: reads launches and transposes off the planned
// program and writes them down as JSON. Nothing is decided here.
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

/// Returns true if `op` computes nothing: every result is an input, rounded at
/// most.
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

/// Returns true if two dimensions lie the other way around in an input than in
/// a result. Dimensions that an input is broadcast along have no order.
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

/// Returns true if all that `kernel` does is to write elements in another order
/// than it reads them: a transpose that joined no other kernel.
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
/// elements itself, or of its gradient.
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
  std::string node; ///< Of the first launch.
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
      kernels.push_back({func, isTranspose(func), "", {}});
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
      entries.push_back(
          llvm::json::Object{{"name", entry.getSymName()},
                             {"launches", count<exec::LaunchOp>(body)},
                             {"calls", count<exec::CallOp>(body)},
                             {"live_stride", static_cast<int64_t>(use.stride)},
                             {"live_bytes", llvm::json::Array(use.bytes)}});
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

  /// What mpc-plan-memory wrote down; 0 where it has not run.
  static int64_t bytesAt(ModuleOp module, StringRef name) {
    auto bytes = module->getAttrOfType<IntegerAttr>(name);
    return bytes ? bytes.getInt() : 0;
  }

  /// Names come from the user's file and may hold anything; JSON may not.
  static std::string nodeOf(exec::LaunchOp launch) {
    auto name = launch->getAttrOfType<StringAttr>("name");
    return name ? llvm::json::fixUTF8(name.getValue()) : std::string();
  }
};

} // namespace
