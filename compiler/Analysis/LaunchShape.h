//===- LaunchShape.h - What planning asks of a device's walks ----*- C++-*-===//
#ifndef MPC_COMPILER_ANALYSIS_LAUNCHSHAPE_H
#define MPC_COMPILER_ANALYSIS_LAUNCHSHAPE_H

#include <cstdint>

namespace mpc {

/// How a kernel would run on a device.
struct LaunchShape {
  int64_t items;    ///< Independent pieces of work; blocks of a grid.
  int64_t grain;    ///< Host: items that are worth a thread.
  unsigned threads; ///< Threads of a block; 0 where there are no blocks.
  unsigned lanes;   ///< Elements that one thread handles at once.
  bool isFlat;      ///< Has no sums and no rows.
};

/// Numbers that decide what becomes one kernel, and what several.
struct FusionLimits {
  int64_t sharedWork; ///< Work (see elementCost) that must not be left to
                      ///< few items if there could be more.
  int64_t fewItems;   ///< Fewer are few.
  int64_t longSum;    ///< A sum over so many elements at once is a kernel of
                      ///< its own: what uses it has more to gain from the
                      ///< kernels of its other operands.
  unsigned flatLanes; ///< Large flat kernels may not get fewer lanes.
  unsigned operands;  ///< Operands of one kernel.
  int64_t largeSum;   ///< A sum over more elements is done in two steps,
  int64_t rowBlocks;  ///< of at most so many blocks.
  bool splitRows;     ///< The same for sums over a few long rows,
  int64_t largeRest;  ///< and for sums over so many rows of a larger walk.
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_LAUNCHSHAPE_H
