//===- ContractionOps.td - Matrix product and convolution --*- tablegen -*-===//
//
// The ops that run on matrix units: 16-bit operands, sums in f32. A weight gradient
// is always f32.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_CONTRACTIONOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_CONTRACTIONOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_MatmulOp : Train_InferredOp<"matmul", [
    Differentiable, KernelMethods, RangeMethods, ErrorPropagationMethods, DeclareOpInterfaceMethods<RowsOpInterface>,
    DeclareOpInterfaceMethods<ContractionOpInterface>]> {
  let summary = "Matrix product of the last two dimensions";
  let description = [{
    `lhs` is [B.., M, K] ([B.., K, M] with `transpose_lhs`), `rhs` [B.., K, N]
    ([B.., N, K] with `transpose_rhs`), the result [B.., M, N]. Leading dimensions
    broadcast as in NumPy. `weight_gradient` marks the product that computes the
    gradient of a parameter: its result is pinned to f32. `layer` is the name of
    the linear layer that a product with a weight belongs to: the name of its ONNX
    node. The products of its gradients have the same `layer`.

    (C1) both operands have rank 2 or more.
    (C2) the K extents agree.
    (C3) the leading dimensions broadcast.
    (C4) both operands are FP8 or none is; at most one has a format for gradients
    (`f8E5M2`).

    The product of FP8 operands is that of their scaled values: a following
    `amp.dequantize` divides by the scales. `train.scaled_matmul` combines both.
  }];
  let arguments = (ins Train_FactorTensor:$lhs, Train_FactorTensor:$rhs,
                   UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
                   UnitAttr:$weight_gradient, OptionalAttr<StrAttr>:$layer);
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results) (`layer` $layer^)?
  }];
  let hasVerifier = 1; // matmul_c4
  let hasCanonicalizer = 1;
  let extraClassDeclaration = compatible # [{
    bool isResultPinned(unsigned) { return getWeightGradient(); }
  }];
}

