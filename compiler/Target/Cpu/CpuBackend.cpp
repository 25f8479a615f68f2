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
    /*longSum=*/2048,
    /*flatLanes=*/8, // Vectors of short rows would be masked.
    /*operands=*/28, // Each needs a register for its address.
    /*largeSum=*/1 << 17,
    /*rowBlocks=*/64,
    /*splitRows=*/false,
    /*minRowsToSplit=*/0};

/// Two cores of an EPYC: the measured peak of products, or half of it for half
/// the vector width, and the measured memory rate. f16 and FP8 are widened, and
/// TF32 is f32.
static Machine zen5(bool hasAvx512, bool hasBf16) {
  double f32 = hasAvx512 ? 560 : 280, bf16 = hasBf16 ? 1120 : f32;
  const char *name = hasBf16     ? "2 cores of a Zen 5"
                     : hasAvx512 ? "2 cores of a Zen 5 without AVX-512 BF16"
                                 : "2 cores of a Zen 5 with AVX2 alone";
  Machine machine = {name,        56, f32, /*tf32=*/f32, bf16, /*f16=*/f32,
                     /*fp8=*/bf16};
  machine.transposedBytes = machine.bytes;
  return machine;
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
      : DeviceTarget(backend, cpu.features), cpu(std::move(cpu)) {}

private:
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

Machine CpuBackend::machine(llvm::ArrayRef<std::string> features) const {
  return zen5(llvm::is_contained(features, "avx512f"),
              llvm::is_contained(features, "avx512bf16"));
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
  return LaunchShape{schedule.items, schedule.grain, /*threads=*/0,
                     schedule.lanes, schedule.walk == Walk::Flat};
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
