"""Rows of microsoft_ops.py: windows, elements by index, products, and related ops."""
import itertools

import numpy as np

from microsoft_cases import case, ints, numbers, shape_text


# Windows, computed product by product.
def taps(image, positions, kernel, strides, pads, dilations):
    """The index in the image for each element of the result and each position of the window."""
    for p in itertools.product(*map(range, positions)):
        for k in itertools.product(*map(range, kernel)):
            q = tuple(a * s - b + c * d for a, s, b, c, d in zip(p, strides, pads, k, dilations))
            if all(0 <= a < b for a, b in zip(q, image)):
                yield p, k, q


def conv_grad(image, positions, weight, group, geometry):
    """Gradients of sum(positions * conv(image, weight)) for image and weight."""
    at_image, at_weight = np.zeros_like(image), np.zeros_like(weight)
    outs, ins = weight.shape[0] // group, weight.shape[1]
    for g in range(group):
        o, c = slice(g * outs, (g + 1) * outs), slice(g * ins, (g + 1) * ins)
        for p, k, q in taps(image.shape[2:], positions.shape[2:], weight.shape[2:], *geometry):
            at, here = (slice(None), o) + p, (slice(None), c) + q
            at_image[here] += positions[at] @ weight[(o, slice(None)) + k]
            at_weight[(o, slice(None)) + k] += positions[at].T @ image[here]
    return at_image, at_weight


def conv(image, weight, positions, group, geometry):
    """The convolution itself."""
    result = np.zeros((image.shape[0], weight.shape[0]) + positions)
    outs, ins = weight.shape[0] // group, weight.shape[1]
    for g in range(group):
        o, c = slice(g * outs, (g + 1) * outs), slice(g * ins, (g + 1) * ins)
        for p, k, q in taps(image.shape[2:], positions, weight.shape[2:], *geometry):
            result[(slice(None), o) + p] += image[(slice(None), c) + q] @ weight[(o, slice(None)) + k].T
    return result


def total(dy):
    return dy.sum(tuple(d for d in range(dy.ndim) if d != 1))


CONVS = {  # x, w, y, group, strides, pads, dilations
    "": ((2, 3, 6, 5), (4, 3, 3, 3), (4, 3), 1, (1, 1), (0, 0, 0, 0), (1, 1)),
    "padded": ((1, 2, 5, 5), (3, 2, 3, 2), (3, 4), 1, (2, 2), (1, 2, 1, 1), (1, 1)),
    "dilated": ((2, 2, 7, 6), (2, 2, 2, 3), (5, 4), 1, (1, 1), (0, 1, 1, 1), (3, 2)),
    "grouped": ((2, 4, 5, 4), (6, 2, 3, 3), (3, 2), 2, (2, 2), (1, 1, 1, 1), (1, 1)),
    "depthwise": ((2, 3, 4, 4), (3, 1, 3, 3), (4, 4), 3, (1, 1), (1, 1, 1, 1), (1, 1)),
    "line": ((2, 3, 9), (2, 3, 4), (3,), 1, (3,), (1, 2), (1,)),
    "volume": ((1, 2, 4, 3, 4), (4, 1, 2, 2, 3), (2, 3, 2), 2, (2, 1, 2), (0, 1, 1, 0, 0, 1), (1, 1, 1)),
}
for name, (xs, ws, ys, group, strides, pads, dilations) in CONVS.items():
    count = len(ys)
    attributes = (f"group = {group}, strides = {list(strides)}, pads = {list(pads)}, "
                  f"dilations = {list(dilations)}, kernel_shape = {list(ws[2:])}")
    geometry = (strides, pads[:count], dilations)
    dy = numbers("dy" + name, xs[0], ws[0], *ys)
    x, w = numbers("x" + name, *xs), numbers("w" + name, *ws)
    runtime = name in ("", "grouped", "line")  # The others agree with the formula.

    def gradients(dy, x, w, group=group, geometry=geometry):
        return *conv_grad(x, dy, w, group, geometry), total(dy)

    case("windows", "ConvGrad_" + name, {"dy": dy, "x": x, "w": w},
         f"dx, dw, db = com.microsoft.ConvGrad <{attributes}> (dy, x, w)",
         f"float{shape_text(x)} dx, float{shape_text(w)} dw, float[{ws[0]}] db",
         formula=None if runtime else gradients)
    # The gradient of ConvTranspose is a convolution of its result.
    case("windows", "ConvTransposeGrad_" + name, {"dy": x, "x": dy, "w": w},
         f"dx, dw, db = com.microsoft.ConvTransposeGrad <{attributes}, "
         f"output_padding = {[xs[2 + i] + pads[i] + pads[count + i] - (ws[2 + i] - 1) * dilations[i] - 1 - (ys[i] - 1) * strides[i] for i in range(count)]}> (dy, x, w)",
         f"float{shape_text(dy)} dx, float{shape_text(w)} dw, float[{xs[1]}] db",
         formula=lambda dy, x, w, group=group, geometry=geometry:
         (conv(dy, w, x.shape[2:], group, geometry), conv_grad(dy, x, w, group, geometry)[1], total(dy)))
