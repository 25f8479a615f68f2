//===- EmbeddingOps.td - Rows of a table by index ----------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_EMBEDDINGOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_EMBEDDINGOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_EmbeddingOp : Train_InferredOp<"embedding", [Differentiable, KernelMethods, RangeMethods, IndexesTable]> {
  let summary = "Rows of a table by index";
  let description = [{
    `table` is [V, D..], `indices` [I..], the result [I.., D..]. A negative index
    counts from the end. An index outside [-V, V) gives a row of NaN; the inputs
    of a program are checked before (`mpc.range`).

    (C1) the table has rank 1 or more.
  }];
  let arguments = (ins Train_FloatTensor:$table, Train_IntTensor:$indices); // embedding_c1
  let results = (outs Train_FloatTensor:$result);
  let extraClassDeclaration = compatible # [{
    /// Only the rows of the table that the indices select are read.
    int64_t countReads(unsigned operand);
    bool isIndexLike(unsigned index) { return index == 1; }
  }];
}

def Train_EmbeddingGradOp : Train_InferredOp<"embedding_grad", [Differentiable, KernelMethods, ErrorPropagationMethods, Indexes]> {
  let summary = "Gradient of an embedding with respect to its table, in f32: adds up by index";
  let description = [{
    For each of `rows` rows, the sum of the gradients at its indices, zero
    without any. Indices outside [-V, V) are skipped.

    (C1) the leading dimensions of `grad` are those of `indices`.
    (C2) `rows` is at least 1.
  }];
  let arguments = (ins Train_FloatTensor:$grad, Train_IntTensor:$indices, // embedding_grad_c1
                   I64Attr:$rows);                                        // embedding_grad_c2
  let results = (outs Train_FloatTensor:$result);
  let extraClassDeclaration = compatible # pins # [{
    bool isIndexLike(unsigned index) { return index == 1; }
  }];
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_EMBEDDINGOPS_TD
