#!/usr/bin/env python3
"""Writes ort/NAME/: what ONNX Runtime's on-device training makes of small models, and 20 steps of its own training.

make_ort_artifacts.py [--folder FOLDER] [--big] [--list] [NAME...]: all models, or some. Of each there are

  training_model.onnx   forward and backward pass, as generate_artifacts() writes them
  eval_model.onnx       forward pass and loss
  optimizer_model.onnx  one node that updates sequences of parameters
  checkpoint            the parameters, and others of some: checkpoint-step-5 with the optimizer's state and properties,
                        nominal_checkpoint without numbers
  data.npz              the inputs by name, 20 batches one after the other
  golden.npz            losses of the 20 steps and norms of all gradients, `learning_rate`, `batch`, the loss of the
                        first batch in the eval model before and after, all parameters after as `parameter/NAME`, the
                        first 4 numbers of each before as `initial/NAME`, and what is in checkpoint-step-5 as
                        `parameter-step-5/NAME`, `momentum0-step-5/NAME` and `momentum1-step-5/NAME`

`external/` has a checkpoint whose tensors lie in a second file. The package writes such only of models of gigabytes;
here its own flatbuffers classes write it, and the package reads it.

The package is no longer released and wants old neighbours:

  python3.11 -m venv /tmp/ort && /tmp/ort/bin/pip install onnxruntime-training==1.19.2 onnx==1.16.2 "numpy<2" \\
      torch==2.13 flatbuffers cerberus h5py setuptools

The results are in the repository; another run gives the same but for the last bits where gradients are clipped.
--big makes one of 20 million parameters, which is not; --list prints the ops of what is there. ORT_LOG=FILE has what
the package says, where it fails.
"""
import argparse
import collections
import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import warnings

warnings.filterwarnings("ignore")

import flatbuffers
import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs import Checkpoint, ModuleState, Tensor
from onnxruntime.training import api, artifacts, onnxblock
from onnxruntime.training.onnxblock import _graph_utils

HERE = pathlib.Path(__file__).resolve().parent / "ort"
STEPS = 20
LOSSES = {"mse": artifacts.LossType.MSELoss, "ce": artifacts.LossType.CrossEntropyLoss,
          "bce": artifacts.LossType.BCEWithLogitsLoss, "l1": artifacts.LossType.L1Loss, None: None}
# The package's names for the input that the loss compares with.
TARGETS = {"mse": "target", "l1": "target", "bce": "target", "ce": "labels"}


class Mlp(nn.Module):
    def __init__(self, outputs=3, width=10):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(6, width), nn.Linear(width, width), nn.Linear(width, outputs)

    def forward(self, x):
        return self.last(F.gelu(self.second(F.gelu(self.first(x)))))


