//===- LossOps.td - Losses ---------------------------------*- tablegen -*-===//
//
// With reduction mean or sum the loss is rank 0; with none it has one element
// per sample (per label, or per element of the prediction). Gradients take
// the gradient at the loss, of the loss's shape, as `grad`.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_LOSSOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_LOSSOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

// logits (or log-probabilities) [N, C, d..], labels [N, d..], weight [C]. Labels
// equal to `ignore_index` contribute neither to the loss nor to the divisor of the
// mean. mean: sum(w l) / sum(w). Other labels outside [0, C) give NaN, in the loss
// and in the gradient of their rows; those of a program's inputs are checked before
// (`mpc.range`). With `label_smoothing` e the loss of a label is 1 - e times its own
// loss plus e times the mean of the losses of all classes, as in
// torch.nn.CrossEntropyLoss. With `classes` the logits have padded rows: columns
// from there on are no classes, whatever they hold, and their gradient is 0.
class Train_ClassLossOp<string mnemonic, string kind, string what>
    : Train_InferredOp<mnemonic, [
        Differentiable, Generated, RangeMethods, Indexes, LossReductionMethods, LossOpInterface, LossRowsMethods]> {
  let summary = what;
  let description = [{
    (C1) labels have the shape of the first operand without dimension 1.
    (C2) `weight` has C elements.
    (C3) C is at most 2^31 - 1: kernels compare labels in 32 bits.
    (C4) `label_smoothing` lies in [0, 1] and excludes `weight`.
    (C5) `classes` lies in [1, C] and excludes `weight`.
  }];
  let extraClassDeclaration = compatible # pins # [{
    ::mpc::train::LossKind getLossKind() {
      return ::mpc::train::LossKind::}] # kind # [{;
    }
    ::mlir::Value getPrediction() { return getInput(); }
    ::mlir::Value getTarget() { return getLabels(); }
    ::mlir::Value getClassWeights() { return getWeight(); }
    ::mlir::IntegerAttr getIgnoredLabel() { return getIgnoreIndexAttr(); }
    ::mlir::LogicalResult smoothLabels(double share) {
      setLabelSmoothing(::llvm::APFloat(share));
      return ::mlir::success();
    }
  }];
  let arguments = (ins Train_FloatTensor:$input, // class_loss_c3
                   Train_IntTensor:$labels, // class_loss_c1
                   Optional<Train_FloatTensor>:$weight,               // class_loss_c2
                   Train_ReductionAttr:$reduction, OptionalAttr<I64Attr>:$ignore_index,
                   OptionalAttr<F64Attr>:$label_smoothing, // class_loss_c4
                   OptionalAttr<I64Attr>:$classes);        // class_loss_c5
  let results = (outs Train_FloatTensor:$loss);
}
class Train_ClassLossGradOp<string mnemonic, string what>
    : Train_InferredOp<mnemonic, [Differentiable, Generated, Indexes, LossGradRowsMethods]> {
  let summary = what;
  let description = [{
    (C1) `grad` has the shape of the loss; the rest is as in the forward op.
  }];
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_FloatTensor:$grad, // class_loss_grad_c1
                   Train_FloatTensor:$input, Train_IntTensor:$labels,
                   Optional<Train_FloatTensor>:$weight,
                   Train_ReductionAttr:$reduction, OptionalAttr<I64Attr>:$ignore_index,
                   OptionalAttr<F64Attr>:$label_smoothing,
                   OptionalAttr<I64Attr>:$classes);
  let results = (outs Train_FloatTensor:$result);
}

def Train_SoftmaxCrossEntropyOp : Train_ClassLossOp<"softmax_cross_entropy",
    "CrossEntropy", "-log softmax(input)[label]">;
def Train_SoftmaxCrossEntropyGradOp : Train_ClassLossGradOp<"softmax_cross_entropy_grad",
    "Gradient of softmax_cross_entropy with respect to the logits">;
