//===- Passes.td - Passes that show what a step computes ---*- tablegen -*-===//
#ifndef MPC_PASSES_DIAGNOSE_PASSES_TD
#define MPC_PASSES_DIAGNOSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ObserveValuesPass : Pass<"mpc-observe-values", "::mlir::ModuleOp"> {
  let summary = "Add a copy of the step that inspects every value";
  let description = [{
    Adds `observe`, a copy of `step` (or of `accumulate`) that writes no state and
    returns a row of numbers (`train.observe`) for each float tensor: inputs,
    states as they are read, and what ops compute. It takes what the step takes,
    in the same precision and with the same random numbers, so that run after a
    step that changed nothing it shows what happened there. Views and packs stand
    for what they are of, `amp.select_if_finite` for nothing: what it gives is finite.

    The attribute `mpc.observations` says of each row its name, its kind (input,
    state, constant, forward, backward, update), op and type of the node, the rows
    that the op `reads`, and whether it reads a constant with infinities, which
    are `meant`. `mpc.tested` are the rows that decide whether a step is made.

    A function `accumulate` returns `finite`, of its micro-batch: when an update
    is not, the inputs may be gone.

    `injectable` is for tests: the states `fault_place` and `fault_value` say
    which of the ops, in their order, gives what in place of its result.

    Needs: the stage's other passes.
    Leaves: the other functions as they are, but for `accumulate` and `train.rounding`.

    ```mlir
    %y = train.relu %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
    %row = train.observe %y : (tensor<32x64xf32>) -> tensor<80xf64>
    ```
  }];
  let dependentDialects = ["::mpc::amp::AmpDialect", "::mpc::train::TrainDialect"];
  let options = [
    Option<"injectable", "injectable", "bool", /*default=*/"false",
           "Allow states to inject faults into ops">,
  ];
}

def AddProbePass : Pass<"mpc-add-probe", "::mlir::ModuleOp"> {
  let summary = "Add a function that returns the values of a step";
  let description = [{
    The function `probe` computes what `step` (or `accumulate`) does, in the same
    types, up to the gradients of parameters, and changes no state. Its results
    are the floats that ops of the report give, as f32 and without the loss
    scale, called by the line of the op and the number of the result: "17.0". Of
    one that is long it is `length` sums of elements with random signs, and what
    is left over. A model that is not trained gets none.

    Needs: `mpc-verify-precision`; lines count as in `mpc-report-precision`.
    Leaves: the other functions as they are.
  }];
  let options = [
    Option<"length", "length", "int64_t", "4096",
           "Length of the sketch of larger values">,
  ];
  let dependentDialects = ["mpc::amp::AmpDialect", "mpc::train::TrainDialect"];
}

#endif // MPC_PASSES_DIAGNOSE_PASSES_TD
