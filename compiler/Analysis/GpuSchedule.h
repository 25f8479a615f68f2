//===- GpuSchedule.h - GPU schedule of a kernel -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_GPUSCHEDULE_H
#define MPC_COMPILER_ANALYSIS_GPUSCHEDULE_H

#include "compiler/Analysis/KernelDomain.h"

namespace mpc {

/// The grid of a kernel and the work of its threads. It depends only on shapes:
/// neither the model of the GPU nor its load may change a sum.
///
/// A thread handles `lanes` columns at a time, as many as fit in one access of
/// 16 bytes, if all operands permit it. In a kernel with sums, the threads of a
/// block are `groups` x `groupThreads`: a group shares a row (or a strip of its
/// columns) and sums over it by shuffles, and through shared memory if it is
/// larger than a warp; groups work on different rows.
struct GpuSchedule {
  enum class Walk {
    Flat,    ///< No sums: a thread computes one vector of columns of one row.
    Tiles,   ///< No sums, but an operand is read across its rows: a block
             ///< transposes a square of it in shared memory. If rows and
             ///< columns are whole vectors, threads load vectors along one of
             ///< them and store them along the other.
    Rows,    ///< Sums over columns: a group computes one row.
    Columns, ///< Sums down rows: a block computes a strip of columns of one
             ///< outer position; its groups take the rows in turn.
    Outer,   ///< Both: a block computes one outer position.
  };
  Walk walk;
  int64_t blocks;
  unsigned groupThreads; ///< Power of two; the whole block if `Flat`.
  unsigned groups = 1;   ///< Power of two.
  unsigned lanes;
  /// Vectors of one row that a thread keeps in registers between phases. 0 if
  /// they are too many; every phase then reads them again.
  unsigned vectors = 1;
  /// Rows, if `vectors` is 0: the vectors of a row that a thread keeps in
  /// dynamic shared memory between phases, as far as the device has enough of
  /// it; of each vector `cachedBytes` bytes of those inputs that several phases
  /// read.
  unsigned cachedVectors = 0, cachedBytes = 0;
  int64_t strips = 1;    ///< Columns: strips of one outer position.
  unsigned tileDim = 0;  ///< Tiles: the operand's contiguous dimension.
  unsigned tileSide = 0; ///< Tiles: columns, and indices of that dimension.

  unsigned threads() const { return groups * groupThreads; }
  /// The dynamic shared memory of a block in bytes, at most.
  int64_t sharedBytes() const {
    return int64_t(cachedVectors) * groupThreads * cachedBytes;
  }
};

/// The schedule of a kernel; nothing if its column sums do not fit in
/// registers.
std::optional<GpuSchedule> scheduleGpuKernel(const KernelDomain &domain);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_GPUSCHEDULE_H
