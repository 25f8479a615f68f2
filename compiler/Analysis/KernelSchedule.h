//===- KernelSchedule.h - CPU schedule of a kernel --------------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_KERNELSCHEDULE_H
#define MPC_COMPILER_ANALYSIS_KERNELSCHEDULE_H

#include "compiler/Analysis/KernelDomain.h"

namespace mpc {

/// The number of f32 elements in the longest vector.
constexpr unsigned kVectorLanes = 16;

/// The walk of a kernel. It depends only on shapes: neither the machine nor the
/// number of threads may change a sum.
struct KernelSchedule {
  enum class Walk {
    Flat,    ///< No rows: an item is a run of `itemElements` columns.
    Rows,    ///< An item is one row.
    Columns, ///< An item is a strip of columns of one outer position, summed
             ///< down the rows in registers.
    Outer,   ///< An item is one outer position: its rows are computed in order,
             ///< with column sums in memory.
  };
  Walk walk;
  int64_t items;        ///< Independent pieces of work.
  int64_t grain;        ///< Number of items that are worth a thread.
  unsigned lanes;       ///< Elements of one vector.
  int64_t itemElements; ///< Flat: columns of one item.
  int64_t stripVectors; ///< Columns: vectors of one strip.
};

/// Computes the schedule with vectors of at most `maxLanes` elements, a power
/// of two.
KernelSchedule scheduleKernel(const KernelDomain &domain,
                              unsigned maxLanes = kVectorLanes);

/// Work per element of the domain, in units of a simple vector operation.
int64_t elementCost(const KernelDomain &domain);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_KERNELSCHEDULE_H
