//===- CpuTarget.cpp - CPUs that kernels are compiled for -----------------===//

#include "compiler/Target/Cpu/CpuTarget.h"

#include "kernels/cpu_isa.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mpc;

CpuTarget::CpuTarget() = default;
CpuTarget::CpuTarget(CpuTarget &&) noexcept = default;
CpuTarget::~CpuTarget() = default;

/// Features of vector instructions, which generated code may use. It uses no
/// others (cache control, cryptography).
static bool isVectorFeature(llvm::StringRef name) {
  return name.starts_with("avx") || name.starts_with("sse4.") ||
         name == "fma" || name == "f16c" || name == "bmi" || name == "bmi2" ||
         name == "popcnt" || name == "lzcnt";
}

/// Generated code may only use the features in this list, so that the
/// requirements in the package are exact.
static std::string hostFeatures(kernels::CpuIsa limit) {
  std::string text;
  for (const auto &feature : llvm::sys::getHostCPUFeatures()) {
    // AVX10 changes the use of registers but gains nothing here.
    if (feature.first().starts_with("avx10"))
      continue;
    text += (text.empty() ? "" : ",");
    bool usable = feature.second && kernels::isa_allows(limit, feature.first());
    text += (usable ? "+" : "-") + feature.first().str();
  }
  return text;
}

llvm::Expected<CpuTarget> mpc::findCpuTarget(llvm::StringRef name) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return llvm::createStringError("no code generator for this machine: " +
                                   error);

  bool native = name == "native";
  CpuTarget target;
  target.cpu = native ? llvm::sys::getHostCPUName().str() : name.str();
  const kernels::CpuIsaLimit &limit = kernels::cpu_isa_limit();
  if (native && !limit.error.empty())
    return llvm::createStringError(limit.error);
  std::string features = native ? hostFeatures(limit.isa) : "";
  llvm::TargetOptions options;
  // Products are not fused with additions unless the code has an explicit fma,
  // so that a value has the same bits in whatever kernel it is computed.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  target.machine.reset(backend->createTargetMachine(
      triple, "generic", "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default));
  if (!target.machine->getMCSubtargetInfo()->isCPUStringValid(target.cpu))
    return llvm::createStringError(
        "unknown CPU '" + name +
        "'; use native, x86-64-v3, x86-64-v4 or a name that 'llc "
        "-march=x86-64 -mcpu=help' lists");
  target.machine.reset(backend->createTargetMachine(
      triple, target.cpu, features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  const llvm::MCSubtargetInfo *info = target.machine->getMCSubtargetInfo();
  for (const llvm::SubtargetFeatureKV &feature :
       info->getAllProcessorFeatures())
    if (info->getFeatureBits().test(feature.Value) &&
        isVectorFeature(feature.Key))
      target.features.push_back(feature.Key);
  if (llvm::is_contained(target.features, "avx512bf16")) {
    // The kernels' choice, see kernels/cpu/cpu.h.
    if (llvm::StringRef(target.cpu).starts_with("znver"))
      target.kernelFeatures.push_back(kFastBf16.str());
    else if (info->checkFeatures("+amx-bf16"))
      target.kernelFeatures.push_back(kAmxBf16.str());
  }
  // Code for older CPUs would call functions that convert f16, which packages
  // do not contain; 32-bit CPUs cannot execute the code at all.
  for (llvm::StringRef required : {"avx2", "fma", "f16c"})
    if (triple.isX86() && !llvm::is_contained(target.features, required))
      return llvm::createStringError(
          "CPU '" + target.cpu + "' lacks " + required.upper() +
          "; mpc requires AVX2, FMA and F16C, as in x86-64-v3");
  return target;
}
