//===- ReductionOps.td - Sums and means --------------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_REDUCTIONOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_REDUCTIONOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

class Train_ReduceOp<string mnemonic, string what, list<Trait> traits = []>
    : Train_InferredOp<mnemonic, !listconcat(traits, [Differentiable, Generated, RangeMethods])> {
  let summary = what;
  let description = [{
    Sums in f32 in a fixed order. The result is f32, since a sum of f16 numbers
    may exceed f16; it is smaller than the operand, so this costs little.
    Without `keepdims` the dimensions are removed.

    (C1) `axes` are distinct, sorted and in [0, rank).
  }];
  let arguments = (ins Train_FloatTensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keepdims); // reduce_c1
  let results = (outs Train_FloatTensor:$result);
  let hasFolder = 1;
  let extraClassDeclaration = compatible # [{
    bool isResultPinned(unsigned) { return true; }
  }];
}

def Train_ReduceSumOp : Train_ReduceOp<"reduce_sum", "Sum over dimensions",
    [ErrorPropagationMethods, ReductionMethods, LossReductionMethods]>;
def Train_ReduceMeanOp : Train_ReduceOp<"reduce_mean", "Mean over dimensions",
    [ErrorPropagationMethods, ReductionMethods, LossReductionMethods]>;

def Train_ReduceMaxOp : Train_InferredOp<"reduce_max", [Differentiable, Generated, RangeMethods]> {
  let summary = "The largest element over dimensions; NaN if one is NaN";
  let description = [{
    The gradient is divided equally among all largest elements. Without
    `keepdims` the dimensions are removed.

    (C1) `axes` are distinct, sorted and in [0, rank).
  }];
  let arguments = (ins Train_FloatTensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keepdims); // reduce_c1
  let results = (outs Train_FloatTensor:$result);
  let hasFolder = 1;
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_REDUCTIONOPS_TD
