//===- CpuBackend.cpp - Compilation for CPUs ------------------------------===//

#include "compiler/Target/Cpu/CpuBackend.h"

#include "compiler/Analysis/KernelSchedule.h"
#include "compiler/Target/Cpu/CpuTarget.h"
#include "compiler/Target/Cpu/KernelObject.h"

using namespace mlir;
using namespace mpc;

/// Column sums of a kernel live on the stack: limits of columns and of all
/// sums, of at most 8 bytes each.
static constexpr int64_t kMaxStackColumns = 16384;
static constexpr int64_t kMaxStackSums = 4 * kMaxStackColumns;

static const FusionLimits limits = {
    /*minParallelWork=*/2'000'000,
    /*minItems=*/4,
    /*manyThreads=*/0,
    /*minThreadedWork=*/0,
    /*longSum=*/2048,
    /*flatLanes=*/8, // Vectors of short rows would be masked.
    /*operands=*/28, // Each needs a register for its address.
    /*largeSum=*/1 << 17,
    /*rowBlocks=*/64,
    /*sharedRowBlocks=*/64,
    /*shortSum=*/0, // Workers start within microseconds.
    /*longSums=*/0,
    /*splitRows=*/false,
    /*minRowsToSplit=*/0};

/// The instructions that decide how fast a CPU multiplies, as Machines.def
/// names them.
static llvm::StringRef findKind(llvm::ArrayRef<std::string> features) {
  if (!llvm::is_contained(features, "avx512f"))
    return "avx2";
  for (llvm::StringRef kind : {kFastBf16, kAmxBf16})
    if (llvm::is_contained(features, kind))
      return kind;
  return "avx512f";
}

llvm::Error mpc::addObject(ModuleOp module, const CpuTarget &cpu,
                           CodeSegment segment, PackageVariant &variant,
                           bool sanitize) {
  if (llvm::Error error = compileKernels(module, cpu, segment.bytes,
                                         /*assembly=*/nullptr, sanitize))
    return error;
  variant.code.push_back(std::move(segment));
  return llvm::Error::success();
}

namespace {

class CpuDeviceTarget : public DeviceTarget {
public:
  CpuDeviceTarget(const Backend &backend, CpuTarget cpu)
      : DeviceTarget(backend, allFeatures(cpu), cpu.cpu), cpu(std::move(cpu)) {}

private:
  static std::vector<std::string> allFeatures(const CpuTarget &cpu) {
    std::vector<std::string> features = cpu.features;
    llvm::append_range(features, cpu.kernelFeatures);
    return features;
  }

  llvm::Error generateCode(ModuleOp module,
                           PackageVariant &variant) const override {
    variant.cpu = cpu.cpu;
    variant.features = cpu.features;
    return addObject(module, cpu, {kObjectForm.str(), variant.device, ""},
                     variant);
  }

  CpuTarget cpu;
};

} // namespace

Machine CpuBackend::machine(llvm::ArrayRef<std::string> features,
                            llvm::StringRef model) const {
  return findMachineFor("cpu", findKind(features), model)->machine;
}

const FusionLimits &CpuBackend::fusionLimits() const { return limits; }

std::optional<LaunchShape>
CpuBackend::launchShape(const KernelDomain &domain) const {
  return launchShape(domain, kVectorLanes);
}

std::optional<LaunchShape> CpuBackend::launchShape(const KernelDomain &domain,
                                                   unsigned maxLanes) {
  using Walk = KernelSchedule::Walk;
  KernelSchedule schedule = scheduleKernel(domain, maxLanes);
  int64_t sums = llvm::count_if(domain.nodes, [](const KernelNode &node) {
    return node.reduction == KernelReduction::Rows;
  });
  if (schedule.walk == Walk::Outer && (domain.columns() > kMaxStackColumns ||
                                       sums * domain.columns() > kMaxStackSums))
    return std::nullopt;
  LaunchShape shape{schedule.items, schedule.grain, /*threads=*/0,
                    schedule.lanes, schedule.walk == Walk::Flat};
  switch (schedule.walk) {
  case Walk::Flat:
    shape.itemDims = 1;
    shape.itemRun = schedule.itemElements;
    break;
  case Walk::Rows:
    shape.itemDims = domain.columnBegin;
    break;
  case Walk::Outer:
    shape.itemDims = domain.rowBegin;
    break;
  case Walk::Columns:
    break;
  }
  return shape;
}

llvm::Expected<std::unique_ptr<DeviceTarget>>
CpuBackend::findTarget(const TargetRequest &request) const {
  if (!request.architectures.empty())
    return unknownTarget(request.architectures.front());
  llvm::Expected<CpuTarget> cpu = findCpuTarget(request.cpu);
  if (!cpu)
    return cpu.takeError();
  return std::make_unique<CpuDeviceTarget>(*this, std::move(*cpu));
}

std::unique_ptr<Backend> mpc::createCpuBackend(const kernels::DeviceRow &row) {
  return std::make_unique<CpuBackend>(row);
}
