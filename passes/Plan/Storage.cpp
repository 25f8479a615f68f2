//===- Storage.cpp - Where each value of a function lives -----------------===//

#include "passes/Plan/Storage.h"

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Catalog/Catalog.h"
#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Dialect/Train/IR/Views.h"

using namespace mlir;
using namespace mpc;

static int64_t elementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t mpc::byteSize(RankedTensorType type) {
  return type.getNumElements() * elementBytes(type.getElementType());
}

/// Looks through views; adds the offset of `value` in its root to `bytes`.
Value StoragePlan::rootOf(Value value, int64_t &bytes) {
  while (auto view = train::viewOf(value.getDefiningOp())) {
    bytes += view->offset * elementBytes(getElementTypeOrSelf(value.getType()));
    value = view->viewed;
  }
  return value;
}

StoragePlan::StoragePlan(func::FuncOp func, SymbolTable &symbols,
                         const llvm::StringMap<int64_t> &stateOffsets)
    : func(func), symbols(symbols), stateOffsets(stateOffsets) {
  int64_t position = 0;
  for (Operation &op : func.getBody().front())
    order[&op] = position++;
  placeStates();
  placePacks();
  placeWrites();
  placeRest();
  findLifetimes();
}

unsigned StoragePlan::newBlock(int64_t size) {
  blocks.push_back({});
  blocks.back().size = size;
  return blocks.size() - 1;
}

/// Creates one block per state, however often it is read.
void StoragePlan::placeStates() {
  llvm::StringMap<unsigned> blockOf;
  for (auto read : func.getOps<train::ReadOp>()) {
    auto [entry, isNew] = blockOf.try_emplace(read.getState(), 0);
    if (isNew) {
      entry->second =
          newBlock(byteSize(cast<RankedTensorType>(read.getType())));
      blocks.back().inState = true;
      blocks.back().offset = stateOffsets.lookup(read.getState());
    }
    places[read.getResult()] = {entry->second, 0};
    reads[read.getState()].push_back(read.getResult());
  }
}

/// The old values of a state.
ArrayRef<Value> StoragePlan::readsOf(StringRef state) const {
  auto found = reads.find(state);
  return found == reads.end() ? ArrayRef<Value>() : found->second;
}

/// The operand into whose memory the kernel that computes `value` continues
/// writing, as `train.concat` does piece by piece; null for all other values.
static Value continuedOperand(Value value, SymbolTable &symbols) {
  auto call = value.getDefiningOp<func::CallOp>();
  if (!call)
    return {};
  auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
  std::optional<unsigned> argument =
      continuedArgument(kernel, cast<OpResult>(value).getResultNumber());
  return argument ? call.getOperand(*argument) : Value();
}

static bool isKernel(Operation *op) {
  return isa<func::CallOp, train::KernelOpInterface>(op);
}

/// True if `root`, which contains `value` at byte `inside`, is computed by a
/// kernel that can write it to a place of the size of `value`.
bool StoragePlan::canBeMadeFor(Value value, Value root, int64_t inside) const {
  Operation *def = root.getDefiningOp();
  // The sizes are compared because an unpacked tensor may begin where a larger
  // one does.
  return def && isKernel(def) && inside == 0 &&
         byteSize(cast<RankedTensorType>(root.getType())) ==
             byteSize(cast<RankedTensorType>(value.getType())) &&
         !places.count(root) && !continuedOperand(root, symbols);
}

void StoragePlan::forEachUse(Value value,
                             llvm::function_ref<void(OpOperand &)> visit) {
  SmallVector<Value> views = {value};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (OpOperand &use : view.getUses()) {
      Operation *user = use.getOwner();
      std::optional<train::View> of = train::viewOf(user);
      if (!of)
        visit(use);
      else if (of->viewed ==
               view) // A barrier only waits for its other operand.
        views.push_back(user->getResult(0));
    }
  }
}

