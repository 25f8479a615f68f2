//===- Passes.td - Plan passes -----------------------------*- tablegen -*-===//
#ifndef MPC_PASSES_PLAN_PASSES_TD
#define MPC_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"
include "passes/Options/DeviceOption.td"

def PlanMemoryPass : Pass<"mpc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Assign memory to every value and turn functions into programs";
  let description = [{
    States get offsets in the state memory. Every other value gets a region of
    the arena for as long as it is needed; values that are not needed at the
    same time share memory. Views and `train.unpack` cost nothing, operands of
    `train.pack` are computed in place where possible, and the new value of a
    state is computed in the state itself if nothing reads the old one
    afterwards.

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
    The module holds only states, entry points and kernels. Every buffer lies
    inside its memory, each launch gives its kernel buffers of the right sizes,
    on a GPU at multiples of 16 bytes, and no instruction overwrites a value
    that is still needed (passes/Plan/MemoryProof.h).
  }];
}

def ReportKernelsPass : Pass<"mpc-report-kernels", "::mlir::ModuleOp"> {
  let summary = "Report generated kernels and transposes";
  let description = [{
    Reports, for each entry point, the number of instructions, the bytes of
    floats that they read and write, the launches of each generated kernel, the
    arena bytes in use at each instruction, and the transposes that were not
    fused into another kernel, with the bytes that they read and write. The
    origin of a transpose is `layout` if `mpc-use-channels-last` inserted it,
    and `model` if it comes from a node that moves elements, such as Transpose,
    or from its gradient.

    Needs: `exec.entry` (`mpc-plan-memory`), kernels still in linalg.
    Leaves: the same program, and the module attribute `mpc.kernel_report`, JSON
    as described in compiler/Support/Report.h.
  }];
}

#endif // MPC_PASSES_PLAN_PASSES_TD
