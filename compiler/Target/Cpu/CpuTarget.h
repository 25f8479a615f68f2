//===- CpuTarget.h - CPUs that kernels are compiled for ---------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_CPU_CPUTARGET_H
#define MPC_COMPILER_TARGET_CPU_CPUTARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mpc {

/// The matrix unit of Intel's CPUs.
inline constexpr llvm::StringLiteral kAmxBf16 = "amx-bf16";
/// Vector instructions that multiply bf16 at twice the rate of f32, as AMD's
/// do. Those of Intel's CPUs have half the rate of f32.
inline constexpr llvm::StringLiteral kFastBf16 = "fast-bf16";

/// A CPU and its features, by LLVM's names.
struct CpuTarget {
  std::string cpu;                   ///< "znver5", "x86-64-v3".
  std::vector<std::string> features; ///< Vector features it has: "avx512bf16".
  /// Features that kernels use, but not generated code. Packages do not require
  /// them.
  std::vector<std::string> kernelFeatures;
  std::unique_ptr<llvm::TargetMachine> machine;

  CpuTarget();
  CpuTarget(CpuTarget &&) noexcept;
  ~CpuTarget();
};

/// Looks up a CPU; "native" is this machine, limited by MPC_MAX_CPU_ISA
/// (kernels/cpu_isa.h). The error for an unknown name tells how to list the
/// known ones.
llvm::Expected<CpuTarget> findCpuTarget(llvm::StringRef name);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_CPU_CPUTARGET_H
