//===- MasterOps.td - Master weights of 16 bit -------------*- tablegen -*-===//
//
// What keeps updates that are smaller than a step of bf16: a second number
// beside the weight, or chance.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_MASTEROPS_TD
#define MPC_COMPILER_DIALECT_AMP_IR_MASTEROPS_TD

include "compiler/Dialect/Amp/IR/AmpDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Amp_Weights : StaticShapeTensorOf<[F32]>;
def Amp_Bfloats : StaticShapeTensorOf<[BF16]>;
def Amp_Key : Amp_ScalarOf<I64, "$_builder.getI64Type()">;

def Amp_SplitCompensatedOp : Amp_Op<"split_compensated", [
    Pure, SameOperandsAndResultShape, AllTypesMatch<["value", "rest"]>]> {
  let summary = "Split a number into a bf16 value and its bf16 rounding error";
  let description = [{
    `value` is the input rounded to nearest, `rest` the rounding error, rounded
    as well: 16 bits of a number's 24 stay. As amp.cast, both are infinite or
    NaN where the rounded input is, so that nothing commits one without the
    other.

    ```mlir
    %value, %rest = amp.split_compensated %w : tensor<8x1024xf32> to tensor<8x1024xbf16>
    ```
  }];
  let arguments = (ins Amp_Weights:$input);
  let results = (outs Amp_Bfloats:$value, Amp_Bfloats:$rest);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($value)";
}

def Amp_JoinCompensatedOp : Amp_Op<"join_compensated", [
    Pure, SameOperandsAndResultShape, AllTypesMatch<["value", "rest"]>]> {
  let summary = "Rebuild the number that amp.split_compensated split";
  let description = [{
    The sum, which is exact of what `amp.split_compensated` gave: the rest has no bit below
    the last one of the f32 it comes from.

    ```mlir
    %w = amp.join_compensated %value, %rest : tensor<8x1024xbf16> to tensor<8x1024xf32>
    ```
  }];
  let arguments = (ins Amp_Bfloats:$value, Amp_Bfloats:$rest);
  let results = (outs Amp_Weights:$result);
  let assemblyFormat =
      "$value `,` $rest attr-dict `:` type($value) `to` type($result)";
}

def Amp_RoundStochasticallyOp : Amp_Op<"round_stochastically", [
    Pure, AllShapesMatch<["input", "result"]>]> {
  let summary = "Round stochastically to one of the two neighbours in bf16";
  let description = [{
    Up in magnitude with the share of a step that the input lies above the lower
    neighbour, in 65536ths, so that the mean over many draws is the input. What
    bf16 holds stays what it is, and so do infinities and NaN; finite numbers
    beyond the largest of bf16 become that. The bits are the lower half of word
    0 that `train.dropout_training` describes, for the same `seed`, `step` and
    `index`: no two steps, and no two elements of a tensor, share them.

    ```mlir
    %h = amp.round_stochastically %w by %seed, %step
        {index = -1 : i64} : tensor<8x1024xf32> to tensor<8x1024xbf16>
    ```
  }];
  let arguments = (ins Amp_Weights:$input, Amp_Key:$seed, Amp_Key:$step,
                   I64Attr:$index);
  let results = (outs Amp_Bfloats:$result);
  let assemblyFormat = [{
    $input `by` $seed `,` $step attr-dict `:` type($input) `to` type($result)
  }];
}

#endif // MPC_COMPILER_DIALECT_AMP_IR_MASTEROPS_TD
