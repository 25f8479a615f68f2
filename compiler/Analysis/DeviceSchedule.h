//===- DeviceSchedule.h - What planning asks of a device's walks -*- C++-*-===//
#ifndef MPC_COMPILER_ANALYSIS_DEVICESCHEDULE_H
#define MPC_COMPILER_ANALYSIS_DEVICESCHEDULE_H

#include "compiler/Analysis/KernelDomain.h"

#include <string>

namespace mpc {

/// Kinds of device that kernels are formed for.
enum class DeviceKind { Cpu, Cuda };

/// "cpu", "cuda".
llvm::StringRef nameOf(DeviceKind device);
std::optional<DeviceKind> findDeviceKind(llvm::StringRef name);

/// How a kernel would run on a device.
struct LaunchShape {
  int64_t items;    ///< Independent pieces of work; blocks of a grid.
  int64_t grain;    ///< CPU: items that are worth a thread.
  unsigned threads; ///< CUDA: threads of a block; 0 on a CPU.
  unsigned lanes;   ///< Elements that one thread handles at once.
  bool isFlat;      ///< Has no sums and no rows.
};

/// The launch of a kernel with this domain; nothing, and why in `reason`, if
/// the device has no room for its sums.
std::optional<LaunchShape> launchShape(DeviceKind device,
                                       const KernelDomain &domain,
                                       std::string *reason = nullptr);

/// Numbers that decide what becomes one kernel, and what several.
struct FusionLimits {
  int64_t sharedWork; ///< Work (see elementCost) that must not be left to
                      ///< few items if there could be more.
  int64_t fewItems;   ///< Fewer are few.
  int64_t longSum;    ///< A sum over so many elements at once is a kernel of
                      ///< its own: what uses it has more to gain from the
                      ///< kernels of its other operands.
  unsigned flatLanes; ///< Large flat kernels may not get fewer lanes.
  unsigned operands;  ///< Of one kernel.
  int64_t largeSum;   ///< A sum over more elements is done in two steps,
  int64_t rowBlocks;  ///< of at most so many blocks.
  bool splitRows;     ///< The same for sums over a few long rows,
  int64_t largeRest;  ///< and for sums over so many rows of a larger walk.
};
const FusionLimits &fusionLimits(DeviceKind device);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_DEVICESCHEDULE_H
