//===- KernelDomain.cpp - Shared loop nest of linalg ops ------------------===//

#include "compiler/Analysis/KernelDomain.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// A generic with its own dimensions, except those of extent 1.
struct RawNode {
  linalg::GenericOp op;
  SmallVector<int64_t> sizes;
  SmallVector<bool> reduced;
  SmallVector<KernelAccess> inputs, outputs; // Strides over `sizes`.
  SmallVector<SmallVector<int64_t>> indices; // Likewise, for every op dim.

  int64_t total() const { return product(sizes); }
  bool isReduction() const { return llvm::is_contained(reduced, true); }
};

/// Linear strides of one operand over the op's loop dimensions.
KernelAccess linearAccess(Value operand, AffineMap map,
                          ArrayRef<int64_t> loops) {
  auto type = cast<RankedTensorType>(operand.getType());
  KernelAccess access;
  access.root = memoryRoot(operand);
  access.elementType = type.getElementType();
  access.strides.assign(loops.size(), 0);
  int64_t stride = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    AffineExpr expr = map.getResult(i);
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
      // d + c, or d mod extent, which equals d (see Lowering.h).
      if (binary.getKind() == AffineExprKind::Add)
        access.offset +=
            cast<AffineConstantExpr>(binary.getRHS()).getValue() * stride;
      expr = binary.getLHS();
    }
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      access.strides[dim.getPosition()] += stride;
    else
      access.offset += cast<AffineConstantExpr>(expr).getValue() * stride;
    stride *= type.getDimSize(i);
  }
  return access;
}

template <typename T>
SmallVector<T> keep(ArrayRef<T> values, ArrayRef<unsigned> which) {
  SmallVector<T> result;
  for (unsigned i : which)
    result.push_back(values[i]);
  return result;
}

/// From a result of one of several ops to that of the next one that writes
/// another part of the same memory (train.concat).
using NextParts = llvm::SmallDenseMap<Value, Value>;

NextParts findNextParts(ArrayRef<linalg::GenericOp> ops) {
  llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());
  NextParts next;
  for (linalg::GenericOp op : ops)
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Value before = memoryRoot(init.get());
      if (inside.contains(before.getDefiningOp()))
        next[before] = op.getTiedOpResult(&init);
    }
  return next;
}

RawNode makeRaw(linalg::GenericOp op, const NextParts &next) {
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<unsigned> real;
  for (auto [i, size] : llvm::enumerate(loops))
    if (size != 1)
      real.push_back(i);

  RawNode node;
  node.op = op;
  node.sizes = keep<int64_t>(loops, real);
  for (unsigned i : real)
    node.reduced.push_back(kinds[i] == utils::IteratorType::reduction);
  auto add = [&](Value value, AffineMap map, SmallVector<KernelAccess> &list) {
    KernelAccess access = linearAccess(value, map, loops);
    access.strides = keep<int64_t>(access.strides, real);
    list.push_back(std::move(access));
  };
  for (OpOperand *input : op.getDpsInputOperands())
    add(input->get(), op.getMatchingIndexingMap(input), node.inputs);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    add(init.get(), op.getMatchingIndexingMap(&init), node.outputs);
    // Other ops use the result, or that of the last part, so it stands for the
    // memory.
    Value result = op.getTiedOpResult(&init);
    while (Value later = next.lookup(result))
      result = later;
    node.outputs.back().root = result;
  }
  for (unsigned i = 0; i < loops.size(); ++i) {
    SmallVector<int64_t> strides(real.size(), 0);
    auto *found = llvm::find(real, i);
    if (found != real.end())
      strides[found - real.begin()] = 1;
    node.indices.push_back(std::move(strides));
  }
  return node;
}

/// The dimensions whose `linalg.index` the op uses.
SmallVector<bool> usedIndices(linalg::GenericOp op) {
  SmallVector<bool> used(op.getNumLoops(), false);
  op.getBody()->walk(
      [&](linalg::IndexOp index) { used[index.getDim()] = true; });
  return used;
}

/// The single range of reduced dimensions; nothing if there are several.
std::optional<std::pair<unsigned, unsigned>> reducedRange(const RawNode &node) {
  auto *first = llvm::find(node.reduced, true);
  auto *end = std::find(first, node.reduced.end(), false);
  if (std::find(end, node.reduced.end(), true) != node.reduced.end())
    return std::nullopt;
  return std::make_pair(unsigned(first - node.reduced.begin()),
                        unsigned(end - node.reduced.begin()));
}

/// The extents of the three zones, which all ops of a kernel share.
struct Extents {
  int64_t outer = 1, row = 1, column = 1;
  int64_t total() const { return outer * row * column; }
};

