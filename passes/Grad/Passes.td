//===- Passes.td - Gradient passes -------------------------*- tablegen -*-===//
#ifndef MPC_PASSES_GRAD_PASSES_TD
#define MPC_PASSES_GRAD_PASSES_TD

include "mlir/Pass/PassBase.td"

def AddLossPass : Pass<"mpc-add-loss", "::mlir::ModuleOp"> {
  let summary = "Choose the loss and split the model into entry points";
  let description = [{
    Creates `train` (inputs and labels to the loss) and `evaluate` (loss, weight
    and, for classification, hits per sample) from `predict`. The loss, and the
    inputs that only the loss uses, are removed from `predict`.

    If `loss` is empty, the loss is the output that a loss op of the graph
    computes; without a loss op, it is the output that is a single number,
    unless that number belongs to a single sample. Otherwise the model must have
    one output, whose shape decides: f32 [N, C] with two or more classes uses
    softmax cross entropy, and so does [B, T, V] if an integer input is [B, T];
    anything else uses the squared error. Dimension 1 counts the classes, or
    another dimension if the labels then have the shape of an integer input. A
    softmax (or, for bce-with-logits, a sigmoid) at the end of the model stays
    in `predict`; the loss starts from its input. The decision is written to the
    module as `mpc.loss` and added to `mpc.notes`; `mpc.metrics` is `perplexity`
    if the loss is a mean over the tokens of texts.

    With loss `external` the caller computes the loss: `train` returns the
    outputs of `predict`, there is no `evaluate`, and the module gets
    `mpc.external_loss`.

    `loss` may also be a sum of losses of several outputs; each adds an input.
    `sample-weights` adds an input with the weights of samples.

    Outputs of `predict` whose dimension 0 combines samples and positions get
    `mpc.batch_dim`: each sample has several rows in them.

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
    Follows each integer input through ops that only move values (reshape,
    transpose, slice, concat, casts between integers), arithmetic with constants
    (sums, products, min/max, remainders) and selects to its uses as table
    indices or loss labels. `mpc.range` is the intersection of what all uses
    allow: [-rows, rows) for indices, which count from either end, and [0,
    classes) for labels. Ranges are mapped back through the arithmetic: if a
    loss takes `labels - 1`, the input must lie in [1, classes + 1). Values that
    the model replaces (`max(labels, 0)`, `where(labels > 0, labels, 0)`) may be
    anything. `mpc.ignored` is one additional allowed value: the `ignore_index`
    of a loss, or a label that the model itself replaces before the lookup
    (`where(labels != -100, labels, 0)`). The runtime checks inputs against both
    before a program reads them.

    Where an index is `i * C + y` into a flattened [N, C] tensor, as PyTorch's
    TorchScript exporter writes x[i, y], y gets the range [0, C).

    The module attribute `mpc.unchecked_indices` names the nodes whose indices
    or labels are computed in other ways. An index out of range there makes the
    result NaN, and the error message names these nodes.

    If only slices of an input are used as indices, the input gets the union of
    their ranges. If any other part of it is not an index, it gets no range.

    Needs: `train` (`mpc-add-loss`). Leaves: all ops unchanged.

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
    in `train` by their training form, including the writes of their statistics;
    in other functions by their inference form.

    Needs: `train` (`mpc-add-loss`).
    Leaves: no op in inference form in `train`.
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def DifferentiatePass : Pass<"mpc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Append the gradient of the loss with respect to every parameter";
  let description = [{
    Reverse-mode differentiation of `train` through `DifferentiableOpInterface`.
    Ops that do not depend on a parameter, or that the loss does not depend on,
    get no gradient op. Gradient ops appear in reverse order of the forward ops;
    several gradients of one value are added in that order, which is
    deterministic.

    After the loss, `train` returns the gradient of each parameter in the order
    of the states; the result attribute `mpc.gradient_of` names the parameter.
    The constant 1.0 that starts the backward pass is marked `mpc.loss_seed`:
    passes that scale the loss modify it, so it must not be merged or folded
    before that.

    If the caller computes the loss (`mpc.external_loss`), the backward pass
    starts from the gradients of the outputs that are floats, which become
    inputs: `gradient:NAME`, marked `mpc.gradient_of`. The gradients of
    `input-gradients` follow the outputs as results of the same form.

    A parameter that the loss does not depend on, or that no gradient reaches
    because ops stop it (`train.stop_gradient`), becomes a state of kind
    `constant`, so that training does not change it. A note says so.

    Needs: `train` in training form.
    Leaves: all ops between parameters and loss differentiated, or an error that
    lists all ops without a gradient; no op that stops gradients.

    Options: group Gradients of passes/Options/Options.def.

    With `rounding`, adds a `train.rounding` for each value between parameters
    and loss and its gradient, for profiles.
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
    Does for a model that brings its own training step what `mpc-add-optimizer`
    does for others. Weights that are updated by the same elementwise formula of
    weight, gradient, optimizer states and scalars become a range of
    `@parameters`; their gradients and states become packs of the same layout,
    and the formula is applied to the packs. The packed states keep their names
    (`own_names`). Updates that are not such a formula are left as they are.
    Packs of gradients are marked `mpc.gradients`, and later ops read the
    gradients from them.

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
    slot at a multiple of 16 elements); every function reads it once and unpacks
    what it needs. `train` becomes `step`, which packs the gradients, computes
    their norm, clips them if requested, and updates parameters, moments and the
    step counter. If `accumulate` is above 1, or with `data-parallel`, it becomes
    `accumulate`, which
    adds the gradients to the state `@gradients` and the loss to `@loss_sum`,
    and `apply`, which updates. The update equals that of one batch with all
    samples: a loss that is a sum (`LossReductionOpInterface`) is summed, a mean
    weights each micro-batch by its divisor (`@loss_divisor`), and any other
    loss is averaged. `apply` divides by the sum of these weights, so an update
    may have fewer micro-batches than `accumulate`.

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

def ReturnGradientsPass : Pass<"mpc-return-gradients", "::mlir::ModuleOp"> {
  let summary = "Pack the parameters and let training return their gradients";
  let description = [{
    Takes the place of `mpc-add-optimizer` if the caller updates the weights
    (optimizer `none`). `train` becomes `step`, which returns the loss, or the
    outputs of the model, and then `gradient:NAME` for each parameter, and
    writes statistics and the step counter only. The module gets
    `mpc.external_update`.

    Needs: gradients as results of `train` (`mpc-differentiate`).
    Leaves: `step`; no unpacked parameter.

    ```mlir
    func.func @step(...) -> (tensor<f32> {mpc.name = "loss"},
        tensor<10xf32> {mpc.gradient_of = "b", mpc.name = "gradient:b"})
    ```
  }];
  let dependentDialects = ["::mpc::train::TrainDialect"];
}

def DeferStatesPass : Pass<"mpc-defer-states", "::mlir::ModuleOp"> {
  let summary = "Defer state changes made by micro-batches to the update";
  let description = [{
    With accumulation, each state that `accumulate` writes and `apply` does not
    (statistics, the micro-batch counter) gets a second state, `pending/NAME`,
    which `accumulate` reads and writes instead; `apply` copies its value back.
    An update that is skipped therefore leaves no trace of any of its
    micro-batches.

    Needs: `mpc-add-optimizer`.
    Leaves: `accumulate` writes only states that it shares with `apply`, and
    pending states. Nothing changes without accumulation.

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
    Checks the entry points and their signatures; one packed parameter state,
    read once per function; one write per state, only in functions that train;
    training form in those functions only; one marked loss seed. A note names
    the pass that should have prevented the fault.
  }];
}

#endif // MPC_PASSES_GRAD_PASSES_TD
