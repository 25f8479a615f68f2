//===- IndexingOps.td - Elements selected by index ---------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_INDEXINGOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_INDEXINGOPS_TD

include "compiler/Dialect/Train/Ops/Elementwise/IntegerOps.td"
include "compiler/Dialect/Train/IR/TrainBase.td"

// ONNX's gathers and scatters become a `flat_index`, which computes the positions,
// and one of `gather`, `embedding`, `embedding_grad` (adds up updates of one
// position), `last_index` (selects the last of them) and `scatter_reduce` (takes
// their maximum, minimum or product).

def Train_FlatIndexOp : Train_InferredOp<"flat_index", [Generated, Indexes, MakesIndices]> {
  let summary = "Row-major position of the elements at given indices";
  let description = [{
    The row-major position in a tensor of extents `extents`. In dimension
    `axes[i]` operand `i` is the index, counted from the end if it is negative; in
    every other dimension `d` the index is the position in dimension `d` of the
    result, whose shape is what the operands broadcast to. If an index is out of
    range, the result is the smallest i64, which is out of range for every table.

    ```mlir
    // GatherElements along axis 1 of a 4 x 5 table.
    %row = train.flat_index %index {axes = array<i64: 1>, extents = array<i64: 4, 5>}
         : (tensor<4x3xi64>) -> tensor<4x3xi64>
    ```

    (C1) the operands broadcast, and there are as many as `axes`, at least one.
    (C2) `axes` are distinct, sorted dimensions of `extents`.
    (C3) any other dimension is one of the result, with an extent of at most
         that in `extents`.
  }];
  let arguments = (ins Variadic<Train_IntTensor>:$indices, // flat_index_c1
                   DenseI64ArrayAttr:$axes,                // flat_index_c2
                   DenseI64ArrayAttr:$extents);            // flat_index_c3
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
  let extraClassDeclaration = compatible # [{
    bool isIndexLike(unsigned) { return true; }
  }];
}

def Train_GatherOp : Train_InferredOp<"gather", [Differentiable, Generated, RangeMethods, IndexesTable]> {
  let summary = "Rows of a table by index, as generated code";
  let description = [{
    Computes the same as `train.embedding`, for any element type: `table` is
    [V, D..], `indices` [I..], the result [I.., D..]; a negative index counts from
    the end, and one outside [-V, V) gives NaN, or 0 for integers and bools.

    (C1) the table has rank 1 or more.
  }];
  let arguments = (ins Train_Tensor:$table, Train_IntTensor:$indices); // gather_c1
  let results = (outs Train_Tensor:$result);
  let extraClassDeclaration = compatible # [{
    int64_t countReads(unsigned operand);
    bool isIndexLike(unsigned index) { return index == 1; }
  }];
}

def Train_LastIndexOp : Train_InferredOp<"last_index", [Generated, Indexes, MakesIndices]> {
  let summary = "For each row, the last position that holds its index";
  let description = [{
    `indices` is flat; element `v` of the result is the greatest `m` with
    `indices[m]` = v, or the smallest i64 if there is none. Every row scans all
    indices of its group and lane: rows are [groups, .., lanes], indices as well,
    and indices of other groups and lanes do not name the row.

    (C1) `indices` has rank 1.
    (C2) `rows` is at least 1.
    (C3) `groups` times `lanes` divides `rows` and the number of indices.
  }];
  let arguments = (ins Train_IntTensor:$indices, // last_index_c1
                   I64Attr:$rows,                // last_index_c2
                   DefaultValuedAttr<I64Attr, "1">:$groups,
                   DefaultValuedAttr<I64Attr, "1">:$lanes); // last_index_c3
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
}

