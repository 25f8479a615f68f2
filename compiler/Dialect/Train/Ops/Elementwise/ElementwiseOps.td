//===- ElementwiseOps.td - Elementwise ops -----------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_ELEMENTWISEOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_ELEMENTWISEOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

class Train_BinaryOp<string mnemonic, string what, list<Trait> traits = []>
    : Train_InferredOp<mnemonic, !listconcat(traits, [Differentiable, Generated, RangeMethods, ElementByElement])> {
  let summary = what # ", with NumPy broadcasting";
  let description = [{
    A constant of one element is pinned: it is never rounded to 16 bit.

    (C1) the shapes broadcast.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs); // binary_c1
  let results = (outs Train_FloatTensor:$result);
  let hasFolder = 1;
  let extraClassDeclaration = compatible # pins;
}

def Train_AddOp : Train_BinaryOp<"add", "lhs + rhs", [
    ErrorPropagationMethods, Affine, DeclareOpInterfaceMethods<EpilogueOpInterface>]>;
def Train_SubOp : Train_BinaryOp<"sub", "lhs - rhs", [ErrorPropagationMethods, Affine]>;
def Train_MulOp : Train_BinaryOp<"mul", "lhs * rhs", [ErrorPropagationMethods, Affine]>;
def Train_DivOp : Train_BinaryOp<"div", "lhs / rhs", [ErrorPropagationMethods, Affine]>;

class Train_ExtremeOp<string mnemonic, string what>
    : Train_InferredOp<mnemonic, [Differentiable, Generated, RangeMethods, ElementByElement]> {
  let summary = what # ", with NumPy broadcasting; NaN if either is NaN";
  let description = [{
    Where both are equal, each gets half of the gradient.

    (C1) the shapes broadcast.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs); // binary_c1
  let results = (outs Train_FloatTensor:$result);
  let extraClassDeclaration = compatible # pins;
}

def Train_MaximumOp : Train_ExtremeOp<"maximum", "the larger of lhs and rhs">;
def Train_MinimumOp : Train_ExtremeOp<"minimum", "the smaller of lhs and rhs">;

def Train_PowOp : Train_InferredOp<"pow", [Differentiable, Generated, ElementByElement]> {
  let summary = "lhs to the power of rhs, with NumPy broadcasting";
  let description = [{
    1 where rhs is 0; NaN where lhs is below 0 and rhs is not an integer.

    The gradient with respect to lhs is 0 where rhs is 0; the gradient with
    respect to rhs is 0 where lhs is 0 and rhs is not negative, and NaN where
    lhs is below 0. PyTorch defines them in the same way.

    (C1) the shapes broadcast.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs); // binary_c1
  let results = (outs Train_FloatTensor:$result);
}

class Train_UnaryOp<string mnemonic, string what, list<Trait> traits = []>
    : Train_InferredOp<mnemonic, !listconcat(traits, [Generated, RangeMethods, ElementByElement])> {
  let summary = what;
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_FloatTensor:$result);
}

def Train_NegOp : Train_UnaryOp<"neg", "-x", [Differentiable, Affine]>;
def Train_ReluOp : Train_UnaryOp<"relu", "max(x, 0); NaN stays NaN", [Differentiable]>;
def Train_SqrtOp : Train_UnaryOp<"sqrt", "the square root; NaN below 0", [Differentiable]>;

def Train_GeluOp : Train_InferredOp<"gelu", [
    Differentiable, Generated, RangeMethods, ElementByElement, DeclareOpInterfaceMethods<EpilogueOpInterface>]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `x/2 (1 + erf(x/sqrt 2))`, or with `approximate` the tanh form
    `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`.
  }];
  let arguments = (ins Train_FloatTensor:$input, UnitAttr:$approximate);
  let results = (outs Train_FloatTensor:$result);
}

// Gradients: `grad` is the gradient at the output; the other operand has the name of
// the value of the forward op that it is. (C1) both have one shape.
class Train_UnaryGradOp<string mnemonic, string what, dag ins, list<Trait> traits = []>
    : Train_InferredOp<mnemonic, !listconcat(traits, [Differentiable, Generated, RangeMethods, ElementByElement])> {
  let summary = what;
  let arguments = ins; // unary_grad_c1
  let results = (outs Train_FloatTensor:$result);
}

def Train_ReluGradOp : Train_UnaryGradOp<"relu_grad", "grad where output > 0 or NaN, else 0",
    (ins Train_FloatTensor:$grad, Train_FloatTensor:$output)>;
// `order` as in `train.function_grad`.
def Train_GeluGradOp : Train_UnaryGradOp<"gelu_grad", "grad times the derivative of gelu at input",
    (ins Train_FloatTensor:$grad, Train_FloatTensor:$input, UnitAttr:$approximate,
         Train_Order:$order), [DeclareOpInterfaceMethods<EpilogueOpInterface>]>;

