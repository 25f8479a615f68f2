"""Runs a Graph in PyTorch: the loss, and the gradient of each weight."""
import torch
import torch.nn.functional as F

DTYPES = {"int64": torch.int64, "bool": torch.bool}


def _reduction(function):
    def run(a, x, axes=None):
        dims = tuple(axes.tolist()) if axes is not None else tuple(range(x.dim()))
        return function(x, dims, bool(a.get("keepdims", 1)))
    return run


def _gemm(a, x, w, bias=None):
    w = w.T if a.get("transB") else w
    return x @ w if bias is None else torch.addmm(bias, x, w)


def _pads(a, rank):
    pads = a.get("pads", [0] * 2 * rank)
    assert pads[:rank] == pads[rank:], "uneven pads"
    return pads[:rank]


def _conv(a, x, w, bias=None):
    return F.conv2d(x, w, bias, a.get("strides", [1, 1]), _pads(a, 2),
                    a.get("dilations", [1, 1]), a.get("group", 1))


def _conv_transpose(a, x, w, bias=None):
    return F.conv_transpose2d(x, w, bias, a.get("strides", [1, 1]), _pads(a, 2))


def _batch_norm(a, x, scale, bias, mean, variance):
    assert a.get("training_mode") == 1
    return F.batch_norm(x, None, None, scale, bias, True, 0.0, a.get("epsilon", 1e-5)), None, None


def _layer_norm(a, x, scale, bias=None):
    axis = a.get("axis", -1) % x.dim()
    return F.layer_norm(x, x.shape[axis:], scale, bias, a.get("epsilon", 1e-5))


def _slice(a, x, starts, ends, axes, steps=None):
    steps = steps.tolist() if steps is not None else [1] * len(starts)
    for start, end, axis, step in zip(starts.tolist(), ends.tolist(), axes.tolist(), steps):
        places = torch.arange(x.shape[axis])[slice(start, end, step)] if step > 0 else \
            torch.arange(x.shape[axis]).flip(0)[slice(x.shape[axis] - 1 - start, None, -step)]
        x = x.index_select(axis, places)
    return x


def _split(a, x, sizes):
    return x.split(sizes.tolist(), a["axis"])


def _gather(a, x, indices):
    axis = a.get("axis", 0)
    flat = x.index_select(axis, indices.reshape(-1))
    return flat.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1:])


def _cross_entropy(a, logits, labels, weights=None):
    return F.cross_entropy(logits, labels, weights, reduction=a.get("reduction", "mean"))


def _nll(a, x, labels, weights=None):
    return F.nll_loss(x, labels, weights, reduction=a.get("reduction", "mean"))


def _top_k(a, x, k):
    values, places = x.topk(int(k[0]), a.get("axis", -1), bool(a.get("largest", 1)))
    return values, places


def _cumsum(a, x, axis):
    return x.cumsum(int(axis))


def _pad(a, x, pads, value=None):
    pads = pads.tolist()
    rank = len(pads) // 2
    order = []
    for axis in reversed(range(rank)):
        order += [pads[axis], pads[rank + axis]]
    mode = a.get("mode", "constant")
    if mode == "constant":
        return F.pad(x, order)
    return F.pad(x, order[:4], "replicate" if mode == "edge" else mode)


def _group_norm_like(a, x, scale, bias):
    return F.instance_norm(x, weight=scale, bias=bias, eps=a.get("epsilon", 1e-5))


def _clip(a, x, low, high):
    return x.clamp(low, high)


def _expand(a, x, shape):
    return x.broadcast_to(torch.broadcast_shapes(x.shape, tuple(shape.tolist())))


OPS = {
    "Add": lambda a, x, y: x + y,
    "Sub": lambda a, x, y: x - y,
    "Mul": lambda a, x, y: x * y,
    "Div": lambda a, x, y: x / y,
    "Max": lambda a, x, y: torch.maximum(x, y),
    "Min": lambda a, x, y: torch.minimum(x, y),
    "Sum": lambda a, *xs: sum(xs[1:], xs[0]),
    "Neg": lambda a, x: -x,
    "Sqrt": lambda a, x: x.sqrt(),
    "Reciprocal": lambda a, x: x.reciprocal(),
    "Exp": lambda a, x: x.exp(),
    "Log": lambda a, x: x.log(),
    "Abs": lambda a, x: x.abs(),
    "Sin": lambda a, x: x.sin(),
    "Erf": lambda a, x: torch.erf(x),
    "Relu": lambda a, x: x.relu(),
    "Tanh": lambda a, x: x.tanh(),
    "Sigmoid": lambda a, x: x.sigmoid(),
    "Softplus": lambda a, x: F.softplus(x, threshold=1e9),
    "Elu": lambda a, x: F.elu(x),
    "LeakyRelu": lambda a, x: F.leaky_relu(x, a.get("alpha", 0.01)),
    "Softmax": lambda a, x: x.softmax(a.get("axis", -1)),
    "LogSoftmax": lambda a, x: x.log_softmax(a.get("axis", -1)),
    "MatMul": lambda a, x, y: x @ y,
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _group_norm_like,
    "LayerNormalization": _layer_norm,
    "MaxPool": lambda a, x: F.max_pool2d(x, a["kernel_shape"], a.get("strides"), _pads(a, 2)),
    "AveragePool": lambda a, x: F.avg_pool2d(x, a["kernel_shape"], a.get("strides"), _pads(a, 2),
                                             count_include_pad=bool(a["count_include_pad"])),
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), True),
    "ReduceMean": _reduction(torch.mean),
    "ReduceSum": _reduction(torch.sum),
    "ReduceMax": _reduction(lambda x, dims, keep: torch.amax(x, dims, keep)),
    "ReduceL2": _reduction(lambda x, dims, keep: torch.linalg.vector_norm(x, 2, dims, keep)),
    "ReduceLogSumExp": _reduction(lambda x, dims, keep: torch.logsumexp(x, dims, keep)),
    "Concat": lambda a, *xs: torch.cat(xs, a["axis"]),
    "Split": _split,
    "Slice": _slice,
    "Gather": _gather,
    "GatherElements": lambda a, x, places: x.gather(a.get("axis", 0), places),
    "Transpose": lambda a, x: x.permute(a["perm"]),
    "Reshape": lambda a, x, shape: x.reshape(shape.tolist()),
    "Unsqueeze": lambda a, x, axes: x.unsqueeze(int(axes[0])),
    "Squeeze": lambda a, x, axes: x.squeeze(int(axes[0])),
    "Flatten": lambda a, x: x.flatten(a.get("axis", 1)),
    "Expand": _expand,
    "Where": lambda a, c, x, y: torch.where(c, x, y),
    "Pad": _pad,
    "CumSum": _cumsum,
    "TopK": _top_k,
    "Clip": _clip,
    "Identity": lambda a, x: x,
    "Greater": lambda a, x, y: x > y,
    "SoftmaxCrossEntropyLoss": _cross_entropy,
    "NegativeLogLikelihoodLoss": _nll,
}


