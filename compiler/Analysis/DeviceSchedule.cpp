//===- DeviceSchedule.cpp - What planning asks of a device's walks --------===//

#include "compiler/Analysis/DeviceSchedule.h"

#include "compiler/Analysis/GpuSchedule.h"
#include "compiler/Analysis/KernelSchedule.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mpc;

/// Column sums of one kernel of the CPU live on the stack: so many columns, and
/// so many of all sums together, of which each is at most 8 bytes.
static constexpr int64_t kMaxStackColumns = 16384;
static constexpr int64_t kMaxStackSums = 4 * kMaxStackColumns;

static const FusionLimits cpuLimits = {
    /*sharedWork=*/2'000'000, /*fewItems=*/4,
    /*longSum=*/2048,
    /*flatLanes=*/8, // Few rows of many columns lose vectors to masks.
    /*operands=*/28, // Each takes a register for its address.
    /*largeSum=*/1 << 17,     /*rowBlocks=*/64,
    /*splitRows=*/false,      /*largeRest=*/0};

static const FusionLimits cudaLimits = {
    // Estimates: no GPU has been measured yet.
    /*sharedWork=*/500'000,
    /*fewItems=*/64,        /*longSum=*/1024,
    /*flatLanes=*/1,        /*operands=*/28,
    /*largeSum=*/1 << 16,   /*rowBlocks=*/256,
    /*splitRows=*/true,     /*largeRest=*/1 << 14};

StringRef mpc::nameOf(DeviceKind device) {
  return device == DeviceKind::Cpu ? "cpu" : "cuda";
}

std::optional<DeviceKind> mpc::findDeviceKind(StringRef name) {
  return llvm::StringSwitch<std::optional<DeviceKind>>(name)
      .Case("cpu", DeviceKind::Cpu)
      .Case("cuda", DeviceKind::Cuda)
      .Default(std::nullopt);
}

static std::optional<LaunchShape> onCpu(const KernelDomain &domain) {
  using Walk = KernelSchedule::Walk;
  KernelSchedule schedule = scheduleKernel(domain);
  int64_t sums = llvm::count_if(domain.nodes, [](const KernelNode &node) {
    return node.reduction == KernelReduction::Rows;
  });
  if (schedule.walk == Walk::Outer && (domain.columns() > kMaxStackColumns ||
                                       sums * domain.columns() > kMaxStackSums))
    return std::nullopt;
  return LaunchShape{schedule.items, schedule.grain, /*threads=*/0,
                     schedule.lanes, schedule.walk == Walk::Flat};
}

static std::optional<LaunchShape> onCuda(const KernelDomain &domain) {
  std::optional<GpuSchedule> schedule = scheduleGpuKernel(domain);
  if (!schedule)
    return std::nullopt;
  return LaunchShape{schedule->blocks, /*grain=*/1, schedule->threads(),
                     schedule->lanes,
                     schedule->walk == GpuSchedule::Walk::Flat};
}

std::optional<LaunchShape> mpc::launchShape(DeviceKind device,
                                            const KernelDomain &domain,
                                            std::string *reason) {
  auto shape = device == DeviceKind::Cpu ? onCpu(domain) : onCuda(domain);
  if (!shape && reason)
    *reason = "its column sums would find no room";
  return shape;
}

const FusionLimits &mpc::fusionLimits(DeviceKind device) {
  return device == DeviceKind::Cpu ? cpuLimits : cudaLimits;
}