/// Whether the kernel that computes `result` reads each element of its operand
/// `use` before it writes there. The operand must not be a view of a part.
bool StoragePlan::mayReplace(OpResult result, OpOperand &use) const {
  unsigned operand = use.getOperandNumber();
  auto read = cast<RankedTensorType>(use.get().getType());
  if (read.getNumElements() !=
      cast<RankedTensorType>(result.getType()).getNumElements())
    return false;
  if (auto kernel = dyn_cast<train::KernelOpInterface>(result.getOwner()))
    return result.getResultNumber() == 0 &&
           kernelInPlaceInput(kernel.getKernelName()) == operand;
  auto call = cast<func::CallOp>(result.getOwner());
  return mayUpdateInPlace(symbols.lookup<func::FuncOp>(call.getCallee()),
                          operand, result.getResultNumber());
}

/// The operand whose memory the result of a kernel may take: it has the same
/// size, nothing reads it later, and the kernel reads each of its elements
/// before it writes there. Null if there is none.
Value StoragePlan::replacedOperand(OpResult result) const {
  Operation *call = result.getOwner();
  if (!isKernel(call) || continuedOperand(result, symbols))
    return {};
  auto type = cast<RankedTensorType>(result.getType());
  // Operands into whose memory another result continues writing.
  llvm::SmallPtrSet<Value, 4> continued;
  for (Value other : call->getResults())
    if (Value operand = continuedOperand(other, symbols)) {
      int64_t inside = 0;
      continued.insert(rootOf(operand, inside));
    }
  for (Value operand : call->getOperands()) {
    int64_t inside = 0;
    Value root = rootOf(operand, inside);
    Operation *def = root.getDefiningOp();
    auto rootType = cast<RankedTensorType>(root.getType());
    if (!def || !isKernel(def) || continued.contains(root) ||
        rootType.getNumElements() != type.getNumElements() ||
        byteSize(rootType) != byteSize(type))
      continue;
    bool isFree = true;
    forEachUse(root, [&](OpOperand &use) {
      if (use.getOwner() != call) {
        isFree &= order.lookup(use.getOwner()) < order.lookup(call);
        return;
      }
      isFree &= mayReplace(result, use);
    });
    if (isFree)
      return root;
  }
  return {};
}

/// Places parts of a packed tensor inside it. The operands that a kernel
/// updates in place to compute them are placed there, too, unless parts of the
/// old value of a state may be there.
void StoragePlan::placePacks() {
  for (auto pack : func.getOps<train::PackOp>()) {
    auto type = cast<RankedTensorType>(pack.getType());
    bool replacesState = llvm::any_of(pack->getUsers(), [&](Operation *user) {
      auto write = dyn_cast<train::WriteOp>(user);
      return write && !readsOf(write.getState()).empty();
    });
    unsigned block = newBlock(byteSize(type));
    places[pack.getResult()] = {block, 0};
    int64_t bytes = elementBytes(type.getElementType());
    for (auto [input, offset] :
         llvm::zip(pack.getInputs(), pack.getOffsets())) {
      int64_t inside = 0;
      Value root = rootOf(input, inside);
      if (!canBeMadeFor(input, root, inside))
        continue;
      places[root] = {block, offset * bytes};
      while (Value old = replacedOperand(cast<OpResult>(root))) {
        if (replacesState || !canBeMadeFor(root, old, 0))
          break;
        root = old;
        places[root] = {block, offset * bytes};
      }
      int64_t size = byteSize(cast<RankedTensorType>(input.getType()));
      blocks[block].parts.push_back({offset * bytes, offset * bytes + size,
                                     order.lookup(root.getDefiningOp())});
    }
  }
}

/// Whether all uses of `reads`, a state's old value, are done when `producer`
/// writes the new one.
bool StoragePlan::canMakeInState(Operation *producer, Value value,
                                 ArrayRef<Value> reads) {
  bool isFree = true;
  for (Value read : reads)
    forEachUse(read, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (order.lookup(user) < order.lookup(producer))
        return;
      isFree &= user == producer && mayReplace(cast<OpResult>(value), use);
    });
  return isFree;
}

