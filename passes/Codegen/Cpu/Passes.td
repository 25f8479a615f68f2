//===- Passes.td - Passes that generate code for CPUs ------*- tablegen -*-===//
#ifndef MPC_PASSES_CODEGEN_CPU_PASSES_TD
#define MPC_PASSES_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitKernelsPass : Pass<"mpc-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels of linalg ops into loops over vectors";
  let description = [{
    Every function with the attribute `mpc.kernel` gets the signature of
    generated kernels, `(operands: !llvm.ptr, begin: i64, end: i64)`, and a body
    of loops, vectors and LLVM loads and stores.

    Needs: kernels as `mpc-fuse-kernels` makes them; calls already planned
    (`mpc-plan-memory`), because the signature changes.
    Leaves: kernels without linalg and without tensors.
  }];
  let options = [
    Option<"lanes", "lanes", "unsigned", /*default=*/"::mpc::kVectorLanes",
           "Elements of the widest vector, a power of two">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect"];
}

def ShareKernelsPass : Pass<"mpc-share-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile kernels that differ only in integer constants once";
  let description = [{
    Deep models have thousands of kernels that differ only in extents and
    strides. The code of at least `minimum` similar kernels moves to one function
    that takes the differing constants as arguments, and the kernels call it. In
    a module with at least `many` kernels, two suffice. Divisors stay constants,
    except where they cost little beside the sums of the same item. The order of
    all computations is unchanged.

    Needs: `mpc-emit-kernels`.
    Leaves: a private function for each set of similar kernels.

    ```mlir
    func.func private @kernel_7(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {mpc.kernel} {
      %0 = arith.constant 96 : i64
      call @shared_kernel(%operands, %begin, %end, %0) : (!llvm.ptr, i64, i64, i64) -> ()
      return
    }
    ```
  }];
  let options = [
    Option<"minimum", "minimum", "unsigned", /*default=*/"4",
           "Number of similar kernels from which on they share code">,
    Option<"many", "many", "unsigned", /*default=*/"500",
           "Number of kernels from which on any two similar ones share code">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerKernelsPass : Pass<"mpc-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Lower emitted kernels to the LLVM dialect";
  let description = [{
    Replaces exp, log, erf, tanh, atan, sin and cos on f32 by polynomials on
    vectors, and on f64, which only gradient checks use, by calls to libm. FP8
    values become integers, and so do bf16 values where the CPU has no bf16
    instructions.

    Needs: `mpc-emit-kernels`.
    Leaves: kernels in the LLVM dialect only.
  }];
  let options = [
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "CPU features as LLVM names them, separated by commas">,
    Option<"libm", "libm", "bool", /*default=*/"false",
           "Also call libm for f32 functions, one element at a time">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect", "::mlir::cf::ControlFlowDialect"];
}

#endif // MPC_PASSES_CODEGEN_CPU_PASSES_TD
