//===- MasterOps.td - 16-bit master weights ----------------*- tablegen -*-===//
//
// Two ways to keep updates that are smaller than one ulp of a bf16 weight: a second
// number beside the weight, or stochastic rounding.
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
    `value` is the input rounded to nearest; `rest` is the rounding error, also
    rounded to bf16. Together they keep 16 of the 24 bits of the significand.
    Where `value` is infinite or NaN, so is `rest`, so that a guard never keeps
    only one of them.

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
    The sum of both, which is exact for results of `amp.split_compensated`: the rest has no
    bit below the last bit of the f32 number that it comes from.

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
    Rounds up in magnitude with a probability equal to the distance from the
    lower neighbour, as a fraction of one ulp in 65536ths, so that the mean over
    many draws is the input. Numbers that bf16 represents exactly, infinities
    and NaN stay unchanged; finite numbers beyond the largest bf16 number become
    that number. The random bits are the lower half of word 0 as
    `train.dropout_training` describes it, for the same `seed`, `step` and
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
