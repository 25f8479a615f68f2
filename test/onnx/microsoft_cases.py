"""Rows of microsoft_ops.py: small nodes, also where numbers are large or shapes awkward.

The golden of a row is the result of ONNX Runtime, or of a formula in f64 if ONNX Runtime has no
CPU kernel or is itself inexact.
"""
import dataclasses
import typing
import zlib

import numpy as np

FAMILIES = {}


@dataclasses.dataclass
class Case:
    name: str
    inputs: dict
    nodes: str
    outputs: str
    known: dict
    formula: typing.Optional[typing.Callable]


def case(family, name, inputs, nodes, outputs, known=None, formula=None):
    known = {k: np.asarray(v) for k, v in (known or {}).items()}
    FAMILIES.setdefault(family, []).append(
        Case(name, {k: np.asarray(v) for k, v in inputs.items()}, nodes, outputs, known, formula))


def numbers(seed, *shape, scale=1.0):
    """Numbers that depend only on the seed."""
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    return (scale * random.standard_normal(shape)).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def shape_text(array):
    return "[" + ", ".join(map(str, array.shape)) + "]"


# Unary functions, including flat regions and 0.
WIDE = np.array([-1e4, -88.5, -20, -4, -1.5, -0.3, -1e-6, 0, 1e-6, 0.3, 1.5, 4, 20, 88.5, 1e4, 3.2],
                np.float32).reshape(2, 8)
for op in ("GeluGrad", "FastGeluGrad", "QuickGeluGrad"):
    for name, x in (("", numbers(op, 3, 17, scale=2)), ("_wide", WIDE)):
        case("functions", op + name, {"dy": numbers("dy" + op, *x.shape), "x": x},
             f"y = com.microsoft.{op} (dy, x)", f"float{shape_text(x)} y",
             formula=None if not name else {
                 "GeluGrad": lambda dy, x: dy * (0.5 * (1 + ERF(x / 2**0.5))
                                                 + x * np.exp(-x * x / 2) / (2 * np.pi)**0.5),
                 "FastGeluGrad": lambda dy, x: dy * tanh_gelu_slope(x),
                 "QuickGeluGrad": lambda dy, x: dy * silu_slope(x, 1.702)}[op])
case("functions", "QuickGeluGrad_alpha", {"dy": numbers("a", 5), "x": numbers("b", 5)},
     "y = com.microsoft.QuickGeluGrad <alpha = 0.7> (dy, x)", "float[5] y")
ERF = np.vectorize(__import__("math").erf)


def tanh_gelu_slope(x):
    inner = (2 / np.pi)**0.5 * (x + 0.044715 * x**3)
    bend = np.tanh(inner)
    return 0.5 * (1 + bend) + 0.5 * x * (1 - bend**2) * (2 / np.pi)**0.5 * (1 + 3 * 0.044715 * x * x)


def silu_slope(x, alpha):
    s = 0.5 * (1 + np.tanh(alpha * x / 2))
    return s * (1 + alpha * x * (1 - s))


# ONNX Runtime computes this wrongly: the gradient of the tanh form is not that of erf.
case("functions", "GeluGrad_of_tanh", {"dy": numbers("c", 3, 5), "x": numbers("d", 3, 5, scale=2)},
     'z = Gelu <approximate = "tanh"> (x) y = com.microsoft.GeluGrad (dy, x)',
     "float[3, 5] z, float[3, 5] y",
     formula=lambda dy, x: (0.5 * x * (1 + np.tanh((2 / np.pi)**0.5 * (x + 0.044715 * x**3))),
                            dy * tanh_gelu_slope(x)))
for op, y in (("ReluGrad", np.maximum(WIDE, 0)), ("SigmoidGrad", 0.5 * (1 + np.tanh(WIDE / 2))),
              ("TanhGrad", np.tanh(WIDE)), ("LeakyReluGrad", np.where(WIDE > 0, WIDE, 0.01 * WIDE))):
    case("functions", op, {"dy": numbers(op, 2, 8), "y": y.astype(np.float32)},
         f"x = com.microsoft.{op} (dy, y)", "float[2, 8] x")
case("functions", "LeakyReluGrad_alpha", {"dy": numbers("e", 4), "y": numbers("f", 4)},
     "x = com.microsoft.LeakyReluGrad <alpha = 0.3> (dy, y)", "float[4] x")
for op in ("BiasGeluGrad_dX", "BiasFastGeluGrad_dX"):
    case("functions", op, {"dy": numbers(op, 2, 3, 5), "x": numbers("g", 2, 3, 5), "b": numbers("h", 5)},
         f"y = com.microsoft.{op} (dy, x, b)", "float[2, 3, 5] y")
