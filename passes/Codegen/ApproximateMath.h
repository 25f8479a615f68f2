//===- ApproximateMath.h - Math functions as polynomials --------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_APPROXIMATEMATH_H
#define MPC_PASSES_CODEGEN_APPROXIMATEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace mpc {

/// The instructions that formulas may use.
enum class MathTarget {
  Any,    ///< Arithmetic only.
  Avx512, ///< AVX-512DQ: exp2 of 16 lanes.
  Nvptx,  ///< exp2 and quotients that are not rounded to the last bit.
};

/// Rewrites `math.exp`, `math.exp2`, `math.erf`, `math.tanh`, `math.atan`,
/// `math.sin` and `math.cos` of f32, scalars and vectors, to arithmetic that
/// every vector unit has, plus the instructions of `target`.
///
/// Relative errors, rounding included (test/codegen/math_test.cpp): exp and
/// exp2 2e-7, erf 4e-7, tanh 2e-7 (1.5e-7 from 1/2 on), atan, sin and cos
/// 3e-7 (angles to 1e12). NaN gives NaN, infinities their limits; exp and exp2
/// give 0 where the result would be below 2^-125; |erf| is exactly 1 from 3.95
/// on.
void populateApproximateMathPatterns(mlir::RewritePatternSet &patterns,
                                     MathTarget target);

/// Rewrites formulas around such functions that are cheaper as a whole: the
/// normal distribution function of gelu. Must run before the functions
/// themselves are rewritten.
void populateComposedMathPatterns(mlir::RewritePatternSet &patterns,
                                  MathTarget target);

/// Rewrites `math.exp`, `math.log`, `math.sin` and `math.cos` of f64 in the
/// same way, for devices without a math library. Relative errors of exp and log
/// are below 3e-16 (absolute for log near 1), errors of sin and cos are below
/// 3e-16 for angles up to 1e4. exp is never below 2^-1021.
void populateDoubleMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_APPROXIMATEMATH_H
