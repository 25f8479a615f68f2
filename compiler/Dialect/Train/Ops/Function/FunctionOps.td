//===- FunctionOps.td - Unary functions --------------------*- tablegen -*-===//
//
// Each op is one line here; its formula, derivative, class and cost are a row of
// Functions.cpp. Derivatives at kinks are those of PyTorch.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_FUNCTIONOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_FUNCTIONOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

class Train_FunctionOp<string mnemonic, string what, dag parameters = (ins)>
    : Train_InferredOp<mnemonic, [Differentiable, Generated, RangeMethods, ElementByElement]> {
  let summary = what;
  let arguments = !con((ins Train_FloatTensor:$input), parameters);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDeclaration = compatible # "bool isBounded();";
  let extraClassDefinition = [{
    MPC_INFER($cppClass, inferSame)
    ::mpc::amp::PrecisionClass $cppClass::getPrecisionClass(::mlir::FloatType) {
      return findFunction(getOperationName()).precision;
    }
    ::llvm::StringRef $cppClass::getPrecisionReason(::mlir::FloatType) {
      return findFunction(getOperationName()).reason;
    }
    bool $cppClass::isBounded() {
      return findFunction(getOperationName()).isBounded;
    }
    void $cppClass::inferRanges(
        ::llvm::ArrayRef<::mpc::amp::NumberRange> operands,
        ::llvm::MutableArrayRef<::mpc::amp::NumberRange> results) {
      results[0] = rangeOfFunction(*this, operands[0]);
    }
    int64_t $cppClass::getFlops() {
      return findFunction(getOperationName()).flops * getType().getNumElements();
    }
    ::llvm::LogicalResult $cppClass::buildGradient(
        ::mlir::OpBuilder &builder, ::mlir::ValueRange resultGrads,
        ::llvm::ArrayRef<bool> needed,
        ::llvm::MutableArrayRef<::mlir::Value> operandGrads) {
      if (needed[0])
        operandGrads[0] = buildFunctionGradient(*this, builder, resultGrads[0]);
      return ::mlir::success();
    }
    ::llvm::LogicalResult $cppClass::lowerToLinalg(
        ::mlir::OpBuilder &builder,
        ::llvm::SmallVectorImpl<::mlir::Value> &results) {
      results.push_back(lowerFunction(*this, builder));
      return ::mlir::success();
    }
  }];
}

// Exponential, logarithm, trigonometric and hyperbolic functions.
def Train_ExpOp : Train_FunctionOp<"exp", "e^x">;
def Train_LogOp : Train_FunctionOp<"log", "the natural logarithm; -inf at 0, NaN below">;
def Train_SinOp : Train_FunctionOp<"sin", "the sine of an angle in radians">;
def Train_CosOp : Train_FunctionOp<"cos", "the cosine of an angle in radians">;
def Train_TanOp : Train_FunctionOp<"tan", "the tangent of an angle in radians">;
def Train_AsinOp : Train_FunctionOp<"asin", "the angle whose sine is x; NaN beyond -1 and 1">;
def Train_AcosOp : Train_FunctionOp<"acos", "the angle whose cosine is x; NaN beyond -1 and 1">;
def Train_AtanOp : Train_FunctionOp<"atan", "the angle whose tangent is x">;
def Train_SinhOp : Train_FunctionOp<"sinh", "(e^x - e^-x) / 2">;
def Train_CoshOp : Train_FunctionOp<"cosh", "(e^x + e^-x) / 2">;
def Train_AsinhOp : Train_FunctionOp<"asinh", "the inverse of sinh">;
def Train_AcoshOp : Train_FunctionOp<"acosh", "the inverse of cosh; NaN below 1">;
def Train_AtanhOp : Train_FunctionOp<"atanh", "the inverse of tanh; NaN beyond -1 and 1">;
def Train_ErfOp : Train_FunctionOp<"erf", "the error function">;

// Absolute value, sign, rounding, bounds.
def Train_AbsOp : Train_FunctionOp<"abs", "|x|; derivative 0 at 0">;
def Train_SignOp : Train_FunctionOp<"sign", "-1, 0 or 1; derivative 0">;
def Train_FloorOp : Train_FunctionOp<"floor", "the largest integer not above x; derivative 0">;
def Train_CeilOp : Train_FunctionOp<"ceil", "the smallest integer not below x; derivative 0">;
def Train_RoundOp : Train_FunctionOp<"round", "the nearest integer, ties to even; derivative 0">;
def Train_ClipOp : Train_FunctionOp<"clip",
    "x, at least `low` and at most `high`; derivative 1 from `low` to `high`, bounds included, except for ReLU6 (0 and 6)",
    (ins F64Attr:$low, F64Attr:$high)>;

// Activations.
def Train_TanhOp : Train_FunctionOp<"tanh", "the hyperbolic tangent">;
def Train_SigmoidOp : Train_FunctionOp<"sigmoid", "1 / (1 + e^-x)">;
def Train_SoftsignOp : Train_FunctionOp<"softsign", "x / (1 + |x|)">;
def Train_SiluOp : Train_FunctionOp<"silu", "x sigmoid(alpha x), also called swish", (ins F64Attr:$alpha)>;
def Train_MishOp : Train_FunctionOp<"mish", "x tanh(softplus(x))">;
def Train_SoftplusOp : Train_FunctionOp<"softplus", "log(1 + e^x)">;
def Train_EluOp : Train_FunctionOp<"elu",
    "ELU, SELU and CELU: scale x above 0, else scale alpha (e^(x / width) - 1), which also gives the derivative at 0",
    (ins F64Attr:$alpha, F64Attr:$scale, F64Attr:$width)>;
def Train_LeakyReluOp : Train_FunctionOp<"leaky_relu", "x above 0, alpha x else", (ins F64Attr:$alpha)>;
def Train_ThresholdedReluOp : Train_FunctionOp<"thresholded_relu", "x above alpha, 0 else", (ins F64Attr:$alpha)>;
def Train_HardSigmoidOp : Train_FunctionOp<"hard_sigmoid",
    "alpha x + beta, at least 0 and at most 1; derivative 0 at both", (ins F64Attr:$alpha, F64Attr:$beta)>;
def Train_HardSwishOp : Train_FunctionOp<"hard_swish", "x hard_sigmoid(x) with alpha 1/6 and beta 1/2">;
def Train_ShrinkOp : Train_FunctionOp<"shrink",
    "x - bias above lambda, x + bias below -lambda, 0 between", (ins F64Attr:$bias, F64Attr:$lambda)>;

def Train_FunctionGradOp : Train_InferredOp<"function_grad", [Differentiable, Generated, ElementByElement]> {
  let summary = "grad times the derivative of a function";
  let description = [{
    The gradient of the ops above, such as `train.silu`. `saved` is the input of
    the function, or its output if the derivative is computed from that;
    `parameters` are the function's attributes in the order of their names. An op
    of order n above 1 is the derivative of the op of order n - 1 with respect to
    `saved`, for gradients of gradients.

    (C1) `function` is the name of such an op, which has a derivative.
    (C2) the function has as many attributes as there are parameters.
    (C3) the operands have one shape.

    ```mlir
    %dx = train.function_grad %g, %x {function = "silu", parameters = array<f64: 1.0>}
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$saved,
      StrAttr:$function, DenseF64ArrayAttr:$parameters, // function_grad_c1, function_grad_c2, function_grad_c3
      Train_Order:$order);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_FUNCTIONOPS_TD
