"""The workloads of gpu.py: ONNX files, one batch of data for each, and what a
step must compute and move at least.

Needs numpy and onnx. `tiny` makes every extent small, so that everything can be
tested on a CPU.
"""
import dataclasses
import math
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
DIGITS = HERE.parent.parent / "runtime/examples/digits"
OPSET = 20
SEED = 1


@dataclasses.dataclass
class Workload:
    """One model at one batch size. `twin` names PyTorch's side: a class of
    gpu_torch.py and its arguments."""

    name: str
    model: pathlib.Path
    data: pathlib.Path
    batch: int
    twin: tuple
    inputs: str  # Where batches are before a step: "host" or "device".
    options: tuple = ()  # Options of mpc compile.
    parameters: int = 0
    flops: float = 0  # FLOPs of a step; 0: not the limiting factor.
    bytes: float = 0  # Bytes that a step must move; 0: not the limiting factor.
    part: str = "step"  # The part that is timed: "step" or "apply".
    precision: str = "bf16"  # Ours. PyTorch's twin of FP8 computes in bf16.
    rate: float = 1e-3  # The learning rate.

    @property
    def accumulates(self):
        return any(option.startswith("--accumulate") for option in self.options)


class Graph:
    """Nodes and weights of a model that is being made."""

    def __init__(self):
        self.nodes = []
        self.initializers = []
        self.random = np.random.default_rng(SEED)

    def weight(self, name, value):
        array = np.asarray(value, dtype=np.float32)
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op_type, name, *inputs, outputs=None, **attributes):
        """Appends a node and returns its first output."""
        outputs = outputs or [f"{name}.out"]
        self.nodes.append(
            helper.make_node(op_type, inputs, outputs, name=name, **attributes)
        )
        return outputs[0]

    def count(self):
        return sum(math.prod(tensor.dims) for tensor in self.initializers)

    def save(self, path, x, logits, opset=OPSET):
        """Writes the model, with large weights in a separate file, and checks it."""
        graph = helper.make_graph(self.nodes, path.stem, [x], [logits], self.initializers)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=11,
            producer_name="gpu_models.py",
        )
        onnx.save(
            model,
            path,
            save_as_external_data=True,
            location=f"{path.stem}.weights",
            size_threshold=1 << 10,
        )
        onnx.checker.check_model(str(path), full_check=True)


class Chain(Graph):
    """A chain of nodes on input "x"; `top` is the input of the next node."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.top = "x"

    def append(self, op_type, name, *more_inputs, **attributes):
        self.top = self.node(op_type, name, self.top, *more_inputs, **attributes)

    def gemm(self, name, fan_in, fan_out):
        bound = 1 / math.sqrt(fan_in)
        # float32 from the start, because 4096 x 4096 doubles are 128 MiB.
        shape = (fan_out, fan_in)
        values = self.random.random(shape, dtype=np.float32) * (2 * bound) - bound
        weight = self.weight(f"{name}.weight", values)
        bias = self.weight(f"{name}.bias", self.random.uniform(-bound, bound, fan_out))
        self.append("Gemm", name, weight, bias, transB=1)

    def finish(self, path, classes):
        """Writes the model; the last node's output becomes "logits"."""
        self.nodes[-1].output[0] = "logits"
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", self.width])
        logits = helper.make_tensor_value_info(
            "logits", TensorProto.FLOAT, ["N", classes]
        )
        self.save(path, x, logits)


def write_batch(path, batch, shape, classes, image="x"):
    random = np.random.default_rng(SEED + 1)
    x = random.standard_normal((batch, *shape), dtype=np.float32)
    labels = random.integers(0, classes, batch)
    np.savez(path, **{image: x, "labels": labels})


def make_perceptron(folder, name, layers, width, batch, **more):
    """`layers` products of width x width with ReLU between them."""
    graph = Chain(width)
    for i in range(layers):
        graph.gemm(f"fc{i}", width, width)
        if i + 1 < layers:
            graph.append("Relu", f"relu{i}")
    model, data = folder / f"{name}.onnx", folder / f"{name}.npz"
    parameters = graph.count()
    graph.finish(model, width)
    write_batch(data, batch, (width,), width)
    # The gradient of the first input is not needed.
    products = 3 * layers - 1
    flops = products * 2 * batch * width * width
    more.setdefault("flops", flops)
    return Workload(
        name,
        model,
        data,
        batch,
        ("Perceptron", layers, width),
        "device",
        parameters=parameters,
        **more,
    )


