//===- GradientOps.td - Gradients inside of models ---------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_GRADIENTOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_GRADIENTOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_GradientOp : Train_Op<"gradient", [Pure]> {
  let summary = "The gradient of the sum of y's elements";
  let description = [{
    The gradient with respect to each of `xs`, through all ops of the block
    between it and `y`; zeros if there are none. This is a placeholder:
    `mpc-differentiate` replaces it with the ops of the backward pass, after the
    graph stage has transformed the forward pass. The graph stage does not
    change `xs`.

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
