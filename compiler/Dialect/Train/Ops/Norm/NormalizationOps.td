//===- NormalizationOps.td - Norms and softmax -------------*- tablegen -*-===//
//
// Statistics, scales and biases are f32 in every precision, and so is the
// arithmetic; the data may be 16-bit.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_NORMALIZATIONOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_NORMALIZATIONOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_LayerNormOp : Train_InferredOp<"layer_norm", [
    Differentiable, Generated, RangeMethods, Normalizes, DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "Normalize over the dimensions from `axis` on";
  let description = [{
    `result = (input - mean) * inv_std * scale + bias` with the population
    variance over dimensions [axis, rank); `scale` and `bias` have the shape of
    these dimensions. `mean` and `inv_std = 1/sqrt(var + epsilon)` have the
    shape of the first `axis` dimensions and are f32.

    (C1) `axis` lies in [0, rank).
    (C2) `scale` and `bias` have the normalized shape.
  }];
  let extraClassDeclaration = compatible # pins # bounded;
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale,
                   Optional<Train_FloatTensor>:$bias,               // layer_norm_c2
                   I64Attr:$axis, F32Attr:$epsilon);                // layer_norm_c1
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$mean, Train_FloatTensor:$inv_std);
}

def Train_LayerNormGradOp : Train_InferredOp<"layer_norm_grad", [Generated, ErrorPropagationMethods]> {
  let summary = "Gradients of layer_norm with respect to input, scale and bias";
  let description = [{
    (C1) operands have the shapes of the forward op's.
  }];
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$input, Train_FloatTensor:$scale,
                   Train_FloatTensor:$mean, Train_FloatTensor:$inv_std, I64Attr:$axis); // layer_norm_grad_c1
  let results = (outs Train_FloatTensor:$grad_input, Train_FloatTensor:$grad_scale, Train_FloatTensor:$grad_bias);
}

def Train_RmsNormOp : Train_InferredOp<"rms_norm", [
    Differentiable, Generated, RangeMethods, Normalizes, DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "Divide by the root mean square over the dimensions from `axis` on";
  let description = [{
    `result = input * inv_rms * scale` with
    `inv_rms = 1/sqrt(mean(input^2) + epsilon)` over dimensions [axis, rank);
    `scale` has the shape of these dimensions, `inv_rms` that of the first
    `axis` dimensions, in f32. Source: Zhang and Sennrich, Root Mean Square
    Layer Normalization, 2019.

    (C1) `axis` lies in [0, rank).
    (C2) `scale` has the normalized shape.
  }];
  let extraClassDeclaration = compatible # pins # bounded;
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale, // rms_norm_c2
                   I64Attr:$axis, F32Attr:$epsilon);                       // rms_norm_c1
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$inv_rms);
}

def Train_RmsNormGradOp : Train_InferredOp<"rms_norm_grad", [Generated, ErrorPropagationMethods]> {
  let summary = "Gradients of rms_norm with respect to input and scale";
  let description = [{
    (C1) operands have the shapes of the forward op's.
  }];
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$input, Train_FloatTensor:$scale,
                   Train_FloatTensor:$inv_rms, I64Attr:$axis); // rms_norm_grad_c1
  let results = (outs Train_FloatTensor:$grad_input, Train_FloatTensor:$grad_scale);
}

// The channel dimension is `axis`: 1 in ONNX, the last with channels last.
def Train_BatchNormOp : Train_InferredOp<"batch_norm", [
    Differentiable, Generated, RangeMethods, Normalizes,
    DeclareOpInterfaceMethods<TrainingFormOpInterface, ["replaceByTrainingForm", "replaceByInferenceForm", "keepsFormInTraining"]>,
    DeclareOpInterfaceMethods<LayoutOpInterface>]> {
  let summary = "Batch normalization with given statistics";
  let description = [{
    `(input - mean) / sqrt(var + epsilon) * scale + bias`. In training form
    (`train.batch_norm_training`) statistics come from the batch, and the states
    that `mean` and `var` read become `momentum * old + (1 - momentum) * batch`.
    Statistics that are constants or states of kind `constant` are frozen:
    training uses them, too. With `synchronized`, the batch is that of all
    ranks that train together.

    (C1) `axis` lies in [0, rank), and scale, bias, mean and var have the extent
         of dimension `axis`.
  }];
  let extraClassDeclaration = compatible # pins # bounded;
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale, Train_FloatTensor:$bias,
                   Train_FloatTensor:$mean, Train_FloatTensor:$var,
                   F32Attr:$epsilon, F32Attr:$momentum, I64Attr:$axis, // batch_norm_c1
                   UnitAttr:$synchronized);
  let results = (outs Train_FloatTensor:$result);
}