def Train_MatmulAddOp : Train_InferredOp<"matmul_add", [KernelMethods]> {
  let summary = "Matrix product, added to a tensor";
  let description = [{
    `addend + lhs * rhs` in f32 (f64 for f64), where the product is that of
    `train.matmul`. The plan computes it in the memory of the addend if nothing
    else reads that.

    (C1) both factors have rank 2 or more.
    (C2) the K extents agree.
    (C3) the leading dimensions broadcast.
    (C4) the addend has the shape of the product, and the type of sums.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs,
                   Train_FloatTensor:$addend,
                   UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Train_FloatTensor:$result);
}

def Train_MatmulBiasOp : Train_InferredOp<"matmul_bias", [KernelMethods]> {
  let summary = "Matrix product plus a bias";
  let description = [{
    The product of `train.matmul` plus `bias`, an element for each column. Sums
    are f32; a device may round the product before it adds the bias.

    (C1) both factors are matrices.
    (C2) the K extents agree.
    (C3) the bias has N elements; all operands have one type.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs,
                   Train_FloatTensor:$bias,
                   UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Train_FloatTensor:$result);
}

def Train_MatmulGeluOp : Train_InferredOp<"matmul_gelu", [KernelMethods]> {
  let summary = "GELU of a matrix product plus a bias, and its argument";
  let description = [{
    `argument` is the product of `train.matmul` plus `bias`, an element for each
    column, and `result` its GELU, approximated by tanh. Sums are f32; a device may
    round the product before it adds the bias.

    (C1) both factors are matrices.
    (C2) the K extents agree.
    (C3) the bias has N elements; all operands have one type.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs,
                   Train_FloatTensor:$bias,
                   UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$argument);
}

def Train_MatmulGeluGradOp : Train_InferredOp<"matmul_gelu_grad", [KernelMethods]> {
  let summary = "Matrix product times the derivative of GELU";
  let description = [{
    The product of `train.matmul` times the derivative of GELU, approximated by
    tanh, at `argument`. Sums are f32; a device may round the product before it
    multiplies.

    (C1) both factors are matrices.
    (C2) the K extents agree.
    (C3) the argument has the shape of the product; all operands have one type.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs,
                   Train_FloatTensor:$argument,
                   UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Train_FloatTensor:$result);
}

def Train_ScaledMatmulOp : Train_InferredOp<"scaled_matmul", [
    KernelMethods, DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "Matrix product of FP8 operands, each times a factor";
  let description = [{
    `lhs * rhs * lhs_factor * rhs_factor`, where the product is that of
    `train.matmul` and the result is rounded once, after the multiplication by
    the factors. On devices that multiply FP8 it replaces `train.matmul` and
    `amp.dequantize`. A factor is the reciprocal of the scale that its operand
    was quantized with.

    (C1) both operands have rank 2 or more.
    (C2) the K extents agree.
    (C3) the leading dimensions broadcast.
    (C4) at most one operand has a format for gradients (`f8E5M2`).
  }];
  let arguments = (ins Train_Fp8Tensor:$lhs, Train_Fp8Tensor:$rhs,
                   0DTensorOf<[F32]>:$lhs_factor, 0DTensorOf<[F32]>:$rhs_factor,
                   UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs StaticShapeTensorOf<[BF16, F32]>:$result);
  let hasVerifier = 1; // scaled_matmul_c4
}

// Geometry of a sliding window. Per spatial dimension: strides, dilations;
// pads_begin and pads_end count zeros (or nothing, in pooling) at the borders.
class Train_ConvLikeOp<string mnemonic, list<Trait> traits = []>
    : Train_InferredOp<mnemonic, !listconcat(traits, [KernelMethods])> {
  let extraClassDeclaration = compatible;
}

def Train_ConvOp : Train_ConvLikeOp<"conv", [
    Differentiable, ErrorPropagationMethods, RangeMethods, DeclareOpInterfaceMethods<LayoutOpInterface>]> {
  let summary = "Convolution";
  let description = [{
    `input` is [N, C, D..] ([N, D.., C] with `channels_last`), `weight`
    [O, C/group, K..] in either layout, `bias` [O]. One or two spatial
    dimensions.

    (C1) ranks agree and are 3 or 4.
    (C2) C = group times the weight's second extent; group divides O; the bias
         has O elements.
    (C3) one stride, dilation and pad per spatial dimension; strides and
         dilations at least 1, pads at least 0; the result is not empty.
  }];
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$weight,      // conv_c1
                   Optional<Train_FloatTensor>:$bias,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,     // conv_c3
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                   DefaultValuedAttr<I64Attr, "1">:$group, UnitAttr:$channels_last); // conv_c2
  let results = (outs Train_FloatTensor:$result);
}

def Train_ConvGradInputOp : Train_ConvLikeOp<"conv_grad_input", [
    Differentiable, ErrorPropagationMethods, DeclareOpInterfaceMethods<LayoutOpInterface>]> {
  let summary = "Gradient of a convolution with respect to its input: a transposed convolution";
  let description = [{
    `input_shape` is the shape of the forward input, in the op's layout.
    Constraints as in `train.conv`; `grad` has the shape of its result
    (conv_c3).
  }];
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$weight,
                   DenseI64ArrayAttr:$input_shape,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                   DefaultValuedAttr<I64Attr, "1">:$group, UnitAttr:$channels_last);
  let results = (outs Train_FloatTensor:$result);
}

def Train_ConvGradWeightOp : Train_ConvLikeOp<"conv_grad_weight", [
    Differentiable, ErrorPropagationMethods, DeclareOpInterfaceMethods<LayoutOpInterface>]> {
  let summary = "Gradient of a convolution with respect to its weight, in f32";
  let description = [{
    `kernel_shape` holds the spatial extents of the weight. Constraints as in
    `train.conv`; `grad` has the shape of its result (conv_c3).
  }];
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$input,
                   DenseI64ArrayAttr:$kernel_shape,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                   DefaultValuedAttr<I64Attr, "1">:$group, UnitAttr:$channels_last);
  let results = (outs Train_FloatTensor:$result);
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_CONTRACTIONOPS_TD
