//===- Passes.td - Fusion passes ---------------------------*- tablegen -*-===//
#ifndef MPC_PASSES_FUSION_PASSES_TD
#define MPC_PASSES_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"
include "passes/Options/DeviceOption.td"

def PadClassesPass : Pass<"mpc-pad-classes", "::mlir::func::FuncOp"> {
  let summary = "Pad the classes of a classifier so that its rows are aligned";
  let description = [{
    Libraries multiply matrices slowly if their rows do not begin at multiples of
    16 bytes: on an H100 the three products of GPT-2's classifier with its 50257
    classes take five times as long as with 50304. On accelerators this pass pads
    the weight (by a copy with zeros), the bias, the logits and their gradient to
    a multiple of 64 classes. The loss and `train.is_correct` ignore the padding
    (attribute `classes`), and gradients of weight and bias are slices of the
    padded ones.

    Applies if a product has at least 64 rows and 512 classes, its rows or those
    of a cast to a narrower type are not aligned, and only casts, sums, products
    and reshapes that keep the rows lie between it and the loss. Other readers of
    padded values get a slice. `predict` has no loss, so it does not change.

    Needs: final element types.

    ```mlir
    %y = train.matmul %x, %w {transpose_rhs} : (tensor<128x8xf32>, tensor<515x8xf32>) -> tensor<128x515xf32>
    %l = train.softmax_cross_entropy %y, %labels {reduction = #train<reduction mean>} : (tensor<128x515xf32>, tensor<128xi64>) -> tensor<f32>
    // becomes
    %p = train.concat %w, %zeros {axis = 0 : i64} : (tensor<515x8xf32>, tensor<61x8xf32>) -> tensor<576x8xf32>
    %y = train.matmul %x, %p {transpose_rhs} : (tensor<128x8xf32>, tensor<576x8xf32>) -> tensor<128x576xf32>
    %l = train.softmax_cross_entropy %y, %labels {classes = 515 : i64, reduction = #train<reduction mean>} : (tensor<128x576xf32>, tensor<128xi64>) -> tensor<f32>
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
  let options = [
    DeviceOption,
  ];
}

def ChunkLossesPass : Pass<"mpc-chunk-losses", "::mlir::func::FuncOp"> {
  let summary = "Compute logits, their loss and its gradients for some rows at a time";
  let description = [{
    The logits of a language model can take more memory than everything else.
    Where a product and `train.softmax_cross_entropy` have no readers but the
    gradients and `train.is_correct`, this pass computes them for some rows at a
    time, with the products of the gradients: logits never exist as a whole.
    Losses and gradients of inputs are joined; gradients of weights and biases
    are added. The divisor of a mean depends on labels alone, so it is computed
    first. Each chunk reads its input through a `train.remat_barrier` that waits
    for the results of the one before.

    Applies if the logits have at least `min-bytes`, and if a chunk of them and
    the second gradient of the weight have three quarters of that at most. A
    chunk has at least `min-rows` rows, so that adding gradients takes little
    time next to products, and as many as the input has columns.

    Needs: final element types.

    ```mlir
    %y = train.matmul %x, %w : (tensor<8x2xf32>, tensor<2x99xf32>) -> tensor<8x99xf32>
    %l = train.softmax_cross_entropy %y, %labels {reduction = #train<reduction sum>} : (tensor<8x99xf32>, tensor<8xi64>) -> tensor<f32>
    // becomes
    %x0 = train.slice %x {offsets = array<i64: 0, 0>} : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %y0 = train.matmul %x0, %w : (tensor<4x2xf32>, tensor<2x99xf32>) -> tensor<4x99xf32>
    %l0 = train.softmax_cross_entropy %y0, %labels0 {reduction = #train<reduction none>} : (tensor<4x99xf32>, tensor<4xi64>) -> tensor<4xf32>
    %b1 = train.remat_barrier %x after %l0 : tensor<8x2xf32> after tensor<4xf32>
    ...
    %all = train.concat %l0, %l1 {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %l = train.reduce_sum %all {axes = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
  let options = [
    DeviceOption,
    Option<"minRows", "min-rows", "int64_t", "0",
           "the smallest number of rows of a chunk; 0: 1024, and 8192 on accelerators">,
    Option<"minBytes", "min-bytes", "int64_t", "134217728",
           "the smallest size of logits, in f32">,
  ];
}

def LegalizeKernelTypesPass : Pass<"mpc-legalize-kernel-types", "::mlir::ModuleOp"> {
  let summary = "Restrict catalog kernels to element types that the device computes in";
  let description = [{
    A contraction or pooling on a type that `kernels/catalog.def` does not list
    for the target (bf16 on GPUs before sm_80) gets its operands widened to f32,
    which is exact, and its result rounded back. Tensors in memory stay 16-bit.
    The conversions fuse into the surrounding kernels. On a CPU every type is
    listed: its kernels widen unsupported types themselves, strip by strip.

    FP8 operands become bf16, which holds them exactly, where the device has no
    FP8 products (CPUs; GPUs before sm_89). Where it has them, operands that are
    not contiguous along the contracted dimension are transposed, and the
    product and `amp.dequantize` become one `train.scaled_matmul`. Its factors
    are reciprocals of the scales; one kernel computes those of a whole state.
    Products marked for TF32 become f32 products where the device has no TF32.

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

def UsePackedAttentionPass : Pass<"mpc-use-packed-attention", "::mlir::func::FuncOp"> {
  let summary = "Let attention read query, key and value where one projection has them";
  let description = [{
    Many models compute queries, keys and values by one product, [B, T, H D + 2 G
    D], and take them apart by reshapes, slices and transposes; their gradients
    are joined again for the gradients of the product. If the device has kernels
    for it, attention reads all three from that tensor, and its gradient writes
    one; of these moves only those stay that something else reads.

    Any moves will do whose results strides describe (`StridedView.h`). Ops that
    share operands or read each other's results change together.
    Rematerialisation barriers in between prevent it.

    ```mlir
    %s:3 = train.split %x {axis = 2 : i64, sizes = array<i64: 24, 24, 24>} : (tensor<2x5x72xbf16>) -> (tensor<2x5x24xbf16>, ...)
    %q = train.reshape %s#0 : (tensor<2x5x24xbf16>) -> tensor<2x5x3x8xbf16>
    ... // the same for key and value, and transposes of all three to 2x3x5x8
    %y, %sums = train.attention %qt, %kt, %vt {scale = 1.0 : f32} : (...) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
    // becomes
    %heads = train.reshape %x : (tensor<2x5x72xbf16>) -> tensor<2x5x9x8xbf16>
    %z, %sums = train.packed_attention %heads {key_heads = 3 : i64, scale = 1.0 : f32} : (tensor<2x5x9x8xbf16>) -> (tensor<2x5x3x8xbf16>, tensor<2x2x3x5xf32>)
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
  let options = [
    DeviceOption,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "CPU features or architectures of the target, separated by commas">,
  ];
}

def UseBshdAttentionPass : Pass<"mpc-use-bshd-attention", "::mlir::func::FuncOp"> {
  let summary = "Let attention read and write heads where projections have them";
  let description = [{
    Projections compute queries, keys and values as [B, T, H, D], and models
    transpose them to [B, H, T, D] for attention, and its result back. If the
    device has kernels for the former layout, attention and its gradients read
    and write it themselves (`bshd`), without these transposes.

    Ops that share operands or read each other's results change together, and
    only if transposes of fewer bytes are left than before: operands and results
    that were not transposed before need transposes now. Rematerialisation
    barriers between the ops move to the other side of the transposes.

    ```mlir
    %q = train.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
    %y, %sums = train.attention %q, %q, %q {scale = 1.0 : f32} : (...) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
    %z = train.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
    // becomes
    %z, %sums = train.attention %x, %x, %x {bshd, scale = 1.0 : f32} : (...) -> (tensor<2x5x3x8xbf16>, tensor<2x2x3x5xf32>)
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
  let options = [
    DeviceOption,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "CPU features or architectures of the target, separated by commas">,
  ];
}

def DeriveTransposesPass : Pass<"mpc-derive-transposes", "::mlir::ModuleOp"> {
  let summary = "Transpose 8-bit weights once for all micro-batches";
  let description = [{
    If @accumulate transposes values that @derive computes from weights, the
    transposes move to @derive, which writes the results to an additional state
    of kind `derived`. Without @derive nothing changes.

    Needs: `mpc-hoist-weight-quantization`, and `mpc-legalize-kernel-types`,
    which adds the transposes.

    ```mlir
    train.state @fp8.turned_weights derived : tensor<2048xf8E4M3FN>
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def FoldSlicesToViewsPass : Pass<"mpc-fold-slices-to-views", "::mlir::func::FuncOp"> {
  let summary = "Turn slices and concatenations of contiguous memory into views";
  let description = [{
    A slice whose elements are contiguous becomes `train.unpack`, and a
    concatenation along the outermost dimension becomes `train.pack`, if each
    part begins at a multiple of the operand alignment. Parts that can be
    computed in place are then not copied, and kernels that differed only in an
    offset, like those of the steps of a recurrent network, become one.

    A slice of a transposed or broadcast value is kept:
    `mpc-compose-data-movement` merges the two.

    ```mlir
    %s = train.slice %x {offsets = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<1x16xf32>
    // becomes
    %f = train.reshape %x : (tensor<4x16xf32>) -> tensor<64xf32>
    %s = train.unpack %f {offset = 16 : i64} : (tensor<64xf32>) -> tensor<1x16xf32>
    ```
  }];
}

def ShareJoinsPass : Pass<"mpc-share-joins", "::mlir::func::FuncOp"> {
  let summary = "Build concatenations on others that they begin with";
  let description = [{
    A concatenation whose first operands are all those of an earlier one takes
    its result instead. Networks with dense connections join all features before
    each layer: each of n layers then copies two tensors, not up to n, each by
    a kernel of its own.

    It runs after differentiation, so that the gradient of a feature remains one
    sum.

    ```mlir
    %0 = train.concat %a, %b {axis = 1 : i64} : ...
    %1 = train.concat %a, %b, %c {axis = 1 : i64} : ...
    // becomes
    %1 = train.concat %0, %c {axis = 1 : i64} : ...
    ```
  }];
}

def FuseIntoProductsPass : Pass<"mpc-fuse-into-products", "::mlir::func::FuncOp"> {
  let summary = "Let products compute what follows them";
  let description = [{
    A product that computes the gradient of a weight adds it to another tensor
    itself where it would be added by a kernel of its own: to the gradients of
    earlier micro-batches, or of earlier chunks of rows (ChunkLosses). The sum is
    then computed in place: the product reads and writes it once, and the
    gradient itself is never in memory.

    Gradients are packed and added to a state as one tensor. If some of them are
    products, each is added by itself, where it is computed.

    On GPUs with kernels for it, products also compute GELU (the approximation by
    tanh) of their sum with a bias, if its gradient needs that sum, too: the
    product then writes both. And they multiply gradients by the derivative of
    GELU. They add a bias if only kernels of the catalog, like attention, read
    the sum: other kernels add it themselves. The bias is read from the working
    copy, in the type of the product.

    It runs before ops are lowered, while sums are single ops.

    ```mlir
    %0 = train.matmul %x, %dy {transpose_lhs, weight_gradient} : (...) -> tensor<768x768xf32>
    %1 = train.pack %0, ... : (...) -> tensor<1024x768xf32>
    %2 = train.read @gradients : tensor<1024x768xf32>
    %3 = train.add %2, %1 : ...
    train.write @gradients, %3 : tensor<1024x768xf32>
    // becomes
    %2 = train.read @gradients : tensor<1024x768xf32>
    %3 = train.unpack %2 {offset = 0 : i64} : (...) -> tensor<768x768xf32>
    %4 = train.matmul_add %x, %dy, %3 {transpose_lhs} : (...) -> tensor<768x768xf32>
    %5 = train.pack %4, ... : (...) -> tensor<1024x768xf32>
    train.write @gradients, %5 : tensor<1024x768xf32>
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
  let options = [
    DeviceOption,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "CPU features or architectures of the target, separated by commas">,
  ];
}

def LowerToLinalgPass : Pass<"mpc-lower-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Lower every op without a catalog kernel to linalg on tensors";
  let description = [{
    Each op lowers itself (LinalgLoweringOpInterface). Constants that are not
    splats become states; a splat is materialized where it must be in memory:
    where it is packed, written to a state, returned, or an operand of a catalog
    kernel.

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
    A slice, transpose or broadcast that only other data movements read, or that
    is part of a concatenation, is merged into its reader and gets no tensor of
    its own: the heads of an attention are sliced out of the product and
    transposed in one pass, and so are their gradients. Arithmetic still reads
    in memory order.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def SinkIntoJoinsPass : Pass<"mpc-sink-into-joins", "::mlir::func::FuncOp"> {
  let summary = "Compute elementwise ops with the parts of a concatenation";
  let description = [{
    An elementwise op, or a transpose, that alone reads a concatenation is
    computed for each part, and the results are concatenated: a rotary embedding
    writes its result once, instead of halves with exchanged signs, which a sum
    then reads. Other operands are sliced; ops whose results nothing else reads
    are computed where their slices go.

    An op stays as it is if it reads a computed value that another op reads as
    well, because one kernel may compute both.

    The sum down the rows of a concatenation of large parts is computed for each
    part, too, and the sums are concatenated, even if others read the
    concatenation: the gradient of the bias of a projection to query, key and
    value is summed where the gradients of the three are joined.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SinkIntoSlicesPass : Pass<"mpc-sink-into-slices", "::mlir::func::FuncOp"> {
  let summary = "Compute elements where slices of them go";
  let description = [{
    An elementwise op whose result is read only by slices, none of which overlap,
    is computed by the slices: the bias of a projection to query, key and value
    is added where they are split, and the sum is not stored. The ops walk
    different numbers of elements, so `mpc-fuse-kernels` could not merge them.
    Slices that do not read and write along rows are left alone.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SplitReductionsPass : Pass<"mpc-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Split reductions into steps that one kernel can compute and threads can share";
  let description = [{
    A reduction over dimensions that are not adjacent, or that do not have one
    common stride in memory, is done in two ops, the inner dimensions first. A
    large sum down the rows is split into partial sums over row blocks, which
    depend only on the shape and the kind of device: the result has the same
    bits for every number of threads.

    On a GPU a large sum over few long rows is split as well, into blocks of
    equal length (the last may be shorter). The partial sums form a kernel of
    their own, so that the kernel that computes their operands keeps its grid. A
    sum down the rows is split the same way if no divisor of the number of rows
    gives enough blocks.
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
    Ops join a kernel if they share its domain
    (compiler/Analysis/KernelDomain.h) and no op outside the kernel would have
    to run between them. An op is first merged with the producers of its inputs,
    then with ops that read the same inputs. Then ops join that write parts of
    one concatenation, and on a GPU sums down the rows of equal matrices: they
    save a launch. Identical kernels become one function.

    ```mlir
    %0 = call @kernel_0(%x, %b) : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xbf16>
    func.func private @kernel_0(...) attributes {mpc.kernel} { linalg ... }
    ```

    Leaves: no linalg outside kernels.
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
    Outside kernels only kernel calls, ops with catalog kernels, views and state
    accesses are allowed: nothing else computes, and every tensor has memory of
    its own. The ops of each kernel have a common domain. Catalog kernels read
    FP8 only on devices that support it, and only as `train.scaled_matmul`,
    which removes the scales.
  }];
  let options = [
    DeviceOption,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "CPU features or architectures of the target, separated by commas">,
  ];
}

#endif // MPC_PASSES_FUSION_PASSES_TD
