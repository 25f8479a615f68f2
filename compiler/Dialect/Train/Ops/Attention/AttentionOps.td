//===- AttentionOps.td - Fused attention -------------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_ATTENTIONOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_ATTENTIONOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_AttentionOp : Train_InferredOp<"attention", [Differentiable, HeadLayoutMethods, KernelMethods, RangeMethods,
    DeclareOpInterfaceMethods<TrainingFormOpInterface, ["replaceByTrainingForm", "replaceByInferenceForm", "keepsFormInTraining"]>]> {
  let summary = "softmax(scale query key' + biases) value, for each head";
  let description = [{
    `query` is [B, H, T, D], `key` [B, G, S, D], `value` [B, G, S, E], `result`
    [B, H, T, E]. Head h of the queries reads head h / (H / G) of the keys and
    values. With `causal` query i sees the keys 0..i, whatever T and S are.
    `biases` [B or 1, H or 1, T or 1, S], masks or learned, are added to the
    scaled scores in order; minus infinity hides a key. A mask of booleans is
    written as a `train.select` between 0 and minus infinity. There may be two,
    because their sum can be much larger: [1, H, T, S] learned for relative
    positions and [B, 1, 1, S] for padding. Biases stay f32.

    With `bshd` (batch, sequence, heads, depth) heads lie inside the sequence, as
    projections leave them: `query` is [B, T, H, D], `key` [B, S, G, D], `value`
    [B, S, G, E] and `result` [B, T, H, E]. `log_sum_exp` does not change.

    The scores are never stored: the gradient recomputes them with `log_sum_exp`
    [2, B, H, T], the logarithm of the softmax's sum as two numbers that add up
    to it. A query whose scores are all minus infinity gives 0.

    `replacing` is the number of a bias that replaces scores: where it is not 0,
    it is the score itself, without the product and the other bias, which then
    have no gradient. It is how a model fills scores with a finite number: a
    query to which all keys are hidden takes their mean.

    With `softcap` c the scaled scores s become c tanh(s / c) before biases are
    added.

    `dropout` is the ratio of a dropout of the probabilities, which is the
    identity here: training replaces the op by `train.attention_dropout`.

    (C1) all operands have rank 4.
    (C2) B is the same everywhere, D of queries and keys, G and S of keys and
         values.
    (C3) G divides H.
    (C4) `scale` is finite.
    (C5) each extent of a bias is that of the scores; all but the last may be 1.
    (C6) there are at most two biases.
    (C7) `bshd` excludes biases.
    (C8) `dropout` lies in [0, 1).
    (C9) `softcap` is a positive normal number.
    (C10) `replacing` is the number of a bias, from 0 on.
  }];
  let arguments = (ins Train_FloatTensor:$query, Train_FloatTensor:$key, // attention_c1, attention_c2
                   Train_FloatTensor:$value, // attention_c3
                   Variadic<Train_FloatTensor>:$biases, // attention_c5, attention_c6
                   F32Attr:$scale, UnitAttr:$causal, // attention_c4
                   UnitAttr:$bshd, // attention_c7
                   OptionalAttr<F32Attr>:$dropout, // attention_c8
                   OptionalAttr<F32Attr>:$softcap, // attention_c9
                   OptionalAttr<I64Attr>:$replacing); // attention_c10
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$log_sum_exp);
  let extraClassDeclaration = compatible # pins;
}

def Train_AttentionGradOp : Train_InferredOp<"attention_grad", [HeadLayoutMethods, KernelMethods]> {
  let summary = "Gradients of attention's query, key, value and first bias";
  let description = [{
    `result` and `log_sum_exp` are those of the forward op; constraints and
    `bshd` as there. `grad` has the shape of `result`. `bias_grad`, which exists if and
    only if `needs_bias` is set, is the gradient of the first bias, summed in
    f32 over its extents that are 1.

    (C1) `needs_bias` requires a bias.
  }];
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$query,
                   Train_FloatTensor:$key, Train_FloatTensor:$value,
                   Train_FloatTensor:$result, Train_FloatTensor:$log_sum_exp,
                   Variadic<Train_FloatTensor>:$biases,
                   F32Attr:$scale, UnitAttr:$causal,
                   UnitAttr:$needs_bias, UnitAttr:$bshd, // attention_grad_c1
                   OptionalAttr<F32Attr>:$softcap, OptionalAttr<I64Attr>:$replacing);
  let results = (outs Train_FloatTensor:$query_grad,
                 Train_FloatTensor:$key_grad, Train_FloatTensor:$value_grad,
                 Optional<Train_FloatTensor>:$bias_grad);
  let extraClassDeclaration = compatible # pins;
}

