//===- KernelSchedule.h - How a kernel walks its domain ---------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_KERNELSCHEDULE_H
#define MPC_COMPILER_ANALYSIS_KERNELSCHEDULE_H

#include "compiler/Analysis/KernelDomain.h"

namespace mpc {

/// Elements of f32 in the longest vector.
constexpr unsigned kVectorLanes = 16;

/// The walk of a kernel, decided from shapes alone: neither the machine nor the
/// number of threads may change a sum.
struct KernelSchedule {
  enum class Walk {
    Flat,    ///< No rows: an item is a run of `itemElements` columns.
    Rows,    ///< An item is one row.
    Columns, ///< An item is a strip of columns of one outer position, summed
             ///< down the rows in registers.
    Outer,   ///< An item is one outer position: its rows one after the other,
             ///< column sums in memory.
  };
  Walk walk;
  int64_t items;        ///< Independent pieces of work.
  int64_t grain;        ///< Items that are worth a thread of their own.
  unsigned lanes;       ///< Elements of one vector.
  int64_t itemElements; ///< Flat: columns of one item.
  int64_t stripVectors; ///< Columns: vectors of one strip.
};

/// With vectors of at most `maxLanes` elements, a power of two.
KernelSchedule scheduleKernel(const KernelDomain &domain,
                              unsigned maxLanes = kVectorLanes);

/// Work of one element of the domain in units of a simple vector operation.
int64_t elementCost(const KernelDomain &domain);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_KERNELSCHEDULE_H