for op in ("Gelu", "FastGelu", "QuickGelu"):
    case("functions", op, {"x": numbers(op, 3, 7, scale=2)}, f"y = com.microsoft.{op} (x)", "float[3, 7] y")
for op in ("BiasGelu", "FastGelu"):
    case("functions", op + "_bias", {"x": numbers(op, 3, 7), "b": numbers("i", 7)},
         f"y = com.microsoft.{op} (x, b)", "float[3, 7] y")


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x, axis=-1):
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


for axis in (0, 1, -1):
    for scale in (1, 1e4):
        x = numbers(f"x{axis}", 2, 3, 4, scale=scale)
        inputs = {"dy": numbers("dy", 2, 3, 4), "y": softmax(x.astype(float), axis).astype(np.float32)}
        logs = {"dy": numbers("dy", 2, 3, 4), "y": log_softmax(x.astype(float), axis).astype(np.float32)}
        name = f"_{axis % 3}{'n' if axis < 0 else ''}{'_large' if scale > 1 else ''}"
        case("functions", "SoftmaxGrad_13" + name, inputs,
             f"x = com.microsoft.SoftmaxGrad_13 <axis = {axis}> (dy, y)", "float[2, 3, 4] x",
             formula=lambda dy, y, axis=axis: y * (dy - (dy * y).sum(axis, keepdims=True)))
        case("functions", "LogSoftmaxGrad_13" + name, logs,
             f"x = com.microsoft.LogSoftmaxGrad_13 <axis = {axis}> (dy, y)", "float[2, 3, 4] x",
             formula=lambda dy, y, axis=axis: dy - np.exp(y) * dy.sum(axis, keepdims=True))
flat = softmax(numbers("s", 2, 12)).reshape(2, 3, 4)
case("functions", "SoftmaxGrad", {"dy": numbers("t", 2, 3, 4), "y": flat},
     "x = com.microsoft.SoftmaxGrad (dy, y)", "float[2, 3, 4] x")
case("functions", "SoftmaxGrad_last", {"dy": numbers("t", 2, 3, 4), "y": softmax(numbers("s", 2, 3, 4))},
     "x = com.microsoft.SoftmaxGrad <axis = -1> (dy, y)", "float[2, 3, 4] x")
case("functions", "LogSoftmaxGrad", {"dy": numbers("t", 2, 3, 4), "y": np.log(flat)},
     "x = com.microsoft.LogSoftmaxGrad (dy, y)", "float[2, 3, 4] x")
# softmax is 0 for a masked element.
masked = numbers("mask", 3, 5)
masked[:, 3:] = -np.inf
case("functions", "SoftmaxGrad_13_masked", {"dy": numbers("u", 3, 5), "x": masked},
     "y = Softmax (x) z = com.microsoft.SoftmaxGrad_13 (dy, y)", "float[3, 5] y, float[3, 5] z")
case("functions", "LogSoftmaxGrad_13_masked", {"dy": numbers("u", 3, 5), "x": masked},
     "y = LogSoftmax (x) z = com.microsoft.LogSoftmaxGrad_13 (dy, y)", "float[3, 5] y, float[3, 5] z")
case("functions", "BiasSoftmax", {"x": numbers("v", 2, 3, 4, 5), "b": numbers("w", 2, 1, 1, 5)},
     "y = com.microsoft.BiasSoftmax <axis = 3, is_inner_broadcast = 1> (x, b)", "float[2, 3, 4, 5] y",
     formula=lambda x, b: softmax(x + b))
mask = numbers("m", 3, 6) > -0.3
for name, rest, known in (("", "", {}), ("_ratio", ", r", {"r": np.float32(0.25)}),
                          ("_zero", ", r", {"r": np.float32(0)}),
                          ("_trains", ", r, t", {"r": np.float32(0.25), "t": np.bool_(True)})):
    case("functions", "DropoutGrad" + name, {"dy": numbers("dg", 3, 6), "m": mask},
         f"x = com.microsoft.DropoutGrad (dy, m{rest})", "float[3, 6] x", known)
