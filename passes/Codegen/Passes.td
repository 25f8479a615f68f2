//===- Passes.td - Passes that generate code ---------------*- tablegen -*-===//
#ifndef MPC_PASSES_CODEGEN_PASSES_TD
#define MPC_PASSES_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitKernelsPass : Pass<"mpc-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels of linalg ops into loops over vectors";
  let description = [{
    Every function with the attribute `mpc.kernel` gets the signature of
    generated code, `(operands: !llvm.ptr, begin: i64, end: i64)`, and a body
    of loops, vectors and LLVM loads and stores.

    Needs: kernels as `mpc-fuse-kernels` makes them; calls already planned
    (`mpc-plan-memory`), for the signature changes.
    Leaves: kernels without linalg and without tensors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect"];
}

def LowerKernelsPass : Pass<"mpc-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Lower emitted kernels to the LLVM dialect";
  let description = [{
    exp, exp2, log, tanh and erf on f32 become polynomials on vectors; on f64,
    which only gradient checks use, calls of libm. bf16 becomes integers where
    the CPU has no instructions for it.

    Needs: `mpc-emit-kernels`.
    Leaves: kernels in the LLVM dialect alone.
  }];
  let options = [
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "What the CPU has, in LLVM's names, with commas">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect", "::mlir::cf::ControlFlowDialect"];
}

def EmitGpuKernelsPass : Pass<"mpc-emit-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels of linalg ops into the code of a thread";
  let description = [{
    Every function with the attribute `mpc.kernel` becomes what one thread of a
    grid does (compiler/Analysis/GpuSchedule.h), with NVVM operations where it
    needs others. Its parameters are the addresses of the operands.

    Needs: kernels as `mpc-fuse-kernels` makes them for a GPU; calls already
    planned (`mpc-plan-memory`), for the signature changes.
    Leaves: NVVM kernels without linalg and without tensors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::mlir::math::MathDialect"];
}

def LowerGpuKernelsPass : Pass<"mpc-lower-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Lower emitted GPU kernels to the LLVM dialect";
  let description = [{
    Functions become polynomials or instructions of the GPU: there is no library
    behind. Of f64 there is exp alone. Rounding to FP8 is an instruction for two
    elements from sm_89 on, integer arithmetic before.

    With `simulate`, threads, shuffles, barriers and shared memory become calls
    of test/device_sim/abi.h, and a kernel takes the array of addresses of its
    parameters that a launch is given: the host can run it.

    Needs: `mpc-emit-gpu-kernels`.
    Leaves: kernels in the LLVM dialect, with NVVM's unless they are simulated.
  }];
  let options = [
    Option<"simulate", "simulate", "bool", /*default=*/"false",
           "Write kernels for the host simulator">,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "What the GPU has: its architecture and all before it, with commas">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::mlir::math::MathDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

#endif // MPC_PASSES_CODEGEN_PASSES_TD