class Analyzer {
public:
  Analyzer(ArrayRef<linalg::GenericOp> ops, std::string *reason)
      : reason(reason) {
    const NextParts next = findNextParts(ops);
    writesParts = !next.empty();
    for (linalg::GenericOp op : ops)
      raw.push_back(makeRaw(op, next));
    nodes.resize(raw.size());
  }

  std::optional<KernelDomain> run() {
    for (const RawNode &node : raw)
      total = std::max(total, node.total());
    if (!findExtents() || !classify() || !refine() || !collapse() ||
        !checkDataflow())
      return std::nullopt;
    KernelDomain domain;
    domain.sizes = sizes;
    domain.rowBegin = rowBegin;
    domain.columnBegin = columnBegin;
    domain.nodes = std::move(nodes);
    return domain;
  }

private:
  bool fail(const char *why) {
    if (reason)
      *reason = why;
    return false;
  }

  /// Determines the extents from the reductions over the whole domain. Without
  /// any, the extents stay open: every dimension may become a row.
  bool findExtents() {
    for (const RawNode &node : raw) {
      if (node.total() != total || !node.isReduction())
        continue;
      auto range = reducedRange(node);
      if (!range)
        return fail("a reduction skips dimensions");
      ArrayRef<int64_t> all(node.sizes);
      Extents wanted;
      int64_t before = product(all.take_front(range->first));
      int64_t reduced =
          product(all.slice(range->first, range->second - range->first));
      int64_t after = product(all.drop_front(range->second));
      bool overColumns = after == 1;
      if (overColumns)
        wanted = {before, 1, reduced};
      else
        wanted = {before, reduced, after};
      if (overColumns) {
        if (columnReduction && extents.column != wanted.column)
          return fail("row reductions of different lengths");
        if (rowReduction && (extents.column != wanted.column ||
                             extents.outer * extents.row != wanted.outer))
          return fail("row and column reductions do not meet");
        if (!rowReduction)
          extents = wanted;
        columnReduction = true;
      } else {
        if (rowReduction &&
            (extents.outer != wanted.outer || extents.row != wanted.row))
          return fail("column reductions over different rows");
        if (columnReduction && !rowReduction &&
            (extents.column != wanted.column ||
             extents.outer != wanted.outer * wanted.row))
          return fail("row and column reductions do not meet");
        extents = wanted;
        rowReduction = true;
      }
    }
    return true;
  }

  /// The node of the kernel that computes `root`, or -1.
  int producer(Value root) const {
    for (auto [i, node] : llvm::enumerate(raw))
      for (const KernelAccess &output : node.outputs)
        if (output.root == root)
          return i;
    return -1;
  }

  unsigned countWriters(Value root) const {
    unsigned count = 0;
    for (const RawNode &node : raw)
      count += llvm::count_if(node.outputs, [&](const KernelAccess &output) {
        return output.root == root;
      });
    return count;
  }

  /// Gives each node its level, in program order.
  bool classify() {
    for (unsigned i = 0; i < raw.size(); ++i) {
      const RawNode &node = raw[i];
      KernelNode &out = nodes[i];
      out.op = node.op;
      for (Value read : computedReads(node.op))
        out.reads.push_back(memoryRoot(read));
      bool usesRow = false, usesColumn = false, usesOuter = false;
      for (const KernelAccess &input : node.inputs) {
        int from = producer(input.root);
        if (from < 0)
          continue;
        if (from >= int(i))
          return fail("ops are out of order");
        const KernelNode &source = nodes[from];
        if (source.level == KernelLevel::Full &&
            source.reduction == KernelReduction::None)
          continue;
        usesRow |= (source.level == KernelLevel::Full &&
                    source.reduction == KernelReduction::Columns) ||
                   (source.level == KernelLevel::Row &&
                    source.reduction == KernelReduction::None);
        usesColumn |= (source.level == KernelLevel::Full &&
                       source.reduction == KernelReduction::Rows) ||
                      source.level == KernelLevel::Column;
        usesOuter |= (source.level == KernelLevel::Row &&
                      source.reduction == KernelReduction::Rows) ||
                     source.level == KernelLevel::Outer;
      }
      if (usesRow + usesColumn + usesOuter > 1)
        return fail("mixes values of rows with values of columns");
      if (!assign(node, out, usesRow, usesColumn, usesOuter))
        return false;
    }
    return true;
  }