def mlp(folder, tiny):
    layers, width, batch = (3, 32, 16) if tiny else (8, 4096, 8192)
    return make_perceptron(folder, "mlp", layers, width, batch)


def mlp_fp8(folder, tiny):
    """The same model, with inner layers in FP8."""
    layers, width, batch = (3, 32, 16) if tiny else (8, 4096, 8192)
    inner = f"--op-precision=fc[1-{layers - 2}]=fp8"
    return make_perceptron(
        folder,
        "mlp-fp8",
        layers,
        width,
        batch,
        options=(inner,),
        precision="fp8",
    )


def optimizer(folder, tiny):
    """The update alone, for 125 million parameters in 106 tensors. Weight, both
    moments and gradient are read in f32; all except the gradient are written, and
    so is the 16-bit copy: 30 bytes per parameter."""
    layers, width, batch = (3, 32, 16) if tiny else (53, 1536, 16)
    work = make_perceptron(
        folder,
        "optimizer",
        layers,
        width,
        batch,
        flops=0,
        options=("--accumulate=2",),
        part="apply",
    )
    work.bytes = 30 * work.parameters
    return work


def rows(folder, name, tiny, norm):
    width, batch = (32, 16) if tiny else (4096, 8192)
    graph = Chain(width)
    factors = graph.random.uniform(0.5, 1.5, (2, width))
    graph.append("Mul", "scale", graph.weight("scale.weight", factors[0]))
    if norm:
        weight = graph.weight("norm.weight", factors[1])
        bias = graph.weight("norm.bias", graph.random.uniform(-0.5, 0.5, width))
        graph.append("LayerNormalization", "norm", weight, bias, axis=-1, epsilon=1e-5)
    model, data = folder / f"{name}.onnx", folder / f"{name}.npz"
    parameters = graph.count()
    graph.finish(model, width)
    write_batch(data, batch, (width,), width)
    # Two passes: over rows, reading x in f32 and writing gradients in 16 bit, and over
    # the columns of both for the gradients of the parameters.
    must_move = batch * width * 2 * (4 + 2 + (2 if norm else 0))
    return Workload(
        name,
        model,
        data,
        batch,
        ("Rows", width, norm),
        "device",
        parameters=parameters,
        bytes=must_move,
    )


def digits(folder, model, batch):
    name = f"digits-{model}-{batch}"
    data = folder / f"{name}.npz"
    write_batch(data, batch, (1, 8, 8), 10, image="images")
    loaded = onnx.load(DIGITS / f"{model}.onnx")
    skipped = ("running_mean", "running_var", "dropout.ratio")
    parameters = sum(
        math.prod(tensor.dims)
        for tensor in loaded.graph.initializer
        if not tensor.name.endswith(skipped)
    )
    twin = ("DigitsMlp" if model == "mlp" else "DigitsCnn",)
    path = DIGITS / f"{model}.onnx"
    return Workload(name, path, data, batch, twin, "host", parameters=parameters)


class Transformer(Graph):
    """GPT-2 with the op Attention of opset 23 and a classifier that shares its weight
    with the token embedding."""

    def __init__(self, layers, heads, width, length, vocabulary):
        super().__init__()
        self.layers, self.heads, self.width = layers, heads, width
        self.length, self.vocabulary = length, vocabulary

    def normal(self, name, *shape, deviation=0.02):
        values = self.random.standard_normal(shape, dtype=np.float32)
        return self.weight(name, values * np.float32(deviation))

    def linear(self, name, x, fan_in, fan_out, deviation=0.02):
        weight = self.normal(f"{name}.weight", fan_out, fan_in, deviation=deviation)
        bias = self.weight(f"{name}.bias", np.zeros(fan_out))
        turned = self.node("Transpose", f"{name}.turned", weight, perm=[1, 0])
        product = self.node("MatMul", f"{name}.matmul", x, turned)
        return self.node("Add", name, product, bias)

    def norm(self, name, x):
        weight = self.weight(f"{name}.weight", np.ones(self.width))
        bias = self.weight(f"{name}.bias", np.zeros(self.width))
        return self.node("LayerNormalization", name, x, weight, bias, axis=-1, epsilon=1e-5)

    def layer(self, name, x):
        # As in GPT-2, products before a residual connection begin smaller.
        width, residual = self.width, 0.02 / math.sqrt(2 * self.layers)
        packed = self.linear(f"{name}.qkv", self.norm(f"{name}.ln1", x), width, 3 * width)
        parts = [f"{name}.{part}" for part in "qkv"]
        self.node("Split", f"{name}.split", packed, outputs=parts, axis=-1, num_outputs=3)
        heads = {"q_num_heads": self.heads, "kv_num_heads": self.heads}
        mixed = self.node("Attention", f"{name}.attention", *parts, is_causal=1, **heads)
        mixed = self.linear(f"{name}.proj", mixed, width, width, residual)
        x = self.node("Add", f"{name}.add1", x, mixed)
        wide = self.linear(f"{name}.up", self.norm(f"{name}.ln2", x), width, 4 * width)
        wide = self.node("Gelu", f"{name}.gelu", wide, approximate="tanh")
        narrow = self.linear(f"{name}.down", wide, 4 * width, width, residual)
        return self.node("Add", f"{name}.add2", x, narrow)

    def finish(self, path):
        tokens = self.normal("wte.weight", self.vocabulary, self.width)
        places = self.normal("wpe", self.length, self.width)
        x = self.node("Gather", "wte", tokens, "x", axis=0)
        x = self.node("Add", "embedded", x, places)
        for i in range(self.layers):
            x = self.layer(f"h{i}", x)
        x = self.node("Flatten", "rows", self.norm("ln", x), axis=2)
        self.node("Gemm", "head", x, tokens, outputs=["logits"], transB=1)
        x = helper.make_tensor_value_info("x", TensorProto.INT64, ["N", self.length])
        logits = helper.make_tensor_value_info(
            "logits", TensorProto.FLOAT, ["R", self.vocabulary]
        )
        self.save(path, x, logits, opset=23)