x, w, dy = numbers("x", *CONVS[""][0]), numbers("w", *CONVS[""][1]), numbers("dy", 2, 4, 4, 3)
for output, declared in (("dx", "float[2, 3, 6, 5] dx"), ("_a, dw", "float[4, 3, 3, 3] dw"), ("_a, _b, db", "float[4] db")):
    case("windows", "ConvGrad_only_" + declared[-2:], {"dy": dy, "x": x, "w": w},
         f"{output} = com.microsoft.ConvGrad (dy, x, w)", declared,
         formula=lambda dy, x, w, which=declared[-2:]: dict(zip(
             ("dx", "dw", "db"), (*conv_grad(x, dy, w, 1, ((1, 1), (0, 0), (1, 1))), total(dy))))[which])
case("windows", "ConvGrad_same", {"dy": numbers("dy", 1, 2, 3, 3), "x": numbers("x", 1, 1, 5, 6), "w": numbers("w", 2, 1, 3, 2)},
     'dx, dw = com.microsoft.ConvGrad <auto_pad = "SAME_UPPER", strides = [2, 2]> (dy, x, w)',
     "float[1, 1, 5, 6] dx, float[2, 1, 3, 2] dw",
     formula=lambda dy, x, w: conv_grad(x, dy, w, 1, ((2, 2), (1, 0), (1, 1))))

# Many elements are equal: the first one gets the gradient.
POOLS = {
    "": ((2, 3, 6, 6), (3, 3), "kernel_shape = [2, 2], strides = [2, 2]"),
    "overlaps": ((1, 2, 5, 6), (3, 4), "kernel_shape = [3, 3]"),
    "padded": ((2, 1, 5, 5), (3, 3), "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]"),
    "dilated": ((1, 2, 7, 6), (3, 2), "kernel_shape = [3, 3], strides = [1, 1], dilations = [2, 2]"),
    "ceiling": ((1, 1, 6, 5), (3, 3), "kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1"),
    "line": ((2, 2, 7), (3,), "kernel_shape = [3], strides = [2]"),
    "volume": ((1, 2, 4, 4, 5), (2, 2, 2), "kernel_shape = [2, 2, 2], strides = [2, 2, 2]"),
    "wide": ((1, 2, 18, 20), (2, 4), "kernel_shape = [17, 17]"),
}
for name, (xs, ys, attributes) in POOLS.items():
    dy = numbers("dy" + name, *xs[:2], *ys)
    for ties in ("", "_ties"):
        x = numbers("x" + name, *xs)
        x = np.round(x).astype(np.float32) if ties else x
        case("windows", f"MaxPool_{name}{ties}", {"dy": dy, "x": x},
             f"y, i = MaxPool <{attributes}> (x) dx = MaxPoolGrad <{attributes}> (dy, i)",
             f"float{shape_text(dy)} y, int64{shape_text(dy)} i, float{shape_text(x)} dx")
    # In three dimensions ONNX Runtime assigns gradients to elements outside all windows.
    if not {"dilated", "ceiling", "volume"} & {name}:
        for include in (0, 1):
            case("windows", f"AveragePoolGrad_{name}_{include}", {"dy": dy},
                 f"dx = AveragePoolGrad <{attributes}, count_include_pad = {include}> (dy)", f"float{shape_text(x)} dx")
case("windows", "AveragePoolGrad_volume", {"dy": numbers("dy", 1, 2, 2, 2, 2)},
     "dx = AveragePoolGrad <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (dy)", "float[1, 2, 4, 4, 5] dx",
     formula=lambda dy: np.pad(np.kron(dy, np.ones((1, 1, 2, 2, 2))) / 8, [(0, 0)] * 4 + [(0, 1)]))