  bool assign(const RawNode &node, KernelNode &out, bool usesRow,
              bool usesColumn, bool usesOuter) {
    int64_t size = node.total();
    if (usesColumn) {
      if (size != extents.outer * extents.column || node.isReduction())
        return fail("needs the sum over all rows");
      out.level = KernelLevel::Column;
      return true;
    }
    if (usesOuter) {
      if (size != extents.outer || node.isReduction())
        return fail("needs the sum over all rows");
      out.level = KernelLevel::Outer;
      return true;
    }
    // An elementwise op over the rows joins at row level even if it uses no row
    // value of the kernel.
    bool stepOfRows = size != total && !node.isReduction() && hasReduction();
    if ((usesRow || stepOfRows) && size == extents.outer * extents.row &&
        (extents.column > 1 || node.isReduction())) {
      out.level = KernelLevel::Row;
      if (!node.isReduction())
        return true;
      auto range = reducedRange(node);
      if (!range || range->second != node.sizes.size())
        return fail("a reduction over rows is not over the last ones");
      ArrayRef<int64_t> all(node.sizes);
      int64_t before = product(all.take_front(range->first));
      int64_t reduced = product(all.drop_front(range->first));
      if (!rowReduction) {
        if (extents.outer * extents.row != before * reduced)
          return fail("a reduction over rows of another number");
        extents = {before, reduced, extents.column};
        rowReduction = true;
      }
      if (extents.outer != before || extents.row != reduced)
        return fail("reductions over different rows");
      out.reduction = KernelReduction::Rows;
      return true;
    }
    if (size != total)
      return fail("walks another number of elements");
    out.level = KernelLevel::Full;
    if (node.isReduction()) {
      auto range = reducedRange(node);
      out.reduction = range->second == node.sizes.size()
                          ? KernelReduction::Columns
                          : KernelReduction::Rows;
    }
    return true;
  }

  /// The extents of the dimensions that a level walks, outermost first, each
  /// with the number of elements of the domain inside one of its steps.
  SmallVector<std::pair<int64_t, int64_t>> zonesOf(KernelLevel level) const {
    int64_t r = extents.row, c = extents.column;
    switch (level) {
    case KernelLevel::Full:
      return {{extents.outer * r * c, 1}};
    case KernelLevel::Row:
      return {{extents.outer * r, c}};
    case KernelLevel::Column:
      return {{extents.outer, r * c}, {c, 1}};
    case KernelLevel::Outer:
      return {{extents.outer, r * c}};
    }
    return {};
  }

  /// Cuts the linear space so that every dimension of every op is a sequence of
  /// dimensions of the domain, and rewrites all strides.
  bool refine() {
    if (!hasReduction())
      extents = {1, 1, total};
    // A cut point is a number of elements, counted from the innermost side.
    SmallVector<int64_t> cuts = {1, total};
    cuts.push_back(extents.column);
    cuts.push_back(extents.row * extents.column);
    for (unsigned i = 0; i < raw.size(); ++i)
      if (!addCuts(raw[i], zonesOf(nodes[i].level), cuts))
        return fail("dimensions do not line up");
    llvm::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (unsigned i = 1; i < cuts.size(); ++i)
      if (cuts[i] % cuts[i - 1] != 0)
        return fail("dimensions do not line up");
    // Cuts are in ascending order; dimension k (outermost first) lies between
    // two of them.
    for (unsigned i = cuts.size() - 1; i > 0; --i) {
      sizes.push_back(cuts[i] / cuts[i - 1]);
      inner.push_back(cuts[i - 1]);
    }
    for (unsigned i = 0; i < raw.size(); ++i)
      rewrite(raw[i], nodes[i], zonesOf(nodes[i].level));
    return true;
  }

  /// The steps of the dimensions of `node`, in elements of the domain.
  std::optional<SmallVector<int64_t>>
  stepsOf(const RawNode &node,
          ArrayRef<std::pair<int64_t, int64_t>> zones) const {
    SmallVector<int64_t> steps(node.sizes.size());
    int dim = int(node.sizes.size()) - 1;
    for (int zone = int(zones.size()) - 1; zone >= 0; --zone) {
      int64_t step = 1;
      while (dim >= 0 && step < zones[zone].first) {
        steps[dim] = step * zones[zone].second;
        step *= node.sizes[dim--];
      }
      if (step != zones[zone].first)
        return std::nullopt;
    }
    if (dim >= 0)
      return std::nullopt;
    return steps;
  }

  bool addCuts(const RawNode &node, ArrayRef<std::pair<int64_t, int64_t>> zones,
               SmallVector<int64_t> &cuts) const {
    auto steps = stepsOf(node, zones);
    if (!steps)
      return false;
    for (auto [size, step] : llvm::zip(node.sizes, *steps)) {
      cuts.push_back(step);
      cuts.push_back(step * size);
    }
    return true;
  }

