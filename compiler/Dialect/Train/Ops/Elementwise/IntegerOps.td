//===- IntegerOps.td - Integer arithmetic ------------------*- tablegen -*-===//
//
// Positions, lengths, masks and labels that a model computes from its inputs.
// Integers wrap around; there are no gradients.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_INTEGEROPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_INTEGEROPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_IntegerOperation : I32EnumAttr<"IntegerOperation", "what is done with two integers", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">,
    I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Div", 3, "div">,
    I32EnumAttrCase<"Mod", 4, "mod">, I32EnumAttrCase<"Rem", 5, "rem">,
    I32EnumAttrCase<"Max", 6, "max">, I32EnumAttrCase<"Min", 7, "min">,
    I32EnumAttrCase<"And", 8, "and">, I32EnumAttrCase<"Or", 9, "or">,
    I32EnumAttrCase<"Xor", 10, "xor">]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_IntegerOperationAttr : EnumAttr<Train_Dialect, Train_IntegerOperation, "integer_operation">;

def Train_IntegerOp : Train_InferredOp<"integer", [Generated, ElementByElement]> {
  let summary = "Arithmetic of two integers, with NumPy broadcasting";
  let description = [{
    `div` rounds toward zero; `rem` has the sign of lhs, `mod` that of rhs.
    Division by zero gives 0.

    (C1) the shapes broadcast.
    (C2) both sides have one element type.
  }];
  let arguments = (ins Train_IntTensor:$lhs, Train_IntTensor:$rhs, // integer_c1
                   Train_IntegerOperationAttr:$kind);              // integer_c2
  let results = (outs Train_IntTensor:$result);
}

def Train_ReduceByOp : Train_InferredOp<"reduce_by", [Differentiable, Generated, ReductionMethods]> {
  let summary = "Reduction of integers, or a product of floats, over dimensions";
  let description = [{
    `kind` is add, mul, max or min. The gradient of a product with respect to an
    element is the product of the others, also if elements are 0.

    (C1) `axes` are distinct, sorted dimensions of the input.
    (C2) `kind` is one of those above, and mul for floats.
  }];
  let arguments = (ins AnyTypeOf<[Train_FloatTensor, Train_IntTensor]>:$input,
                   DenseI64ArrayAttr:$axes, UnitAttr:$keepdims, // reduce_by_c1
                   Train_IntegerOperationAttr:$kind);           // reduce_by_c2
  let results = (outs AnyTypeOf<[Train_FloatTensor, Train_IntTensor]>:$result);
}

def Train_ProductOfOthersOp : Train_InferredOp<"product_of_others", [Generated]> {
  let summary = "For each element, the product of the other elements over dimensions";
  let description = "(C1) `axes` are distinct, sorted dimensions of the input.";
  let arguments = (ins Train_FloatTensor:$input, DenseI64ArrayAttr:$axes); // product_of_others_c1
  let results = (outs Train_FloatTensor:$result);
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_INTEGEROPS_TD