def Train_ScatterReduceOp : Train_InferredOp<"scatter_reduce", [Differentiable, Generated, Indexes]> {
  let summary = "Rows of a table, each reduced with the updates at its index";
  let description = [{
    `init` is [V, D..], `indices` [M], `updates` [M, D..], the result [V, D..]:
    row `v` is row `v` of `init` and all `updates[m]` with `indices[m]` = v,
    reduced by `kind`: add, mul, max or min. NaN is both the largest and the
    smallest. Every row scans all indices of its group and lane, as in
    `train.last_index`.

    Gradients are those of PyTorch's scatter_reduce: equal extremes share the
    gradient evenly, and the gradient of a product is the product of the others,
    also if elements are 0.

    (C1) `indices` has rank 1, and `updates` has a row of the shape of those of
         `init` for each index.
    (C2) `init` and `updates` have one element type.
    (C3) `kind` is one of those above.
    (C4) `groups` times `lanes` divides the number of rows and that of indices.
  }];
  let arguments = (ins AnyTypeOf<[Train_FloatTensor, Train_IntTensor]>:$init, // scatter_reduce_c1, scatter_reduce_c2
                   Train_IntTensor:$indices,
                   AnyTypeOf<[Train_FloatTensor, Train_IntTensor]>:$updates,
                   Train_IntegerOperationAttr:$kind,                          // scatter_reduce_c3
                   DefaultValuedAttr<I64Attr, "1">:$groups,
                   DefaultValuedAttr<I64Attr, "1">:$lanes);                   // scatter_reduce_c4
  let results = (outs AnyTypeOf<[Train_FloatTensor, Train_IntTensor]>:$result);
  let extraClassDeclaration = compatible # [{
    bool isIndexLike(unsigned index) { return index == 1; }
  }];
}

def Train_ResampleOp : Train_InferredOp<"resample", [Differentiable, Generated, RangeMethods]> {
  let summary = "Weighted sums of elements at constant positions along one dimension";
  let description = [{
    `result[.., o, ..] = sum over t of weights[o, t] * input[.., places[o, t], ..]`
    along `axis`; a place of -1 adds nothing. It implements Resize, padding, slices
    with steps, repetition, averages and shifts, one dimension after the other. Its
    gradient is a resample, too: the places of an element are the result elements
    that read it.

    Without weights each weight is 1, a place of -1 gives 0, and integers and bools
    are allowed, too.

    (C1) `axis` is a dimension of the input.
    (C2) `places` is a constant of [O, T], each in [-1, extent of the axis).
    (C3) `weights` is a constant of the shape of `places`; without weights, T is
         1 or the elements are floats.
  }];
  let arguments = (ins Train_Tensor:$input, StaticShapeTensorOf<[I64]>:$places, // resample_c2
                   Optional<Train_FloatTensor>:$weights,                        // resample_c3
                   I64Attr:$axis);                                              // resample_c1
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = compatible # pins;
}

def Train_CumSumOp : Train_InferredOp<"cumsum", [Differentiable, Generated, RangeMethods]> {
  let summary = "Cumulative sums along a dimension";
  let description = [{
    Each result is the sum of the elements up to its position: with `exclusive`
    without the element itself, with `reverse` from the end. Floats are added in
    f32, block by block; integers wrap around.

    (C1) `axis` is a dimension of the input that has elements.
  }];
  let arguments = (ins AnyTypeOf<[Train_FloatTensor, Train_IntTensor]>:$input,
                   I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse); // cumsum_c1
  let results = (outs AnyTypeOf<[Train_FloatTensor, Train_IntTensor]>:$result);
}

def Train_ArgExtremeOp : Train_InferredOp<"arg_extreme", [Generated, MakesIndices]> {
  let summary = "Index of the largest (or smallest) element along a dimension";
  let description = [{
    The first of equal ones, or with `last` the last. NaN counts as more extreme
    than any number, as in NumPy. The dimension is removed.

    (C1) `axis` is a dimension of the input that has elements.
  }];
  let arguments = (ins Train_Tensor:$input, I64Attr:$axis, // arg_extreme_c1
                   UnitAttr:$smallest, UnitAttr:$last);
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
}

def Train_TopIndicesOp : Train_InferredOp<"top_indices", [Generated, MakesIndices]> {
  let summary = "Indices of the k largest (or smallest) elements along a dimension";
  let description = [{
    In descending (ascending) order; equal elements are in the order of their
    positions. NaN is larger than any number, as in PyTorch. Each element is
    compared with all others of its row, so that all elements are independent.

    (C1) `axis` is a dimension of the input that has elements.
    (C2) `k` lies in [1, extent of the axis].
  }];
  let arguments = (ins Train_Tensor:$input, I64Attr:$axis, // top_indices_c1
                   I64Attr:$k, UnitAttr:$smallest);        // top_indices_c2
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_INDEXINGOPS_TD