# In inference form dropout drops nothing, and the gradient passes unchanged.
for name, op, back in (("Dropout", "Dropout", "DropoutGrad"),
                       ("BitmaskDropout", "com.microsoft.BitmaskDropout", "BitmaskDropoutGrad")):
    case("functions", name + "_and_back", {"x": numbers("x", 3, 6), "dy": numbers("y", 3, 6)},
         f"y, m = {op} (x, r, t) z = com.microsoft.{back} (dy, m, r, t)", "float[3, 6] y, float[3, 6] z",
         {"r": np.float32(0.25), "t": np.bool_(True)}, formula=lambda x, dy, r, t: (x, dy))

# Losses: labels of every class, ignored ones, one sample, scores far apart.
def class_loss_grad(dy, scores, label, weight=None, ignored=None, reduction="mean"):
    """The gradient for scores [N, C, d..], the loss, and its log-probabilities."""
    log_prob = log_softmax(scores, 1)
    counts = np.ones(label.shape) if weight is None else weight[np.where(label == ignored, 0, label)]
    counts = np.where(label == ignored, 0.0, counts)
    hot = np.moveaxis(np.eye(scores.shape[1])[np.where(label == ignored, 0, label)], -1, 1)
    losses = -np.where(hot > 0, log_prob, 0).sum(1) * counts
    factor = counts * dy
    total = losses
    if reduction == "mean":
        divisor = counts.sum()
        factor = factor / divisor if divisor else 0 * factor
        total = losses.sum() / divisor if divisor else np.nan
    elif reduction == "sum":
        total = losses.sum()
    return (np.exp(log_prob) - hot) * np.expand_dims(factor, 1), total, log_prob


LOSSES = {
    "plain": dict(scores=numbers("p", 5, 5), label=ints(0, 1, 2, 3, 4)),
    "weighted": dict(scores=numbers("q", 5, 4), label=ints(3, 1, 1, 0, 2),
                     weight=np.array([0.5, 2, 1, 0.25], np.float32)),
    "ignored": dict(scores=numbers("r", 6, 4), label=ints(3, -100, 1, 0, -100, 2), ignored=-100),
    "ignored_weighted": dict(scores=numbers("s", 6, 4), label=ints(3, 1, 1, 0, 1, 2), ignored=1,
                             weight=np.array([0.5, 2, 1, 0.25], np.float32)),
    "ignored_all": dict(scores=numbers("t", 3, 4), label=ints(2, 2, 2), ignored=2),
    "single": dict(scores=numbers("u", 1, 3), label=ints(2)),
    "dense": dict(scores=numbers("v", 2, 3, 2, 4), label=ints(*[i * 7 % 3 for i in range(16)]).reshape(2, 2, 4)),
    "large": dict(scores=numbers("w", 6, 5, scale=1e4), label=ints(0, 1, 2, 3, 4, 0)),
    "masked": dict(scores=np.where(np.arange(5) == 3, -np.inf, numbers("x", 4, 5)).astype(np.float32),
                   label=ints(0, 1, 2, 4)),
}
for name, loss in LOSSES.items():
    for reduction in ("mean", "sum", "none"):
        scores, label = loss["scores"], loss["label"]
        weight, ignored = loss.get("weight"), loss.get("ignored")
        if name == "ignored_all" and reduction == "mean":
            continue  # The loss is NaN.
        kind = f'reduction = "{reduction}"'
        old = kind + ("" if ignored is None else f", ignore_index = {ignored}")
        per_label = shape_text(label)
        dy = numbers("dy", *(label.shape if reduction == "none" else ()))
        logs, total = "float" + shape_text(scores), "float" + per_label if reduction == "none" else "float"
        w = {} if weight is None else {"w": weight}
        i = {} if ignored is None else {"i": np.int64(ignored)}
        rest, number = ", w" if w else "", ", i" if i else ""
        inner = rest + number if w or not i else ", , i"

        def both(dy, x, l, w=None, i=None, name=name, reduction=reduction):
            g, loss, log_prob = class_loss_grad(dy, x, l, w, LOSSES[name].get("ignored"), reduction)
            return loss, log_prob, g

        # The gradient reads the log-probabilities of the loss, as in training graphs.
        case("losses", f"Standard_{name}_{reduction}", {"dy": dy, "x": scores, "l": label} | w,
             f"y, p = SoftmaxCrossEntropyLoss <{old}> (x, l{rest}) "
             f"g = com.microsoft.SoftmaxCrossEntropyLossGrad <{old}> (dy, p, l{rest})",
             f"{total} y, {logs} p, {logs} g", formula=both)
        case("losses", f"Internal_{name}_{reduction}", {"dy": dy, "x": scores, "l": label} | w,
             f"y, p = com.microsoft.SoftmaxCrossEntropyLossInternal <{kind}> (x, l{inner}) "
             f"g = com.microsoft.SoftmaxCrossEntropyLossInternalGrad <{kind}> (dy, p, l{inner})",
             f"{total} y, {logs} p, {logs} g", i, formula=both)
        # The same from arbitrary log-probabilities, without scores.
        p = log_softmax(scores.astype(float), 1).astype(np.float32)
        case("losses", f"Grad_{name}_{reduction}", {"dy": dy, "p": p, "l": label} | w,
             f"g = com.microsoft.SoftmaxCrossEntropyLossGrad <{old}> (dy, p, l{rest})", f"{logs} g",
             formula=lambda dy, p, l, w=None, name=name, reduction=reduction:
             class_loss_grad(dy, p, l, w, LOSSES[name].get("ignored"), reduction)[0])
        if name not in ("large", "masked"):
            for version in ("", "2"):
                case("losses", f"Nll{version}_{name}_{reduction}", {"p": p, "l": label} | w,
                     f"y = com.microsoft.NegativeLogLikelihoodLossInternal{version} <{kind}> (p, l{inner})",
                     f"{total} y", i,
                     formula=lambda p, l, w=None, i=None, name=name, reduction=reduction:
                     class_loss_grad(0, p, l, w, LOSSES[name].get("ignored"), reduction)[1])