def _rounded_norm(a, x, scale, bias, dims, affine, rounded):
    """A norm with each step rounded separately, as in all programs."""
    mean = rounded(x.mean(dims, True))
    centred = rounded(x - mean)
    variance = rounded((centred * centred).mean(dims, True))
    inverse = rounded((variance + a.get("epsilon", 1e-5)).rsqrt())
    result = rounded(rounded(centred * inverse) * scale.reshape(affine))
    return result if bias is None else result + bias.reshape(affine)


def _channels(x):
    return [1, -1] + [1] * (x.dim() - 2)


ROUNDED_NORMS = {
    "BatchNormalization": lambda a, rounded, x, scale, bias, *_: (_rounded_norm(
        a, x, scale, bias, [0, *range(2, x.dim())], _channels(x), rounded), None, None),
    "InstanceNormalization": lambda a, rounded, x, scale, bias: _rounded_norm(
        a, x, scale, bias, list(range(2, x.dim())), _channels(x), rounded),
    "LayerNormalization": lambda a, rounded, x, scale, bias=None: _rounded_norm(
        a, x, scale, bias, [-1], [-1], rounded),
}


def tensor(source, dtype):
    values = torch.tensor(source.values, dtype=DTYPES.get(source.kind, dtype))
    return values.reshape(source.shape)


class Rounding(torch.autograd.Function):
    """Perturbs each number by up to a fraction of itself, and also its gradient.

    This simulates rounding the results of all ops, as in Monte Carlo
    arithmetic.
    """

    @staticmethod
    def forward(context, x, unit, gradient_unit, generator):
        context.unit, context.generator = gradient_unit, generator
        return Rounding._move(x, unit, generator)

    @staticmethod
    def backward(context, gradient):
        return Rounding._move(gradient, context.unit, context.generator), None, None, None

    @staticmethod
    def _move(x, unit, generator):
        if not unit:
            return x
        noise = torch.rand(x.shape, generator=generator, dtype=x.dtype) * 2 - 1
        return x * (1 + unit * noise)


def run_autocast(graph, dtype):
    with torch.autocast("cpu", dtype=dtype):
        return run(graph, torch.float32)


def run(graph, dtype, unit=0.0, seed=0, product_unit=0.0):
    """The loss, and {weight: gradient}; in f64 with ops that round by `unit`.

    Operands of products round by `product_unit`, and gradients that they read by
    twice as much: E5M2 has one bit less than E4M3.
    """
    generator = torch.Generator().manual_seed(seed)

    def rounded(x):
        return Rounding.apply(x, unit, unit, generator) if unit else x

    def product(node, operands):
        operands = [Rounding.apply(x, product_unit, 0.0, generator) for x in operands[:2]] \
            + operands[2:]
        return Rounding.apply(OPS[node.op](node.attributes, *operands), 0.0, 2 * product_unit,
                              generator)

    values = {"": None}
    for name, source in {**graph.constants, **graph.inputs}.items():
        values[name] = tensor(source, dtype)
    weights = {name: tensor(source, dtype).requires_grad_()
               for name, source in graph.weights.items()}
    for name, value in weights.items():
        values[name] = rounded(value)
    for node in graph.nodes:
        operands = [values[name] for name in node.inputs]
        if unit and node.op in ROUNDED_NORMS:
            results = ROUNDED_NORMS[node.op](node.attributes, rounded, *operands)
        elif product_unit and node.op in ("Gemm", "MatMul"):
            results = product(node, operands)
        else:
            results = OPS[node.op](node.attributes, *operands)
        results = results if isinstance(results, tuple) else (results,)
        for name, result in zip(node.outputs, results):
            is_float = result is not None and result.is_floating_point()
            values[name] = rounded(result) if is_float else result
    loss = values[graph.loss]
    found = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    return loss.item(), {
        name: (gradient if gradient is not None else torch.zeros_like(weights[name])).double()
        for name, gradient in zip(weights, found)}
