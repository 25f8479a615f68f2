//===- ArenaLayout.h - Regions that share one memory ------------*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_ARENALAYOUT_H
#define MPC_PASSES_PLAN_ARENALAYOUT_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mpc {

/// A region that is needed from instruction `first` to `last`, both included.
struct Lifetime {
  int64_t size;
  int64_t first, last;
  int64_t offset = 0; ///< Result.
};

/// Places regions so that two that are needed at the same time never overlap:
/// the largest first, each into the smallest gap it fits, at multiples of
/// kBufferAlignment. Returns the size of the memory.
int64_t layOutArena(llvm::MutableArrayRef<Lifetime> regions);

} // namespace mpc

#endif // MPC_PASSES_PLAN_ARENALAYOUT_H