class Cnn(nn.Module):
    def __init__(self, is_global=False):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(6)
        self.is_global = is_global
        self.last = nn.Linear(6 if is_global else 24, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.adaptive_avg_pool2d(x, 1) if self.is_global else F.avg_pool2d(x, 2, 1)
        return self.last(torch.flatten(x, 1))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        batch, length, width = x.shape
        split = lambda y: y.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = (split(y) for y in self.qkv(self.norm1(x)).chunk(3, -1))
        scores = torch.softmax(q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5, -1)
        x = x + self.drop(self.out((scores @ v).transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Transformer(nn.Module):
    """The output is the loss, the logits per token as a list, or the logits of the whole text."""

    def __init__(self, output, width=32, layers=2, vocabulary=24, length=8, heads=4, is_tied=False):
        super().__init__()
        self.output = output
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(1, length, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary if output != "text" else 4)
        if is_tied:
            self.head.weight = self.tokens.weight

    def forward(self, x, labels=None):
        x = self.tokens(x) + self.places
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if self.output == "text":
            return self.head(x.mean(1))
        logits = self.head(x).flatten(0, 1)
        return logits if self.output == "tokens" else F.cross_entropy(logits, labels.flatten())


class Bag(nn.Module):
    """Two tables; the rows of one are looked up several times and averaged."""

    def __init__(self):
        super().__init__()
        self.words, self.users = nn.Embedding(20, 8), nn.Embedding(12, 4)
        self.last = nn.Linear(12, 3)

    def forward(self, words, user):
        return self.last(torch.cat([self.words(words).mean(1), self.users(user)], 1))


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 3200), nn.Linear(3200, 3)
        self.middle = nn.Linear(3200, 3200)
        self.second = nn.Linear(3200, 3200)

    def forward(self, x):
        return self.last(F.gelu(self.second(F.gelu(self.middle(F.gelu(self.first(x)))))))


Case = collections.namedtuple("Case", "build inputs loss optimizer rate opset dynamic options")


def case(build, inputs, loss, optimizer, rate, opset, dynamic=False, **options):
    return Case(build, inputs, loss, optimizer, rate, opset, dynamic, options)


NUMBERS = {"x": (8, 6)}
IMAGES = {"x": (8, 1, 12, 12)}
ADAMW, SGD = artifacts.OptimType.AdamW, artifacts.OptimType.SGD
CLIP = onnxblock.optim.ClipGradNorm
# `int` inputs have a bound. `dynamic` leaves the batch open. Options: `frozen`, prefixes of parameters;
# `outputs`, additional ones; `variants`, more checkpoints; `norms_in_eval_form`, for the export.
CASES = {
    "mlp-mse-adamw": case(Mlp, NUMBERS, "mse", ADAMW, 0.01, 17, dynamic=True),
    "mlp-mse-sgd": case(Mlp, NUMBERS, "mse", SGD, 0.1, 14),
    "mlp-ce-adamw": case(Mlp, NUMBERS, "ce", ADAMW, 0.01, 15, variants=True),
    "mlp-ce-sgd": case(Mlp, NUMBERS, "ce", SGD, 0.1, 16, dynamic=True),
    "mlp-ce-clip": case(Mlp, NUMBERS, "ce", lambda: onnxblock.optim.AdamW(
        betas=(0.8, 0.98), eps=1e-7, weight_decay=0.02, clip_grad=CLIP(0.3)), 0.01, 17),
    "mlp-uncorrected": case(Mlp, NUMBERS, "mse", lambda: onnxblock.optim.AdamW(bias_correction=False), 0.003, 17),
    "mlp-l1-clip": case(Mlp, NUMBERS, "l1", lambda: onnxblock.optim.SGD(clip_grad=CLIP(0.2)), 0.1, 17),
    "mlp-bce-frozen": case(Mlp, NUMBERS, "bce", ADAMW, 0.01, 17, dynamic=True, frozen=["first."], outputs=True),
    # With a dynamic batch, the gradient of average pooling crashes the package.
    "cnn-adamw": case(Cnn, IMAGES, "ce", ADAMW, 0.01, 17),
    "cnn-sgd": case(Cnn, IMAGES, "ce", SGD, 0.1, 14),
    "cnn-global": case(lambda: Cnn(True), IMAGES, "ce", ADAMW, 0.01, 17, dynamic=True),
    "cnn-eval-form": case(lambda: Cnn(True), IMAGES, "ce", ADAMW, 0.01, 15, norms_in_eval_form=True),
    "transformer": case(lambda: Transformer("text"), {"x": (4, 8, 24)}, "ce", ADAMW, 0.005, 14, dynamic=True),
    "transformer-loss": case(lambda: Transformer("loss", 16, 1), {"x": (4, 8, 24), "labels": (4, 8, 24)}, None, ADAMW,
                             0.01, 15, dynamic=True),
    "transformer-tokens": case(lambda: Transformer("tokens", 16, 1), {"x": (4, 8, 24)}, "ce", ADAMW, 0.01, 16),
    "transformer-tied": case(lambda: Transformer("tokens", 16, 1, is_tied=True), {"x": (4, 8, 24)}, "ce", SGD, 0.2, 14),
    "embedding": case(Bag, {"words": (8, 5, 20), "user": (8, 12)}, "ce", ADAMW, 0.02, 14, dynamic=True),
    "embedding-sgd": case(Bag, {"words": (8, 5, 20), "user": (8, 12)}, "mse", SGD, 0.5, 17),
}
INTEGERS = {"words", "user", "labels"}
BIG = {"big": case(Wide, NUMBERS, "ce", ADAMW, 0.001, 17)}


@contextlib.contextmanager
def quiet():
    """Silences the package, which writes its own log to stdout and stderr."""
    saved = [os.dup(1), os.dup(2)]
    with open(os.environ.get("ORT_LOG", os.devnull), "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            for i, descriptor in enumerate(saved):
                os.dup2(descriptor, i + 1)
                os.close(descriptor)


def is_integer(case, name):
    return name in INTEGERS or (name == "x" and len(case.inputs["x"]) == 3)


def make_data(case, model):
    """Inputs of all batches. Targets are the outputs of a second model, so that there is something to learn.
    Only few different numbers, which compress well."""
    random = np.random.default_rng(1)
    data = {}
    for name, (batch, *shape) in case.inputs.items():
        if is_integer(case, name):
            *shape, bound = shape
            data[name] = random.integers(0, bound, (STEPS * batch, *shape))
        else:
            data[name] = (random.standard_normal((STEPS * batch, *shape)) * 4).round().astype(np.float32) / 4
    if case.loss is None:
        data["labels"] = np.roll(data["x"], 1, 1)
        return data
    torch.manual_seed(2)
    teacher = case.build().eval()
    with torch.no_grad():
        outputs = teacher(*(torch.from_numpy(data[name]) for name in case.inputs))
        outputs = (outputs - outputs.mean(0)) / outputs.std(0)
    data[TARGETS[case.loss]] = {
        "ce": lambda: outputs.argmax(-1),
        "bce": lambda: (outputs > 0).float(),
        "mse": lambda: (outputs * 8).round() / 8,
        "l1": lambda: (outputs * 8).round() / 8,
    }[case.loss]().numpy()
    return data


def batch_of(case, data, step):
    """Arrays in the form of the training model's inputs; the target may have more rows than the inputs."""
    names = [*case.inputs] + ([TARGETS[case.loss]] if case.loss else [])
    return [np.array_split(data[name], STEPS)[step] for name in names]


def export(case, model, data):
    inputs = list(case.inputs)
    examples = tuple(torch.from_numpy(array) for array in batch_of(case, data, 0)[:len(inputs)])
    file = io.BytesIO()
    torch.onnx.export(
        model, examples, file, input_names=inputs, output_names=["loss" if case.loss is None else "output"],
        opset_version=case.opset, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
        export_params=True, dynamo=False,
        dynamic_axes={name: {0: "batch"} for name in inputs} if case.dynamic else None)
    proto = onnx.load_from_string(file.getvalue())
    for node in proto.graph.node:
        node.ClearField("doc_string") # Contains local paths.
    return proto


def load(folder, scratch):
    """Repairs BatchNormalization: generate_artifacts() leaves it three outputs in the eval model, which then fails to load."""
    model = onnx.load(folder / "eval_model.onnx")
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            del node.output[1:]
    onnx.save(model, scratch / "eval_model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    state = api.CheckpointState.load_checkpoint(folder / "checkpoint")
    module = api.Module(folder / "training_model.onnx", state, scratch / "eval_model.onnx", "cpu", options)
    return state, module, api.Optimizer(folder / "optimizer_model.onnx", module)


def loss_of(result):
    return float(result[0] if isinstance(result, tuple) else result)


def momentums(path):
    """Uses internal classes of the package, because its API does not provide this."""
    group = Checkpoint.Checkpoint.GetRootAs(path.read_bytes()).OptimizerGroups(0)
    result = {}
    for i in range(group.OptimizerStatesLength()):
        state = group.OptimizerStates(i)
        for j in range(state.MomentumsLength()):
            tensor = state.Momentums(j)
            result[f"{tensor.Name().decode()}-step-5/{state.ParamName().decode()}"] = (
                tensor.RawDataAsNumpy().view(np.float32).reshape(tensor.DimsAsNumpy()))
    return result


def train(case, folder, data, scratch):
    state, module, optimizer = load(folder, scratch)
    assert module.input_names() == list(data), (module.input_names(), list(data))
    optimizer.set_learning_rate(case.rate)
    evaluate = lambda: loss_of(module.eval()(*batch_of(case, data, 0)))
    golden = {"learning_rate": np.float32(case.rate), "batch": len(batch_of(case, data, 0)[0]),
              "eval_loss_before": evaluate()}
    for name, parameter in state.parameters:
        golden[f"initial/{name}"] = np.array(parameter.data).ravel()[:4]
    losses, norms = [], []
    for step in range(STEPS):
        losses.append(loss_of(module.train()(*batch_of(case, data, step))))
        grads = [parameter.grad for _, parameter in state.parameters if parameter.requires_grad]
        norms.append(np.sqrt(sum((grad.astype(np.float64) ** 2).sum() for grad in grads)))
        optimizer.step()
        module.lazy_reset_grad()
        if step == 4 and case.options.get("variants"):
            state.properties["epoch"] = 3
            state.properties["best loss"] = 0.25
            state.properties["note"] = "größer"
            api.CheckpointState.save_checkpoint(state, folder / "checkpoint-step-5", include_optimizer_state=True)
            golden.update({f"parameter-step-5/{key}": np.array(value.data) for key, value in state.parameters})
            golden.update(momentums(folder / "checkpoint-step-5"))
    golden.update(loss=np.float32(losses), grad_norm=np.float32(norms), eval_loss=np.float32(evaluate()))
    for name, parameter in state.parameters:
        golden[f"parameter/{name}"] = np.array(parameter.data) # Copied, because the original is freed.
    return golden


def make(name, case, folder):
    _graph_utils._GRAPH_TOKEN = 0 # Restarts the global numbering of names for each case.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(1)
    model = case.build().train()
    if case.options.get("norms_in_eval_form"): # The package converts them to the training form.
        for part in model.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.eval()
    with torch.no_grad(): # Zeros hide faults, and exporters make one of equal parameters.
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    data = make_data(case, model)
    frozen = tuple(case.options.get("frozen", []))
    trained = {key for key, _ in model.named_parameters() if not key.startswith(frozen)}
    with quiet():
        proto = export(case, model, data)
        initializers = [tensor.name for tensor in proto.graph.initializer]
        # Running statistics are also float initializers, but not parameters.
        options = {"additional_output_names": ["output"]} if case.options.get("outputs") else {}
        artifacts.generate_artifacts(
            proto, requires_grad=[key for key in initializers if key in trained],
            frozen_params=[key for key in initializers if key not in trained], loss=LOSSES[case.loss],
            optimizer=case.optimizer if isinstance(case.optimizer, artifacts.OptimType) else case.optimizer(),
            artifact_directory=folder, nominal_checkpoint=bool(case.options.get("variants")), **options)
        with tempfile.TemporaryDirectory() as scratch:
            golden = train(case, folder, data, pathlib.Path(scratch))
    if set(trained) - set(initializers):
        print("   not in the graph:", sorted(set(trained) - set(initializers)))
    np.savez_compressed(folder / "data.npz", **data)
    np.savez_compressed(folder / "golden.npz", **golden)
    print(f"{name}: loss {golden['loss'][0]:.4f} to {golden['loss'][-1]:.4f}, in the eval model "
          f"{golden['eval_loss_before']:.4f} to {golden['eval_loss']:.4f}")


def make_external(folder):
    """A checkpoint with two tensors in `checkpoint.data` and one inside."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(1)
    arrays = {name: random.integers(-8, 8, shape).astype(np.float32) / 8
              for name, shape in {"weight": (5, 16), "statistic": (3, 4, 2), "bias": (4,)}.items()}
    builder, data = flatbuffers.Builder(), b""

    def vector(start, tables):
        start(builder, len(tables))
        for table in reversed(tables):
            builder.PrependUOffsetTRelative(table)
        return builder.EndVector()

    def tensor(name, is_external):
        nonlocal data
        array, shown = arrays[name], builder.CreateString(name)
        dims = builder.CreateNumpyVector(np.array(array.shape, np.int64))
        if is_external:
            data += bytes(-len(data) % 64)
            offset, data = len(data), data + array.tobytes()
        else:
            raw = builder.CreateNumpyVector(np.frombuffer(array.tobytes(), np.uint8))
        Tensor.Start(builder)
        Tensor.AddName(builder, shown)
        Tensor.AddDims(builder, dims)
        Tensor.AddDataType(builder, onnx.TensorProto.FLOAT)
        if is_external:
            Tensor.AddExternalDataOffset(builder, offset)
        else:
            Tensor.AddRawData(builder, raw)
        return Tensor.End(builder)

    trained = vector(ModuleState.StartRequiresGradParamsVector, [tensor("weight", True), tensor("bias", False)])
    frozen = vector(ModuleState.StartFrozenParamsVector, [tensor("statistic", True)])
    ModuleState.Start(builder)
    ModuleState.AddRequiresGradParams(builder, trained)
    ModuleState.AddFrozenParams(builder, frozen)
    ModuleState.AddHasExternalData(builder, True)
    module = ModuleState.End(builder)
    Checkpoint.Start(builder)
    Checkpoint.AddVersion(builder, 2)
    Checkpoint.AddModuleState(builder, module)
    builder.Finish(Checkpoint.End(builder), file_identifier=b"ODTC")
    (folder / "checkpoint").write_bytes(builder.Output())
    (folder / "checkpoint.data").write_bytes(data)
    with quiet():
        read = {name: parameter.data for name, parameter in
                api.CheckpointState.load_checkpoint(folder / "checkpoint").parameters}
    assert read.keys() == arrays.keys() and all((read[name] == arrays[name]).all() for name in arrays)
    np.savez_compressed(folder / "golden.npz", **{f"parameter/{name}": array for name, array in arrays.items()})
    print("external: read by the package as written")


def list_nodes(folder, name):
    """Statistics of what an importer has to handle."""
    for file in ("training_model", "eval_model", "optimizer_model"):
        model = onnx.load(folder / name / f"{file}.onnx")
        graph = model.graph
        ops = collections.Counter((node.domain or "ai.onnx") + "::" + node.op_type for node in graph.node)
        print(f"{name}/{file}.onnx: ir {model.ir_version}, opsets",
              ", ".join(f"{entry.domain or 'ai.onnx'} {entry.version}" for entry in model.opset_import))
        print("   ", ", ".join(f"{op} {count}" if count > 1 else op for op, count in sorted(ops.items())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=pathlib.Path, default=HERE)
    parser.add_argument("--big", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    cases = BIG if options.big else CASES
    for name in options.names or [*cases, *([] if options.list or options.big else ["external"])]:
        if options.list:
            list_nodes(options.folder, name)
        elif name == "external":
            make_external(options.folder / name)
        else:
            make(name, cases[name], options.folder / name)


if __name__ == "__main__":
    main()