def Train_NllLossOp : Train_ClassLossOp<"nll_loss",
    "NegativeLogLikelihood", "-input[label]">;
def Train_NllLossGradOp : Train_ClassLossGradOp<"nll_loss_grad",
    "Gradient of nll_loss with respect to the log-probabilities">;

def MeanSquaredError : I32EnumAttrCase<"MeanSquaredError", 0, "mse">;
def MeanAbsoluteError : I32EnumAttrCase<"MeanAbsoluteError", 1, "l1">;
def BinaryCrossEntropyWithLogits : I32EnumAttrCase<"BinaryCrossEntropyWithLogits", 2, "bce_with_logits">;
def Train_ElementLoss : I32EnumAttr<"ElementLoss", "a loss that compares element by element",
    [MeanSquaredError, MeanAbsoluteError, BinaryCrossEntropyWithLogits]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_ElementLossAttr : EnumAttr<Train_Dialect, Train_ElementLoss, "element_loss">;

def Train_ElementLossOp : Train_InferredOp<"element_loss", [
    Differentiable, Generated, RangeMethods, LossReductionMethods, LossOpInterface]> {
  let summary = "Squared error, absolute error, or stable binary cross-entropy of logits";
  let description = [{
    mse: `(p - t)^2`; l1: `|p - t|`; bce_with_logits:
    `max(p, 0) - p t + log(1 + exp(-|p|))`. Differentiable in the prediction
    only; the derivative of l1 at 0 is 0.

    (C1) prediction and target have one shape.
  }];
  let extraClassDeclaration = compatible # pins # [{
    ::mpc::train::LossKind getLossKind();
  }];
  let arguments = (ins Train_FloatTensor:$prediction, Train_FloatTensor:$target, // element_loss_c1
                   Train_ElementLossAttr:$kind, Train_ReductionAttr:$reduction);
  let results = (outs Train_FloatTensor:$loss);
}
def Train_ElementLossGradOp : Train_InferredOp<"element_loss_grad", [Generated]> {
  let summary = "Gradient of element_loss with respect to the prediction";
  let description = [{
    (C1) `grad` has the shape of the loss; the rest is as in the forward op.
  }];
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_FloatTensor:$grad, // element_loss_grad_c1
                   Train_FloatTensor:$prediction, Train_FloatTensor:$target,
                   Train_ElementLossAttr:$kind, Train_ReductionAttr:$reduction);
  let results = (outs Train_FloatTensor:$result);
}

def Train_IsCorrectOp : Train_InferredOp<"is_correct", [
    Generated, RangeMethods, Indexes, ClassesMethods]> {
  let summary = "1.0 where the label is the index of the first largest logit along dimension 1, else 0.0";
  let description = [{
    logits [N, C, d..], labels [N, d..], result [N, d..] in f32. NaN is never
    correct. Classes are counted in the compute type: C is at most 2^24. Columns
    from `classes` on are no classes, as in the losses.

    (C1) labels have the shape of the logits without dimension 1.
    (C2) C is at most 2^24.
    (C3) `classes` lies in [1, C].
  }];
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_FloatTensor:$logits,          // is_correct_c2
                   Train_IntTensor:$labels,                // is_correct_c1
                   OptionalAttr<I64Attr>:$classes);        // is_correct_c3
  let results = (outs Train_FloatTensor:$result);
}

def Train_IsCountedOp : Train_InferredOp<"is_counted", [Generated, Indexes]> {
  let summary = "Weight of each label in the mean: 0.0 for ignore_index, else 1.0 or its class weight";
  let description = "(C1) labels have rank 1 or more, `weight` rank 1.";
  let extraClassDeclaration = compatible # pins;
  let arguments = (ins Train_IntTensor:$labels, Optional<Train_FloatTensor>:$weight, // is_counted_c1
                   OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Train_FloatTensor:$result);
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_LOSSOPS_TD
