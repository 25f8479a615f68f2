//===- Passes.td - Recomputation passes --------------------*- tablegen -*-===//
#ifndef MPC_PASSES_RECOMPUTE_PASSES_TD
#define MPC_PASSES_RECOMPUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecomputePass : Pass<"mpc-recompute", "::mlir::ModuleOp"> {
  let summary = "Recompute forward ops in the backward pass instead of saving their results";
  let description = [{
    Values that the forward pass computes and the backward pass reads must stay
    in memory in between. A minimum cut over their bytes chooses which values to
    keep; the others are recomputed right before they are read, by copies of
    their ops. The copies read forward values through `train.remat_barrier`, so
    that CSE does not merge them with the originals. They are marked
    `mpc.recomputed`.

    `selective` recomputes cheap ops only, never products, convolutions or
    attention. `full` keeps only checkpoints, single values at which the model
    falls into blocks, and recomputes everything else block by block. A budget
    applies as much of `selective`, then of `full`, as it needs, starting from
    the first op, because the results of the first ops are kept longest.

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

    Needs: final element types; the constant marked `mpc.loss_seed`.
    Leaves: bitwise identical values, and the module attribute
    `mpc.recompute_report`, JSON as described in compiler/Support/Report.h.
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def VerifyRecomputePass : Pass<"mpc-verify-recompute", "::mlir::ModuleOp"> {
  let summary = "Verify that recomputed ops reproduce the original values";
  let description = [{
    Each op marked `mpc.recomputed` has no side effect and has a twin in the
    forward pass: the same op with the same attributes and types, whose operands
    are the originals of its own operands. It reads forward values other than
    constants only through `train.remat_barrier`, and the value that the barrier
    waits for is computed by the backward pass.
  }];
}

#endif // MPC_PASSES_RECOMPUTE_PASSES_TD