def Train_PackedAttentionOp : Train_InferredOp<"packed_attention", [KernelMethods]> {
  let summary = "Attention of a query, key and value that one tensor holds";
  let description = [{
    `train.attention` with `bshd` and without biases. `heads` [B, T, H + 2 G, D]
    are those of the query, then `key_heads` = G of the key, then G of the value,
    as one projection leaves them. With `sequence_first`, `heads` and `result`
    are [T, B, ...]; `log_sum_exp` is [2, B, H, T] anyway.

    (C1) the operand has rank 4.
    (C2) G is positive and divides H, which is positive.
    (C3) `scale` is finite.
  }];
  let arguments = (ins Train_FloatTensor:$heads, // packed_attention_c1
                   I64Attr:$key_heads, // packed_attention_c2
                   F32Attr:$scale, UnitAttr:$causal, // packed_attention_c3
                   UnitAttr:$sequence_first);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$log_sum_exp);
  let extraClassDeclaration = compatible # pins;
}

def Train_PackedAttentionGradOp : Train_InferredOp<"packed_attention_grad", [KernelMethods]> {
  let summary = "The gradient of packed_attention's operand";
  let description = [{
    `result` and `log_sum_exp` are those of the forward op; `grad` has the shape
    of `result`.

    (C1) the constraints of `train.packed_attention`.
  }];
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$heads, // packed_attention_grad_c1
                   Train_FloatTensor:$result, Train_FloatTensor:$log_sum_exp,
                   I64Attr:$key_heads, F32Attr:$scale, UnitAttr:$causal,
                   UnitAttr:$sequence_first);
  let results = (outs Train_FloatTensor:$heads_grad);
  let extraClassDeclaration = compatible # pins;
}

def Train_AttentionDropoutOp : Train_InferredOp<"attention_dropout", [Differentiable, KernelMethods, RangeMethods]> {
  let summary = "Attention with a dropout of the probabilities";
  let description = [{
    Like `train.attention` without `bshd`, but the probabilities [B, H, T, S] go
    through `train.dropout_training` with the same `seed`, `step`, `ratio` and
    `index` before they are multiplied by the values. Neither they nor a mask is
    stored: the gradient draws the same numbers.

    (C1) the constraints of `train.attention`.
    (C2) `ratio` lies in [0, 1).
    (C3) `seed` and `step` are i64 of rank 0.
  }];
  let arguments = (ins Train_FloatTensor:$query, Train_FloatTensor:$key,
                   Train_FloatTensor:$value, // attention_dropout_c1
                   Train_IntTensor:$seed, Train_IntTensor:$step, // attention_dropout_c3
                   Variadic<Train_FloatTensor>:$biases,
                   F32Attr:$scale, UnitAttr:$causal,
                   F32Attr:$ratio, I64Attr:$index, // attention_dropout_c2
                   OptionalAttr<F32Attr>:$softcap, OptionalAttr<I64Attr>:$replacing);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$log_sum_exp);
  let extraClassDeclaration = compatible # pins;
}

def Train_AttentionDropoutGradOp : Train_InferredOp<"attention_dropout_grad", [KernelMethods]> {
  let summary = "Gradients of attention_dropout's query, key, value and first bias";
  let description = [{
    As `train.attention_grad`.

    (C1) the constraints of `train.attention_grad` and `train.attention_dropout`.
  }];
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$query,
                   Train_FloatTensor:$key, Train_FloatTensor:$value,
                   Train_FloatTensor:$result, Train_FloatTensor:$log_sum_exp,
                   Train_IntTensor:$seed, Train_IntTensor:$step,
                   Variadic<Train_FloatTensor>:$biases,
                   F32Attr:$scale, UnitAttr:$causal,
                   F32Attr:$ratio, I64Attr:$index, // attention_dropout_grad_c1
                   UnitAttr:$needs_bias, OptionalAttr<F32Attr>:$softcap, OptionalAttr<I64Attr>:$replacing);
  let results = (outs Train_FloatTensor:$query_grad,
                 Train_FloatTensor:$key_grad, Train_FloatTensor:$value_grad,
                 Optional<Train_FloatTensor>:$bias_grad);
  let extraClassDeclaration = compatible # pins;
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_ATTENTIONOPS_TD