def gpt2(folder, tiny):
    """GPT-2 with 124 million parameters; its vocabulary is rounded up to a multiple of
    128, as in llm.c and nanoGPT."""
    sizes = (2, 2, 32, 16, 128) if tiny else (12, 12, 768, 1024, 50304)
    batch = 2 if tiny else 16
    layers, _, width, length, vocabulary = sizes
    graph = Transformer(*sizes)
    model, data = folder / "gpt2.onnx", folder / "gpt2.npz"
    graph.finish(model)
    random = np.random.default_rng(SEED + 1)
    ids = random.integers(0, vocabulary, (2, batch, length))
    np.savez(data, x=ids[0], labels=ids[1])
    # Products of weights, forward and backward, and half of the scores of attention,
    # whose backward pass takes five products for the two of the forward pass.
    tokens = batch * length
    weights = layers * 12 * width * width + vocabulary * width
    attention = layers * 7 * tokens * length * width
    return Workload(
        "gpt2",
        model,
        data,
        batch,
        ("Gpt2", *sizes),
        "device",
        parameters=graph.count(),
        flops=6 * tokens * weights + attention,
        rate=1e-4,  # With more and no warm-up, losses of any two programs differ.
    )


def without_dropout(work, folder):
    """The same workload with a model whose losses can be compared between programs."""
    model = onnx.load(work.model)
    ratios = [node.input[1] for node in model.graph.node if node.op_type == "Dropout"]
    if not ratios:
        return work
    for tensor in model.graph.initializer:
        if tensor.name in ratios:
            tensor.CopyFrom(numpy_helper.from_array(np.float32(0), tensor.name))
    path = folder / f"{work.name}-still.onnx"
    onnx.save(model, path)
    return dataclasses.replace(work, model=path)


def initializers(path):
    """Names and arrays of a model's weights, including external data."""
    for tensor in onnx.load(path).graph.initializer:
        yield tensor.name, numpy_helper.to_array(tensor)


def write_weights(path, target):
    """The trained weights of a model as .npz, for packages without them."""
    skipped = ("dropout.ratio",)
    np.savez(target, **{n: a for n, a in initializers(path) if n not in skipped})


def clear_weights(work):
    """Replaces large weights by zeros, so that the compiled package compresses well."""
    large = work.model.with_suffix(".weights")
    if large.exists():
        size = large.stat().st_size
        with open(large, "wb") as file:
            file.truncate(size)


PARTS = {
    "digits-mlp-64": lambda folder, tiny: digits(folder, "mlp", 64),
    "digits-mlp-1024": lambda folder, tiny: digits(folder, "mlp", 1024),
    "digits-cnn-64": lambda folder, tiny: digits(folder, "cnn", 64),
    "digits-cnn-1024": lambda folder, tiny: digits(folder, "cnn", 1024),
    "mlp": mlp,
    "mlp-fp8": mlp_fp8,
    "gpt2": gpt2,
    "optimizer": optimizer,
    "softmax": lambda folder, tiny: rows(folder, "softmax", tiny, norm=False),
    "layernorm": lambda folder, tiny: rows(folder, "layernorm", tiny, norm=True),
}
