//===- Masters.h - How training stores weights ------------------*- C++ -*-===//
//
// fp32: an f32 number beside the working copy. bf16-kahan: two bf16 numbers,
// the value and its rounding error: compensated summation (Kahan, CACM 8(1),
// 1965), for weights as in Zamirai et al., "Revisiting BFloat16 Training"
// (2020). bf16-stochastic: one bf16 number, rounded stochastically (ibid.;
// Gupta et al., ICML 2015).
//
// optimi and torchao keep the compensation of the update, add it to the next
// update and subtract that from the rounded weight, in bf16. Here the weight is
// the sum of both numbers: the update is applied to it in f32, and the result
// is split again. Both methods keep 16 bits; with this one, checkpoints, --ema
// and exports can read the weight in f32.
//
// If the CPU's rounding to bf16 flushes subnormal numbers (below 1.2e-38;
// AVX-512 BF16), both bf16 kinds flush them, as working copies do.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_MASTERS_H
#define MPC_COMPILER_ANALYSIS_PRECISION_MASTERS_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace mpc {

enum class Masters { Fp32, Kahan, Stochastic };

std::optional<Masters> parseMasters(llvm::StringRef name);

/// Checks the module's 16-bit master weights: none is f32; every update rounds
/// an f32 number once and guards the value together with its compensation; the
/// compensation is only read together with the value; and initial compensations
/// are at most half an ulp.
mlir::LogicalResult verifyMasters(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_MASTERS_H
