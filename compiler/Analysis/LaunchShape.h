//===- LaunchShape.h - Launch of a kernel on a device -----------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_LAUNCHSHAPE_H
#define MPC_COMPILER_ANALYSIS_LAUNCHSHAPE_H

#include <cstdint>

namespace mpc {

/// How a kernel would run on a device.
struct LaunchShape {
  int64_t items;           ///< Independent pieces of work; blocks of a grid.
  int64_t grain;           ///< Host: items that are worth a thread.
  unsigned threads;        ///< Threads per block; 0 if there are no blocks.
  unsigned lanes;          ///< Elements that one thread handles at once.
  bool isFlat;             ///< True if there are no sums and no rows.
  int64_t sharedBytes = 0; ///< Dynamic shared memory of a block, at most.
  unsigned itemDims = 0;   ///< Host: item i is one position of so many outer
                           ///< dimensions of the domain. 0: none of that.
  int64_t itemRun = 1;     ///< Host: item i is so many positions instead.

  /// Threads of all blocks; 0 if there are no blocks.
  int64_t allThreads() const { return items * threads; }
};

/// Limits that decide which ops become one kernel.
struct FusionLimits {
  int64_t minParallelWork; ///< Work (see elementCost) above which a kernel
                           ///< must not have fewer items than `minItems`, if
                           ///< there could be more.
  int64_t minItems;        ///< The smallest number of items that is not few.
  int64_t manyThreads; ///< A kernel of `minThreadedWork` or more must not have
                       ///< less than a quarter of the threads that there could
                       ///< be, unless it has so many.
  int64_t minThreadedWork;
  int64_t longSum;    ///< A sum over at least so many elements at once is a
                      ///< separate kernel: its users gain more from fusion with
                      ///< the kernels of their other operands.
  unsigned flatLanes; ///< Large flat kernels may not get fewer lanes.
  unsigned operands;  ///< Maximum number of operands of a kernel.
  int64_t largeSum;   ///< A sum over so many elements is done in two steps,
  int64_t rowBlocks;  ///< with at most this many blocks.
  int64_t sharedRowBlocks; ///< The same where one kernel can also sum along the
                           ///< rows: more, because only a few threads of a
                           ///< block share a row.
  int64_t shortSum;  ///< Sums down rows of so few elements share a kernel if
                     ///< they fit one domain: a launch takes longer.
  unsigned longSums; ///< How many sums of more elements share a kernel.
  bool splitRows;    ///< Two steps also for sums over a few long rows,
  int64_t minRowsToSplit; ///< and for sums over so many rows of a larger walk.
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_LAUNCHSHAPE_H
