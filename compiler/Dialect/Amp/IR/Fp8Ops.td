//===- Fp8Ops.td - Scaled FP8 tensors ----------------------*- tablegen -*-===//
//
// Included by AmpOps.td. A tensor in FP8 is `round(x * scale)` with one scale per
// tensor, a power of two. Scaling and unscaling are therefore exact: the only loss is
// the rounding to the format, and a product may be stored before it is divided by its
// scales.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_FP8OPS_TD
#define MPC_COMPILER_DIALECT_AMP_IR_FP8OPS_TD

def Amp_Fp8Tensor : StaticShapeTensorOf<[Amp_Fp8]>;
def Amp_Wide : StaticShapeTensorOf<[F16, BF16, F32]>;
def Amp_Scales : StaticShapeTensorOf<[F32]>;

def Amp_QuantizeOp : Amp_Op<"quantize", [
    Pure, ComputesNoNumbers, AllShapesMatch<["input", "result"]>]> {
  let summary = "Multiply by a scale and round to FP8";
  let description = [{
    Multiplies in f32 and rounds to nearest, ties to even. Finite numbers beyond
    the largest number of the format become that number; infinities and NaN
    become NaN, so that the overflow test of the step sees them.

    ```mlir
    %q = amp.quantize %x by %scale : tensor<64x32xbf16> to tensor<64x32xf8E4M3FN>
    ```
  }];
  let arguments = (ins Amp_Wide:$input, Amp_Scale:$scale);
  let results = (outs Amp_Fp8Tensor:$result);
  let assemblyFormat =
      "$input `by` $scale attr-dict `:` type($input) `to` type($result)";
}

def Amp_DequantizeOp : Amp_Op<"dequantize", [
    Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Divide a product of FP8 tensors by the scales of its operands";
  let description = [{
    `input / lhs_scale / rhs_scale`, in f32.

    ```mlir
    %y = amp.dequantize %product by %scale_x, %scale_w : tensor<64x16xbf16>
    ```
  }];
  let arguments = (ins Amp_Wide:$input, Amp_Scale:$lhs_scale,
                   Amp_Scale:$rhs_scale);
  let results = (outs Amp_Wide:$result);
  let assemblyFormat =
      "$input `by` $lhs_scale `,` $rhs_scale attr-dict `:` type($input)";
}

def Amp_AmaxOp : Amp_Op<"amax", [Pure]> {
  let summary = "Largest magnitude in a tensor; NaN if an element is NaN";
  let description = [{
    ```mlir
    %amax = amp.amax %x : tensor<64x32xbf16>
    ```
  }];
  let arguments = (ins Amp_Wide:$input);
  let results = (outs Amp_Scale:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Amp_ScaleOfOp : Amp_Op<"scale_of", [
    Pure, AllTypesMatch<["amax", "largest", "old", "result"]>]> {
  let summary = "Compute scales that map the largest magnitudes to the top of the range";
  let description = [{
    For each element, the largest power of two that is not above
    `largest / amax`, within 2^-60 and 2^60, where `largest` is the largest
    number of the format times 2^-margin; `old` where `amax` is zero, infinite or
    NaN. NVIDIA's Transformer Engine takes the quotient itself
    (common/recipe/delayed_scaling.cu); a power of two costs at most one bit of
    range and no precision.

    ```mlir
    %scale = amp.scale_of %amax for %largest else %old : tensor<f32>
    ```
  }];
  let arguments = (ins Amp_Scales:$amax, Amp_Scales:$largest, Amp_Scales:$old);
  let results = (outs Amp_Scales:$result);
  let assemblyFormat =
      "$amax `for` $largest `else` $old attr-dict `:` type($amax)";
}

#endif // MPC_COMPILER_DIALECT_AMP_IR_FP8OPS_TD
