//===- ArenaLayout.cpp - Offsets of regions in the arena ------------------===//
//
// A region may begin at an offset if no part of it overlaps a part of another
// region that is needed at the same time. Each such pair of parts forbids a
// range of offsets; best fit is the narrowest gap between forbidden offsets.
//
//===----------------------------------------------------------------------===//

#include "passes/Plan/ArenaLayout.h"

#include "compiler/Catalog/Catalog.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

using namespace mpc;

static int64_t align(int64_t bytes) {
  return llvm::alignTo(bytes, kBufferAlignment);
}

static int64_t firstOf(const Lifetime &region) {
  int64_t first = region.last;
  for (const Lifetime::Part &part : region.parts)
    first = std::min(first, part.first);
  return first;
}

namespace {

/// The regions placed so far.
class Arena {
public:
  /// Finds a place for a region. Returns its offset.
  int64_t add(const Lifetime &region) {
    int64_t offset = bestRoom(region);
    for (const Lifetime::Part &part : region.parts) {
      Held mine = {offset + part.begin, align(offset + part.end), part.first,
                   region.last};
      held.insert(llvm::upper_bound(held, mine, isBelow), mine);
    }
    total = std::max(total, offset + align(region.size));
    return offset;
  }

  int64_t size() const { return total; }

private:
  /// A range of bytes and the instructions during which it is needed.
  struct Held {
    int64_t begin, end, first, last;
  };
  static bool isBelow(const Held &a, const Held &b) {
    return a.begin < b.begin;
  }

  int64_t bestRoom(const Lifetime &region) {
    // Forbidden offsets: those strictly between the two numbers.
    forbidden.clear();
    for (const Lifetime::Part &mine : region.parts)
      for (const Held &other : held)
        if (other.first <= region.last && mine.first <= other.last)
          forbidden.push_back({other.begin - mine.end, other.end - mine.begin});
    if (region.parts.size() > 1)
      llvm::sort(forbidden);
    int64_t best = -1, bestSlack = std::numeric_limits<int64_t>::max(), end = 0;
    for (auto [above, below] : forbidden) {
      int64_t slack = above - end;
      if (slack >= 0 && slack < bestSlack) {
        best = end;
        bestSlack = slack;
      }
      end = std::max(end, align(below));
    }
    return best >= 0 ? best : end;
  }

  std::vector<Held> held; ///< By first byte.
  std::vector<std::pair<int64_t, int64_t>> forbidden;
  int64_t total = 0;
};

} // namespace

int64_t mpc::arenaLowerBound(llvm::ArrayRef<Lifetime> regions) {
  std::map<int64_t, int64_t> changes;
  for (const Lifetime &region : regions)
    for (const Lifetime::Part &part : region.parts) {
      changes[part.first] += align(part.end) - part.begin;
      changes[region.last + 1] -= align(part.end) - part.begin;
    }
  int64_t now = 0, most = 0;
  for (auto [instruction, change] : changes)
    most = std::max(most, now += change);
  return most;
}

namespace {
/// Places all regions in several orders and keeps the best layout.
class Search {
public:
  explicit Search(llvm::MutableArrayRef<Lifetime> regions)
      : regions(regions), offsets(regions.size()) {}

  /// Returns the size of the memory.
  int64_t place(llvm::ArrayRef<size_t> order) {
    Arena arena;
    for (size_t index : order)
      offsets[index] = arena.add(regions[index]);
    if (arena.size() >= smallest)
      return arena.size();
    smallest = arena.size();
    best.assign(order.begin(), order.end());
    for (auto [region, offset] : llvm::zip(regions, offsets))
      region.offset = offset;
    return smallest;
  }

  /// Repeatedly moves the topmost regions to the front of the order.
  void improve(int64_t enough) {
    constexpr int kRounds = 16;
    std::vector<size_t> order = best;
    for (int round = 0; round < kRounds && smallest > enough; ++round) {
      int64_t size = place(order);
      std::stable_partition(order.begin(), order.end(), [&](size_t index) {
        return offsets[index] + align(regions[index].size) == size;
      });
    }
  }

  int64_t size() const { return smallest; }

private:
  llvm::MutableArrayRef<Lifetime> regions;
  llvm::SmallVector<int64_t> offsets; ///< Offsets in the last order.
  std::vector<size_t> best;
  int64_t smallest = std::numeric_limits<int64_t>::max();
};
} // namespace

int64_t mpc::layOutArena(llvm::MutableArrayRef<Lifetime> regions) {
  if (regions.empty())
    return 0;
  using Order = bool (*)(const Lifetime &, const Lifetime &);
  // Large regions and long-lived regions are the hardest to place.
  const Order orders[] = {
      [](const Lifetime &a, const Lifetime &b) { return a.size > b.size; },
      [](const Lifetime &a, const Lifetime &b) {
        int64_t stayA = a.last - firstOf(a) + 1,
                stayB = b.last - firstOf(b) + 1;
        return double(a.size) * double(stayA) > double(b.size) * double(stayB);
      },
      [](const Lifetime &a, const Lifetime &b) {
        return firstOf(a) < firstOf(b);
      },
      [](const Lifetime &a, const Lifetime &b) { return a.last > b.last; },
  };
  // Stop at 1% above the lower bound: more is not worth the time.
  const int64_t least = arenaLowerBound(regions), enough = least + least / 100;
  Search search(regions);
  for (Order order : orders) {
    auto indices = llvm::to_vector(llvm::seq<size_t>(0, regions.size()));
    llvm::stable_sort(indices, [&](size_t a, size_t b) {
      return order(regions[a], regions[b]);
    });
    search.place(indices);
    if (search.size() <= enough)
      return search.size();
  }
  search.improve(enough);
  return search.size();
}
