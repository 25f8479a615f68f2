//===- Targets.cpp - The devices of one compilation -----------------------===//

#include "passes/Driver/Targets.h"

#include "compiler/Target/GpuTarget.h"
#include "compiler/Target/KernelObject.h"

using namespace mlir;
using namespace mpc;

/// Architectures that stand for the host simulator of GPUs, the second with
/// AddressSanitizer in all code, and the one they are like.
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

StageTarget DeviceTarget::stages() const {
  StageTarget target;
  target.device = device;
  if (cpu)
    target.features = cpu->features;
  const GpuArchitecture *oldest = nullptr;
  for (const std::string &name : architectures) {
    const GpuArchitecture *architecture = architectureOf(name);
    if (!oldest || architecture->capability < oldest->capability)
      oldest = architecture;
    target.simulate |= isSimulator(name);
  }
  if (oldest)
    target.features = gpuFeatures(*oldest);
  return target;
}

llvm::Expected<std::vector<DeviceTarget>>
mpc::findTargets(const CompileOptions &options) {
  std::vector<DeviceTarget> targets;
  for (llvm::StringRef text : options.targets) {
    auto [kind, architecture] = text.split(':');
    std::optional<DeviceKind> device = findDeviceKind(kind);
    bool cpu = device == DeviceKind::Cpu;
    if (!device ||
        (cpu ? !architecture.empty() : architectureOf(architecture) == nullptr))
      return llvm::createStringError("unknown target '" + text + "'");
    auto found = llvm::find_if(targets, [&](const DeviceTarget &target) {
      return target.device == *device;
    });
    if (found == targets.end()) {
      targets.push_back({*device, std::nullopt, {}});
      found = std::prev(targets.end());
    }
    if (!cpu) {
      found->architectures.push_back(architecture.str());
      continue;
    }
    llvm::Expected<CpuTarget> target = findCpuTarget(options.targetCpu);
    if (!target)
      return target.takeError();
    found->cpu.emplace(std::move(*target));
  }
  return targets;
}

static llvm::Error generatePtx(ModuleOp module, llvm::StringRef name,
                               PackageVariant &variant) {
  const GpuArchitecture &architecture = *findGpuArchitecture(name);
  llvm::Expected<std::string> ptx = compilePtx(module, architecture);
  if (!ptx)
    return ptx.takeError();
  llvm::Expected<std::optional<Assembly>> assembly =
      assemblePtx(*ptx, architecture);
  if (!assembly)
    return assembly.takeError();
  variant.code.push_back({CodeSegment::Ptx, name.str(), std::move(*ptx)});
  variant.assembled.push_back({name.str(), assembly->has_value(), {}});
  if (!*assembly)
    return llvm::Error::success();
  variant.assembled.back().kernels = std::move((*assembly)->kernels);
  variant.code.push_back(
      {CodeSegment::Cubin, name.str(), std::move((*assembly)->cubin)});
  return llvm::Error::success();
}

/// Code for the CPU of this process.
static llvm::Error generateObject(ModuleOp module, const CpuTarget &cpu,
                                  CodeSegment segment, PackageVariant &variant,
                                  bool sanitize = false) {
  if (llvm::Error error = compileKernels(module, cpu, segment.bytes,
                                         /*assembly=*/nullptr, sanitize))
    return error;
  variant.code.push_back(std::move(segment));
  return llvm::Error::success();
}

llvm::Error mpc::generateCode(ModuleOp module, const DeviceTarget &target,
                              PackageVariant &variant) {
  variant.device = nameOf(target.device).str();
  variant.module = module;
  if (target.cpu) {
    variant.cpu = target.cpu->cpu;
    variant.features = target.cpu->features;
    return generateObject(module, *target.cpu, {CodeSegment::Object, "cpu", ""},
                          variant);
  }
  for (llvm::StringRef architecture : target.architectures) {
    if (!isSimulator(architecture)) {
      if (llvm::Error error = generatePtx(module, architecture, variant))
        return error;
      continue;
    }
    llvm::Expected<CpuTarget> host = findCpuTarget("native");
    if (!host)
      return host.takeError();
    if (llvm::Error error = generateObject(
            module, *host, {CodeSegment::Ptx, kSimulator.str(), ""}, variant,
            /*sanitize=*/architecture == kSanitized))
      return error;
  }
  return llvm::Error::success();
}