/// Whether each part of a state's old value, `reads`, is read for the last time
/// when that part of the new value, `pack`, is computed.
bool StoragePlan::canPackInState(train::PackOp pack, ArrayRef<Value> reads) {
  struct Part {
    int64_t begin, end; ///< In bytes.
    Value value;        ///< Null if it is copied after `writer`.
    Operation *writer;  ///< Null for an argument of the function.
  };
  SmallVector<Part> parts;
  unsigned block = places.lookup(pack.getResult()).block;
  int64_t bytes = elementBytes(getElementTypeOrSelf(pack.getType()));
  for (auto [input, offset] : llvm::zip(pack.getInputs(), pack.getOffsets())) {
    int64_t begin = offset * bytes, inside = 0;
    int64_t end = begin + byteSize(cast<RankedTensorType>(input.getType()));
    Value root = rootOf(input, inside);
    auto place = places.find(root);
    if (place != places.end() && place->second.block == block &&
        place->second.offset == begin && inside == 0)
      parts.push_back({begin, end, root, root.getDefiningOp()});
    else
      parts.push_back({begin, end, {}, input.getDefiningOp()});
  }
  // Gaps are cleared at the beginning, so no part of them may be read.
  auto isReadFirst = [&](OpOperand &use) {
    int64_t begin = 0;
    (void)rootOf(use.get(), begin);
    int64_t end = begin + byteSize(cast<RankedTensorType>(use.get().getType()));
    const Part *part = llvm::upper_bound(
        parts, begin, [](int64_t at, const Part &p) { return at < p.end; });
    for (; begin < end; ++part) {
      if (part == parts.end() || begin < part->begin || !part->writer)
        return false;
      Operation *user = use.getOwner();
      bool isInTime = order.lookup(user) < order.lookup(part->writer);
      if (user == part->writer)
        isInTime =
            !part->value || (begin == part->begin && end == part->end &&
                             mayReplace(cast<OpResult>(part->value), use));
      if (!isInTime)
        return false;
      begin = part->end;
    }
    return true;
  };
  bool isFree = true;
  for (Value read : reads)
    forEachUse(read, [&](OpOperand &use) {
      isFree = isFree && !train::isOutput(use.getOwner()) && isReadFirst(use);
    });
  return isFree;
}

/// Places new values of states in the states where possible; the others are
/// copied there at the end.
void StoragePlan::placeWrites() {
  for (auto write : func.getOps<train::WriteOp>()) {
    int64_t inside = 0;
    Value root = rootOf(write.getValue(), inside);
    auto pack = write.getValue().getDefiningOp<train::PackOp>();
    if (pack && canPackInState(pack, readsOf(write.getState()))) {
      Block &block = blocks[places.lookup(pack.getResult()).block];
      block.inState = true;
      block.offset = stateOffsets.lookup(write.getState());
      continue;
    }
    if (!canBeMadeFor(write.getValue(), root, inside) ||
        !canMakeInState(root.getDefiningOp(), root, readsOf(write.getState())))
      continue;
    unsigned block = newBlock(byteSize(cast<RankedTensorType>(root.getType())));
    blocks[block].inState = true;
    blocks[block].offset = stateOffsets.lookup(write.getState());
    places[root] = {block, 0};
  }
}

/// True if the memory of `value` is not shared with other values.
bool StoragePlan::mayBeReplaced(Value value) const {
  Place place = places.lookup(value);
  const Block &block = blocks[place.block];
  return !block.inState && block.parts.empty() && place.offset == 0 &&
         block.size == byteSize(cast<RankedTensorType>(value.getType()));
}

void StoragePlan::placeRest() {
  auto place = [&](Value value) {
    int64_t inside = 0;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && rootOf(value, inside) == value && !places.count(value))
      places[value] = {newBlock(byteSize(type)), 0};
  };
  for (Value argument : func.getArguments())
    place(argument);
  llvm::DenseSet<Value> replaced;
  for (Operation &op : func.getBody().front())
    for (OpResult result : op.getResults()) {
      if (Value operand = continuedOperand(result, symbols)) {
        places[result] = placeOf(operand);
      } else if (!places.count(result)) {
        Value old = replacedOperand(result);
        if (old && mayBeReplaced(old) && replaced.insert(old).second)
          places[result] = places.lookup(old);
      }
      place(result);
    }
}