def Train_BatchNormTrainingOp : Train_InferredOp<"batch_norm_training", [Differentiable, Generated, RangeMethods, Normalizes,
    DeclareOpInterfaceMethods<LayoutOpInterface>]> {
  let summary = "Batch normalization with the statistics of the batch";
  let description = [{
    `mean` and `var` (population variance) over all dimensions but `axis`, and
    `inv_std = 1/sqrt(var + epsilon)`, are f32. With `synchronized` they are
    those of the batches of all ranks, which have the same size.

    (C1) `axis` lies in [0, rank), and scale and bias have the extent of
         dimension `axis`.
  }];
  let extraClassDeclaration = compatible # pins # bounded;
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale, Train_FloatTensor:$bias,
                   F32Attr:$epsilon, I64Attr:$axis, // batch_norm_training_c1
                   UnitAttr:$synchronized);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$mean,
                 Train_FloatTensor:$var, Train_FloatTensor:$inv_std);
}

def Train_BatchNormGradOp : Train_InferredOp<"batch_norm_grad", [Generated, ErrorPropagationMethods,
    DeclareOpInterfaceMethods<LayoutOpInterface>]> {
  let summary = "Gradients of batch_norm_training with respect to input, scale and bias";
  let description = [{
    (C1) operands have the shapes of the forward op's.
  }];
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$input, Train_FloatTensor:$scale,
                   Train_FloatTensor:$mean, Train_FloatTensor:$inv_std, I64Attr:$axis, // batch_norm_grad_c1
                   UnitAttr:$synchronized);
  let results = (outs Train_FloatTensor:$grad_input, Train_FloatTensor:$grad_scale, Train_FloatTensor:$grad_bias);
}

// Norms with `synchronized` are lowered to it.
def Train_MeanOverRanksOp : Train_InferredOp<"mean_over_ranks", [KernelMethods]> {
  let summary = "The mean of the tensors of all ranks that train together";
  let description = [{
    Each rank has the same op and waits for the others. Of one rank it is a copy.

    (C1) the tensor is f32 or f64.
  }];
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_FloatTensor:$input); // mean_over_ranks_c1
  let results = (outs Train_FloatTensor:$result);
}

class Train_SoftmaxLikeOp<string mnemonic, string what>
    : Train_InferredOp<mnemonic, [
        Differentiable, Generated, RangeMethods, DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = what;
  let description = "(C1) `axis` lies in [0, rank).";
  let arguments = (ins Train_FloatTensor:$input, I64Attr:$axis); // softmax_c1
  let results = (outs Train_FloatTensor:$result);
}
def Train_SoftmaxOp : Train_SoftmaxLikeOp<"softmax", "exp(x - max) / sum along one dimension"> {
  let extraClassDeclaration = compatible # bounded;
  let description = [{
    Fully masked rows (all -inf) become NaN, as in ONNX and PyTorch; with
    `zero_empty` they become 0, as attention defines it for a query without
    keys.

    (C1) `axis` lies in [0, rank).
  }];
  let arguments = (ins Train_FloatTensor:$input, I64Attr:$axis, UnitAttr:$zero_empty); // softmax_c1
}
def Train_LogSoftmaxOp : Train_SoftmaxLikeOp<"log_softmax", "x - max - log(sum exp(x - max)) along one dimension">;

class Train_SoftmaxLikeGradOp<string mnemonic, string what, list<Trait> traits = []>
    : Train_InferredOp<mnemonic, !listconcat(traits, [Differentiable, Generated])> {
  let summary = what;
  let description = "(C1) `axis` lies in [0, rank); both operands have one shape.";
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$output, I64Attr:$axis); // softmax_grad_c1
  let results = (outs Train_FloatTensor:$result);
}
def Train_SoftmaxGradOp : Train_SoftmaxLikeGradOp<"softmax_grad", "output (grad - sum(grad output))", [ErrorPropagationMethods]>;
def Train_LogSoftmaxGradOp : Train_SoftmaxLikeGradOp<"log_softmax_grad", "grad - exp(output) sum(grad)", [ErrorPropagationMethods]>;

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_NORMALIZATIONOPS_TD
