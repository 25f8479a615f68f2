//===- ReferenceBackend.cpp - The reference device ------------------------===//
//
// CPU code in the simplest form that the code generator supports: each op is a
// separate kernel, which walks its domain element by element and calls libm.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/Cpu/CpuBackend.h"

using namespace mlir;
using namespace mpc;

namespace {

/// Formats are chosen as for the CPU, so that both compute the same program.
class ReferenceBackend : public CpuBackend {
public:
  using CpuBackend::CpuBackend;

  const FusionLimits &fusionLimits() const override {
    static const FusionLimits unfused = [this] {
      FusionLimits limits = CpuBackend::fusionLimits();
      limits.operands = 0;
      return limits;
    }();
    return unfused;
  }

  std::optional<LaunchShape>
  launchShape(const KernelDomain &domain) const override {
    return CpuBackend::launchShape(domain, /*maxLanes=*/1);
  }

  /// kernels/reference supports every float type except those of 8 bit.
  bool computesIn(llvm::StringRef, llvm::StringRef type,
                  llvm::ArrayRef<llvm::StringRef>) const override {
    return llvm::is_contained({"f32", "f64", "f16", "bf16"}, type);
  }
};

} // namespace

std::unique_ptr<Backend>
mpc::createReferenceBackend(const kernels::DeviceRow &row) {
  return std::make_unique<ReferenceBackend>(row);
}