  /// Converts strides over the op's dimensions to strides over the domain's.
  SmallVector<int64_t> spread(const RawNode &node, ArrayRef<int64_t> steps,
                              ArrayRef<int64_t> strides) const {
    SmallVector<int64_t> result(sizes.size(), 0);
    for (unsigned d = 0; d < sizes.size(); ++d)
      for (unsigned i = 0; i < node.sizes.size(); ++i)
        if (inner[d] >= steps[i] && inner[d] < steps[i] * node.sizes[i])
          result[d] = strides[i] * (inner[d] / steps[i]);
    return result;
  }

  void rewrite(const RawNode &node, KernelNode &out,
               ArrayRef<std::pair<int64_t, int64_t>> zones) {
    SmallVector<int64_t> steps = *stepsOf(node, zones);
    auto convert = [&](const KernelAccess &access) {
      KernelAccess result = access;
      result.strides = spread(node, steps, access.strides);
      return result;
    };
    for (const KernelAccess &input : node.inputs)
      out.inputs.push_back(convert(input));
    for (const KernelAccess &output : node.outputs)
      out.outputs.push_back(convert(output));
    for (const SmallVector<int64_t> &index : node.indices)
      out.indices.push_back(spread(node, steps, index));
  }

  bool hasReduction() const { return rowReduction || columnReduction; }

  /// Zone of dimension d: 0 outer, 1 row, 2 column.
  int zoneOf(unsigned d) const {
    if (!hasReduction())
      return 0;
    if (inner[d] >= extents.row * extents.column)
      return 0;
    return inner[d] >= extents.column ? 1 : 2;
  }

  /// Merges adjacent dimensions of one zone if every operand has uniform
  /// strides across them.
  bool collapse() {
    for (unsigned d = 0; d + 1 < sizes.size();) {
      if (zoneOf(d) == zoneOf(d + 1) && isEven(d)) {
        merge(d);
        continue;
      }
      ++d;
    }
    unsigned rank = sizes.size();
    if (!hasReduction()) {
      columnBegin = rank == 0 ? 0 : rank - 1;
      rowBegin = columnBegin;
      return true;
    }
    rowBegin = columnBegin = 0;
    for (unsigned d = 0; d < rank; ++d) {
      rowBegin += zoneOf(d) == 0;
      columnBegin += zoneOf(d) != 2;
    }
    if (rank - columnBegin > 1)
      return fail("columns are not evenly spaced in memory");
    return true;
  }

  bool isEven(unsigned d) const {
    auto even = [&](ArrayRef<int64_t> strides) {
      return strides[d] == strides[d + 1] * sizes[d + 1];
    };
    for (const KernelNode &node : nodes) {
      for (const KernelAccess &access : node.inputs)
        if (!even(access.strides))
          return false;
      for (const KernelAccess &access : node.outputs)
        if (!even(access.strides))
          return false;
      linalg::GenericOp op = node.op;
      for (auto [index, used] : llvm::zip(node.indices, usedIndices(op)))
        if (used && !even(index))
          return false;
    }
    return true;
  }

  void merge(unsigned d) {
    auto drop = [&](SmallVector<int64_t> &strides) {
      strides.erase(strides.begin() + d);
    };
    for (KernelNode &node : nodes) {
      for (KernelAccess &access : node.inputs)
        drop(access.strides);
      for (KernelAccess &access : node.outputs)
        drop(access.strides);
      for (SmallVector<int64_t> &index : node.indices)
        drop(index);
    }
    sizes[d + 1] *= sizes[d];
    sizes.erase(sizes.begin() + d);
    inner.erase(inner.begin() + d);
  }

  /// A value that the kernel computes must be read at the element for which it
  /// is computed.
  bool checkDataflow() {
    for (const KernelNode &node : nodes) {
      for (const KernelAccess &input : node.inputs) {
        int from = producer(input.root);
        if (from < 0)
          continue;
        if (writesParts && countWriters(input.root) > 1)
          return fail("reads a tensor that ops of the kernel write in parts");
        bool same = llvm::any_of(nodes[from].outputs, [&](auto &output) {
          return output.sameElement(input);
        });
        if (!same)
          return fail("reads a value of the kernel at another place");
      }
      for (Value read : node.reads)
        if (producer(read) >= 0)
          return fail("reads a value of the kernel at computed places");
    }
    return true;
  }