StoragePlan::Place StoragePlan::placeOf(Value value) const {
  int64_t inside = 0;
  Place place = places.at(rootOf(value, inside));
  place.offset += inside;
  return place;
}

void StoragePlan::findLifetimes() {
  for (Block &block : blocks)
    block.first = std::numeric_limits<int64_t>::max();
  auto use = [&](Value value, int64_t position) {
    Block &block = blocks[placeOf(value).block];
    block.last = std::max(block.last, position);
    // Parts exist before the packed tensor does.
    if (block.parts.empty() || value.getDefiningOp<train::PackOp>())
      block.first = std::min(block.first, position);
  };
  for (Value argument : func.getArguments())
    use(argument, -1);
  for (Operation &op : func.getBody().front()) {
    // Arguments and results of the function are needed until the end, and so
    // are values that are copied into a state then.
    bool atEnd = train::isOutput(&op);
    int64_t position = atEnd ? int64_t(order.size()) : order.lookup(&op);
    for (Value operand : op.getOperands())
      use(operand, position);
    for (Value result : op.getResults())
      if (isa<RankedTensorType>(result.getType()))
        use(result, order.lookup(&op));
  }
  // Inputs are written before the first instruction; their memory is reserved
  // from then on, even if they are read later or never.
  for (Value argument : func.getArguments())
    use(argument, 0);
}

void StoragePlan::separateResults() {
  for (Value result : func.getBody().front().getTerminator()->getOperands())
    blocks[placeOf(result).block].first = 0;
}

Lifetime StoragePlan::lifetimeOf(const Block &block) {
  if (block.parts.empty())
    return Lifetime::whole(block.size, block.first, block.last);
  Lifetime life = {block.size, block.last, {}};
  int64_t end = 0;
  // Bytes that are not computed in place are written by the pack: copies and
  // zeros.
  auto fillTo = [&](int64_t begin) {
    if (end < begin)
      life.parts.push_back({end, begin, block.first});
  };
  for (const Lifetime::Part &part : block.parts) {
    fillTo(part.begin);
    life.parts.push_back(part);
    end = part.end;
  }
  fillTo(block.size);
  return life;
}

int64_t StoragePlan::layOut() {
  SmallVector<Lifetime> regions;
  SmallVector<unsigned> which;
  for (auto [i, block] : llvm::enumerate(blocks)) {
    if (block.inState)
      continue;
    regions.push_back(lifetimeOf(block));
    which.push_back(i);
  }
  int64_t size = layOutArena(regions);
  for (auto [i, region] : llvm::zip(which, regions))
    blocks[i].offset = region.offset;
  return size;
}

int64_t StoragePlan::unsharedSize() const {
  int64_t total = 0;
  for (const Block &block : blocks)
    if (!block.inState)
      total += llvm::alignTo(block.size, kBufferAlignment);
  return total;
}

exec::BufferAttr StoragePlan::bufferOf(Value value) const {
  return slice(value, 0, cast<RankedTensorType>(value.getType()));
}

exec::BufferAttr StoragePlan::slice(Value value, int64_t offset,
                                    RankedTensorType type) const {
  Place place = placeOf(value);
  const Block &block = blocks[place.block];
  return exec::BufferAttr::get(type.getContext(),
                               block.inState ? exec::Space::State
                                             : exec::Space::Arena,
                               block.offset + place.offset +
                                   offset * elementBytes(type.getElementType()),
                               type);
}

exec::BufferAttr StoragePlan::stateBuffer(StringRef state,
                                          RankedTensorType type) const {
  return exec::BufferAttr::get(type.getContext(), exec::Space::State,
                               stateOffsets.lookup(state), type);
}
