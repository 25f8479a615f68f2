"""Rows of make_special_points.py: pooling, resampling, norms, softmax, attention, losses."""
import torch
import torch.nn.functional as F

from row import INF, NAN, floats, ints, numbers, row

# Pooling: the first of equal elements, in every window.
FLAT = [[[[1, 1, 2, 2], [1, 1, 2, 2], [0, -0.0, 0, 0], [-1, -1, -1, -1]]]]
row("MaxPool_ties", {"x": FLAT}, "z = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)",
    lambda x: F.max_pool2d(x, 2))
row("MaxPool_overlap", {"x": FLAT}, "z = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)",
    lambda x: F.max_pool2d(x, 3, 1, 1))
row("MaxPool_dilated", {"x": [[[1, 2, 1, 2, 1, 1]]]}, "z = MaxPool <kernel_shape = [3], dilations = [2]> (x)",
    lambda x: F.max_pool1d(x, 3, 1, dilation=2))
row("MaxPool_volume", {"x": [[[[[1, 1], [1, 1]], [[1, 1], [2, 2]]]]]}, "z = MaxPool <kernel_shape = [2, 2, 1]> (x)",
    lambda x: F.max_pool3d(x, (2, 2, 1), 1))
row("MaxPool_infinite", {"x": [[[-INF, -INF, 1, -INF]]]}, "z = MaxPool <kernel_shape = [2]> (x)",
    lambda x: F.max_pool1d(x, 2, 1))
row("GlobalMaxPool_ties", {"x": [[[1, 1, 0], [2, 3, 3], [0, -0.0, 0]]]}, "z = GlobalMaxPool (x)",
    lambda x: F.adaptive_max_pool1d(x, 1))
row("AveragePool_pads", {"x": FLAT}, "z = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)",
    lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False))
HALVES = [[[0, 0, 3, 4, 0, 1, -0.0, 0]]]
for p in (1, 2, 3, 4):
    row(f"LpPool_zeros{p}", {"x": HALVES}, f"z = LpPool <kernel_shape = [2], strides = [2], p = {p}> (x)",
        lambda x, p=p: torch.linalg.vector_norm(x.reshape(1, 1, 4, 2), p, 3))
    row(f"GlobalLpPool_zeros{p}", {"x": [[[0, 0], [3, 4], [0, 1]]]}, f"z = GlobalLpPool <p = {p}> (x)",
        lambda x, p=p: torch.linalg.vector_norm(x, p, 2, keepdim=True))

# Resampling: rounding of halves, and positions at the border.
for mode, torchs in (("nearest", "nearest"), ("linear", "bilinear"), ("cubic", "bicubic")):
    for scale in (2, 0.5, 1.5):
        attributes = f'mode = "{mode}"'
        if mode == "nearest":
            attributes += ', coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
        else:
            attributes += ', coordinate_transformation_mode = "half_pixel"'
        if mode == "cubic":
            attributes += ", cubic_coeff_a = -0.75"
        row(f"Resize_{mode}_by{scale}".replace(".", "p"), {"x": numbers(1, 1, 4, 4)},
            f"s = Constant <value_floats = [1.0, 1.0, {float(scale)}, {float(scale)}]> ()\n"
            f"z = Resize <{attributes}> (x, , s)",
            lambda x, m=torchs, s=scale: F.interpolate(x, scale_factor=s, mode=m, recompute_scale_factor=False))
row("Resize_corners", {"x": numbers(1, 1, 3, 3)}, ints("s", [1, 1, 5, 1]) +
    'z = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, , , s)',
    lambda x: F.interpolate(x, size=(5, 1), mode="bilinear", align_corners=True))
