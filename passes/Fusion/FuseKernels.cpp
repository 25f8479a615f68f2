//===- FuseKernels.cpp - Group linalg ops into kernels --------------------===//
//
// Implements mpc-fuse-kernels: groups ops in program order, with producers
// before siblings, then outlines each group into a function.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/RowPhases.h"
#include "compiler/Support/Locations.h"
#include "passes/Fusion/Kernels/KernelGroup.h"
#include "passes/Fusion/Kernels/Readers.h"
#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/DebugLog.h"

#include <array>
#include <map>

#define DEBUG_TYPE "mpc-fuse-kernels"

namespace mpc {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

using Group = KernelGroup;

/// Whether `op` is copied into whatever uses it: views, constants and empty
/// tensors.
bool isFree(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::EmptyOp,
             linalg::FillOp, arith::ConstantOp>(op);
}

class Grouping {
public:
  Grouping(func::FuncOp func, const Backend &backend, bool report)
      : func(func), backend(backend), limits(backend.fusionLimits()),
        report(report) {}

  void run() {
    for (Operation &op : func.getBody().front()) {
      unsigned position = places.size();
      order[&op] = position;
      places.emplace_back().end = position;
      for (Value value : valuesNeeded(&op)) {
        auto def = order.find(memoryRoot(value).getDefiningOp());
        if (def == order.end())
          continue;
        places[position].needs.push_back(def->second);
        places[def->second].feeds.push_back(position);
        places[position].depth =
            std::max(places[position].depth, places[def->second].depth + 1);
      }
    }
    SmallVector<linalg::GenericOp> ops(func.getOps<linalg::GenericOp>());
    for (linalg::GenericOp op : ops) {
      groups.push_back(makeGroup({op}));
      groupOf(op) = groups.size() - 1;
    }
    // Fusing an op with its producer saves a write and a read, with a sibling
    // only a read. So all ops join their producers before any joins a sibling.
    std::vector<Placement> placements(ops.size());
    for (auto [op, placement] : llvm::zip(ops, placements))
      join(op, producersOf(op), placement);
    for (auto [op, placement] : llvm::zip(ops, placements))
      join(op, siblingsOf(op), placement);
    // Last, because kernels that share no data save only a launch.
    for (auto [op, placement] : llvm::zip(ops, placements)) {
      join(op, partsBefore(op), placement);
      join(op, sumsLike(op), placement);
      if (report && !placement.joined)
        op.emitRemark("starts a new kernel: ") << placement.reason;
    }
  }

  std::vector<Group> takeGroups() {
    std::vector<Group> result;
    for (auto &group : groups)
      if (group)
        result.push_back(std::move(*group));
    return result;
  }

private:
  /// Whether an op joined the kernel of an earlier op, and if not, why.
  struct Placement {
    bool joined = false;
    std::string reason = "no kernel makes or shares its operands";
  };

  /// Merges the kernel of `op` with the kernels of `earlier` that it fits, in
  /// their order.
  void join(linalg::GenericOp op, ArrayRef<linalg::GenericOp> earlier,
            Placement &placement) {
    llvm::SmallDenseSet<unsigned> tried;
    numSeen = 0;
    for (linalg::GenericOp other : earlier) {
      unsigned from = groupOf(other);
      if (from == groupOf(op) || !tried.insert(from).second)
        continue;
      if (tryMerge(from, groupOf(op), placement.reason))
        placement.joined = true;
      else if (tried.size() >= kMaxTried)
        break;
    }
  }

  /// The ops that read the memory of `root`, directly or through views, in
  /// order.
  ArrayRef<linalg::GenericOp> readersOf(Value root) {
    auto [entry, isNew] = readersOfRoot.try_emplace(root);
    SmallVector<linalg::GenericOp, 2> &readers = entry->second;
    if (!isNew)
      return readers;
    readers.append(findReaders(root));
    llvm::sort(readers, [&](linalg::GenericOp a, linalg::GenericOp b) {
      return order[a] < order[b];
    });
    readers.erase(llvm::unique(readers), readers.end());
    return readers;
  }

  /// The ops that compute the inputs of `op`, the latest first.
  SmallVector<linalg::GenericOp> producersOf(linalg::GenericOp op) {
    llvm::SmallSetVector<linalg::GenericOp, 8> found;
    SmallVector<Value> inputs(op.getDpsInputs());
    llvm::append_range(inputs, computedReads(op));
    for (Value input : inputs)
      if (auto def = memoryRoot(input).getDefiningOp<linalg::GenericOp>())
        found.insert(def);
    return latestFirst(found.takeVector());
  }

