//===- Passes.td - Passes for diagnosing a step ------------*- tablegen -*-===//
#ifndef MPC_PASSES_DIAGNOSE_PASSES_TD
#define MPC_PASSES_DIAGNOSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ObserveValuesPass : Pass<"mpc-observe-values", "::mlir::ModuleOp"> {
  let summary = "Add a copy of the step that inspects every value";
  let description = [{
    Adds `observe`, a copy of `step` (or of `accumulate`) that writes no state
    and returns a row of numbers (`train.observe`) for each float tensor:
    inputs, states as they are read, and results of ops. It takes the inputs of
    the step and computes in the same precision with the same random numbers, so
    running it after a step that changed nothing shows what happened in that
    step. Views and packs share the rows of the tensors they show;
    `amp.select_if_finite` gets no row because its result is always finite.

    The attribute `mpc.observations` gives for each row its name, its kind
    (input, state, constant, forward, backward, update), op and type of the
    node, the rows that the op `reads`, and `meant` if it reads a constant with
    infinities, which are intended. `mpc.tested` lists the rows that decide
    whether a step is applied.

    `accumulate` additionally returns `finite` for its micro-batch: by the time
    an update turns out not to be finite, the inputs may be gone.

    `injectable` is for tests: the state `fault_place` selects an op by its
    number, and that op gives `fault_value` in place of its result.

    Needs: the stage's other passes.
    Leaves: the other functions as they are, except for `accumulate` and
    `train.rounding`.

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
    The function `probe` computes what `step` (or `accumulate`) does, in the
    same types, up to the gradients of parameters, and changes no state. It
    returns the float results of the ops in the report, as f32 and without the
    loss scale, named by report line and result number: "17.0". A long value is
    replaced by a sketch: `length` sums of elements with random signs, plus the
    remainder. A model that is not trained gets no `probe`.

    Needs: `mpc-verify-precision`; lines are numbered as in
    `mpc-report-precision`.
    Leaves: the other functions as they are.
  }];
  let options = [
    Option<"length", "length", "int64_t", "4096",
           "Number of elements in the sketch of a larger value">,
  ];
  let dependentDialects = ["mpc::amp::AmpDialect", "mpc::train::TrainDialect"];
}

#endif // MPC_PASSES_DIAGNOSE_PASSES_TD
