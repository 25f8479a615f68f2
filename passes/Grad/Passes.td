//===- Passes.td - Gradient passes -------------------------*- tablegen -*-===//
#ifndef MPC_PASSES_GRAD_PASSES_TD
#define MPC_PASSES_GRAD_PASSES_TD

include "mlir/Pass/PassBase.td"

def AddLossPass : Pass<"mpc-add-loss", "::mlir::ModuleOp"> {
  let summary = "Choose the loss and split the model into entry points";
  let description = [{
    Makes `train` (inputs and labels to the loss) and `evaluate` (loss, weight
    and, for classes, hits per sample) from `predict`, which loses the loss and
    the inputs that only the loss wants.

    With `loss` empty, an output that a loss op of the graph feeds is the loss;
    without one, the output that is one number, unless it is that of a single
    sample. Else the only output decides: f32 [N, C] with two classes or more
    takes softmax cross entropy, and so does [B, T, V] if an input of integers
    is [B, T]; anything else the squared error. Classes stand at dimension 1 or,
    where labels then have the shape of such an input, at another. A softmax
    (or, for bce-with-logits, a sigmoid) at the end of the model stays in
    `predict`; the loss starts from its input. The decision is written to the
    module as `mpc.loss` and added to `mpc.notes`; `mpc.metrics` is `perplexity`
    for a mean over the tokens of texts.

    Outputs of `predict` whose dimension 0 joins samples and positions get
    `mpc.batch_dim`: each sample has several rows there.

    Needs: `predict`, in inference form.
    Leaves: `predict`, `evaluate`, `train`. `train` returns one rank-0 float.

    Options: group Loss of passes/Options/Options.def.

    ```mlir
    func.func @train(%x: ..., %labels: tensor<32xi64> {mpc.name = "labels",
        mpc.batch_dim = 0 : i64})
        -> (tensor<f32> {mpc.name = "loss"})
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def LimitIndicesPass : Pass<"mpc-limit-indices", "::mlir::ModuleOp"> {
  let summary = "Derive valid ranges of integer inputs from their uses as indices";
  let description = [{
    Follows each input of integers through ops that only move values (reshape,
    transpose, slice, concat, casts between integers), arithmetic with constants
    (sums, products, bounds, remainders) and choices between them to its uses as
    indices of tables or labels of a loss. `mpc.range` is what all uses allow:
    [-rows, rows) for indices, which count from either end, and [0, classes) for
    labels, each taken back through the arithmetic: labels that are classes
    behind `labels - 1` lie in [1, classes + 1). What a bound or a choice
    replaces (`max(labels, 0)`, `where(labels > 0, labels, 0)`) may be anything.
    `mpc.ignored` is one more value: the `ignore_index` of a loss, or the label
    that the model replaces itself before it looks up (`where(labels != -100,
    labels, 0)`). The runtime checks both before a program reads the input.

    Where an index is `i * C + y` into a tensor of [N, C] that was flattened, as
    PyTorch's TorchScript exporter writes x[i, y], y gets [0, C).

    `mpc.unchecked_indices` of the module names the nodes whose indices or
    labels are computed otherwise. One out of range makes the result NaN, and the
    error message names these nodes.

    An input whose slices alone are indices gets the range that covers those
    of all slices; it gets none if another part of it is no index.

    Needs: `train` (`mpc-add-loss`). Leaves: no op changed.

    ```mlir
    func.func @train(%labels: tensor<32xi64> {mpc.range = [0, 10],
        mpc.ignored = -100 : i64}, ...)
    ```
  }];
}

def UseTrainingFormPass : Pass<"mpc-use-training-form", "::mlir::ModuleOp"> {
  let summary = "Put ops into training form in train, into inference form elsewhere";
  let description = [{
    Replaces ops with `TrainingFormOpInterface` (BatchNormalization, Dropout):
    in `train` by what they do in training, with the writes of their
    statistics; in other functions by what they do at inference.

    Needs: `train` (`mpc-add-loss`).
    Leaves: no op in inference form in `train`.
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def DifferentiatePass : Pass<"mpc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Append the gradient of the loss with respect to every parameter";
  let description = [{
    Reverse-mode differentiation of `train` by `DifferentiableOpInterface`.
    Ops that no parameter feeds, or that feed nothing to the loss, get no
    gradient op. Gradient ops stand in reverse order of the forward ops;
    several gradients of one value are added in that order, always the same.

    `train` returns, behind the loss, the gradient of each parameter in the
    order of the states; the result attribute `mpc.gradient_of` names it. The
    constant 1.0 that starts the chain is marked `mpc.loss_seed`: passes that
    scale the loss change it, so nothing merges or folds it before.

    A parameter that the loss does not depend on, or that no gradient gets back
    to because ops stop it (`train.stop_gradient`), becomes a state of kind
    `constant`, and a note says so: training leaves it as it is.

    Needs: `train` in training form.
    Leaves: all ops between parameters and loss differentiated, or an error
    that lists all that have no gradient; no op that stops gradients.

    With `rounding` a `train.rounding` for each value between them and its
    gradient, for profiles.
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
  let options = [
    Option<"rounding", "rounding", "bool", /*default=*/"false",
           "Compute how rounding each value would change the loss">,
  ];
}

def PackUpdatesPass : Pass<"mpc-pack-updates", "::mlir::ModuleOp"> {
  let summary = "Combine the updates of a model's own step into packed updates";
  let description = [{
    Does for a model that brings its own training step what
    `mpc-add-optimizer` does for others. Weights whose new values follow by one
    formula, element by element, from weight, gradient, states of the update and
    single numbers become a range of `@parameters`; their gradients and states
    become packs of the same layout, and the formula is applied to these. The
    states inside keep their names (`own_names`). What is no such formula is
    left as it is. Packs of gradients are marked `mpc.gradients`, and whatever
    comes behind them reads gradients there.

    Needs: `train` of a module with `mpc.imported_step`, which writes parameters.
    Leaves: `step`; no unpacked parameter.

    Options: group Accumulation of passes/Options/Options.def.
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def AddOptimizerPass : Pass<"mpc-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "Pack the parameters and turn train into the step that updates them";
  let description = [{
    All parameters become slots of one state `@parameters` ([rows, 1024], each
    slot at a multiple of 16 elements); every function reads it once and
    unpacks what it needs. `train` becomes `step`, which packs the gradients,
    takes their norm, clips if asked and updates parameters, moments and the
    step counter. With `accumulate` above 1 it becomes `accumulate`, which adds
    gradients to the state `@gradients` and the loss to `@loss_sum`, and `apply`,
    which updates. Both count as one batch of all samples would: a loss that
    sums (`BatchLossOpInterface`) is summed, a mean weighs micro-batches by what
    it divides by (`@loss_divisor`), anything else is averaged. `apply` divides
    by the sum of these weights: there may be fewer micro-batches than `accumulate`.

    Needs: gradients as results of `train` (`mpc-differentiate`).
    Leaves: `step`, or `accumulate` and `apply`; no unpacked parameter.

    Options: groups Accumulation, Update, Optimizer and Schedule of passes/Options/Options.def.

    ```mlir
    %p = train.read @parameters : tensor<3x1024xf32>
    %w = train.unpack %p {offset = 64 : i64} : (tensor<3x1024xf32>) -> tensor<128x10xf32>
    ...
    %g = train.pack %dw, %db {offsets = array<i64: 64, 1344>} : ...
    %norm = train.global_norm %g : ...
    %new:3 = train.adam %p, %g, %m, %v, %lr, %c1, %c2 {...} : ...
    train.write @parameters, %new#0 : tensor<3x1024xf32>
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def DeferStatesPass : Pass<"mpc-defer-states", "::mlir::ModuleOp"> {
  let summary = "Defer state changes of micro-batches to the update";
  let description = [{
    With accumulation: a state that `accumulate` writes and `apply` does not
    (statistics, the counter of micro-batches) gets a second one, `pending/NAME`,
    which `accumulate` reads and writes instead; `apply` takes its value over. So
    an update that is not made leaves no trace of any of its micro-batches.

    Needs: `mpc-add-optimizer`.
    Leaves: `accumulate` writes states that it shares with `apply`, and pending
    ones. Nothing changes without accumulation.

    ```mlir
    // accumulate
    %mean = train.read @"pending/bn.mean" : tensor<64xf32>
    train.write @"pending/bn.mean", %new : tensor<64xf32>
    // apply
    %new = train.read @"pending/bn.mean" : tensor<64xf32>
    train.write @bn.mean, %new : tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def VerifyGradPass : Pass<"mpc-verify-grad", "::mlir::ModuleOp"> {
  let summary = "Verify the IR after the gradient stage";
  let description = [{
    The entry points with their signatures; one packed parameter state, read
    once per function; one write per state, and only where training happens;
    training form where it belongs; one marked loss seed. A note names the
    pass that was expected to prevent it.
  }];
}

#endif // MPC_PASSES_GRAD_PASSES_TD
