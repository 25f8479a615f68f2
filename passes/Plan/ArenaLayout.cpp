//===- ArenaLayout.cpp - Regions that share one memory --------------------===//

#include "passes/Plan/ArenaLayout.h"

#include "compiler/Catalog/Catalog.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace mpc;

/// The offset of the smallest gap between `taken` (sorted by offset) that holds
/// `size` bytes; the end of all if none does.
static int64_t bestGap(llvm::ArrayRef<const Lifetime *> taken, int64_t size) {
  int64_t best = -1, bestSize = std::numeric_limits<int64_t>::max(), end = 0;
  for (const Lifetime *region : taken) {
    int64_t gap = region->offset - end;
    if (gap >= size && gap < bestSize) {
      best = end;
      bestSize = gap;
    }
    end = std::max(end, int64_t(llvm::alignTo(region->offset + region->size,
                                              kBufferAlignment)));
  }
  return best >= 0 ? best : end;
}

int64_t mpc::layOutArena(llvm::MutableArrayRef<Lifetime> regions) {
  llvm::SmallVector<Lifetime *> order;
  for (Lifetime &region : regions)
    order.push_back(&region);
  llvm::stable_sort(order, [](const Lifetime *a, const Lifetime *b) {
    return a->size > b->size;
  });
  int64_t total = 0;
  llvm::SmallVector<const Lifetime *> placed;
  for (Lifetime *region : order) {
    llvm::SmallVector<const Lifetime *> taken;
    for (const Lifetime *other : placed)
      if (other->first <= region->last && region->first <= other->last)
        taken.push_back(other);
    llvm::sort(taken, [](const Lifetime *a, const Lifetime *b) {
      return a->offset < b->offset;
    });
    region->offset = bestGap(taken, region->size);
    placed.push_back(region);
    total = std::max(total, int64_t(llvm::alignTo(region->offset + region->size,
                                                  kBufferAlignment)));
  }
  return total;
}
