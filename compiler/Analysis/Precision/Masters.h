//===- Masters.h - What training keeps of a weight --------------*- C++ -*-===//
//
// fp32: an f32 beside the working copy. bf16-kahan: two of bf16, the value and
// what rounding left out of it: compensated summation (Kahan, CACM 8(1), 1965),
// for weights as in Zamirai et al., "Revisiting BFloat16 Training" (2020).
// bf16-stochastic: one of bf16, rounded by chance (ibid.; Gupta et al., ICML
// 2015).
//
// optimi and torchao keep the compensation of the update, add it to the next
// one and take that from the rounded weight, in bf16; here the sum of both is
// the weight, the update is made to it in f32, and it is split again. Both keep
// 16 bits; ours is what a checkpoint, --ema and an export in f32 can read.
//
// Where the CPU's rounding to bf16 flushes what is below the smallest normal
// number, 1.2e-38 (AVX-512 BF16), so do both kinds, as working copies do.
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

/// Checks what the module promises of its weights: none is f32; all that
/// changes one goes through one rounding of an f32, guarded with what it left
/// out; nobody reads that but together with the value; and, of the initial
/// values, that it is no more than half a step.
mlir::LogicalResult verifyMasters(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_MASTERS_H
