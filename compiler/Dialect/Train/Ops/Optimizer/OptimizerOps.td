//===- OptimizerOps.td - Weight updates --------------------*- tablegen -*-===//
//
// All tensors of an update have one packed shape [rows, 1024]; scalars have rank 0,
// except that learning rates may differ by row: [rows, 1]. Everything is f32 (f64 in
// gradient checks) and pinned. Formulas are those of PyTorch; an attribute stands for
// the decimal number as written.
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

def ConstantRate : I32EnumAttrCase<"Constant", 0, "constant">;
def LinearRate : I32EnumAttrCase<"Linear", 1, "linear">;
def CosineRate : I32EnumAttrCase<"Cosine", 2, "cosine">;
def PolynomialRate : I32EnumAttrCase<"Polynomial", 3, "polynomial">;
def StepRate : I32EnumAttrCase<"Step", 4, "step">;
def ExponentialRate : I32EnumAttrCase<"Exponential", 5, "exponential">;
def OneCycleRate : I32EnumAttrCase<"OneCycle", 6, "one-cycle">;
def CosineRestartsRate : I32EnumAttrCase<"CosineRestarts", 7, "cosine-restarts">;
def Train_RateSchedule : I32EnumAttr<"RateSchedule", "how a learning rate changes by step",
    [ConstantRate, LinearRate, CosineRate, PolynomialRate, StepRate, ExponentialRate,
     OneCycleRate, CosineRestartsRate]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_RateScheduleAttr : EnumAttr<Train_Dialect, Train_RateSchedule, "rate_schedule">;

def Train_ScheduledRateOp : Train_UpdateOp<"scheduled_rate"> {
  let summary = "The learning rate of a step, computed in f64";
  let description = [{
    The rate for `rate` b, after `step` s of `total` T updates. The first W
    updates are warm-up; W is `warmup`, or `warmup` times T if it is below 1:

    ```
    s < W:            b (s + 1) / (W + 1)
    t = s - W;  u = min(t / (T - W), 1)
    constant          b
    linear            m + (b - m) (1 - u)
    cosine            m + (b - m) (1 + cos(pi u)) / 2
    polynomial        m + (b - m) (1 - u)^power
    step              max(m, b gamma^floor(t / period))
    exponential       max(m, b gamma^t)
    cosine-restarts   as cosine, in periods, each `factor` times as long
                      as the one before; the first has `period` steps
    one-cycle         W is where the rate is largest; it comes from b / 25 and
                      ends at b / 250,000, by cosines
    ```
    with m the `minimum`: torch.optim.lr_scheduler's LinearLR(1 / (W + 1), 1, W),
    then LinearLR, CosineAnnealingLR, PolynomialLR, StepLR, ExponentialLR,
    CosineAnnealingWarmRestarts; OneCycleLR with its defaults, except that
    momentum stays constant. NaN if the schedule needs T and T is 0.

    (C1) numbers are finite; `warmup` and `minimum` are at least 0, the others
    positive; `factor` is at least 1.
  }];
  let arguments = (ins Train_FloatTensor:$rate, Train_IntTensor:$step, Train_IntTensor:$total,
                   Train_RateScheduleAttr:$schedule,
                   F64Attr:$warmup, F64Attr:$minimum, F64Attr:$gamma, // scheduled_rate_c1
                   F64Attr:$period, F64Attr:$factor, F64Attr:$power);
  let results = (outs Train_FloatTensor:$result);
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
  let summary = "min(1, max_norm / (norm + 1e-6)), as in torch.nn.utils.clip_grad_norm_";
  let description = "(C1) `max_norm` is positive.";
  let arguments = (ins Train_FloatTensor:$norm, F32Attr:$max_norm); // clip_factor_c1
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

// The losses and gradients of micro-batches are weighted by the divisors of their
// means.
def Train_LossShareOp : Train_UpdateOp<"loss_share"> {
  let summary = "loss * divisor / terms; 0 for any loss if the divisor is 0";
  let description = "(C1) `terms` is positive.";
  let arguments = (ins Train_FloatTensor:$loss, Train_FloatTensor:$divisor, F64Attr:$terms); // loss_share_c1
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_MeanFactorOp : Train_UpdateOp<"mean_factor"> {
  let summary = "terms / divisor; 0 if the divisor is 0 (no element counted)";
  let description = "(C1) `terms` is positive.";
  let arguments = (ins Train_FloatTensor:$divisor, F64Attr:$terms); // mean_factor_c1
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_OPTIMIZEROPS_TD