def Train_CastOp : Train_InferredOp<"cast", [Differentiable, Generated, RangeMethods, ElementByElement, MoveMethods]> {
  let summary = "ONNX Cast: convert between number types";
  let description = [{
    Neither a precision decision (`amp.cast`) nor a rounding of floats
    (`train.round_to`): a cast between float types is the identity. Float to
    integer truncates toward zero; to bool tests for non-zero. A cast between
    float types passes the gradient on; casts to and from integers have no
    gradient.

    (C1) `to` is an element type of tensors, and the result has it unless both
         are float types.
  }];
  let arguments = (ins Train_Tensor:$input, TypeAttr:$to); // cast_c1
  let results = (outs Train_Tensor:$result);
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Float types may differ from the inferred ones, shapes may not.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                        ::mlir::TypeRange actual);
    /// True between floats, and between integers other than bool.
    bool isIdentity();
    /// True if the operand is a condition: the result is 0 or 1.
    bool isBounded();
    /// True if a float becomes an integer, which may become an index.
    bool isIndexLike(unsigned index);
  }];
}

def Train_RoundToOp : Train_InferredOp<"round_to", [Differentiable, Generated, RangeMethods, ElementByElement]> {
  let summary = "ONNX Cast to a 16-bit float: round to its values, keep the element type";
  let description = [{
    The model rounds here, in every precision: to nearest, ties to even, numbers
    out of range to infinity. Its operand is pinned to f32, because rounding twice
    may give another result: the largest f16 becomes infinity if it is rounded to
    bf16 first. The precision stage decides the type in which the result is
    stored. The gradient is that of the identity.

    (C1) `to` is f16 or bf16.

    ```mlir
    %h = train.round_to %x {to = f16} : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$input, TypeAttr:$to); // round_to_c1
  let results = (outs Train_FloatTensor:$result);
  let hasFolder = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = compatible # [{
    bool isOperandPinned(unsigned index) { return true; }
    bool isIdentity() { return true; }
    /// The model itself rounds to 16 bit.
    bool isBounded() { return true; }
  }];
}

def Train_StopGradientOp : Train_InferredOp<"stop_gradient", [ElementByElement, StopsGradient, RangeMethods,
    DeclareOpInterfaceMethods<TrainingFormOpInterface, ["replaceByTrainingForm", "replaceByInferenceForm", "keepsFormInTraining"]>]> {
  let summary = "The identity, which stops gradients";
  let description = [{
    Created by `--detach`; like PyTorch's `detach()` and JAX's `stop_gradient`.
    It exists only until `mpc-differentiate` has built the gradients; entries
    that do not train replace it with its operand at the start.

    (C1) the result has the shape of the operand.

    ```mlir
    %t = train.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_FloatTensor:$result); // stop_gradient_c1
  let hasFolder = 1;
}

def Train_SelectOp : Train_InferredOp<"select", [Differentiable, Generated, RangeMethods, ElementByElement, ErrorPropagationMethods]> {
  let summary = "on_true where the condition holds, else on_false, with NumPy broadcasting";
  let description = [{
    An element that is not selected has no influence, even if it is infinite or
    NaN, and its gradient is zero: a mask of -inf before a softmax gives zeros and
    finite gradients. A constant of one element is pinned.

    (C1) the shapes broadcast.
    (C2) the choices have one element type, or are floats.
  }];
  let arguments = (ins Train_BoolTensor:$condition, Train_Tensor:$on_true, Train_Tensor:$on_false); // select_c1, select_c2
  let results = (outs Train_Tensor:$result);
  let hasFolder = 1;
  let extraClassDeclaration = compatible # pins;
}

def ComparisonEqual : I32EnumAttrCase<"Equal", 0, "equal">;
def ComparisonLess : I32EnumAttrCase<"Less", 1, "less">;
def ComparisonLessOrEqual : I32EnumAttrCase<"LessOrEqual", 2, "less_or_equal">;
def Train_Comparison : I32EnumAttr<"Comparison", "how two numbers are compared",
    [ComparisonEqual, ComparisonLess, ComparisonLessOrEqual]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_ComparisonAttr : EnumAttr<Train_Dialect, Train_Comparison, "comparison">;

def Train_CompareOp : Train_InferredOp<"compare", [Generated, ElementByElement]> {
  let summary = "Compare two numbers (lhs < rhs, lhs <= rhs or lhs == rhs), with NumPy broadcasting";
  let description = [{
    False if either is NaN. Float operands are pinned: they are never rounded to
    16 bit before. There is no gradient.

    (C1) the shapes broadcast.
    (C2) both sides have one element type, or are floats.
    (C3) bools are compared only for equality.
  }];
  let arguments = (ins Train_Tensor:$lhs, Train_Tensor:$rhs, Train_ComparisonAttr:$comparison); // compare_c1, compare_c2, compare_c3
  let results = (outs Train_BoolTensor:$result);
  let hasVerifier = 1;
}

class Train_LogicOp<string mnemonic, string what>
    : Train_InferredOp<mnemonic, [Generated, ElementByElement]> {
  let summary = what # ", with NumPy broadcasting";
  let arguments = (ins Train_BoolTensor:$lhs, Train_BoolTensor:$rhs);
  let results = (outs Train_BoolTensor:$result);
}

def Train_AndOp : Train_LogicOp<"and", "lhs and rhs">;
def Train_OrOp : Train_LogicOp<"or", "lhs or rhs">;
def Train_XorOp : Train_LogicOp<"xor", "lhs or rhs, but not both">;

def Train_NotOp : Train_InferredOp<"not", [Generated, ElementByElement]> {
  let summary = "True where the operand is false";
  let arguments = (ins Train_BoolTensor:$input);
  let results = (outs Train_BoolTensor:$result);
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_ELEMENTWISEOPS_TD
