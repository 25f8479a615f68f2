//===- Passes.td - Graph passes ----------------------------*- tablegen -*-===//
#ifndef MPC_PASSES_GRAPH_PASSES_TD
#define MPC_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecognizeAttentionPass : Pass<"mpc-recognize-attention", "::mlir::ModuleOp"> {
  let summary = "Replace two products around a softmax by one attention op";
  let description = [{
    Replaces softmax(scale Q K' + mask) V by `train.attention`, whose kernels
    never store the full score matrix. The scale may be a product or quotient
    before or after the product of Q and K, in any number of steps; K may be
    transposed by its product or by an op before it. Reshapes may merge batch
    and heads, and heads of keys and values may be repeated for groups of
    queries. PyTorch's guard, which replaces NaN in probabilities by 0, is
    removed, and so is a rounding of probabilities to 16 bit: attention rounds
    them if its operands have 16 bit.

    Addends and masks become biases, or make attention causal if they are
    constants that hide later keys; constants that change nothing go away. If a
    mask replaces scores by a finite number that hides keys, these scores have no
    gradient, which a bias alone would not give: if it is the only mask, queries
    that see no key become zeros; else it is a bias that replaces scores.

    A hyperbolic tangent times a number is a soft cap. If the scores or
    probabilities have other uses, nothing changes, and a note gives the reason.

    ```mlir
    %0 = train.matmul %q, %k {transpose_rhs} : ...
    %1 = train.mul %0, %scale : ...
    %2 = train.softmax %1 {axis = 3 : i64} : ...
    %3 = train.matmul %2, %v : ...
    // becomes
    %3, %sums = train.attention %q, %k, %v {scale = 0.125 : f32} : ...
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def RecognizeActivationsPass : Pass<"mpc-recognize-activations", "::mlir::func::FuncOp"> {
  let summary = "Replace decomposed activations by one op";
  let description = [{
    These formulas become one op, whose gradient needs only x:

      x/2 (1 + erf(x/sqrt 2))                           `train.gelu`
      x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))     the same, approximate
      x sigmoid(alpha x)                                `train.silu`
      x tanh(softplus(x))                               `train.mish`
      x clip(x + 3, 0, 6) / 6, x hard_sigmoid(x)        `train.hard_swish`
      clip(x + 3, 0, 6) / 6                             `train.hard_sigmoid`
      log(sigmoid(x))                                   `train.softplus`, negated twice

    Factors may be in any order, divisors may stand for inverse factors, and the
    argument of erf and tanh may be any equivalent polynomial; other factors
    stay outside. Numbers must match those above within a few roundings of their
    type: with 0.7071 nothing changes. Nothing changes either if an intermediate
    as large as x has other uses.

    ```mlir
    %0 = train.sigmoid %x : ...
    %1 = train.mul %x, %0 : ...
    // becomes
    %1 = train.silu %x {alpha = 1.0} : ...
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def RecognizeNormsPass : Pass<"mpc-recognize-norms", "::mlir::func::FuncOp"> {
  let summary = "Replace decomposed layer norms and RMS norms by one op";
  let description = [{
    x / sqrt(mean(x^2) + epsilon) becomes `train.rms_norm`, and the same of x -
    mean(x) becomes `train.layer_norm`, where the means are over the last
    dimensions; reshapes may remove these dimensions and add them again before
    the quotient. The quotient may be a product with an inverse, in any order
    with other factors. A factor and, for a layer norm, an addend of the
    normalized shape become scale and bias; others stay outside. Nothing changes
    if epsilon is added after the square root, if the mean is over other
    dimensions, or if an intermediate as large as x has other uses.

    ```mlir
    %0 = train.mul %x, %x : ...
    %1 = train.reduce_mean %0 {axes = array<i64: 2>, keepdims} : ...
    %2 = train.add %1, %epsilon : ...
    %3 = train.sqrt %2 : ...
    %4 = train.div %x, %3 : ...
    %5 = train.mul %w, %4 : ...
    // becomes
    %5, %rms = train.rms_norm %x, %w {axis = 2 : i64, epsilon = 1.0e-06 : f32} : ...
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def PatchesToProductsPass : Pass<"mpc-patches-to-products", "::mlir::func::FuncOp"> {
  let summary = "Replace convolutions of patches by matrix products";
  let description = [{
    If the windows of a `train.conv` divide the image into patches of at least 16
    pixels (stride = window, no padding, one group), the patches become rows of a
    matrix, which is multiplied with the weight. The result is channels last,
    behind a transpose to channels first.

    ```mlir
    %0 = train.conv %x, %w {strides = array<i64: 16, 16>, ...} : (tensor<8x3x224x224xf32>, tensor<384x3x16x16xf32>) -> ...
    // becomes
    %0 = train.reshape %x : ... -> tensor<8x3x14x16x14x16xf32>
    %1 = train.transpose %0 {permutation = array<i64: 0, 2, 4, 1, 3, 5>} : ...
    %2 = train.reshape %1 : ... -> tensor<1568x768xf32>
    %3 = train.reshape %w : ... -> tensor<384x768xf32>
    %4 = train.matmul %2, %3 {transpose_rhs} : ...
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def UseChannelsLastPass : Pass<"mpc-use-channels-last", "::mlir::func::FuncOp"> {
  let summary = "Convert ops on images to channels-last layout";
  let description = [{
    Switches every op with `LayoutOpInterface` from N x C x spatial to N x
    spatial x C, with transposes around it; then sinks the transposes through
    elementwise ops and `train.concat` until they meet their inverse. All
    transposes are also sunk through sums, means and maxima, whose results are
    smaller. A transpose that moves no element (one channel, or one pixel)
    becomes a reshape. Weights and the signature of the function keep their layout.

    Needs: a forward graph; gradients inherit the layout from it.
    Leaves: no op on images with channels first; transposes only where the
    function, or an op that mixes dimensions, needs channels first.

    ```mlir
    %0 = train.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : ...
    %1 = train.conv %0, %w {channels_last, ...} : ...
    %2 = train.relu %1 : ...
    %3 = train.transpose %2 {permutation = array<i64: 0, 3, 1, 2>} : ...
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
  let options = [
    Option<"report", "report", "bool", /*default=*/"false",
           "Emit a remark for each transpose that is left, and their number">,
  ];
}

def ZeroMaskedRowsPass : Pass<"mpc-zero-masked-rows", "::mlir::ModuleOp"> {
  let summary = "Make softmax produce zeros for fully masked rows";
  let description = [{
    Sets `zero_empty` on each `train.softmax` whose operand may hold -inf that
    comes from a constant or an input, so that fully masked rows become zeros,
    as `train.attention` does for a query that sees no key. ONNX and PyTorch
    produce NaN there, which ends training. Rows that overflow without a mask
    stay NaN. A note names the ops that may have such rows, of both kinds.

    Needs: a forward graph; `mpc-recognize-attention`.

    ```mlir
    %m = train.select %seen, %scores, %minus_infinity : ...
    %p = train.softmax %m {axis = 3 : i64} : ...
    // becomes
    %p = train.softmax %m {axis = 3 : i64, zero_empty} : ...
    ```
  }];
}

def VerifyGraphPass : Pass<"mpc-verify-graph", "::mlir::ModuleOp"> {
  let summary = "Verify the IR after the graph stage";
  let description = [{
    The module holds states and one function `predict` of `train` ops on f32 (or
    f64) and integers, which reads states that exist and writes none; a model
    that brings its own training step also has `evaluate`, `train` and perhaps
    `initialize`. Inputs and outputs have names and static shapes, and images
    have channels last. A note names the pass that should have prevented the
    fault.
  }];
}

#endif // MPC_PASSES_GRAPH_PASSES_TD