  SmallVector<linalg::GenericOp>
  latestFirst(SmallVector<linalg::GenericOp> ops) {
    llvm::sort(ops, [&](linalg::GenericOp a, linalg::GenericOp b) {
      return order[a] > order[b];
    });
    return ops;
  }

  /// Data read this many ops earlier has left the caches, and searching for
  /// paths between distant ops takes long.
  static constexpr unsigned kSiblingReach = 256;

  /// Maximum number of kernels to try: if the nearest did not fit, more tries
  /// do not help.
  static constexpr unsigned kMaxTried = 16;

  /// Maximum number of ops visited by the path searches for one op.
  static constexpr unsigned kMaxSeen = 1024;

  /// The ops before `op` that share an input with it, the latest first.
  SmallVector<linalg::GenericOp> siblingsOf(linalg::GenericOp op) {
    llvm::SmallSetVector<linalg::GenericOp, 8> siblings;
    unsigned position = order[op];
    for (Value input : op.getDpsInputs()) {
      ArrayRef<linalg::GenericOp> readers = readersOf(memoryRoot(input));
      auto *end = llvm::partition_point(readers, [&](linalg::GenericOp reader) {
        return order[reader] < position;
      });
      for (const auto *reader = end; reader != readers.begin();) {
        if (position - order[*--reader] > kSiblingReach)
          break;
        siblings.insert(*reader);
      }
    }
    return latestFirst(siblings.takeVector());
  }

  /// The ops before `op` that write other parts of its results' memory.
  SmallVector<linalg::GenericOp> partsBefore(linalg::GenericOp op) {
    SmallVector<linalg::GenericOp> found;
    for (Value init : op.getDpsInits()) {
      auto part = memoryRoot(init).getDefiningOp<linalg::GenericOp>();
      if (part && order[op] - order[part] <= kSiblingReach)
        found.push_back(part);
    }
    return found;
  }

  /// The sums down rows before `op` that walk the same domain, if its kernel
  /// does nothing else, too, and one kernel may compute all: the latest first.
  /// None waits long, because ranks exchange gradients while later ones are
  /// computed.
  SmallVector<linalg::GenericOp> sumsLike(linalg::GenericOp op) {
    SmallVector<linalg::GenericOp> found;
    const Group &group = *groups[groupOf(op)];
    if (limits.shortSum == 0 || !isSums(group))
      return found;
    const KernelDomain &domain = group.domain;
    auto &known = sums[{domain.outer(), domain.rows(), domain.columns()}];
    const bool isShort = group.elements() <= limits.shortSum;
    for (linalg::GenericOp other : llvm::reverse(known)) {
      const Group &before = *groups[groupOf(other)];
      if (order[op] - order[other] > kSiblingReach ||
          (!isShort && !found.empty()))
        break;
      if (order[op] - before.positions[0] <= kSiblingReach &&
          (isShort || countSums(before) + countSums(group) <= limits.longSums))
        found.push_back(other);
    }
    known.push_back(op);
    return found;
  }

  std::optional<Group> makeGroup(ArrayRef<linalg::GenericOp> ops,
                                 std::string *reason = nullptr) {
    std::optional<KernelDomain> domain = analyzeKernel(ops, reason);
    if (!domain)
      return std::nullopt;
    std::optional<LaunchShape> shape = backend.launchShape(*domain);
    if (!shape) {
      if (reason)
        *reason = "its column sums would find no room";
      return std::nullopt;
    }
    Group group;
    group.ops.assign(ops.begin(), ops.end());
    for (linalg::GenericOp op : ops) {
      group.positions.push_back(order[op]);
      group.end = std::max(group.end, endOf(group.positions.back()));
    }
    group.domain = std::move(*domain);
    group.shape = *shape;
    return group;
  }

