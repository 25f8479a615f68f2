//===- PoolingOps.td - Pooling over windows ----------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_POOLINGOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_POOLINGOPS_TD

include "compiler/Dialect/Train/Ops/Contraction/ContractionOps.td"

// Layout and window attributes as in `train.conv`; `kernel_shape` holds the
// extents of the window. 1 or 2 spatial dimensions.
class Train_PoolOp<string mnemonic, list<Trait> traits = []>
    : Train_ConvLikeOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<LayoutOpInterface>])>;

def Train_MaxPoolOp : Train_PoolOp<"max_pool", [Differentiable, RangeMethods]> {
  let summary = "Largest element of each window";
  let description = [{
    `indices` gives, for each result element, the row-major position of the
    maximum inside its window (the first of equal ones), for the gradient.

    (C1) geometry as conv_c3; each pad is smaller than the window, and each
         window covers part of the image.
    (C2) the window has at most 255 elements.
  }];
  let arguments = (ins Train_FloatTensor:$input, DenseI64ArrayAttr:$kernel_shape, // max_pool_c2
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,      // max_pool_c1
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                   UnitAttr:$channels_last);
  let results = (outs Train_FloatTensor:$result, Train_ByteTensor:$indices);
}

def Train_MaxPoolGradOp : Train_PoolOp<"max_pool_grad"> {
  let summary = "Gradient of max_pool: adds each element to the position of its maximum";
  let arguments = (ins Train_FloatTensor:$grad, Train_ByteTensor:$indices,
                   DenseI64ArrayAttr:$input_shape, DenseI64ArrayAttr:$kernel_shape,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                   UnitAttr:$channels_last);
  let results = (outs Train_FloatTensor:$result);
}

def Train_AveragePoolOp : Train_PoolOp<"average_pool", [Differentiable, RangeMethods]> {
  let summary = "Mean of each window";
  let description = [{
    With `count_include_pad` the divisor is the window's size, else the number
    of elements inside the image.

    (C1) geometry as max_pool_c1.
  }];
  let arguments = (ins Train_FloatTensor:$input, DenseI64ArrayAttr:$kernel_shape, // average_pool_c1
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                   UnitAttr:$count_include_pad, UnitAttr:$channels_last);
  let results = (outs Train_FloatTensor:$result);
}

def Train_AveragePoolGradOp : Train_PoolOp<"average_pool_grad", [Differentiable]> {
  let summary = "Gradient of average_pool";
  let arguments = (ins Train_FloatTensor:$grad,
                   DenseI64ArrayAttr:$input_shape, DenseI64ArrayAttr:$kernel_shape,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                   UnitAttr:$count_include_pad, UnitAttr:$channels_last);
  let results = (outs Train_FloatTensor:$result);
}

def Train_GlobalAveragePoolOp : Train_InferredOp<"global_average_pool", [
    Differentiable, Generated, RangeMethods,
    DeclareOpInterfaceMethods<LayoutOpInterface>]> {
  let summary = "Mean over all spatial dimensions, which stay with extent 1";
  let description = "(C1) the image has rank 3 or more.";
  let arguments = (ins Train_FloatTensor:$input, UnitAttr:$channels_last); // global_average_pool_c1
  let results = (outs Train_FloatTensor:$result);
  let extraClassDeclaration = compatible;
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_POOLINGOPS_TD