GRID = [[[[0, 0], [-1, -1]], [[1, 1], [0.5, -0.5]], [[-1.5, 0], [2, 2]]]]
for mode in ("linear", "nearest"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (0, 1):
            row(f"GridSample_{mode}_{padding}_{corners}", {"x": numbers(1, 1, 3, 3), "g": GRID},
                f'z = GridSample <mode = "{mode}", padding_mode = "{padding}", align_corners = {corners}> (x, g)',
                lambda x, g, m=mode, p=padding, c=corners: F.grid_sample(
                    x, g, "bilinear" if m == "linear" else m, p, bool(c)))

# Norms of rows of one number, of zeros, of one sample.
EQUAL = [[1, 1, 1], [0, 0, 0], [1, 2, 3], [1e4, 1e4, 1e4]]
ROWS = {"x": EQUAL, "s": [1, 0, -2], "b": [0, 1, 0.5]}
row("LayerNormalization_equal", ROWS, "z = LayerNormalization <epsilon = 1e-5> (x, s, b)",
    lambda x, s, b: F.layer_norm(x, (3,), s, b, 1e-5))
row("LayerNormalization_single", {"x": [[1], [2]], "s": [2], "b": [1]}, "z = LayerNormalization (x, s, b)",
    lambda x, s, b: F.layer_norm(x, (1,), s, b, 1e-5))
row("RMSNormalization_equal", {"x": EQUAL, "s": [1, 0, -2]}, "z = RMSNormalization <epsilon = 1e-5> (x, s)",
    lambda x, s: F.rms_norm(x, (3,), s, 1e-5))
row("InstanceNormalization_equal", {"x": [[[1, 1, 1], [0, 0, 0], [1, 2, 3]]], "s": [1, 0, -2], "b": [0, 1, 0.5]},
    "z = InstanceNormalization <epsilon = 1e-5> (x, s, b)",
    lambda x, s, b: F.instance_norm(x, weight=s, bias=b, eps=1e-5))
row("GroupNormalization_equal", {"x": [[[1, 1], [1, 1], [0, 1], [2, 3]]], "s": [1, 0, -2, 1], "b": [0, 1, 0.5, 2]},
    "z = GroupNormalization <num_groups = 2, epsilon = 1e-5> (x, s, b)",
    lambda x, s, b: F.group_norm(x, 2, s, b, 1e-5))
row("BatchNormalization_equal", {"x": [[1, 0, 1], [1, 0, 2], [1, 0, 4]], "s": [1, 0, -2], "b": [0, 1, 0.5]},
    "z, m0, v0 = BatchNormalization <training_mode = 1, epsilon = 1e-5> (x, s, b, m, v)",
    lambda x, s, b: F.batch_norm(x, None, None, s, b, True, 0.1, 1e-5), trained_only=True, constants={"m": [0, 0, 0], "v": [1, 1, 1]})
row("LpNormalization_rows", {"x": [[3, 4], [1, 0], [-1, -0.0]]}, "z = LpNormalization (x)",
    lambda x: x / torch.linalg.vector_norm(x, 2, 1, keepdim=True))
row("LpNormalization_rows1", {"x": [[3, 4], [1, 0], [-1, -0.0]]}, "z = LpNormalization <p = 1> (x)",
    lambda x: x / torch.linalg.vector_norm(x, 1, 1, keepdim=True))
# Rows of z have weights [0.25, -0.5] and [0.75, 2].
for p, rest in ((1, None), (2, None)):
    row(f"LpNormalization_zeros{p}", {"x": [[0, 0], [0, 0]]}, f"z = LpNormalization <p = {p}> (x)",
        lambda x, p=p: F.normalize(x, p, 1), wanted={"x": [0.25, -0.75, 1.25, 0.5]},
        reason="a row of zeros stays zero and receives the gradient of the output unchanged; PyTorch's `normalize` "
               "multiplies it by 1e12")
row("MeanVarianceNormalization_equal", {"x": [[1, 2, 1], [1, 1, 1]]}, "z = MeanVarianceNormalization <axes = [1]> (x)",
    lambda x: (x - x.mean(1, True)) / (x.std(1, correction=0, keepdim=True) + 1e-9))
row("LRN_zeros", {"x": [[[0], [1], [-0.0], [2]]]}, "z = LRN <size = 3> (x)", lambda x: F.local_response_norm(x, 3))
for op, compute in (("Softmax", F.softmax), ("LogSoftmax", F.log_softmax)):
    row(f"{op}_equal", {"x": [[0, 0, 0], [1e4, 1e4, -1e4], [1, 1, -0.0], [-1e30, 0, 1]]}, f"z = {op} (x)",
        lambda x, f=compute: f(x, 1))
    row(f"{op}_hidden", {"x": [[-INF, 0, 1], [0, -INF, -INF]]}, f"z = {op} (x)", lambda x, f=compute: f(x, 1))
    row(f"{op}_single", {"x": [[1], [-5]]}, f"z = {op} (x)", lambda x, f=compute: f(x, 1))
row("Softmax_masked", {"x": [[-INF, -INF, -INF], [-INF, -INF, -INF]]}, "z = Softmax (x)", lambda x: F.softmax(x, 1),
    wanted={"x": [0] * 6}, reason="a row of minus infinities gives zeros and receives zero gradients; PyTorch gives NaN for both")
row("LogSoftmax_masked", {"x": [[-INF, -INF, -INF], [0, 1, 2]]}, "z = LogSoftmax (x)", lambda x: F.log_softmax(x, 1))
row("Dropout_none", {"x": [0, 1, -0.0]}, floats(p=0) + "t = Constant <value = bool {1}> ()\n z = Dropout (x, p, t)",
    lambda x: F.dropout(x, 0.0))

# Losses.
SCORES = [[0, 0, 0], [1, 1, -2], [1e4, -1e4, 0], [2, 0, 1]]
LABELS = ints("l", [0, 1, 0, 2])
WEIGHTS = "w = Constant <value_floats = [0.5, 0.0, 2.0]> ()\n"
for op, compute in (("SoftmaxCrossEntropyLoss", F.cross_entropy), ("NegativeLogLikelihoodLoss", F.nll_loss)):
    for reduction in ("mean", "sum", "none"):
        for weighted in (False, True):
            for ignored in (False, True):
                attributes = f'reduction = "{reduction}"' + (", ignore_index = 0" if ignored else "")
                what = f"_{reduction}" + ("_weighted" if weighted else "") + ("_ignored" if ignored else "")
                row(op + what, {"x": SCORES}, LABELS + WEIGHTS * weighted +
                    f"z = {op} <{attributes}> (x, l{', w' * weighted})",
                    lambda x, f=compute, r=reduction, w=weighted, i=ignored: f(
                        x, torch.tensor([0, 1, 0, 2]), torch.tensor([0.5, 0, 2]) if w else None, reduction=r,
                        ignore_index=0 if i else -100))
    row(f"{op}_hidden", {"x": [[-INF, 0, 1], [0, -INF, 1]]}, ints("l", [1, 2]) + f"z = {op} (x, l)",
        lambda x, f=compute: f(x, torch.tensor([1, 2])))
for reduction in ("sum", "none", "mean"):
    row(f"SoftmaxCrossEntropyLoss_allIgnored_{reduction}", {"x": SCORES}, ints("l", [-100] * 4) +
        f'z = SoftmaxCrossEntropyLoss <ignore_index = -100, reduction = "{reduction}"> (x, l)',
        lambda x, r=reduction: F.cross_entropy(x, torch.tensor([-100] * 4), reduction=r))

# Attention and recurrence.
HEADS = {"q": numbers(1, 1, 2, 2), "k": numbers(1, 1, 3, 2, seed=2), "v": numbers(1, 1, 3, 2, seed=3)}
row("Attention_equal", {"q": [[[[0, 0], [1, 1]]]], "k": [[[[1, 1], [1, 1], [0, 0]]]], "v": HEADS["v"]},
    "z = Attention (q, k, v)", lambda q, k, v: F.scaled_dot_product_attention(q, k, v))
row("Attention_mask", HEADS, "m = Constant <value = bool[2,3] {1, 0, 0, 1, 1, 0}> ()\n z = Attention (q, k, v, m)",
    lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, torch.tensor([[True, False, False], [True, True, False]])))
