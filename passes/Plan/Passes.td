//===- Passes.td - Passes that plan memory -----------------*- tablegen -*-===//
#ifndef MPC_PASSES_PLAN_PASSES_TD
#define MPC_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"
include "passes/Options/DeviceOption.td"

def PlanMemoryPass : Pass<"mpc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Assign memory to every value and turn functions into programs";
  let description = [{
    States get offsets in the state memory. Every other value gets a region of
    the arena for as long as it is needed; regions share memory. Views and
    `train.unpack` cost nothing, `train.pack` lets its operands be made in
    place, and a new value of a state is made in the state itself where nothing
    reads the old one afterwards.

    Needs: kernels formed (`mpc-fuse-kernels`).
    Leaves: `exec.entry` instead of functions; module attributes
    `exec.state_size`, `exec.arena_size`, `exec.arena_unshared_size`;
    `exec.offset` on every state.
  }];
  let dependentDialects = ["::mpc::exec::ExecDialect"];
  let options = [
    DeviceOption,
  ];
}

def VerifyPlanPass : Pass<"mpc-verify-plan", "::mlir::ModuleOp"> {
  let summary = "Prove that the memory plan is correct";
  let description = [{
    The module holds states, entries and kernels. Every buffer lies inside its
    memory, and each launch gives its kernel buffers of the right sizes, on a GPU
    at multiples of 16 bytes.
  }];
}

def ReportKernelsPass : Pass<"mpc-report-kernels", "::mlir::ModuleOp"> {
  let summary = "Report generated kernels and transposes";
  let description = [{
    Counts the instructions of each entry point, the bytes of floats that they
    read and write, the launches of each generated kernel in it, what is in use
    of the arena at each instruction, and the transposes that joined no other
    kernel, with the bytes that they read and write. Their origin is `layout`
    for what `mpc-use-channels-last` put in, and `model` for nodes Transpose and
    their gradients.

    Needs: `exec.entry` (`mpc-plan-memory`), kernels still in linalg.
    Leaves: the same program, and the module attribute `mpc.kernel_report`, JSON
    as compiler/Support/Report.h describes.
  }];
}

#endif // MPC_PASSES_PLAN_PASSES_TD