  /// Merges group `from` into group `home` if the result is a valid and
  /// efficient kernel; otherwise sets `reason`.
  bool tryMerge(unsigned from, unsigned home, std::string &reason) {
    SmallVector<linalg::GenericOp> ops = groups[from]->ops;
    ops.append(groups[home]->ops);
    llvm::sort(ops, [&](linalg::GenericOp a, linalg::GenericOp b) {
      return order[a] < order[b];
    });
    // The cheapest checks come first.
    if (!canHoldOperands(ops, reason))
      return false;
    std::optional<Group> merged = makeGroup(ops, &reason);
    if (!merged || !isWorthwhile(*groups[from], *groups[home], *merged, reason))
      return false;
    if (delaysTotal(*groups[from], *groups[home])) {
      reason = "others use the sum long before its operands exist";
      return false;
    }
    if (isTotal(*groups[from]) &&
        readsLargerWalk(*groups[from], *groups[home])) {
      reason = "the kernel that makes its other operands walks more elements";
      return false;
    }
    if (hasPathOutside(merged->positions)) {
      reason = "an op outside runs between them";
      return false;
    }
    groups[home] = std::move(merged);
    groups[from].reset();
    for (linalg::GenericOp op : ops)
      groupOf(op) = home;
    delayUsers(home);
    return true;
  }

  /// True if a kernel of `ops` has few enough operands.
  bool canHoldOperands(ArrayRef<linalg::GenericOp> ops,
                       std::string &reason) const {
    if (countOperands(ops) <= limits.operands)
      return true;
    reason = "the kernel has as many operands as it can hold";
    return false;
  }

  bool isWorthwhile(const Group &lhs, const Group &rhs, const Group &merged,
                    std::string &reason) {
    if (isLongSum(lhs) ? isLong(rhs) && !isLongSum(rhs)
                       : isLong(lhs) && isLongSum(rhs)) {
      reason = "it needs the sum over all elements, which is one thread's work";
      return false;
    }
    if (isLongSum(merged) &&
        ((isShared(lhs) && !isLong(rhs)) || (!isLong(lhs) && isShared(rhs)))) {
      reason = "for a short sum what threads share would be one thread's work";
      return false;
    }
    int64_t before = std::max(lhs.shape.items, rhs.shape.items);
    if (merged.shape.items < limits.minItems && before >= limits.minItems &&
        merged.work() > limits.minParallelWork) {
      reason = "the work could not be shared among threads any more";
      return false;
    }
    const int64_t threads =
        std::max(lhs.shape.allThreads(), rhs.shape.allThreads());
    if (merged.shape.allThreads() < std::min(limits.manyThreads, threads / 4) &&
        merged.work() >= limits.minThreadedWork) {
      reason = "the work would have far fewer threads";
      return false;
    }
    bool wasFlat = lhs.shape.isFlat || rhs.shape.isFlat;
    if (wasFlat && merged.shape.lanes < limits.flatLanes &&
        merged.work() > limits.minParallelWork) {
      reason = "rows are too short for vectors";
      return false;
    }
    return true;
  }

  /// True if `from` is a sum over all elements that ops outside of `home` can
  /// use before the other operands of `home` exist: for example the number of
  /// labels, by which both the loss and its gradient are divided. Merging it
  /// with the division of the loss would save a launch, but keep the gradient
  /// out of the loss's kernel.
  bool delaysTotal(const Group &from, const Group &home) const {
    if (!isTotal(from))
      return false;
    auto depthOf = [&](unsigned position) { return places[position].depth; };
    auto deepest = [&](const Group &group) {
      return depthOf(*llvm::max_element(group.positions, [&](auto a, auto b) {
        return depthOf(a) < depthOf(b);
      }));
    };
    const unsigned known = deepest(from), needed = deepest(home);
    return llvm::any_of(from.positions, [&](unsigned position) {
      return llvm::any_of(places[position].feeds, [&](unsigned user) {
        return depthOf(user) > known && depthOf(user) < needed &&
               !llvm::is_contained(home.positions, user);
      });
    });
  }

  static bool isTotal(const Group &group) {
    return group.shape.items == 1 && group.domain.hasColumnReduction();
  }

  /// How many more elements a larger walk has.
  static constexpr int64_t kLarger = 16;

  /// True if `home` reads a number for each row of a much larger walk than that
  /// of `total`, which it can join if the total is not in the way.
  bool readsLargerWalk(const Group &total, const Group &home) {
    return llvm::any_of(home.positions, [&](unsigned position) {
      return llvm::any_of(places[position].needs, [&](unsigned maker) {
        Group *other = kernelAt(maker);
        return other && other != &total && other != &home &&
               other->domain.hasColumnReduction() &&
               other->domain.outer() * other->domain.rows() ==
                   home.elements() &&
               other->elements() >= kLarger * home.elements();
      });
    });
  }

  static unsigned countSums(const Group &group) {
    return llvm::count_if(group.domain.nodes, [](const KernelNode &node) {
      return node.reduction == KernelReduction::Rows;
    });
  }

