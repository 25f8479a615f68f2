//===- ArenaUse.h - Memory in use over time ---------------------*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_ARENAUSE_H
#define MPC_PASSES_PLAN_ARENAUSE_H

#include "compiler/Dialect/Exec/IR/Exec.h"

#include <cstdint>
#include <vector>

namespace mpc {

struct ArenaUse {
  size_t stride = 1;          ///< Number of instructions per entry of `bytes`.
  std::vector<int64_t> bytes; ///< Bytes that are still needed.
};

/// Finds the memory use of an entry point from the buffers of its instructions;
/// inputs and outputs count while instructions use them. Samples the
/// instructions if there are many.
ArenaUse findArenaUse(exec::EntryOp entry);

} // namespace mpc

#endif // MPC_PASSES_PLAN_ARENAUSE_H
