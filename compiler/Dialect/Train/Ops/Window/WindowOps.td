//===- WindowOps.td - Windows of images of any rank --------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_WINDOWOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_WINDOWOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

// Windowed ops without a kernel of their own (three dimensions, large windows, norms
// over windows) become an unfold and a product or a reduction.

def Train_UnfoldOp : Train_InferredOp<"unfold", [Differentiable, Generated, RangeMethods]> {
  let summary = "The elements of each position of a sliding window";
  let description = [{
    `input` is [N, C, D..], the result [N, C, K.., P..] for a window of extents K
    and its positions P; `padding` is the value outside of the image. Attributes
    as in `train.conv`.

    (C1) the image has rank 3 or more; geometry as conv_c3.
  }];
  let arguments = (ins Train_FloatTensor:$input, DenseI64ArrayAttr:$kernel_shape, // unfold_c1
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                   DefaultValuedAttr<F64Attr, "0.0">:$padding);
  let results = (outs Train_FloatTensor:$result);
}

def Train_FoldOp : Train_InferredOp<"fold", [Differentiable, Generated]> {
  let summary = "The transpose of unfold: adds up the elements of all positions";
  let description = [{
    `input` is [N, C, K.., P..], the result an image of shape `image_shape`.

    (C1) `image_shape` unfolds to the shape of the input.
  }];
  let arguments = (ins Train_FloatTensor:$input, DenseI64ArrayAttr:$image_shape, // fold_c1
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end);
  let results = (outs Train_FloatTensor:$result);
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_WINDOWOPS_TD
