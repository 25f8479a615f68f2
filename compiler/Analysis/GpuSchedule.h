//===- GpuSchedule.h - How a GPU walks a kernel's domain --------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_GPUSCHEDULE_H
#define MPC_COMPILER_ANALYSIS_GPUSCHEDULE_H

#include "compiler/Analysis/KernelDomain.h"

namespace mpc {

/// The grid of a kernel and who computes what in it, decided from shapes alone:
/// neither the model of the GPU nor its load may change a sum.
///
/// A thread handles `lanes` columns at a time, as many as one access of 16
/// bytes holds, every operand permitting. Where there are sums, the threads of
/// a block are `groups` x `groupThreads`: a group shares a row (or a strip of
/// its columns) and sums over it by shuffles, and through shared memory if it
/// is more than a warp; groups are on different rows.
struct GpuSchedule {
  enum class Walk {
    Flat,    ///< No sums: a thread is one vector of columns of one row.
    Tiles,   ///< No sums, but something is read across its rows: a block turns
             ///< a square of it in shared memory. Where rows and columns are
             ///< whole vectors, threads load vectors along one of the two and
             ///< store them along the other.
    Rows,    ///< Sums over columns: a group is one row.
    Columns, ///< Sums down rows: a block is a strip of columns of one outer
             ///< position, its groups take the rows in turn.
    Outer,   ///< Both: a block is one outer position.
  };
  Walk walk;
  int64_t blocks;
  unsigned groupThreads; ///< Power of two; of the whole block if `Flat`.
  unsigned groups = 1;   ///< Power of two.
  unsigned lanes;
  /// Vectors of one row that a thread keeps in registers from phase to phase.
  /// 0: too many, every phase reads them again.
  unsigned vectors = 1;
  int64_t strips = 1;    ///< Columns: strips of one outer position.
  unsigned tileDim = 0;  ///< Tiles: the dimension that is read side by side.
  unsigned tileSide = 0; ///< Tiles: columns, and indices of that dimension.

  unsigned threads() const { return groups * groupThreads; }
};

/// The schedule of a kernel; nothing if its column sums find no room.
std::optional<GpuSchedule> scheduleGpuKernel(const KernelDomain &domain);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_GPUSCHEDULE_H
