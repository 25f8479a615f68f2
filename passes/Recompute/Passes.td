//===- Passes.td - Passes that recompute -------------------*- tablegen -*-===//
#ifndef MPC_PASSES_RECOMPUTE_PASSES_TD
#define MPC_PASSES_RECOMPUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecomputePass : Pass<"mpc-recompute", "::mlir::ModuleOp"> {
  let summary = "Recompute forward ops in the backward pass instead of saving their results";
  let description = [{
    What the forward pass makes and the backward pass reads is kept in between.
    A minimum cut over the bytes chooses what to keep of it; the rest is made
    again, right before it is read, from copies of its ops. What they read of
    the forward pass they read by `train.remat_barrier`, so that nothing merges them
    with what they are copies of. They are marked `mpc.recomputed`.

    `selective` runs cheap ops again, never products, convolutions and
    attention. `full` keeps single values between which the model falls apart,
    the inputs of its blocks, and runs all else again, block by block. A budget
    takes as much of `selective`, then of `full`, as it needs, from the first op
    on: what the first ops made is kept longest.

    Options: group Recompute of passes/Options/Options.def.

    ```mlir
    %y = train.gelu %x : (tensor<8xf32>) -> tensor<8xf32>
    ...
    %dw = train.matmul %y, %g : ...
    // becomes
    %0 = train.remat_barrier %x after %loss_grad : tensor<8xf32> after tensor<4xf32>
    %1 = train.gelu %0 {mpc.recomputed} : (tensor<8xf32>) -> tensor<8xf32>
    %dw = train.matmul %1, %g : ...
    ```

    Needs: final element types, and the constant marked `mpc.loss_seed`.
    Leaves: the same values, bit for bit, and the module attribute
    `mpc.recompute_report`, JSON as compiler/Support/Report.h describes.
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def VerifyRecomputePass : Pass<"mpc-verify-recompute", "::mlir::ModuleOp"> {
  let summary = "Verify that recomputed ops reproduce the original values";
  let description = [{
    Each op marked `mpc.recomputed` has no side effect and has a twin in the
    forward pass: the same op with the same attributes and types, on the values
    of which its own operands are behind barriers or recomputed. None of its operands
    but constants is read without `train.remat_barrier`, and what that waits for is
    made by the backward pass.
  }];
}

#endif // MPC_PASSES_RECOMPUTE_PASSES_TD
