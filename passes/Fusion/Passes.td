//===- Passes.td - Passes that form kernels ----------------*- tablegen -*-===//
#ifndef MPC_PASSES_FUSION_PASSES_TD
#define MPC_PASSES_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"
include "passes/Options/DeviceOption.td"

def LegalizeKernelTypesPass : Pass<"mpc-legalize-kernel-types", "::mlir::ModuleOp"> {
  let summary = "Restrict catalog kernels to element types that the device computes in";
  let description = [{
    A contraction or pooling on a type that `kernels/catalog.def` does not list
    for the target (bf16 on GPUs before sm_80) gets its operands widened to f32,
    exactly, and its result rounded back. Storage keeps its 16 bits. The
    conversions fuse into the kernels around. On a CPU every type is listed:
    kernels widen what the CPU does not compute in, strip by strip.

    FP8 operands become bf16, which holds them, where the device does not
    multiply them (CPUs; GPUs before sm_89). Where it does, those that do not
    lie along the sum are transposed, and the product and `amp.dequantize`
    become one `train.scaled_matmul`. Its factors are reciprocals of scales,
    those of one state made by one kernel. Products that may be TF32 are f32
    where the device does not have it.

    ```mlir
    %c = train.matmul %a, %b : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
    // becomes cast, cast, matmul in f32, cast

    %p = train.matmul %qx, %qw {transpose_rhs} : (tensor<64x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>) -> tensor<64x16xbf16>
    %y = amp.dequantize %p by %sx, %sw : tensor<64x16xbf16>
    // becomes
    %fx = train.div %one, %sx : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %fw = train.div %one, %sw : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %y = train.scaled_matmul %qx, %qw, %fx, %fw {transpose_rhs} : (...) -> tensor<64x16xbf16>
    ```
  }];
  let dependentDialects = ["::mpc::amp::AmpDialect"];
  let options = [
    DeviceOption,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "CPU features or architectures of the target, separated by commas">,
  ];
}

def DeriveTransposesPass : Pass<"mpc-derive-transposes", "::mlir::ModuleOp"> {
  let summary = "Transpose 8-bit weights once for all micro-batches";
  let description = [{
    Where @accumulate transposes what @derive makes of weights, @derive does it
    and writes the result to one more state of kind `derived`. Without @derive
    nothing changes.

    Needs: `mpc-hoist-weight-quantization`, `mpc-legalize-kernel-types`, which transposes.

    ```mlir
    train.state @fp8.turned_weights derived : tensor<2048xf8E4M3FN>
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def FoldSlicesToViewsPass : Pass<"mpc-fold-slices-to-views", "::mlir::func::FuncOp"> {
  let summary = "Turn slices and concatenations of contiguous memory into views";
  let description = [{
    A slice whose elements are adjacent becomes `train.unpack`, a
    concatenation along the outermost dimension `train.pack`, where each part
    begins at a multiple of the alignment of operands. Nothing is then copied
    that can be made in its place, and kernels that differed in an offset, as
    those of the steps of a recurrent net do, become one.

    A slice of what is transposed or repeated stays: moves compose.

    ```mlir
    %s = train.slice %x {offsets = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<1x16xf32>
    // becomes
    %f = train.reshape %x : (tensor<4x16xf32>) -> tensor<64xf32>
    %s = train.unpack %f {offset = 16 : i64} : (tensor<64xf32>) -> tensor<1x16xf32>
    ```
  }];
}

def LowerToLinalgPass : Pass<"mpc-lower-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Lower every op without a catalog kernel to linalg on tensors";
  let description = [{
    Each op lowers itself (LinalgLoweringOpInterface). Constants that are not
    one repeated value become states; a repeated value is copied where it is
    needed in memory: packed, written, returned or an operand of a kernel of
    the catalog.

    Leaves: linalg, views, constants, catalog kernels, state access, pack and
    unpack.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ComposeDataMovementPass : Pass<"mpc-compose-data-movement", "::mlir::func::FuncOp"> {
  let summary = "Merge consecutive data movements into one";
  let description = [{
    A slice, transpose or broadcast that only others read, and parts of a
    concatenation, leaves no tensor of its own: the heads of an attention are
    cut out of the product and put in order in one pass, and so are their
    gradients. Arithmetic still reads in memory order.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def SplitReductionsPass : Pass<"mpc-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Split reductions into steps that one kernel can compute and threads can share";
  let description = [{
    A reduction over dimensions that do not lie together, or that memory does
    not step through evenly, is done in two ops, the inner dimensions first. A
    large sum down the rows is split into partial sums of row blocks, which
    depend on the shape and the kind of device alone: the result has the same
    bits for every number of threads.

    On a GPU a large sum over few long rows is cut as well, into blocks of equal
    length (the last may be shorter). They are a kernel of their own, so
    that the kernel that makes what they add up keeps its grid. So is a sum down
    rows whose number has no divisor that gives blocks enough.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    DeviceOption,
  ];
}

def FuseKernelsPass : Pass<"mpc-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "Group linalg ops into kernels, one function per distinct kernel";
  let description = [{
    Ops join a kernel if they share its domain (compiler/Analysis/KernelDomain.h)
    and no op outside would have to run between them: first with the ops that
    make their inputs, then with those that share them. Identical kernels become
    one function.

    ```mlir
    %0 = call @kernel_0(%x, %b) : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xbf16>
    func.func private @kernel_0(...) attributes {mpc.kernel} { linalg ... }
    ```

    Leaves: no linalg outside of kernels.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let options = [
    DeviceOption,
    Option<"report", "report", "bool", /*default=*/"false",
           "Emit a remark for each op that starts a new kernel, with the reason">,
  ];
}

def VerifyFusionPass : Pass<"mpc-verify-fusion", "::mlir::ModuleOp"> {
  let summary = "Verify the IR after the fusion stage";
  let description = [{
    Outside of kernels there are calls of kernels, ops that are kernels of the
    catalog, views and access to states: nothing that computes and no tensor
    without memory of its own. The ops of each kernel have a common domain.
    Kernels of the catalog read FP8 only where the device has them for it: as
    `train.scaled_matmul`, which takes the scales out.
  }];
  let options = [
    DeviceOption,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "CPU features or architectures of the target, separated by commas">,
  ];
}

#endif // MPC_PASSES_FUSION_PASSES_TD
