//===- CudaBackend.cpp - Compilation for NVIDIA GPUs ----------------------===//

#include "compiler/Analysis/GpuSchedule.h"
#include "compiler/Target/Cpu/CpuBackend.h"
#include "compiler/Target/Cpu/CpuTarget.h"
#include "compiler/Target/Cuda/GpuTarget.h"

using namespace mlir;
using namespace mpc;

/// Architectures that stand for the GPU simulator on the host (the second with
/// AddressSanitizer in all code), and the architecture that they resemble.
static constexpr llvm::StringLiteral kSimulator = "sim",
                                     kSanitized = "sim-asan",
                                     kSimulated = "sm_90";

static bool isSimulator(llvm::StringRef name) {
  return name == kSimulator || name == kSanitized;
}

static const GpuArchitecture *architectureOf(llvm::StringRef name) {
  return findGpuArchitecture(isSimulator(name) ? llvm::StringRef(kSimulated)
                                               : name);
}

static const FusionLimits limits = {
    // Estimates, guided by what an H100 and an H200 measured
    // (test/bench/results): kernels of 48 blocks reach 1.3 of 4.2 TB/s, and one
    // block of 64 threads updates 20,000 parameters in 41 us, where a launch
    // takes 2 or 3 us.
    /*minParallelWork=*/500'000,
    /*minItems=*/64,
    /*manyThreads=*/1 << 16,
    /*minThreadedWork=*/1 << 16,
    /*longSum=*/1024,
    /*flatLanes=*/1,
    /*operands=*/28,
    /*largeSum=*/1 << 16,
    /*rowBlocks=*/256,
    /*sharedRowBlocks=*/1024,
    /*shortSum=*/1 << 20,
    /*longSums=*/4,
    /*splitRows=*/true,
    /*minRowsToSplit=*/1 << 14};

namespace {

class CudaDeviceTarget : public DeviceTarget {
public:
  CudaDeviceTarget(const Backend &backend,
                   std::vector<std::string> architectures)
      : DeviceTarget(backend, findFeatures(architectures)),
        architectures(std::move(architectures)) {}

private:
  /// The features of the oldest architecture, and `kSimulatedFeature` if the
  /// simulator is one of them.
  static std::vector<std::string>
  findFeatures(llvm::ArrayRef<std::string> architectures) {
    const GpuArchitecture *oldest = nullptr;
    for (const std::string &name : architectures) {
      const GpuArchitecture *architecture = architectureOf(name);
      if (!oldest || architecture->capability < oldest->capability)
        oldest = architecture;
    }
    std::vector<std::string> features = gpuFeatures(*oldest);
    if (llvm::any_of(architectures, isSimulator))
      features.push_back(kSimulatedFeature.str());
    return features;
  }

  llvm::Error generateCode(ModuleOp module,
                           PackageVariant &variant) const override {
    for (const std::string &architecture : architectures)
      if (llvm::Error error = isSimulator(architecture)
                                  ? simulate(module, architecture, variant)
                                  : addPtx(module, architecture, variant))
        return error;
    return llvm::Error::success();
  }

  static llvm::Error addPtx(ModuleOp module, llvm::StringRef name,
                            PackageVariant &variant) {
    const GpuArchitecture &architecture = *findGpuArchitecture(name);
    llvm::Expected<std::string> ptx = compilePtx(module, architecture);
    if (!ptx)
      return ptx.takeError();
    llvm::Expected<std::optional<Assembly>> assembly =
        assemblePtx(*ptx, architecture);
    if (!assembly)
      return assembly.takeError();
    variant.code.push_back({kPtxForm.str(), name.str(), std::move(*ptx)});
    variant.assembled.push_back({name.str(), assembly->has_value(), {}});
    if (!*assembly)
      return llvm::Error::success();
    variant.assembled.back().kernels = std::move((*assembly)->kernels);
    variant.code.push_back(
        {kCubinForm.str(), name.str(), std::move((*assembly)->cubin)});
    return llvm::Error::success();
  }

  /// Adds code for the CPU of this process instead of PTX.
  static llvm::Error simulate(ModuleOp module, llvm::StringRef architecture,
                              PackageVariant &variant) {
    llvm::Expected<CpuTarget> host = findCpuTarget("native");
    if (!host)
      return host.takeError();
    return addObject(module, *host, {kPtxForm.str(), kSimulator.str(), ""},
                     variant, /*sanitize=*/architecture == kSanitized);
  }

  std::vector<std::string> architectures;
};

class CudaBackend : public Backend {
public:
  using Backend::Backend;

  /// The newest known machine that a program for these features runs on; an
  /// A100 for older ones.
  Machine machine(llvm::ArrayRef<std::string> features,
                  llvm::StringRef) const override {
    for (llvm::StringRef feature : llvm::reverse(features))
      if (const KnownMachine *row = findMachineFor("cuda", feature))
        return row->machine;
    return findKnownMachine("a100")->machine;
  }

  const FusionLimits &fusionLimits() const override { return limits; }

  std::optional<LaunchShape>
  launchShape(const KernelDomain &domain) const override {
    std::optional<GpuSchedule> schedule = scheduleGpuKernel(domain);
    if (!schedule)
      return std::nullopt;
    return LaunchShape{schedule->blocks,
                       /*grain=*/1,
                       schedule->threads(),
                       schedule->lanes,
                       schedule->walk == GpuSchedule::Walk::Flat,
                       schedule->sharedBytes()};
  }

  /// The simulator has no matrix units.
  bool gainsByFp8(llvm::ArrayRef<std::string> features) const override {
    llvm::SmallVector<llvm::StringRef> available(features.begin(),
                                                 features.end());
    return !llvm::is_contained(features, kSimulatedFeature) &&
           computesIn("scaled_matmul", llvm::StringRef("f8E4M3FN"), available);
  }

  llvm::Expected<std::unique_ptr<DeviceTarget>>
  findTarget(const TargetRequest &request) const override {
    for (const std::string &name : request.architectures)
      if (!architectureOf(name))
        return unknownTarget(name);
    return std::make_unique<CudaDeviceTarget>(*this, request.architectures);
  }
};

} // namespace

std::unique_ptr<Backend> mpc::createCudaBackend(const kernels::DeviceRow &row) {
  return std::make_unique<CudaBackend>(row);
}