  std::string *reason;
  std::vector<RawNode> raw;
  std::vector<KernelNode> nodes;
  int64_t total = 1;
  Extents extents;
  bool writesParts = false;     // Several ops write parts of one tensor.
  bool rowReduction = false;    // Some op sums over rows.
  bool columnReduction = false; // Some op sums over columns.
  SmallVector<int64_t> sizes, inner;
  unsigned rowBegin = 0, columnBegin = 0;
};

} // namespace

SmallVector<Value> mpc::computedReads(linalg::GenericOp op) {
  llvm::SmallSetVector<Value, 4> tensors;
  op.getBody()->walk(
      [&](tensor::ExtractOp read) { tensors.insert(read.getTensor()); });
  return tensors.takeVector();
}

SmallVector<Value> mpc::valuesNeeded(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    llvm::append_range(values, computedReads(generic));
  return values;
}

Value mpc::memoryRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      value = collapse.getSrc();
    else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      value = expand.getSrc();
    else
      break;
  }
  return value;
}

int64_t KernelDomain::outer() const {
  return product(ArrayRef<int64_t>(sizes).take_front(rowBegin));
}

int64_t KernelDomain::rows() const {
  return product(
      ArrayRef<int64_t>(sizes).slice(rowBegin, columnBegin - rowBegin));
}

int64_t KernelDomain::columns() const {
  return product(ArrayRef<int64_t>(sizes).drop_front(columnBegin));
}

bool KernelDomain::hasColumnReduction() const {
  return llvm::any_of(nodes, [](const KernelNode &node) {
    return node.reduction == KernelReduction::Columns;
  });
}

bool KernelDomain::hasRowReduction() const {
  return llvm::any_of(nodes, [](const KernelNode &node) {
    return node.reduction == KernelReduction::Rows;
  });
}

bool KernelDomain::isOnePass() const {
  llvm::SmallDenseSet<Value> ofSums;
  for (const KernelNode &node : nodes) {
    const bool readsSum =
        llvm::any_of(node.inputs, [&](const KernelAccess &input) {
          return ofSums.contains(input.root);
        });
    // Sums over the columns walk the row again, too.
    if (node.level == KernelLevel::Full && readsSum)
      return false;
    if (readsSum || node.reduction == KernelReduction::Columns)
      for (const KernelAccess &output : node.outputs)
        ofSums.insert(output.root);
  }
  return true;
}

std::optional<KernelDomain> mpc::analyzeKernel(ArrayRef<linalg::GenericOp> ops,
                                               std::string *reason) {
  return Analyzer(ops, reason).run();
}

bool mpc::hasSimpleReduction(linalg::GenericOp op) {
  return Analyzer({op}, nullptr).run().has_value();
}

std::optional<unsigned> mpc::continuedArgument(func::FuncOp kernel,
                                               unsigned result) {
  Value made =
      memoryRoot(kernel.getBody().front().getTerminator()->getOperand(result));
  while (auto op = made.getDefiningOp<linalg::GenericOp>())
    made = memoryRoot(op.getDpsInits()[cast<OpResult>(made).getResultNumber()]);
  if (auto argument = dyn_cast<BlockArgument>(made))
    return argument.getArgNumber();
  return std::nullopt;
}

bool mpc::mayUpdateInPlace(func::FuncOp kernel, unsigned argument,
                           unsigned result) {
  SmallVector<linalg::GenericOp> ops(kernel.getOps<linalg::GenericOp>());
  std::optional<KernelDomain> domain = analyzeKernel(ops);
  if (!domain)
    return false;
  Value made =
      memoryRoot(kernel.getBody().front().getTerminator()->getOperand(result));
  Value old = kernel.getArgument(argument);
  const KernelAccess *written = nullptr;
  const KernelNode *writer = nullptr;
  for (const KernelNode &node : domain->nodes)
    for (const KernelAccess &output : node.outputs)
      if (output.root == made) {
        if (written) // Writes in parts.
          return false;
        written = &output;
        writer = &node;
      }
  if (!written)
    return false;
  // Passes over a row may compute a value again; what follows the rows is
  // computed once.
  bool followsRows = writer->level == KernelLevel::Column ||
                     writer->level == KernelLevel::Outer;
  if (!followsRows && !domain->isOnePass())
    return false;
  bool isWritten = false;
  for (const KernelNode &node : domain->nodes) {
    if (llvm::is_contained(node.reads, old))
      return false;
    for (const KernelAccess &input : node.inputs)
      if (input.root == old &&
          (isWritten || input.strides != written->strides ||
           input.offset != written->offset || node.level != writer->level))
        return false;
    isWritten |= &node == writer;
  }
  return true;
}