row("Attention_masked", HEADS, "m = Constant <value = bool[2,3] {0, 0, 0, 1, 1, 0}> ()\n z = Attention (q, k, v, m)",
    lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, torch.tensor([[False, False, False], [True, True, False]])))
row("Attention_softcap", HEADS, "z = Attention <softcap = 1.0> (q, k, v)",
    lambda q, k, v: torch.softmax(torch.tanh(q @ k.transpose(2, 3) / 2**0.5), 3) @ v)


def recurrent(op, gates, module):
    """All states and sums are initially 0, where relu has its kink."""
    shapes = {"w": (1, gates, 2), "r": (1, gates, 1), "b": (1, 2 * gates)}
    inputs = {"x": [[[0, 0]], [[1, -1]]]}
    for name, shape in shapes.items():
        inputs[name] = numbers(*shape, seed=len(name + op)) if name != "b" else [[0] * (2 * gates)]

    def compute(x, w, r, b):
        parameters = [w[0], r[0], b[0, :gates], b[0, gates:]]
        if op == "LSTM":  # ONNX: input, output, forget, cell; PyTorch: input, forget, cell, output.
            parameters = [p[[0, 2, 3, 1]] for p in parameters]
        elif op == "GRU":  # Update, reset, hidden; reset, update, hidden.
            parameters = [p[[1, 0, 2]] for p in parameters]
        hidden = torch.zeros(1, 1, 1)
        state = (hidden, hidden) if op == "LSTM" else hidden
        return module(x, state, parameters)[0].reshape(2, 1, 1, 1)
    return inputs, compute


