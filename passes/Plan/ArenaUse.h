//===- ArenaUse.h - How full the arena is over time -------------*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_ARENAUSE_H
#define MPC_PASSES_PLAN_ARENAUSE_H

#include "compiler/Dialect/Exec/IR/Exec.h"

#include <cstdint>
#include <vector>

namespace mpc {

struct ArenaUse {
  size_t stride = 1;          ///< Instructions from one number to the next.
  std::vector<int64_t> bytes; ///< That hold something still needed.
};

/// Finds the memory use of an entry point whose instructions say what buffers
/// hold; inputs and outputs count while instructions use them. Of many
/// instructions some are taken.
ArenaUse findArenaUse(exec::EntryOp entry);

} // namespace mpc

#endif // MPC_PASSES_PLAN_ARENAUSE_H