  /// True if `group` stores nothing but sums down its rows.
  static bool isSums(const Group &group) {
    return llvm::all_of(group.domain.nodes, [&](const KernelNode &node) {
      return node.reduction == KernelReduction::Rows ||
             node.level == KernelLevel::Column ||
             llvm::none_of(node.outputs, [&](const KernelAccess &output) {
               return isUsedOutside(group.domain, output.root);
             });
    });
  }

  bool isLong(const Group &group) const {
    return group.elements() >= limits.longSum;
  }
  /// True if `group` is a long reduction of everything it walks.
  bool isLongSum(const Group &group) const {
    return isLong(group) && group.domain.hasColumnReduction() &&
           group.shape.items == 1;
  }

  /// True if `group` computes many elements with several threads.
  bool isShared(const Group &group) const {
    return isLong(group) && group.shape.items >= limits.minItems &&
           llvm::any_of(group.domain.nodes, [](const KernelNode &node) {
             return node.level == KernelLevel::Full &&
                    node.reduction == KernelReduction::None;
           });
  }

  static constexpr unsigned kNoGroup = ~0u;

  /// The number of the group of `op`, if it is in one.
  unsigned &groupOf(linalg::GenericOp op) {
    return places[order.lookup(op)].group;
  }

  /// The kernel of the op at `position`, if it is in one.
  Group *kernelAt(unsigned position) {
    unsigned group = places[position].group;
    return group == kNoGroup || !groups[group] ? nullptr : &*groups[group];
  }

  /// The position of the last op that the op at `position` waits for, itself
  /// included. A kernel runs as a unit, so each of its ops waits for the inputs
  /// of all of them.
  unsigned &endOf(unsigned position) {
    Group *kernel = kernelAt(position);
    return kernel ? kernel->end : places[position].end;
  }

  /// Updates endOf for everything that depends on the new kernel `home`.
  void delayUsers(unsigned home) {
    SmallVector<unsigned> work = groups[home]->positions;
    while (!work.empty()) {
      unsigned position = work.pop_back_val();
      unsigned end = endOf(position);
      for (unsigned user : places[position].feeds) {
        if (endOf(user) >= end)
          continue;
        endOf(user) = end;
        if (Group *kernel = kernelAt(user))
          work.append(kernel->positions);
        else
          work.push_back(user);
      }
    }
  }

  /// True if an op outside of `kernel` depends on one of its ops and feeds
  /// another: the kernel would have to run both before and after it. `kernel`
  /// has the positions of its ops in order. Also returns true if the search
  /// exceeds its limit.
  bool hasPathOutside(ArrayRef<unsigned> kernel) {
    ++search;
    for (unsigned position : kernel)
      places[position].insideIn = search;
    SmallVector<unsigned> work;
    // Ops that end before the first of the kernel depend on none of its ops.
    unsigned first = kernel.front();
    auto isInside = [&](unsigned position) {
      return places[position].insideIn == search;
    };
    auto push = [&](unsigned position) {
      if (endOf(position) > first &&
          std::exchange(places[position].seenIn, search) != search)
        work.push_back(position);
    };
    for (unsigned position : kernel)
      for (unsigned def : places[position].needs)
        if (!isInside(def))
          push(def);
    while (!work.empty()) {
      if (++numSeen > kMaxSeen)
        return true;
      unsigned position = work.pop_back_val();
      // A kernel runs as a unit: it needs the inputs of all its ops.
      ArrayRef<unsigned> together = position;
      if (Group *other = kernelAt(position))
        together = other->positions;
      for (unsigned member : together) {
        if (isInside(member))
          continue;
        for (unsigned def : places[member].needs) {
          if (isInside(def))
            return true;
          push(def);
        }
      }
    }
    return false;
  }

  /// What is known about the op at one position of the block.
  struct Place {
    /// The positions of the ops that compute its operands, looking through
    /// views, and the reverse.
    SmallVector<unsigned, 4> needs, feeds;
    unsigned group = kNoGroup;
    unsigned end = 0;   ///< For ops outside kernels; see endOf.
    unsigned depth = 0; ///< Ops on the longest path to this one.
    /// The last searches for a path that began with the op and that visited it.
    unsigned insideIn = 0, seenIn = 0;
  };

