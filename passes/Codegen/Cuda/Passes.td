//===- Passes.td - Passes that generate code for GPUs ------*- tablegen -*-===//
#ifndef MPC_PASSES_CODEGEN_CUDA_PASSES_TD
#define MPC_PASSES_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitGpuKernelsPass : Pass<"mpc-emit-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels of linalg ops into code for one GPU thread";
  let description = [{
    Every function with the attribute `mpc.kernel` becomes the code of one
    thread of a grid (compiler/Analysis/GpuSchedule.h), with NVVM operations
    where threads cooperate. Its parameters are the addresses of the operands.

    Needs: kernels as `mpc-fuse-kernels` makes them for a GPU; calls already
    planned (`mpc-plan-memory`), because the signature changes.
    Leaves: NVVM kernels without linalg and without tensors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::mlir::math::MathDialect"];
}

def LowerGpuKernelsPass : Pass<"mpc-lower-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Lower emitted GPU kernels to the LLVM dialect";
  let description = [{
    Math functions become polynomials or GPU instructions, because no math
    library is linked; on f64 these are exp, log, sin and cos. Rounding to FP8
    is one instruction for two elements from sm_89 on, and integer arithmetic
    before.

    With `simulate`, thread indices, shuffles, barriers and shared memory become
    calls to test/device_sim/abi.h, and a kernel takes one argument, the array
    of parameter addresses of a launch, so that the host can run it.

    Needs: `mpc-emit-gpu-kernels`.
    Leaves: kernels in the LLVM dialect and, unless simulated, the NVVM dialect.
  }];
  let options = [
    Option<"simulate", "simulate", "bool", /*default=*/"false",
           "Lower for the simulator on the host instead of PTX">,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "GPU architecture and all older ones, separated by commas">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::mlir::math::MathDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

#endif // MPC_PASSES_CODEGEN_CUDA_PASSES_TD