for op, gates, module, attributes in (
        ("RNN", 1, lambda x, h, p: torch.rnn_tanh(x, h, p, True, 1, 0, False, False, False), "hidden_size = 1"),
        ("RNN_relu", 1, lambda x, h, p: torch.rnn_relu(x, h, p, True, 1, 0, False, False, False),
         'hidden_size = 1, activations = ["Relu"]'),
        ("LSTM", 4, lambda x, s, p: torch.lstm(x, s, p, True, 1, 0, False, False, False), "hidden_size = 1"),
        ("GRU", 3, lambda x, h, p: torch.gru(x, h, p, True, 1, 0, False, False, False),
         "hidden_size = 1, linear_before_reset = 1")):
    kind = op.partition("_")[0]
    inputs, compute = recurrent(kind, gates, module)
    row(op, inputs, f"z = {kind} <{attributes}> (x, w, r, b)", compute)

# Control flow and sequences.
row("If", {"x": [0, 1, -0.0]}, "c = Constant <value = bool {1}> ()\n"
    "z = If (c) <then_branch = t () => (float[3] y) { y = Abs (x) }, else_branch = e () => (float[3] y) { y = Neg (x) }>",
    torch.abs)
BY_SUM = floats(zero=0) + "s = ReduceSum <keepdims = 0> (x)\n c = Less (s, zero)\n"
# The side that is not taken has infinite gradients.
row("If_otherSide", {"x": [0, 0, 1], "v": [1, 2, 3]}, BY_SUM +
    "z = If (c) <then_branch = t () => (float[3] y) { l = Log (x) y = Mul (l, v) }, "
    "else_branch = e () => (float[3] y) { y = Mul (x, v) }>", torch.mul)
row("If_firstSide", {"x": [0, 0, -1], "v": [1, 2, 3]}, BY_SUM +
    "z = If (c) <then_branch = t () => (float[3] y) { y = Mul (x, v) }, "
    "else_branch = e () => (float[3] y) { r = Sqrt (x) l = Sqrt (r) y = Div (l, v) }>", torch.mul)
# A nested subgraph, and a value of the outer graph as a result.
row("If_nested", {"x": [0, 0, 1]}, BY_SUM +
    "z = If (c) <then_branch = t () => (float[3] y) { y = Sqrt (x) }, else_branch = e () => (float[3] y) { "
    "y = If (c) <then_branch = u () => (float[3] w) { w = Log (x) }, "
    "else_branch = f () => (float[3] w) { w = Identity (x) }> }>", lambda x: x + 0)