# The same computed by ONNX Runtime itself.
for name in ("plain", "ignored_weighted", "dense"):
    loss = LOSSES[name]
    w = {"w": loss["weight"]} if "weight" in loss else {}
    old = 'reduction = "mean"' + (f", ignore_index = {loss['ignored']}" if "ignored" in loss else "")
    logs = "float" + shape_text(loss["scores"])
    case("losses", f"Runtime_{name}", {"dy": np.float32(0.7), "x": loss["scores"], "l": loss["label"]} | w,
         f"y, p = SoftmaxCrossEntropyLoss <{old}> (x, l{', w' if w else ''}) "
         f"g = com.microsoft.SoftmaxCrossEntropyLossGrad <{old}> (dy, p, l{', w' if w else ''})",
         f"float y, {logs} p, {logs} g")
case("losses", "InternalGrad_bias",
     {"dy": np.float32(0.7), "p": log_softmax(numbers("z", 3, 4)), "l": np.array([1, 3, 0], np.int32),
      "b": numbers("bias", 3, 4)},
     "g = com.microsoft.SoftmaxCrossEntropyLossInternalGrad (dy, p, l, , , b)", "float[3, 4] g",
     formula=lambda dy, p, l, b: class_loss_grad(dy, p, l)[0] + b)

# Norms: rows far from 0, rows of one number, statistics of few samples.
def layer_norm_grad(dy, x, s, axis, centre=True):
    axes, outer = tuple(range(axis, x.ndim)), tuple(range(axis))
    mean = x.mean(axes, keepdims=True) if centre else 0 * x.mean(axes, keepdims=True)
    inv = 1 / np.sqrt(((x - mean)**2).mean(axes, keepdims=True) + 1e-5)
    hat, scaled = (x - mean) * inv, dy * s
    back = scaled - hat * (scaled * hat).mean(axes, keepdims=True)
    if centre:
        back = back - scaled.mean(axes, keepdims=True)
    return mean, inv, back * inv, (dy * hat).sum(outer), dy.sum(outer), hat * s


for name, shape, axis, scale in (("", (3, 7), -1, 1), ("_axis", (2, 3, 4, 5), 2, 1), ("_all", (4, 3), 0, 1),
                                 ("_one", (1, 5), -1, 1), ("_large", (4, 33), -1, 1e4)):
    at = axis % len(shape)
    x, s = numbers("x" + name, *shape, scale=scale), numbers("s" + name, *shape[at:])
    dy, b = numbers("dy" + name, *shape), numbers("b" + name, *shape[at:])
    kept = shape_text(np.empty(shape[:at] + (1,) * (len(shape) - at)))
    whole, row = shape_text(x), shape_text(s)

    def layer(dy, x, s, b, at=at):
        mean, inv, dx, ds, db, y = layer_norm_grad(dy, x, s, at)
        return y + b, mean, inv, dx, ds, db

    def rms(dy, x, s, at=at):
        _, inv, dx, ds, _, y = layer_norm_grad(dy, x, s, at, centre=False)
        return y, inv, dx, ds

    case("norms", "LayerNorm" + name, {"dy": dy, "x": x, "s": s, "b": b},
         f"y, m, v = LayerNormalization <axis = {axis}> (x, s, b) "
         f"dx, ds, db = com.microsoft.LayerNormalizationGrad <axis = {axis}> (dy, x, s, m, v)",
         f"float{whole} y, float{kept} m, float{kept} v, float{whole} dx, float{row} ds, float{row} db",
         formula=layer)
    case("norms", "Simplified" + name, {"dy": dy, "x": x, "s": s},
         f"y, v = SimplifiedLayerNormalization <axis = {axis}, epsilon = 1e-5> (x, s) "
         f"dx, ds = com.microsoft.SimplifiedLayerNormalizationGrad <axis = {axis}> (dy, x, s, v)",
         f"float{whole} y, float{kept} v, float{whole} dx, float{row} ds", formula=rms)
