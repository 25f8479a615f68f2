//===- Fp8Type.td - 8-bit floats ---------------------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_FP8TYPE_TD
#define MPC_COMPILER_DIALECT_AMP_IR_FP8TYPE_TD

include "mlir/IR/OpBase.td"

// The 8-bit rows of compiler/Support/Precision/Formats.def. Only products compute in
// them; other ops at most move them.
def Amp_Fp8 : Type<CPred<"::mpc::amp::isFp8($_self)">, "8-bit float",
                   "::mlir::FloatType">;

#endif // MPC_COMPILER_DIALECT_AMP_IR_FP8TYPE_TD
