//===- OptimizerOps.td - Weight updates --------------------*- tablegen -*-===//
//
// All tensors of an update have one packed shape [rows, 1024]; scalars are
// rank 0. Everything is f32 (f64 in gradient checks) and pinned. Formulas are
// PyTorch's; attributes stand for the decimal number they are written as.
//
// (C1) packed tensors have one shape (update_c1).
// (C2) scalars have rank 0 (update_c2).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_OPTIMIZEROPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_OPTIMIZEROPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

class Train_UpdateOp<string mnemonic, list<Trait> traits = []>
    : Train_InferredOp<mnemonic, !listconcat(traits, [Generated])> {
  let extraClassDeclaration = compatible # [{
    bool isOperandPinned(unsigned) { return true; }
    bool isResultPinned(unsigned) { return true; }
  }];
}

def Train_SgdOp : Train_UpdateOp<"sgd"> {
  let summary = "w - lr (g + weight_decay w)";
  let arguments = (ins Train_FloatTensor:$weight, Train_FloatTensor:$grad, Train_FloatTensor:$learning_rate,
                   F32Attr:$weight_decay);
  let results = (outs Train_FloatTensor:$new_weight);
}

def Train_MomentumOp : Train_UpdateOp<"momentum"> {
  let summary = "v' = momentum v + g + weight_decay w; w' = w - lr v' (nesterov: w - lr (g + momentum v'))";
  let arguments = (ins Train_FloatTensor:$weight, Train_FloatTensor:$grad, Train_FloatTensor:$velocity,
                   Train_FloatTensor:$learning_rate,
                   F32Attr:$momentum, F32Attr:$weight_decay, UnitAttr:$nesterov);
  let results = (outs Train_FloatTensor:$new_weight, Train_FloatTensor:$new_velocity);
}

def Train_AdamOp : Train_UpdateOp<"adam"> {
  let summary = "Adam, and with `decoupled` weight decay AdamW";
  let description = [{
    ```
    g  = grad (+ weight_decay w unless decoupled)
    m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g^2
    w' = w (1 - lr weight_decay if decoupled)
         - lr / correction1 * m' / (sqrt(v' / correction2) + epsilon)
    ```
    `correction1`, `correction2` come from `train.bias_correction`.

    (C1) `beta1` and `beta2` lie in [0, 1).
    (C2) `epsilon` is at least 0.
  }];
  let arguments = (ins Train_FloatTensor:$weight, Train_FloatTensor:$grad,
                   Train_FloatTensor:$first_moment, Train_FloatTensor:$second_moment,
                   Train_FloatTensor:$learning_rate,
                   Train_FloatTensor:$correction1, Train_FloatTensor:$correction2,
                   F32Attr:$beta1, F32Attr:$beta2,                // adam_c1
                   F32Attr:$epsilon,                              // adam_c2
                   F32Attr:$weight_decay, UnitAttr:$decoupled);
  let results = (outs Train_FloatTensor:$new_weight, Train_FloatTensor:$new_first_moment,
                 Train_FloatTensor:$new_second_moment);
  let hasVerifier = 1;
}

def Train_BiasCorrectionOp : Train_UpdateOp<"bias_correction"> {
  let summary = "1 - beta^(step + 1), computed in f64 from the decimal value of beta";
  let description = "(C1) `beta` lies in [0, 1).";
  let arguments = (ins Train_IntTensor:$step, F64Attr:$beta); // bias_correction_c1
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_IncrementOp : Train_UpdateOp<"increment"> {
  let summary = "step + 1";
  let arguments = (ins Train_IntTensor:$step);
  let results = (outs Train_IntTensor:$result);
}

def Train_GlobalNormOp : Train_UpdateOp<"global_norm"> {
  let summary = "Euclidean norm of a packed tensor, rank 0";
  let arguments = (ins Train_FloatTensor:$packed);
  let results = (outs Train_FloatTensor:$result);
}

def Train_ClipFactorOp : Train_UpdateOp<"clip_factor"> {
  let summary = "min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_";
  let description = "(C1) `max_norm` is positive.";
  let arguments = (ins Train_FloatTensor:$norm, F32Attr:$max_norm); // clip_factor_c1
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

// Micro-batches count by what their means divide by.
def Train_LossShareOp : Train_UpdateOp<"loss_share"> {
  let summary = "loss divisor / terms; 0, whatever the loss, where the divisor is 0";
  let description = "(C1) `terms` is positive.";
  let arguments = (ins Train_FloatTensor:$loss, Train_FloatTensor:$divisor, F64Attr:$terms); // loss_share_c1
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_MeanFactorOp : Train_UpdateOp<"mean_factor"> {
  let summary = "terms / divisor; 0 where the divisor is 0, so that nothing counted";
  let description = "(C1) `terms` is positive.";
  let arguments = (ins Train_FloatTensor:$divisor, F64Attr:$terms); // mean_factor_c1
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_OPTIMIZEROPS_TD
