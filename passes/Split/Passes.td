//===- Passes.td - Splitting a step ------------------------*- tablegen -*-===//
#ifndef MPC_PASSES_SPLIT_PASSES_TD
#define MPC_PASSES_SPLIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitStepPass : Pass<"mpc-split-step", "::mlir::ModuleOp"> {
  let summary = "Split a step whose loss the caller computes into forward and backward";
  let description = [{
    In a module with `mpc.external_loss`, `step` returns the outputs of the model
    and takes their gradients. It becomes two entry points: `forward` computes the
    outputs and all states that do not depend on gradients (running statistics,
    counters); `backward` takes the gradients of the outputs, and computes those of
    parameters and inputs and all other states.

    Values of `forward` that `backward` reads are kept in states of the role
    `residual`. `backward` reads weights and constants again, makes views, moves and
    casts of what is kept again, and computes itself what only it needs.

    Needs: final element types. Leaves: bitwise identical values; no `step`.

    ```mlir
    func.func @forward(%x: ...) -> (tensor<8x4xf32> {mpc.name = "y"}) {
      ...
      train.write @"residual/0", %h : tensor<8x16xf32>
      return %y : tensor<8x4xf32>
    }
    func.func @backward(%dy: tensor<8x4xf32> {mpc.name = "gradient:y"})
        -> (tensor<16x4xf32> {mpc.name = "gradient:w"}) {
      %h = train.read @"residual/0" : tensor<8x16xf32>
      ...
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

#endif // MPC_PASSES_SPLIT_PASSES_TD