# The gradient is the transpose of a matrix, which is determined with unit images.
def resized(n, scale, mode):
    at = (np.arange(int(n * scale)) + 0.5) / scale - 0.5
    if mode == "nearest":
        return np.eye(n)[np.clip(np.ceil(at - 0.5).astype(int), 0, n - 1)]
    low = np.floor(at).astype(int)
    rest = (at - low)[:, None]
    return np.eye(n)[np.clip(low, 0, n - 1)] * (1 - rest) + np.eye(n)[np.clip(low + 1, 0, n - 1)] * rest


for mode in ("linear", "nearest"):
    for given in (True, False):
        case("windows", f"ResizeGrad_{mode}{'' if given else '_sizes'}",
             {"dy": numbers("dy", 2, 3, 6, 10), "x": numbers("x", 2, 3, 4, 5)},
             f'dx = com.microsoft.ResizeGrad <mode = "{mode}"> (dy, x{", , s" if given else ""})',
             "float[2, 3, 4, 5] dx", {"s": np.array([1, 1, 1.5, 2], np.float32)} if given else {},
             formula=lambda dy, x, mode=mode, s=None: np.einsum("ncij,ia,jb->ncab", dy, resized(4, 1.5, mode),
                                                                resized(5, 2, mode)))
places = ints(3, 3, 0, 23, 24, 24, 47, 40).reshape(1, 2, 2, 2)
case("windows", "MaxPoolGrad_of_places", {"dy": numbers("dy", 1, 2, 2, 2), "i": places},
     "dx = MaxPoolGrad <kernel_shape = [3, 2], strides = [2, 2]> (dy, i)", "float[1, 2, 4, 6] dx")


def by_columns(dy, x):
    """Of 2 x 2 windows; ONNX Runtime takes the places for those by rows."""
    dx, places = np.zeros_like(x), np.zeros(dy.shape, int)
    for n, c, i, j in np.ndindex(dy.shape):
        window = x[n, c, 2 * i:2 * i + 2, 2 * j:2 * j + 2]
        a, b = np.unravel_index(window.argmax(), (2, 2))
        dx[n, c, 2 * i + a, 2 * j + b] += dy[n, c, i, j]
        places[n, c, i, j] = (n * x.shape[1] + c) * 24 + (2 * j + b) * 4 + 2 * i + a
    return places, dx


for source in ("i", "k"):
    x, dy = numbers("x", 1, 2, 4, 6), numbers("dy", 1, 2, 2, 3)
    attributes = "kernel_shape = [2, 2], strides = [2, 2], storage_order = 1"
    case("windows", "MaxPool_by_columns_" + source, {"dy": dy, "x": x},
         f"y, i = MaxPool <{attributes}> (x) z = Sub (i, i) k = Add (i, z) dx = MaxPoolGrad <{attributes}> (dy, {source})",
         "int64[1, 2, 2, 3] k, float[1, 2, 4, 6] dx", formula=by_columns)
# Ops combined in a network, where images may be in channels-last layout.
net = {"dy": numbers("dy", 2, 3, 2, 2), "x": numbers("x", 2, 2, 6, 6), "w": numbers("w", 4, 2, 3, 3),
       "u": numbers("u", 3, 4, 1, 1)}
case("windows", "network", net,
     "a = Conv (x, w) b = Relu (a) c, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b) d = Conv (c, u) "
     "dc, du = com.microsoft.ConvGrad (dy, c, u) db = MaxPoolGrad <kernel_shape = [2, 2], strides = [2, 2]> (dc, i) "
     "da = com.microsoft.ReluGrad (db, b) dx, dw, dk = com.microsoft.ConvGrad (da, x, w)",
     "float[2, 3, 2, 2] d, float[3, 4, 1, 1] du, float[2, 4, 4, 4] db, float[2, 2, 6, 6] dx, float[4, 2, 3, 3] dw, float[4] dk")

# Elements by index: repeated, negative indices, along each axis.
GATHERS = {
    "": ((5, 3), ints(0, 2, 2, 4), 0), "from_end": ((5, 3), ints(-1, 0, -5, 4), 0),
    "columns": ((2, 5, 3), ints(4, 1, 1).reshape(3, 1), 1), "last": ((3, 4), ints(2, 0, 2, 2, 1), -1),
    "one": ((4, 3), np.int64(2), 0), "short": ((4, 3), np.array([1, 1], np.int32), 1),
}
for name, (shape, indices, axis) in GATHERS.items():
    at = axis % len(shape)
    dy = numbers("dy" + name, *(shape[:at] + indices.shape + shape[at + 1:]))
    for known in (False, True):
        where = {"i": indices}
        case("indices", f"GatherGrad_{name}{'_known' if known else ''}", {"dy": dy} | ({} if known else where),
             f"dx = com.microsoft.GatherGrad <axis = {axis}> (s, i, dy)", f"float{list(shape)} dx",
             {"s": ints(*shape)} | (where if known else {}))
