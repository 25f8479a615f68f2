//===- RandomOps.td - Dropout and random numbers -----------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_RANDOMOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_RANDOMOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_DropoutOp : Train_InferredOp<"dropout", [
    Differentiable, RangeMethods, ElementByElement, DeclareOpInterfaceMethods<TrainingFormOpInterface, ["replaceByTrainingForm", "replaceByInferenceForm"]>]> {
  let summary = "Dropout in inference form: the identity";
  let description = "(C1) `ratio` lies in [0, 1).";
  let arguments = (ins Train_FloatTensor:$input, F32Attr:$ratio); // dropout_c1
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_DropoutTrainingOp : Train_InferredOp<"dropout_training", [Differentiable, Generated, RangeMethods, ElementByElement]> {
  let summary = "Zero each element with probability ratio, scale the others by 1/(1-ratio)";
  let description = [{
    Element i is dropped if word 0 of Philox2x32-10 with counter (i, step) and
    the upper half of `mix(seed ^ mix(index))` as key falls below ratio * 2^32;
    `mix` is a step of SplitMix64. The gradient is the same op on the gradient:
    no mask is stored. `seed` and `step` are rank-0 i64; `index` numbers the op.
    Sources: Salmon et al., SC'11; Steele et al., OOPSLA'14.

    (C1) `ratio` lies in [0, 1).
    (C2) `seed` and `step` have rank 0.
  }];
  let arguments = (ins Train_FloatTensor:$input,
                   Train_IntTensor:$seed, Train_IntTensor:$step, // dropout_training_c2
                   F32Attr:$ratio,                               // dropout_training_c1
                   I64Attr:$index);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = compatible # [{
    bool isOperandPinned(unsigned index) { return index != 0; }
  }];
}

def Train_RandomOp : Train_InferredOp<"random", [
    Generated, RangeMethods, DeclareOpInterfaceMethods<TrainingFormOpInterface, ["replaceByTrainingForm", "replaceByInferenceForm", "keepsFormInTraining"]>]> {
  let summary = "Random numbers in [0, 1), or of the standard normal distribution";
  let description = [{
    Element i comes from Philox2x32-10 with counter (i, step) and the key of
    `train.dropout_training`: in training the numbers depend on the seed and the
    step, which are the two operands of `key`, and on the op. Without a key they are
    those of seed 0 and step 0, the same at each call. A normal number is computed
    from the two words by the Box-Muller formula.

    (C1) the key is two operands of rank 0, or none.
    (C2) all extents of `shape` are positive.
  }];
  let arguments = (ins Variadic<Train_IntTensor>:$key, // random_c1
                   DenseI64ArrayAttr:$shape,           // random_c2
                   UnitAttr:$normal, I64Attr:$index);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = compatible # [{
    bool isOperandPinned(unsigned index) { return true; }
    bool isBounded() { return true; }
  }];
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_RANDOMOPS_TD