  func::FuncOp func;
  const Backend &backend;
  const FusionLimits &limits;
  bool report;
  unsigned numSeen = 0; ///< Ops seen in the searches for the current op.
  unsigned search = 0;  ///< The number of searches for a path.
  std::vector<std::optional<Group>> groups;
  std::vector<Place> places;             ///< By position.
  DenseMap<Operation *, unsigned> order; ///< The position of each op.
  DenseMap<Value, SmallVector<linalg::GenericOp, 2>> readersOfRoot;
  /// By outer extent, rows and columns.
  std::map<std::array<int64_t, 3>, SmallVector<linalg::GenericOp>> sums;
};

/// Outlines groups into functions, one for each distinct body.
class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), symbols(module) {}

  void outline(const Group &group) {
    llvm::SmallPtrSet<Operation *, 16> inside(group.ops.begin(),
                                              group.ops.end());
    llvm::SmallSetVector<Value, 16> inputs, outputs;
    for (linalg::GenericOp op : group.ops) {
      for (Value operand : valuesNeeded(op))
        collectInput(operand, inside, inputs);
      for (Value result : op.getResults())
        if (isUsedOutside(result, inside))
          outputs.insert(result);
    }
    shareRoots(inputs);
    func::FuncOp kernel = makeFunction(group, inputs, outputs);
    StringRef name = unify(kernel);

    OpBuilder builder(group.ops.back()->getContext());
    builder.setInsertionPointAfter(group.ops.back());
    SmallVector<Location> locs;
    for (linalg::GenericOp op : group.ops)
      locs.push_back(op.getLoc());
    Location loc = builder.getFusedLoc(locs);
    SmallVector<Type> types;
    for (Value output : outputs)
      types.push_back(output.getType());
    auto call =
        func::CallOp::create(builder, loc, name, types, inputs.getArrayRef());
    for (unsigned i = 0; i < outputs.size(); ++i) {
      Value output = outputs[i];
      output.replaceUsesWithIf(call.getResult(i), [&](OpOperand &use) {
        return !inside.contains(use.getOwner());
      });
    }
  }

private:
  /// Collects values from outside the group, looking through ops that are
  /// copied into it.
  void collectInput(Value value,
                    const llvm::SmallPtrSetImpl<Operation *> &inside,
                    llvm::SmallSetVector<Value, 16> &inputs) {
    Operation *def = value.getDefiningOp();
    if (def && inside.contains(def))
      return;
    if (def && isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(def))
      return;
    Value root = memoryRoot(value);
    if (Operation *source = root.getDefiningOp())
      if (inside.contains(source) || isa<arith::ConstantOp>(source))
        return;
    inputs.insert(value);
  }

  /// Replaces several views of one tensor by the tensor itself, with the views
  /// inside the kernel, so that it is loaded only once.
  static void shareRoots(llvm::SmallSetVector<Value, 16> &inputs) {
    DenseMap<Value, unsigned> views;
    for (Value input : inputs)
      ++views[memoryRoot(input)];
    llvm::SmallSetVector<Value, 16> shared;
    for (Value input : inputs) {
      Value root = memoryRoot(input);
      shared.insert(views[root] > 1 ? root : input);
    }
    inputs = std::move(shared);
  }

  bool isUsedOutside(Value value,
                     const llvm::SmallPtrSetImpl<Operation *> &inside) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (inside.contains(user))
        return false;
      if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user))
        return isUsedOutside(user->getResult(0), inside);
      return true;
    });
  }

  func::FuncOp makeFunction(const Group &group,
                            const llvm::SmallSetVector<Value, 16> &inputs,
                            const llvm::SmallSetVector<Value, 16> &outputs) {
    SmallVector<Type> inTypes, outTypes;
    for (Value input : inputs)
      inTypes.push_back(input.getType());
    for (Value output : outputs)
      outTypes.push_back(output.getType());
    OpBuilder builder(module.getContext());
    auto type = builder.getFunctionType(inTypes, outTypes);
    linalg::GenericOp first = group.ops[0];
    auto kernel = func::FuncOp::create(builder, first.getLoc(), "kernel", type);
    kernel.setPrivate();
    kernel->setAttr(kKernelAttr, builder.getUnitAttr());
    builder.setInsertionPointToStart(kernel.addEntryBlock());
    IRMapping map;
    for (auto [input, argument] : llvm::zip(inputs, kernel.getArguments()))
      map.map(input, argument);
    for (linalg::GenericOp op : group.ops) {
      for (Value operand : op->getOperands())
        cloneFree(builder, operand, map);
      // Captured values: constants, and tensors that the body reads at computed
      // places.
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(op.getRegion(), captured);
      for (Value value : captured)
        cloneFree(builder, value, map);
      builder.clone(*op, map);
    }
    SmallVector<Value> results;
    for (Value output : outputs)
      results.push_back(map.lookup(output));
    func::ReturnOp::create(builder, kernel.getLoc(), results);
    return kernel;
  }

  void cloneFree(OpBuilder &builder, Value value, IRMapping &map) {
    if (map.contains(value))
      return;
    Operation *def = value.getDefiningOp();
    assert(def && isFree(def) && "an input of the kernel was not found");
    for (Value operand : def->getOperands())
      cloneFree(builder, operand, map);
    builder.clone(*def, map);
  }

  /// Returns the name of the function with this body; inserts the function if
  /// it is new.
  StringRef unify(func::FuncOp kernel) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel->print(stream, OpPrintingFlags().useLocalScope());
    auto [entry, isNew] = known.try_emplace(text, "");
    if (!isNew) {
      kernel->erase();
      return entry->second;
    }
    kernel.setName("kernel_" + std::to_string(known.size() - 1));
    // The symbol table renames the kernel if a state has its name.
    entry->second = symbols.insert(kernel).str();
    return entry->second;
  }

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<std::string> known;
};