case("indices", "GatherGrad_consecutive", {"dy": numbers("dy", 4, 2)},
     "dx = com.microsoft.GatherGrad <axis = 1> (s, i, dy)", "float[4, 5] dx", {"s": ints(4, 5), "i": ints(2, 3)})
case("indices", "GatherGrad_of_shape", {"dy": numbers("dy", 3, 2), "x": numbers("x", 4, 2), "i": ints(3, 3, 1)},
     "s = Shape (x) dx = com.microsoft.GatherGrad (s, i, dy)", "float[4, 2] dx")
for name, shape, axis in (("", (3, 4), 0), ("last", (3, 4), -1), ("middle", (2, 3, 4), 1)):
    indices = np.abs(np.trunc(numbers("i" + name, *shape, scale=9)).astype(np.int64)) % shape[axis]
    indices = indices[tuple(slice(0, 2) for _ in shape)]
    case("indices", "GatherElementsGrad_" + name, {"dy": numbers("dy" + name, *indices.shape), "i": indices},
         f"dx = com.microsoft.GatherElementsGrad <axis = {axis}> (dy, s, i)", f"float{list(shape)} dx", {"s": ints(*shape)})
case("indices", "GatherElementsGrad_from_end", {"dy": numbers("dy", 2, 3), "i": ints(-1, -4, 0, 3, -1, -1).reshape(2, 3)},
     "dx = com.microsoft.GatherElementsGrad <axis = 0> (dy, s, i)", "float[4, 3] dx", {"s": ints(4, 3)})
for name, shape, indices, batch, out in (
        ("", (3, 4), ints(0, 1, 2, 3, 0, 1).reshape(3, 2), 0, (3,)),
        ("rows", (3, 4, 2), ints(2, 0, 2).reshape(3, 1), 0, (3, 4, 2)),
        ("batch", (2, 3, 4), ints(1, 1, 0, 2).reshape(2, 2, 1), 1, (2, 2, 4)),
        ("from_end", (3, 4), ints(-1, -1, 2, 3).reshape(2, 2), 0, (2,))):
    case("indices", "GatherNDGrad_" + name, {"dy": numbers("dy" + name, *out), "i": indices},
         f"dx = com.microsoft.GatherNDGrad <batch_dims = {batch}> (s, i, dy)", f"float{list(shape)} dx", {"s": ints(*shape)})


