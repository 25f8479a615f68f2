//===- ShapeOps.td - Shape and order of elements -----------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_SHAPEOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_SHAPEOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

// Ops whose result shape is given by the type, not by attributes.
class Train_ShapeOp<string mnemonic, list<Trait> traits = []>
    : Train_Op<mnemonic, !listconcat(traits, [
        Pure, DeclareOpInterfaceMethods<PrecisionOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface>])>;

def Train_ReshapeOp : Train_ShapeOp<"reshape", [
    Differentiable, Generated, RangeMethods, MoveMethods, ViewOpInterface]> {
  let summary = "The same elements in row-major order in another shape";
  let description = [{
    Flatten, Squeeze and Unsqueeze are reshapes. Lowers to a view.

    (C1) operand and result have equally many elements of one type.
  }];
  let arguments = (ins Train_Tensor:$input); // reshape_c1
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = "bool isIdentity() { return true; }";
}

def Train_TransposeOp : Train_InferredOp<"transpose", [Differentiable, Generated, RangeMethods, MoveMethods]> {
  let summary = "Permute dimensions";
  let description = [{
    Dimension `i` of the result is dimension `permutation[i]` of the operand.

    (C1) `permutation` is a permutation of the dimensions.
  }];
  let arguments = (ins Train_Tensor:$input, DenseI64ArrayAttr:$permutation); // transpose_c1
  let results = (outs Train_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Train_BroadcastToOp : Train_ShapeOp<"broadcast_to", [Differentiable, Generated, RangeMethods, MoveMethods]> {
  let summary = "Repeat along dimensions, with NumPy broadcasting";
  let description = [{
    (C1) the operand's shape broadcasts to the result's.
  }];
  let arguments = (ins Train_Tensor:$input); // broadcast_to_c1
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Train_ConcatOp : Train_InferredOp<"concat", [
    Differentiable, Generated, RangeMethods, MoveMethods, JoinMethods]> {
  let summary = "Join tensors along one dimension";
  let description = [{
    (C1) there is an operand, and `axis` lies in [0, rank).
    (C2) the other extents agree; all elements are floats or of one type.
  }];
  let arguments = (ins Variadic<Train_Tensor>:$inputs, I64Attr:$axis); // concat_c1, concat_c2
  let results = (outs Train_Tensor:$result);
  let hasFolder = 1;
}

def Train_SliceOp : Train_ShapeOp<"slice", [
    Differentiable, Generated, RangeMethods, MoveMethods, SplitMethods]> {
  let summary = "A box of consecutive elements";
  let description = [{
    The gradient is zero outside the box. Several disjoint slices along one
    dimension of a tensor become a `train.split`, whose gradient is a single
    concatenation.

    (C1) `offsets` has one entry per dimension; the box of the result's shape
         lies inside the operand.
  }];
  let arguments = (ins Train_Tensor:$input, DenseI64ArrayAttr:$offsets); // slice_c1
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Train_SplitOp : Train_InferredOp<"split", [
    Differentiable, Generated, RangeMethods, MoveMethods, SplitMethods]> {
  let summary = "Split a tensor along one dimension";
  let description = [{
    Result `i` has `sizes[i]` of the positions of dimension `axis`; together
    they cover the dimension. The gradient is the concatenation of the gradients
    of the parts. An unused part costs nothing.

    (C1) `axis` lies in [0, rank); `sizes` are positive and add up to the
         extent of that dimension.

    ```mlir
    %q, %k, %v = train.split %x {axis = 1 : i64, sizes = array<i64: 8, 4, 4>}
      : (tensor<2x16xf32>) -> (tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    ```
  }];
  let arguments = (ins Train_Tensor:$input, I64Attr:$axis, DenseI64ArrayAttr:$sizes); // split_c1
  let results = (outs Variadic<Train_Tensor>:$parts);
  let hasCanonicalizer = 1;
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_SHAPEOPS_TD
