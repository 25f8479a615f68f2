//===- ApproximateMath.h - exp, exp2 and erf in a few operations -*- C++
//-*-===//
#ifndef MPC_PASSES_CODEGEN_APPROXIMATEMATH_H
#define MPC_PASSES_CODEGEN_APPROXIMATEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace mpc {

/// Rewrites `math.exp`, `math.exp2` and `math.erf` of f32, scalars and vectors,
/// to arithmetic that every vector unit has.
///
/// With `avx512`, exp2 of 16 lanes uses instructions of AVX-512DQ.
///
/// Relative errors, rounding included (test/codegen/math_test.cpp): exp and
/// exp2 2e-7, erf 4e-7. NaN gives NaN, infinities their limits; exp and exp2
/// give 0 where the result would be below 2^-125; |erf| is exactly 1 from 3.95
/// on.
void populateApproximateMathPatterns(mlir::RewritePatternSet &patterns,
                                     bool avx512);

/// Rewrites formulas around such functions that cost less as a whole: the
/// normal distribution function of gelu. Before the functions themselves.
void populateComposedMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_APPROXIMATEMATH_H