def slice_grad(shape, **where):
    starts, ends = where["b"], where["e"]
    axes = where.get("a", range(len(starts)))
    steps = where.get("t", [1] * len(starts))
    dx, box = np.zeros(shape), [slice(None)] * len(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        end = None if step < 0 and end < -shape[axis] else int(end)
        box[axis] = slice(int(start), end, int(step))
    dx[tuple(box)] = where["dy"]
    return dx


for name, shape, out, where in (
        ("", (4, 5), (2, 3), {"b": ints(1, 2), "e": ints(3, 5)}),
        ("axes", (4, 5, 3), (4, 5, 2), {"b": ints(-2), "e": ints(2**62), "a": ints(-1)}),
        ("steps", (7, 5), (3, 5), {"b": ints(1), "e": ints(7), "a": ints(0), "t": ints(2)}),
        ("back", (7, 5), (3, 3), {"b": ints(6, -1), "e": ints(-100, 0), "a": ints(0, 1), "t": ints(-3, -1)[:2]})):
    if name == "back":
        out = (3, 4)
    case("indices", "SliceGrad_" + name, {"dy": numbers("dy" + name, *out)},
         f"dx = com.microsoft.SliceGrad (dy, s, b, e{', a' if 'a' in where else ''}{', t' if 't' in where else ''})",
         f"float{list(shape)} dx", {"s": ints(*shape)} | where,
         formula=lambda shape=shape, **a: slice_grad(shape, **a))


# Products and quotients.
def fused(a, b, alpha=1.0, ta=0, tb=0, ba=0, bb=0):
    a, b = (np.moveaxis(v, 0, -2) if moved else v for v, moved in ((a, ba), (b, bb)))
    a, b = (np.swapaxes(v, -1, -2) if t and v.ndim > 1 else v for v, t in ((a, ta), (b, tb)))
    return alpha * (a @ b)


for name, a, b, flags in (
        ("", (3, 4), (4, 5), {}), ("scaled", (2, 3, 4), (2, 4, 5), {"alpha": -0.125}),
        ("a", (2, 4, 3), (4, 5), {"ta": 1}), ("b", (2, 3, 4), (2, 5, 4), {"tb": 1}),
        ("both", (2, 1, 4, 3), (3, 5, 4), {"ta": 1, "tb": 1, "alpha": 2.0}),
        ("vectors", (4,), (4,), {"ta": 1, "tb": 1}), ("vector", (2, 3, 4), (4,), {}),
        ("batch_a", (3, 2, 6, 4), (2, 6, 4, 5), {"ba": 1}), ("batch_b", (2, 6, 3, 4), (4, 2, 6, 5), {"bb": 1}),
        ("batch_all", (4, 2, 3), (5, 2, 4), {"ba": 1, "bb": 1, "ta": 1, "tb": 1})):
    long = {"ta": "transA", "tb": "transB", "ba": "transBatchA", "bb": "transBatchB", "alpha": "alpha"}
    a, b = numbers("a" + name, *a), numbers("b" + name, *b)
    attributes = ", ".join(f"{long[k]} = {v}" for k, v in flags.items())
    y = fused(a, b, **flags)
    case("arithmetic", "FusedMatMul_" + name, {"a": a, "b": b},
         f"y = com.microsoft.FusedMatMul {f'<{attributes}>' if flags else ''} (a, b)",
         "float" + (shape_text(y) if y.ndim else "") + " y")
for name in ("Relu", "LeakyRelu", "Sigmoid", "Tanh"):
    attributes = f"alpha = 0.5, transB = 1, activation = \"{name}\"" + (", activation_alpha = 0.2" if name == "LeakyRelu" else "")
    case("arithmetic", "FusedGemm_" + name, {"a": numbers("a", 3, 4), "b": numbers("b", 5, 4), "c": numbers("c", 5)},
         f"y = com.microsoft.FusedGemm <{attributes}> (a, b, c)", "float[3, 5] y")
for name, a, b in (("", (2, 3), (2, 3)), ("row", (2, 3), (3,)), ("ones", (4, 1), (1, 5)), ("scalar", (), (2, 3))):
    a, b = numbers("a" + name, *a), numbers("b" + name, *b) + np.float32(3)
    y = a / b

    def div_grad(dy, a, b):
        def back(g, like):
            g = g.sum(tuple(range(g.ndim - like.ndim)))
            return g.sum(tuple(d for d in range(like.ndim) if like.shape[d] == 1 != g.shape[d]), keepdims=True
                         ).reshape(like.shape)
        return back(dy / b, a), back(-dy * a / b**2, b)

    case("arithmetic", "DivGrad_" + name, {"dy": numbers("dy" + name, *y.shape), "a": np.asarray(a), "b": b},
         "da, db = com.microsoft.DivGrad (dy, a, b)",
         f"float{shape_text(np.asarray(a)) if np.ndim(a) else ''} da, float{shape_text(b)} db", formula=div_grad)
# One variable depends on the other: only the direct gradient counts.
case("arithmetic", "DivGrad_dependent", {"dy": numbers("dy", 3), "a": numbers("a", 3)},
     "b = Exp (a) da, db = com.microsoft.DivGrad (dy, a, b)", "float[3] da, float[3] db",
     formula=lambda dy, a: (dy / np.exp(a), -dy * a / np.exp(a)**2))
case("arithmetic", "BroadcastGradientArgs", {"x": numbers("x", 2, 1, 4), "z": numbers("z", 3, 1)},
     "s = Shape (x) t = Shape (z) a, b = com.microsoft.BroadcastGradientArgs (s, t) w = Add (x, z) "
     "p = com.microsoft.ReduceSumTraining <keepdims = 1, noop_with_empty_axes = 1> (w, a) "
     "q = com.microsoft.ReduceSumTraining <keepdims = 1, noop_with_empty_axes = 1> (w, b)",
     "int64[1] a, int64[2] b, float[2, 1, 4] p, float[1, 3, 1] q")
case("arithmetic", "BroadcastGradientArgs_none", {"x": numbers("x", 2, 3)},
     "s = Shape (x) a, b = com.microsoft.BroadcastGradientArgs (s, s) "
     "p = com.microsoft.ReduceSumTraining <keepdims = 1, noop_with_empty_axes = 1> (x, a)", "float[2, 3] p")
case("arithmetic", "ReduceSumTraining", {"x": numbers("x", 2, 3, 4)},
     "y = com.microsoft.ReduceSumTraining <keepdims = 0> (x, a)", "float[3] y", {"a": ints(-1, 0)})
case("arithmetic", "ConcatTraining", {"x": numbers("x", 2, 3), "z": numbers("z", 2, 1)},
     "y, n = com.microsoft.ConcatTraining <axis = -1> (x, z) p, q = com.microsoft.SplitTraining <axis = 1> (y, n)",
     "float[2, 4] y, int64[2] n, float[2, 3] p, float[2, 1] q",
     formula=lambda x, z: (np.concatenate([x, z], 1), ints(3, 1), x, z))
case("arithmetic", "SplitTraining", {"x": numbers("x", 5, 2)},
     "p, q = com.microsoft.SplitTraining <axis = 0> (x, n)", "float[2, 2] p, float[3, 2] q", {"n": ints(2, 3)})
for down in (0, 1):
    for name, scale in (("float", np.float32(2.5)), ("int64", np.int64(3)), ("list", np.array([4], np.int32))):
        case("arithmetic", f"Scale_{name}_{down}", {"x": numbers("x", 2, 3), "s": scale},
             f"y = com.microsoft.Scale <scale_down = {down}> (x, s)", "float[2, 3] y",
             formula=lambda x, s, down=down: x / s if down else x * s)
case("arithmetic", "Scale_known", {"x": numbers("x", 2, 3)}, "n = Size (x) y = com.microsoft.Scale <scale_down = 1> (x, n)",
     "float[2, 3] y", formula=lambda x: x / 6)
case("arithmetic", "ScaledSum", {"x": numbers("x", 5), "z": numbers("z", 5), "w": numbers("w", 5)},
     "y = com.microsoft.ScaledSum <scale_0 = 0.5, scale_1 = 1.0, scale_2 = -2.0> (x, z, w) "
     "v = com.microsoft.ScaledSum <scale_0 = 0.5, scale_1 = 0.25> (x, z)", "float[5] y, float[5] v",
     formula=lambda x, z, w: (0.5 * x + z - 2 * w, 0.5 * x + 0.25 * z))
case("arithmetic", "BatchScale", {"x": numbers("x", 5)},
     "p, q, r = com.microsoft.BatchScale <scale_0 = 0.5, scale_1 = 1.0, scale_2 = -2.0> (x) "
     "s, t = com.microsoft.BatchScale <scale_0 = 0.5, scale_1 = 3.0> (x)",
     "float[5] p, float[5] q, float[5] r, float[5] s, float[5] t",
     formula=lambda x: (0.5 * x, x, -2 * x, 0.5 * x, 3 * x))
case("arithmetic", "ReduceAllL2", {"x": numbers("x", 5, 3), "z": numbers("z", 7, scale=100), "w": np.float32(3)},
     "y = com.microsoft.ReduceAllL2 (x, z, w)", "float y")
OFF = {"finite": numbers("x", 2, 3), "infinite": np.array([[1, -np.inf, 0], [2, 3, 4]], np.float32),
       "nan": np.array([[1, np.nan, 0], [2, 3, 4]], np.float32)}
for name, x in OFF.items():
    case("arithmetic", "IsFinite_" + name, {"x": x, "z": numbers("z", 4)},
         "y = com.microsoft.IsFinite (x) a = com.microsoft.IsAllFinite (z, x) "
         "b = com.microsoft.IsAllFinite <isinf_only = 1> (z, x) c = com.microsoft.IsAllFinite <isnan_only = 1> (x) "
         "d = com.microsoft.All (y)", "bool[2, 3] y, bool a, bool b, bool c, bool[1] d",
         formula=lambda x, z: (np.isfinite(x), np.isfinite(x).all(), not np.isinf(x).any(), not np.isnan(x).any(),
                               np.isfinite(x).all().reshape(1)))
case("arithmetic", "PassThrough", {"x": numbers("x", 2), "z": numbers("z", 3)},
     "y, w = com.microsoft.PassThrough (x, z)", "float[2] y, float[3] w",
     formula=lambda x, z: (x, z))
case("arithmetic", "View", {"x": numbers("x", 10)}, "y, w = com.microsoft.View (x, s, t)", "float[2, 3] y, float[4] w",
     {"s": ints(2, 3), "t": ints(4)}, formula=lambda x, s, t: (x[:6].reshape(2, 3), x[6:]))