x = numbers("ort", 4, 6)
case("norms", "LayerNormGrad_of_runtime",
     {"dy": numbers("odd", 4, 6), "x": x, "s": numbers("scale", 6), "m": x.mean(1), "v": 1 / x.std(1)},
     "dx, ds, db = com.microsoft.LayerNormalizationGrad (dy, x, s, m, v)",
     "float[4, 6] dx, float[6] ds, float[6] db")
case("norms", "SimplifiedGrad_of_runtime",
     {"dy": numbers("odd", 4, 6), "x": x, "s": numbers("scale", 6), "v": (1 / np.sqrt((x**2).mean(1, keepdims=True)))},
     "dx, ds = com.microsoft.SimplifiedLayerNormalizationGrad (dy, x, s, v)", "float[4, 6] dx, float[6] ds")


def batch_norm(dy, x, s, b, m, v, momentum, epsilon):
    axes = tuple(d for d in range(x.ndim) if d != 1)
    per = lambda a: a.reshape((1, -1) + (1,) * (x.ndim - 2))
    mean, var = x.mean(axes), x.var(axes)
    inv = 1 / np.sqrt(var + epsilon)
    hat = (x - per(mean)) * per(inv)
    ds, db = (dy * hat).sum(axes), dy.sum(axes)
    count = x.size / x.shape[1]
    dx = per(s * inv) * (dy - per(db) / count - hat * per(ds) / count)
    return (hat * per(s) + per(b), m * momentum + mean * (1 - momentum), v * momentum + var * (1 - momentum),
            mean, inv, dx, ds, db)


for name, shape, momentum, epsilon, scale in (
        ("", (4, 3), 0.9, 1e-5, 1), ("_image", (2, 3, 4, 5), 0.75, 1e-3, 1), ("_line", (3, 2, 7), 0.0, 1e-5, 1),
        ("_volume", (2, 2, 2, 3, 2), 1.0, 1e-5, 1), ("_one_image", (1, 3, 2, 2), 0.9, 1e-5, 1),
        ("_large", (3, 2, 5, 5), 0.9, 1e-5, 1e4)):
    c = (shape[1],)
    inputs = {"dy": numbers("dy" + name, *shape), "x": numbers("x" + name, *shape, scale=scale)}
    inputs |= {"s": numbers("s" + name, *c), "b": numbers("b" + name, *c), "m": numbers("m" + name, *c),
               "v": np.abs(numbers("v" + name, *c)) + 0.5}
    whole, row = shape_text(np.empty(shape)), shape_text(np.empty(c))
    case("norms", "BatchNorm" + name, inputs,
         f"y, rm, rv, sm, sv = com.microsoft.BatchNormInternal <momentum = {momentum:.2f}, epsilon = {epsilon:.6f}> "
         f"(x, s, b, m, v) dx, ds, db = com.microsoft.BatchNormalizationGrad <epsilon = {epsilon:.6f}> "
         "(dy, x, s, sm, sv)",
         f"float{whole} y, float{row} rm, float{row} rv, float{row} sm, float{row} sv, float{whole} dx, "
         f"float{row} ds, float{row} db",
         formula=lambda momentum=momentum, epsilon=epsilon, **a: batch_norm(momentum=momentum, epsilon=epsilon, **a))
# What ONNX Runtime keeps: the forward op alone.
case("norms", "BatchNormInternal_of_runtime",
     {"x": numbers("bx", 2, 3, 4, 5), "s": numbers("bs", 3), "b": numbers("bb", 3), "m": numbers("bm", 3),
      "v": np.abs(numbers("bv", 3))},
     "y, rm, rv, sm, sv = com.microsoft.BatchNormInternal (x, s, b, m, v)",
     "float[2, 3, 4, 5] y, float[3] rm, float[3] rv, float[3] sm, float[3] sv")