/// An op that writes into the result of another (as a concat does, part by
/// part) takes over its memory, so that result must have no other use. Clones
/// results that have several, such as equal first parts of two concats that CSE
/// merged.
void cloneSharedInits(func::FuncOp func) {
  SmallVector<linalg::GenericOp> work(func.getOps<linalg::GenericOp>());
  while (!work.empty()) {
    linalg::GenericOp op = work.pop_back_val();
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto maker = init.get().getDefiningOp<linalg::GenericOp>();
      if (!maker || init.get().hasOneUse())
        continue;
      OpBuilder builder(op);
      auto copy = cast<linalg::GenericOp>(builder.clone(*maker));
      init.set(copy.getResult(cast<OpResult>(init.get()).getResultNumber()));
      work.push_back(copy);
    }
  }
}

/// Sorts ops topologically. An op that comes too late moves to just before its
/// first user; others keep their position, because moving a producer far
/// forward keeps its result in memory longer. Fails if there is a cycle.
LogicalResult sortByDependencies(Block &body) {
  enum class State { Waits, Ready };
  DenseMap<Operation *, State> states;
  SmallVector<Operation *> ops, sorted;
  for (Operation &op : body)
    ops.push_back(&op);
  for (Operation *next : ops) {
    SmallVector<Operation *> stack = {next};
    while (!stack.empty()) {
      Operation *op = stack.back();
      auto [state, isNew] = states.try_emplace(op, State::Waits);
      if (!isNew) {
        stack.pop_back();
        if (state->second == State::Waits)
          sorted.push_back(op);
        state->second = State::Ready;
        continue;
      }
      bool inCircle = false;
      op->walk([&](Operation *inner) {
        for (Value operand : llvm::reverse(inner->getOperands())) {
          Operation *def = operand.getDefiningOp();
          if (!def || def->getBlock() != &body || def == op)
            continue;
          auto known = states.find(def);
          inCircle |= known != states.end() && known->second == State::Waits;
          if (known == states.end())
            stack.push_back(def);
        }
      });
      if (inCircle)
        return failure();
    }
  }
  for (Operation *op : sorted)
    op->moveBefore(&body, body.end());
  return success();
}

struct FuseKernelsPass : mpc::impl::FuseKernelsPassBase<FuseKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    Outliner outliner(getOperation());
    SmallVector<func::FuncOp> entries(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : entries) {
      if (func->hasAttr(kKernelAttr))
        continue;
      cloneSharedInits(func);
      Grouping grouping(func, *device, report);
      grouping.run();
      std::vector<Group> groups = grouping.takeGroups();
      recomputeInUsers(groups, *device);
      for (const Group &group : groups)
        outliner.outline(group);
      // The original ops of the groups are unused now.
      Block &body = func.getBody().front();
      if (failed(sortByDependencies(body))) {
        func.emitError("internal error in mpc-fuse-kernels: kernels of '")
            << func.getName() << "' depend on each other in a circle";
        return signalPassFailure();
      }
      eraseDead(body);
    }
  }

  /// Kernels took copies of constants and views; the originals may be unused.
  static void eraseDead(Block &body) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
