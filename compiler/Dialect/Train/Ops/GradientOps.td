//===- GradientOps.td - Gradients that the model takes -----*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_GRADIENTOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_GRADIENTOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_GradientOp : Train_Op<"gradient", [Pure]> {
  let summary = "The gradient of the sum of y's elements";
  let description = [{
    With respect to each of `xs`, by all ops of the block that lead from there
    to `y`; zeros where none does. A placeholder: `mpc-differentiate` puts the
    ops of the backward pass in its place, after the graph stage has made the
    forward pass what it is to be. What `xs` are, that stage leaves as it is.

    (C1) results have the types of `xs`.
    (C2) every x is an input of the function or the read of a state.

    ```mlir
    %dw = train.gradient %loss, %w : (tensor<f32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$y, Variadic<Train_FloatTensor>:$xs); // gradient_c2
  let results = (outs Variadic<Train_FloatTensor>:$gradients); // gradient_c1
  let hasVerifier = 1;
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_GRADIENTOPS_TD
