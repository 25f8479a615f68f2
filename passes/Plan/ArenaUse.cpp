//===- ArenaUse.cpp - Memory in use over time -----------------------------===//

#include "passes/Plan/ArenaUse.h"

#include "passes/Plan/Storage.h"

#include <map>

using namespace mlir;
using namespace mpc;

/// Maximum number of samples; more would not be informative.
static constexpr size_t kMaxInstants = 1024;

namespace {

/// Memory that holds one tensor for the time that it is needed.
struct LiveRange {
  int64_t begin = INT64_MAX, end = 0; ///< Bytes.
  size_t first = SIZE_MAX, last = 0;  ///< Instructions.

  void add(exec::BufferAttr buffer, size_t instruction) {
    begin = std::min(begin, buffer.getOffset());
    end = std::max(end, buffer.getOffset() + byteSize(buffer.getType()));
    first = std::min(first, instruction);
    last = std::max(last, instruction);
  }
};

} // namespace

/// The size of the union of the ranges in use: views and parts of packed
/// tensors overlap.
static int64_t bytesInUse(ArrayRef<LiveRange> ranges, size_t instruction) {
  SmallVector<std::pair<int64_t, int64_t>> used;
  for (const LiveRange &range : ranges)
    if (range.first <= instruction && instruction <= range.last)
      used.push_back({range.begin, range.end});
  llvm::sort(used);
  int64_t bytes = 0, end = 0;
  for (auto [from, to] : used) {
    bytes += std::max<int64_t>(0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return bytes;
}

template <typename OpTy>
static void addRanges(OpTy op, size_t instruction,
                      std::map<int64_t, LiveRange> &ranges) {
  if (!op.getValues())
    return;
  for (auto [operand, value] : llvm::zip(op.getOperands(), *op.getValues())) {
    auto buffer = cast<exec::BufferAttr>(operand);
    if (buffer.getSpace() == exec::Space::Arena)
      ranges[cast<exec::ValueAttr>(value).getNumber()].add(buffer, instruction);
  }
}

/// Extends the lifetime of parts computed in place to that of the packed
/// tensor.
static void extendParts(exec::EntryOp entry,
                        std::map<int64_t, LiveRange> &ranges) {
  if (!entry.getDataflow())
    return;
  for (auto part :
       entry.getDataflow()->getParts().getAsRange<exec::PartAttr>()) {
    auto whole = ranges.find(part.getWhole());
    auto own = ranges.find(part.getValue().getNumber());
    if (whole != ranges.end() && own != ranges.end())
      own->second.last = std::max(own->second.last, whole->second.last);
  }
}

ArenaUse mpc::findArenaUse(exec::EntryOp entry) {
  std::map<int64_t, LiveRange> ranges;
  size_t instructions = 0;
  for (Operation &op : entry.getBody().front()) {
    if (auto launch = dyn_cast<exec::LaunchOp>(op))
      addRanges(launch, instructions++, ranges);
    else if (auto call = dyn_cast<exec::CallOp>(op))
      addRanges(call, instructions++, ranges);
  }
  extendParts(entry, ranges);
  ArenaUse use;
  use.stride = instructions / kMaxInstants + 1;
  SmallVector<LiveRange> all;
  for (const auto &[number, range] : ranges)
    all.push_back(range);
  for (size_t at = 0; at < instructions; at += use.stride)
    use.bytes.push_back(bytesInUse(all, at));
  return use;
}
