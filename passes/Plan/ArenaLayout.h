//===- ArenaLayout.h - Offsets of regions in the arena ----------*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_ARENALAYOUT_H
#define MPC_PASSES_PLAN_ARENALAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mpc {

/// A region whose parts are each needed from their own first instruction to
/// `last`, inclusive. Before that, others may use the bytes of a part.
struct Lifetime {
  struct Part {
    int64_t begin, end; ///< Bytes of the region.
    int64_t first;      ///< First instruction that needs it.
  };
  int64_t size;
  int64_t last;
  llvm::SmallVector<Part, 1> parts; ///< Cover the region, in order.
  int64_t offset = 0;               ///< Result.

  /// A region that is needed as a whole.
  static Lifetime whole(int64_t size, int64_t first, int64_t last) {
    return {size, last, {{0, size, first}}};
  }
};

/// Places regions, at multiples of kBufferAlignment, so that no two parts that
/// are needed at the same time overlap. Places each region into the smallest
/// gap that fits; tries several orders and keeps the smallest layout. Returns
/// the size of the memory.
int64_t layOutArena(llvm::MutableArrayRef<Lifetime> regions);

/// A lower bound for any layout: the most bytes needed at one time.
int64_t arenaLowerBound(llvm::ArrayRef<Lifetime> regions);

} // namespace mpc

#endif // MPC_PASSES_PLAN_ARENALAYOUT_H
