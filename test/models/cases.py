"""The rows of make_models.py.

A body is in ONNX's textual syntax. Its first tensor is the model's input times a
parameter, so that a gradient flows through every op; the others are parameters, all
positive where a + stands. The function is the same in PyTorch, for the training.
"""
import dataclasses
import typing

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Case:
    name: str
    tensors: str
    body: str
    function: typing.Optional[typing.Callable] = None
    outputs: str = "y" # With their types, unless they are floats.
    opset: int = 17
    # Instead of random data, with a factor of 1; outputs must be equal bit by bit.
    values: typing.Optional[list] = None


CASES = []


def case(*arguments, **options):
    CASES.append(Case(*arguments, **options))


# Element by element.
case("Relu", "x[3,2,17]", "y = Relu (x)", torch.relu)
case("Tanh", "x[3,2,17]", "y = Tanh (x)", torch.tanh)
case("Tanh_one", "x[1,3,17]", "y = Tanh (x)", torch.tanh)
case("Sigmoid", "x[3,2,17]", "y = Sigmoid (x)", torch.sigmoid)
case("Softsign", "x[3,2,17]", "y = Softsign (x)", F.softsign)
case("Neg", "x[3,17]", "y = Neg (x)", torch.neg)
case("Gelu", "x[5,13]", "y = Gelu (x)", F.gelu, opset=20)
case("Gelu_tanh", "x[5,13]", 'y = Gelu <approximate = "tanh"> (x)',
     lambda x: F.gelu(x, approximate="tanh"), opset=20)
for name, function in {
    "Exp": torch.exp, "Sin": torch.sin, "Cos": torch.cos, "Tan": torch.tan,
    "Atan": torch.atan, "Sinh": torch.sinh, "Cosh": torch.cosh, "Asinh": torch.asinh,
    "Erf": torch.erf, "Abs": torch.abs, "Softplus": F.softplus, "HardSwish": F.hardswish,
    "Elu": F.elu, "Selu": F.selu, "LeakyRelu": F.leaky_relu,
}.items():
    case(name, "x[3,2,17]", f"y = {name} (x)", function)
for name, function in {
    "Log": torch.log, "Acosh": lambda x: torch.acosh(x), "Reciprocal": torch.reciprocal,
}.items():
    case(name, "x[3,17]", f"two = Constant <value_float = 2.0> ()\n s = Softplus (x)\n"
         f"a = Add (s, two)\n y = {name} (a)", lambda x, f=function: f(F.softplus(x) + 2))
for name, function in {"Asin": torch.asin, "Acos": torch.acos, "Atanh": torch.atanh}.items():
    case(name, "x[3,17]", f"half = Constant <value_float = 0.5> ()\n s = Tanh (x)\n"
         f"a = Mul (s, half)\n y = {name} (a)", lambda x, f=function: f(torch.tanh(x) * 0.5))
for name, function in {"Sign": torch.sign, "Floor": torch.floor, "Ceil": torch.ceil,
                       "Round": torch.round}.items():
    case(name, "x[3,17]", f"s = {name} (x)\n y = Mul (s, x)", lambda x, f=function: f(x) * x)
case("Celu", "x[3,17]", "y = Celu <alpha = 0.7> (x)", lambda x: F.celu(x, 0.7))
case("Mish", "x[3,17]", "y = Mish (x)", F.mish, opset=18)
case("Silu", "x[3,17]", "s = Sigmoid (x)\n y = Mul (x, s)", F.silu)


def numbers(**values):
    return "\n".join(f"{name} = Constant <value_float = {v}> ()" for name, v in values.items()) + "\n"


# Written out, as exporters and users do.
for name, body in {
    "erf": "d = Div (x, root)\n e = Erf (d)\n a = Add (e, one)\n m = Mul (x, a)\n"
           "y = Mul (m, half)",
    "erf_half_first": "d = Mul (x, inverse)\n e = Erf (d)\n a = Add (one, e)\n"
                      "m = Mul (half, x)\n y = Mul (m, a)",
    "erf_half_last": "d = Div (x, root)\n e = Erf (d)\n a = Add (e, one)\n m = Mul (a, half)\n"
                     "y = Mul (m, x)",
}.items():
    case(f"Gelu_{name}", "x[5,13]", numbers(root=1.4142135, inverse=0.70710677, one=1.0, half=0.5)
         + body, F.gelu)
for name, body in {
    "pow": "p = Pow (x, three)\n c = Mul (cubic, p)\n s = Add (x, c)\n i = Mul (slope, s)\n"
           "t = Tanh (i)\n a = Add (one, t)\n m = Mul (half, x)\n y = Mul (m, a)",
    "cube": "q = Mul (x, x)\n p = Mul (x, q)\n c = Mul (cubic, p)\n s = Add (x, c)\n"
            "i = Mul (slope, s)\n t = Tanh (i)\n a = Add (one, t)\n m = Mul (x, a)\n"
            "y = Mul (half, m)",
    "fast": "k = Mul (x, slope)\n c = Mul (x, cubic)\n q = Mul (c, x)\n s = Add (q, one)\n"
            "i = Mul (k, s)\n t = Tanh (i)\n a = Add (t, one)\n m = Mul (x, half)\n"
            "y = Mul (m, a)",
}.items():
    case(f"Gelu_tanh_{name}", "x[5,13]",
         numbers(slope=0.79788456, cubic=0.044715, one=1.0, half=0.5, three=3.0) + body,
         lambda x: F.gelu(x, approximate="tanh"))
case("Gelu_gated", "x[5,13] g[5,13]", numbers(root=1.4142135, one=1.0, half=0.5) +
     "d = Div (x, root)\n e = Erf (d)\n a = Add (e, one)\n m = Mul (x, a)\n n = Mul (m, half)\n"
     "y = Mul (g, n)", lambda x, g: F.gelu(x) * g)
case("Silu_steep", "x[3,17]", numbers(alpha=1.702) + "a = Mul (x, alpha)\n s = Sigmoid (a)\n"
     "y = Mul (x, s)", lambda x: x * torch.sigmoid(1.702 * x))
case("Mish_parts", "x[3,17]", "p = Softplus (x)\n t = Tanh (p)\n y = Mul (x, t)", F.mish)
case("HardSwish_parts", "x[3,17]", numbers(low=0.0, three=3.0, six=6.0) +
     "a = Add (x, three)\n c = Clip (a, low, six)\n m = Mul (x, c)\n y = Div (m, six)",
     F.hardswish)
case("HardSwish_sigmoid", "x[3,17]", "s = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)\n"
     "y = Mul (x, s)", F.hardswish)
case("HardSigmoid_parts", "x[3,17]", numbers(low=0.0, three=3.0, six=6.0) +
     "a = Add (x, three)\n c = Clip (a, low, six)\n y = Div (c, six)", F.hardsigmoid)
case("HardSigmoid", "x[3,17]", "y = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)",
     F.hardsigmoid)
case("ThresholdedRelu", "x[3,17]", "y = ThresholdedRelu <alpha = 0.5> (x)",
     lambda x: F.threshold(x, 0.5, 0.0))
case("Shrink_soft", "x[3,17]", "y = Shrink <bias = 0.3, lambd = 0.3> (x)",
     lambda x: F.softshrink(x, 0.3))
case("Shrink_hard", "x[3,17]", "y = Shrink <lambd = 0.4> (x)", lambda x: F.hardshrink(x, 0.4))
case("PRelu", "x[2,3,17] p[3,1]+", "y = PRelu (x, p)", lambda x, p: torch.where(x > 0, x, p * x))
case("Relu6", "x[3,17]", "l = Constant <value_float = 0.0> ()\n"
     "h = Constant <value_float = 6.0> ()\n y = Clip (x, l, h)", F.relu6)
case("Clip", "x[3,17]", "l = Constant <value_float = -0.5> ()\n"
     "h = Constant <value_float = 0.7> ()\n y = Clip (x, l, h)",
     lambda x: torch.clamp(x, -0.5, 0.7))
for name, function in {"Max": torch.maximum, "Min": torch.minimum}.items():
    case(f"{name}_row", "x[2,3,17] p[3,1]+", f"y = {name} (x, p)", function)
    case(f"{name}_tie", "x[2,3,17]", f"a = Relu (x)\n m = {name} (a, x)\n y = Mul (m, x)",
         lambda x, f=function: f(torch.relu(x), x) * x)
case("Where_less", "x[2,3,17] p[17]+", "c = Less (x, p)\n s = Mul (x, p)\n y = Where (c, s, p)",
     lambda x, p: torch.where(x < p, x * p, p))
for name, function in {
    "Max": torch.amax, "Min": torch.amin, "L1": lambda x, axes: x.abs().sum(axes),
    "L2": lambda x, axes: torch.linalg.vector_norm(x, dim=axes),
    "SumSquare": lambda x, axes: (x * x).sum(axes), "LogSumExp": torch.logsumexp,
}.items():
    case(f"Reduce{name}", "x[3,5,17]", f"y = Reduce{name} <axes = [1, 2], keepdims = 0> (x)",
         lambda x, f=function: f(x, (1, 2)))
# All elements are the largest of their rows, or zero: gradients are shared, or 0.
case("ReduceMax_ties", "x[3,17]", "z = Constant <value_float = 5.0> ()\n a = Max (x, z)\n"
     "b = ReduceMax <axes = [1]> (a)\n y = Add (b, x)",
     lambda x: torch.amax(torch.maximum(x, torch.tensor(5.0)), 1, True) + x)
case("ReduceL2_zero", "x[3,17]", "z = Constant <value_float = 0.0> ()\n a = Mul (x, z)\n"
     "b = ReduceL2 <axes = [1]> (a)\n y = Add (b, x)",
     lambda x: torch.linalg.vector_norm(x * 0, dim=1, keepdim=True) + x)
case("Mean", "x[2,3,17] p[3,1]+", "y = Mean (x, p, x)", lambda x, p: (x + p + x) / 3)
BINARY = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div}
for op, function in BINARY.items():
    for label, shape in {"scalar": "", "row": "3,1", "outer": "1,1,1,17"}.items():
        case(f"{op}_{label}", f"x[2,3,17] p[{shape}]+", f"y = {op} (x, p)", function)
for op in ("Sub", "Div"):
    for label, shape in {"one": "1", "inner": "17", "same": "2,3,17"}.items():
        case(f"{op}_from_{label}", f"x[2,3,17] p[{shape}]+",
             f"half = Constant <value_float = 0.5> ()\n s = Sigmoid (x)\n"
             f"a = Add (s, half)\n y = {op} (p, a)",
             lambda x, p, f=BINARY[op]: f(p, torch.sigmoid(x) + 0.5))
for axis in (-1, 1, 2):
    name = str(axis).replace("-", "m")
    case(f"Softmax_{name}", "x[2,5,3,4]", f"y = Softmax <axis = {axis}> (x)",
         lambda x, axis=axis: torch.softmax(x, axis))
    case(f"LogSoftmax_{name}", "x[2,5,3,4]", f"y = LogSoftmax <axis = {axis}> (x)",
         lambda x, axis=axis: torch.log_softmax(x, axis))

# Products.
for name, x, p in [
    ("plain", "3,17", "17,5"), ("one", "1,17", "17,1"), ("shared", "2,3,7", "7,5"),
    ("broadcast", "2,3,5,7", "3,7,11"), ("ones", "2,3,5,7", "1,1,7,11"),
    ("vector", "3,17", "17"),
]:
    case(f"MatMul_{name}", f"x[{x}] p[{p}]", "y = MatMul (x, p)", torch.matmul)
for name, x, p in [
    ("shared", "2,3,7", "5,3"), ("vector", "3,7,17", "7"), ("broadcast", "2,3,5,7", "2,1,4,5"),
]:
    case(f"MatMul_left_{name}", f"x[{x}] p[{p}]", "y = MatMul (p, x)",
         lambda x, p: torch.matmul(p, x))
case("MatMul_transposed", "x[2,3,5,7] p[5,13]",
     "t = Transpose <perm = [0, 1, 3, 2]> (x)\n y = MatMul (t, p)",
     lambda x, p: x.transpose(2, 3) @ p)
case("MatMul_heads", "x[2,5,3,7] p[7,2]",
     "t = Transpose <perm = [0, 2, 1, 3]> (x)\n y = MatMul (t, p)",
     lambda x, p: x.transpose(1, 2) @ p)
case("MatMul_weight_transposed", "x[3,17] p[5,17]",
     "t = Transpose <perm = [1, 0]> (p)\n y = MatMul (x, t)", lambda x, p: x @ p.T)
case("MatMul_itself", "x[2,3,5]",
     "t = Transpose <perm = [0, 2, 1]> (x)\n y = MatMul (x, t)",
     lambda x: x @ x.transpose(1, 2))
case("Gemm_transB", "x[3,17] p[5,17] c[5]", "y = Gemm <transB = 1> (x, p, c)", F.linear)
case("Gemm_factors", "x[3,17] p[17,5] c[1,5]", "y = Gemm <alpha = 0.5, beta = 2.0> (x, p, c)",
     lambda x, p, c: 0.5 * x @ p + 2 * c)
case("Gemm_transA", "x[3,17] p[3,5] c[17,5]", "y = Gemm <transA = 1> (x, p, c)",
     lambda x, p, c: x.T @ p + c)
case("Gemm_scalar", "x[3,17] p[5,17] c[]",
     "y = Gemm <transB = 1, alpha = 2.0, beta = 0.25> (x, p, c)",
     lambda x, p, c: 2 * x @ p.T + 0.25 * c)
case("Gemm_column", "x[3,17] p[5,17] c[3,1]", "y = Gemm <transB = 1> (x, p, c)",
     lambda x, p, c: x @ p.T + c)
case("Gemm_no_bias", "x[3,17] p[17,5]", "y = Gemm <alpha = 0.3> (x, p)",
     lambda x, p: 0.3 * x @ p)

# Attention: on each place, masked causally for each shape, and in its other spellings.
def attention(name, tensors, body, function=None, attributes=""):
    case(f"Attention_{name}", tensors, body.replace("Attention", f"Attention <{attributes}>", 1)
         if attributes else body, function, opset=23)


SDPA = F.scaled_dot_product_attention
KEY, VALUE = "k[2,3,5,8]", "v[2,3,5,6]"
attention("query", f"x[2,3,7,8] {KEY} {VALUE}", "y = Attention (x, k, v)", SDPA)
attention("key", f"x[2,3,5,8] q[2,3,7,8] {VALUE}", "y = Attention (q, x, v)",
          lambda x, q, v: SDPA(q, x, v))
attention("value", f"x[2,3,5,6] q[2,3,7,8] {KEY}", "y = Attention (q, k, x)",
          lambda x, q, k: SDPA(q, k, x))
attention("itself", "x[2,2,9,4]", "y = Attention (x, x, x)",
          lambda x: SDPA(x, x, x, is_causal=True), "is_causal = 1")
for name, length in {"longer": 9, "shorter": 3}.items():
    attention(f"causal_{name}", f"x[2,3,{length},8] {KEY} {VALUE}", "y = Attention (x, k, v)",
              lambda x, k, v: SDPA(x, k, v, is_causal=True, scale=0.5),
              "is_causal = 1, scale = 0.5")
attention("groups", "x[2,6,7,8] k[2,2,5,8] v[2,2,5,6]", "y = Attention (x, k, v)",
          lambda x, k, v: SDPA(x, k, v, enable_gqa=True))
attention("one_group", "x[2,4,7,8] k[2,1,7,8] v[2,1,7,8]", "y = Attention (x, k, v)",
          lambda x, k, v: SDPA(x, k, v, is_causal=True, enable_gqa=True), "is_causal = 1")


def joined(heads, key_heads, **options):
    """SDPA of [batch, length, heads x depth]."""
    def split(t, heads):
        return t.unflatten(2, (heads, -1)).transpose(1, 2)
    return lambda q, k, v: SDPA(split(q, heads), split(k, key_heads), split(v, key_heads),
                                **options).transpose(1, 2).flatten(2)


attention("joined", "x[2,7,12] k[2,5,12] v[2,5,6]", "y = Attention (x, k, v)", joined(3, 3),
          "q_num_heads = 3, kv_num_heads = 3")
attention("joined_groups", "x[2,7,16] k[2,7,8] v[2,7,4]", "y = Attention (x, k, v)",
          joined(4, 2, is_causal=True, enable_gqa=True),
          "q_num_heads = 4, kv_num_heads = 2, is_causal = 1")
attention("mask", f"x[2,3,7,8] {KEY} {VALUE} m[7,5]", "y = Attention (x, k, v, m)",
          lambda x, k, v, m: SDPA(x, k, v, m))
SEEN = [[1, 0, 0, 1, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]]
attention("mask_of_truth", f"x[2,3,3,8] {KEY} {VALUE}",
     f"b = Constant <value = bool[3,5] {{{', '.join(str(s) for row in SEEN for s in row)}}}> ()\n"
     "y = Attention (x, k, v, b)",
     lambda x, k, v: SDPA(x, k, v, torch.tensor(SEEN, dtype=torch.bool)))
EMPTY = [[1, 0, 0, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
attention("empty_row", f"x[2,3,3,8] {KEY} {VALUE}",
     f"b = Constant <value = bool[3,5] {{{', '.join(str(s) for row in EMPTY for s in row)}}}> ()\n"
     "y = Attention (x, k, v, b)",
     lambda x, k, v: SDPA(x, k, v, torch.tensor(EMPTY, dtype=torch.bool)))
attention("mask_groups", "x[2,6,5,8] k[2,2,5,8] v[2,2,5,6] m[2,1,5,5]",
          "y = Attention (x, k, v, m)",
          lambda x, k, v, m: SDPA(x, k, v, m + torch.full((5, 5), -torch.inf).triu(1),
                                  enable_gqa=True), "is_causal = 1")
attention("softcap", f"x[2,3,7,8] {KEY} {VALUE}", "y = Attention (x, k, v)",
          lambda x, k, v: torch.softmax(
              2 * torch.tanh(x @ k.mT / 8**0.5 / 2), -1) @ v, "softcap = 2.0")


def windowed(rows, columns, left=None, right=None, first=0):
    """0 where query i, the key before which is first + i - 1, sees a key; else -inf."""
    ahead = torch.arange(columns) - torch.arange(rows)[:, None] - first
    seen = torch.ones_like(ahead, dtype=torch.bool)
    seen &= ahead <= (columns if right is None else right)
    seen &= -ahead <= (columns + rows if left is None else left)
    return torch.zeros(rows, columns).masked_fill(~seen, -torch.inf)


# Keys of earlier calls come first, and a causal query stands behind them.
attention("past", f"x[2,3,5,8] k[2,3,5,8] {VALUE} pk[2,3,4,8] pv[2,3,4,6]",
          "y, kk, vv = Attention (x, k, v,, pk, pv)",
          lambda x, k, v, pk, pv: SDPA(x, torch.cat([pk, k], 2), torch.cat([pv, v], 2),
                                       windowed(5, 9, right=0, first=4)), "is_causal = 1")
attention("past_joined", "x[2,3,16] k[2,3,8] v[2,3,4] pk[2,2,4,4] pv[2,2,4,2] m[3,7]",
          "y, kk, vv = Attention (x, k, v, m, pk, pv)", None, "q_num_heads = 4, kv_num_heads = 2")
for mode in range(4):
    attention(f"scores_{mode}", f"x[2,3,5,8] {KEY} {VALUE} m[5,5]",
              "y, kk, vv, s = Attention (x, k, v, m)", None,
              f"softcap = 1.5, qk_matmul_output_mode = {mode}")
    CASES[-1].outputs = "y s"
LENGTHS = "n = Constant <value_ints = [3, 1]> ()\n y = Attention"
for name, attributes, offsets in [("lengths", "", None), ("lengths_causal", "is_causal = 1", 0)]:
    def padded(x, k, v, offsets=offsets):
        outputs = []
        for i, length in enumerate([3, 1]):
            mask = torch.zeros(4, 5).masked_fill(torch.arange(5) >= length, -torch.inf)
            if offsets is not None:
                mask = mask + windowed(4, 5, right=0, first=length - 4)
            # A query that sees no key gives 0.
            seen = (mask == 0).any(1, keepdim=True)
            scores = x[i] @ k[i].mT / 8**0.5 + mask.masked_fill(~seen, 0)
            outputs.append(torch.where(seen, torch.softmax(scores, -1) @ v[i], 0))
        return torch.stack(outputs)
    case(f"Attention_{name}", f"x[2,3,4,8] {KEY} {VALUE}",
         f"{LENGTHS} <{attributes}> (x, k, v,,,, n)".replace(" <>", ""), padded, opset=24)
for name, attributes, options in [
        ("left", "left_window_size = 2", {"left": 2}),
        ("both", "left_window_size = 1, right_window_size = 0", {"left": 1, "right": 0}),
        ("right", "right_window_size = 1", {"right": 1}),
        ("causal", "left_window_size = 1, is_causal = 1", {"left": 1, "right": 0})]:
    case(f"Attention_window_{name}", "x[2,3,7,8] k[2,3,7,8] v[2,3,7,6]",
         f"y = Attention <{attributes}> (x, k, v)",
         lambda x, k, v, o=options: SDPA(x, k, v, windowed(7, 7, **o)), opset=25)


def rotated(x, cosines, sines, interleaved=False, turned=None):
    """Pairs of the last dimension of [.., length, depth] turned by angles [length, pairs]."""
    turned = turned or x.shape[-1]
    x, rest = x[..., :turned], x[..., turned:]
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    parts = [cosines * a - sines * b, sines * a + cosines * b]
    x = torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)
    return torch.cat([x, rest], -1)


case("RotaryEmbedding", "x[2,3,5,8] c[2,5,4] s[2,5,4]", "y = RotaryEmbedding (x, c, s)",
     lambda x, c, s: rotated(x, c[:, None], s[:, None]), opset=23)
case("RotaryEmbedding_joined", "x[2,5,24] c[2,5,4] s[2,5,4]",
     "y = RotaryEmbedding <num_heads = 3> (x, c, s)",
     lambda x, c, s: rotated(x.unflatten(2, (3, 8)), c[:, :, None], s[:, :, None]).flatten(2),
     opset=23)
case("RotaryEmbedding_interleaved", "x[2,3,5,8] c[2,5,2] s[2,5,2]",
     "y = RotaryEmbedding <interleaved = 1, rotary_embedding_dim = 4> (x, c, s)",
     lambda x, c, s: rotated(x, c[:, None], s[:, None], True, 4), opset=23)
case("RotaryEmbedding_positions", "x[2,3,5,8] c[9,4] s[9,4]",
     "p = Constant <value = int64[2,5] {0, 1, 2, 3, 4, 8, 7, 8, 0, 3}> ()\n"
     "y = RotaryEmbedding (x, c, s, p)",
     lambda x, c, s, p=torch.tensor([[0, 1, 2, 3, 4], [8, 7, 8, 0, 3]]): rotated(
         x, c[p][:, None], s[p][:, None]), opset=23)


def linear_attention(x, k, v, decay=None, beta=None, state=None, delta=False):
    """LinearAttention with 4 heads of queries, 2 of keys of 3 numbers, and a scale of 0.5."""
    x, k, v = x.unflatten(2, (2, 2, 3)), k.unflatten(2, (2, 3)), v.unflatten(2, (2, -1))
    if state is None:
        state = torch.zeros(x.shape[0], 2, 3, v.shape[-1], dtype=x.dtype)
    outputs = []
    for t in range(x.shape[1]):
        if decay is not None:
            state = decay[:, t].unflatten(1, (2, -1))[..., None].exp() * state
        new = v[:, t] - torch.einsum("bhkv,bhk->bhv", state, k[:, t]) if delta else v[:, t]
        if beta is not None:
            new = beta[:, t][..., None] * new
        state = state + k[:, t][..., None] * new[..., None, :]
        outputs.append(0.5 * torch.einsum("bhkv,bhgk->bhgv", state, x[:, t]).flatten(1))
    return torch.stack(outputs, 1)


for name, tensors, inputs, function in [
        ("linear", "", "", lambda x, k, v: linear_attention(x, k, v)),
        ("linear_state", "s[2,2,3,5]", ", s",
         lambda x, k, v, s: linear_attention(x, k, v, state=s)),
        ("gated", "d[2,4,2]", ",, d", lambda x, k, v, d: linear_attention(x, k, v, d)),
        ("delta", "b[2,4,1]", ",,, b",
         lambda x, k, v, b: linear_attention(x, k, v, None, b, delta=True)),
        ("gated_delta", "d[2,4,6] b[2,4,2]", ",, d, b",
         lambda x, k, v, d, b: linear_attention(x, k, v, d, b, delta=True))]:
    rule = name.replace("_state", "")
    case(f"LinearAttention_{name}", f"x[2,4,12] k[2,4,6] v[2,4,10] {tensors}".strip(),
         f'y, last = LinearAttention <q_num_heads = 4, kv_num_heads = 2, scale = 0.5, '
         f'update_rule = "{rule}"> (x, k, v{inputs})', function, opset=27)
case("CausalConvWithState", "x[2,3,7] w[3,1,4] b[3] s[2,3,3]",
     'y, last = CausalConvWithState <activation = "silu"> (x, w, b, s)',
     lambda x, w, b, s: F.silu(F.conv1d(torch.cat([s, x], 2), w, b, groups=3)),
     outputs="y last", opset=27)
case("CausalConvWithState_short", "x[2,3,2] w[3,1,4]",
     "y, last = CausalConvWithState (x, w)",
     lambda x, w: F.conv1d(F.pad(x, (3, 0)), w, groups=3), outputs="y last", opset=27)
case("SwiGLU", "x[3,17] b[3,17]", "y = SwiGLU (x, b)", lambda x, b: F.silu(x) * b, opset=28)
case("SwiGLU_alpha", "x[3,17]", "y = SwiGLU <alpha = 1.5> (x, x)",
     lambda x: x * x * torch.sigmoid(1.5 * x), opset=28)
for time in (0, 1):
    def reversed_steps(x, time=time):
        moved = x if time == 0 else x.transpose(0, 1)
        steps = [torch.cat([moved[:n, i].flip(0), moved[n:, i]])
                 for i, n in enumerate([4, 1, 3])]
        return torch.stack(steps, 1 - time)
    case(f"ReverseSequence_{time}", "x[4,3,5]" if time == 0 else "x[3,4,5]",
         "n = Constant <value_ints = [4, 1, 3]> ()\n"
         f"y = ReverseSequence <time_axis = {time}, batch_axis = {1 - time}> (x, n)",
         reversed_steps)

# A sample of padding alone under a mask of the lowest float: its probabilities are equal.
case("Attention_padded", "x[3,2,7,8] k[3,2,5,8] v[3,2,5,6]",
     "c = Constant <value = bool[3,1,1,5] {1,1,1,1,1, 1,1,0,0,0, 0,0,0,0,0}> ()\n"
     "low = Constant <value_float = -3.4028234663852886e38> ()\n"
     "zero = Constant <value_float = 0.0> ()\n m = Where (c, zero, low)\n"
     "t = Transpose <perm = [0, 1, 3, 2]> (k)\n s = MatMul (x, t)\n d = Add (s, m)\n"
     "p = Softmax <axis = 3> (d)\n y = MatMul (p, v)",
     lambda x, k, v: torch.softmax(x @ k.mT + torch.tensor(
         [[0.0] * 5, [0.0] * 2 + [-3.4028234663852886e38] * 3, [-3.4028234663852886e38] * 5],
         dtype=x.dtype)[:, None, None], -1) @ v)
# The same as products around a softmax, which becomes one op.
case("Attention_written_out", "x[2,3,7,8] k[2,3,5,8] v[2,3,5,6]",
     "t = Transpose <perm = [0, 1, 3, 2]> (k)\n s = MatMul (x, t)\n"
     "c = Constant <value_float = 0.3> ()\n d = Mul (s, c)\n p = Softmax <axis = 3> (d)\n"
     "y = MatMul (p, v)", lambda x, k, v: SDPA(x, k, v, scale=0.3))
case("Attention_written_out_causal", "x[2,3,4] k[2,3,4] v[2,3,5]",
     "t = Transpose <perm = [0, 2, 1]> (k)\n s = MatMul (x, t)\n"
     "m = Constant <value = float[3,3] {0.0, -3e38, -3e38, 0.0, 0.0, -3e38, 0.0, 0.0, 0.0}> ()\n"
     "d = Add (s, m)\n p = Softmax <axis = 2> (d)\n y = MatMul (p, v)",
     lambda x, k, v: SDPA(x, k, v, is_causal=True, scale=1.0))

# Norms. BatchNormalization as at inference: in training it is another function.
for name, x, axis, dims in [
    ("last", "2,3,17", -1, 1), ("two", "2,3,17", 1, 2), ("middle", "2,3,4,5", 2, 2),
]:
    shape = ",".join(x.split(",")[-dims:])
    case(f"LayerNorm_{name}", f"x[{x}] g[{shape}] b[{shape}]",
         f"y = LayerNormalization <axis = {axis}> (x, g, b)",
         lambda x, g, b: F.layer_norm(x, g.shape, g, b))
for name, x, axis, g in [("last", "2,3,17", -1, "17"), ("two", "2,3,17", 1, "3,17")]:
    case(f"RMSNorm_{name}", f"x[{x}] g[{g}]", f"y = RMSNormalization <axis = {axis}> (x, g)",
         lambda x, g: F.rms_norm(x, g.shape, g, 1e-5), opset=23)
case("LayerNorm_no_bias", "x[1,7] g[7]", "y = LayerNormalization <epsilon = 0.001> (x, g)",
     lambda x, g: F.layer_norm(x, g.shape, g, None, 1e-3))


# Written out, as exporters and users do.
def written_norm(name, tensors, body, function, axes="-1"):
    """ROOT q stands for what makes r of it, the root of its mean and epsilon."""
    root = f"v = ReduceMean <axes = [{axes}]> (q)\n e = Add (v, eps)\n r = Sqrt (e)"
    case(name, tensors, numbers(eps=1e-5, one=1.0, two=2.0, power=-0.5)
         + body.replace("ROOT q", root), function)


def rms(x):
    return x * torch.rsqrt((x * x).mean(-1, True) + 1e-5)


for name, body, function in [
    ("llama", "q = Pow (x, two)\n ROOT q\n i = Reciprocal (r)\n n = Mul (x, i)\n y = Mul (g, n)",
     lambda x, g: rms(x) * g),
    ("gemma", "q = Mul (x, x)\n v = ReduceMean <axes = [-1]> (q)\n e = Add (eps, v)\n"
     "i = Pow (e, power)\n n = Mul (x, i)\n h = Add (g, one)\n y = Mul (n, h)",
     lambda x, g: rms(x) * (1 + g)),
    ("divided", "q = Pow (x, two)\n ROOT q\n n = Div (x, r)\n y = Mul (n, g)",
     lambda x, g: rms(x) * g),
    ("scale_first", "q = Mul (x, x)\n ROOT q\n s = Mul (x, g)\n y = Div (s, r)",
     lambda x, g: rms(x) * g),
    ("scaled_inverse", "q = Mul (x, x)\n ROOT q\n i = Div (g, r)\n y = Mul (i, x)",
     lambda x, g: rms(x) * g),
]:
    written_norm(f"RMSNorm_{name}", "x[2,3,17] g[17]", body, function)
written_norm("RMSNorm_rows", "x[2,3,17] g[3,1]", "q = Mul (x, x)\n ROOT q\n n = Div (x, r)\n"
             "y = Mul (n, g)", lambda x, g: rms(x) * g)
CENTRE = "m = ReduceMean <axes = [-1]> (x)\n c = Sub (x, m)\n q = Mul (c, c)\n"
for name, body in {
    "parts": CENTRE + "ROOT q\n n = Div (c, r)\n s = Mul (n, g)\n y = Add (s, b)",
    "pow": CENTRE.replace("Mul (c, c)", "Pow (c, two)")
           + "ROOT q\n n = Div (c, r)\n s = Mul (g, n)\n y = Add (b, s)",
    "scale_first": CENTRE + "ROOT q\n i = Reciprocal (r)\n s = Mul (g, c)\n n = Mul (s, i)\n"
                   "y = Add (n, b)",
    "centred_twice": CENTRE.replace("Mul (c, c)", "Mul (d, d)").replace("q =", "k = ReduceMean "
                     "<axes = [-1]> (x)\n d = Sub (x, k)\n q =")
                     + "ROOT q\n n = Div (c, r)\n s = Mul (n, g)\n y = Add (s, b)",
}.items():
    written_norm(f"LayerNorm_{name}", "x[2,3,17] g[17] b[17]", body,
                 lambda x, g, b: F.layer_norm(x, g.shape, g, b))
# PyTorch's biased variance, and the mean beside it.
written_norm("LayerNorm_variance", "x[2,3,17] g[17] b[17]", """
a = Constant <value_ints = [-1]> ()
n = Constant <value_float = 17.0> ()
m = ReduceMean <axes = [-1]> (x)
d = Sub (x, m)
q = Mul (d, d)
w = ReduceMean <axes = [-1], keepdims = 0> (q)
v = Unsqueeze (w, a)
e = Add (v, eps)
r = Sqrt (e)
i = Reciprocal (r)
s = ReduceSum <keepdims = 0> (x, a)
t = Unsqueeze (s, a)
k = Div (t, n)
c = Sub (x, k)
h = Mul (c, i)
o = Mul (h, g)
y = Add (o, b)""", lambda x, g, b: F.layer_norm(x, g.shape, g, b))
written_norm("LayerNorm_scale", "x[3,17] g[1,17]", CENTRE + "ROOT q\n n = Div (c, r)\n"
             "y = Mul (n, g)", lambda x, g: F.layer_norm(x, (17,)) * g)
written_norm("LayerNorm_plain", "x[3,17]", CENTRE + "ROOT q\n y = Div (c, r)",
             lambda x: F.layer_norm(x, (17,)))
written_norm("LayerNorm_parts_two", "x[2,3,17] g[3,17] b[3,17]", CENTRE.replace("-1", "1, 2")
             + "ROOT q\n n = Div (c, r)\n s = Mul (n, g)\n y = Add (s, b)",
             lambda x, g, b: F.layer_norm(x, g.shape, g, b), axes="1, 2")


for name, x in [("2d", "3,17"), ("1d", "2,3,5"), ("images", "2,3,5,7"), ("one", "1,1,3,3")]:
    c = x.split(",")[1]
    case(f"BatchNorm_{name}", f"x[{x}] g[{c}] b[{c}] m[{c}] v[{c}]+",
         "y = BatchNormalization <epsilon = 0.001> (x, g, b, m, v)")

# Convolutions.
def conv(name, x, p, attributes="", function=None, bias=True):
    channels = p.split(",")[0]
    case(f"Conv_{name}", f"x[{x}] p[{p}]" + (f" b[{channels}]" if bias else ""),
         f"y = Conv <{attributes}> (x, p{', b' if bias else ''})", function)


conv("pads", "2,3,7,9", "5,3,3,3", "pads = [1, 1, 1, 1]",
     lambda x, p, b: F.conv2d(x, p, b, padding=1))
conv("one", "1,1,5,5", "1,1,3,3", "group = 1", F.conv2d)
conv("groups", "2,6,7,7", "4,3,3,3", "group = 2, pads = [1, 1, 1, 1]",
     lambda x, p, b: F.conv2d(x, p, b, padding=1, groups=2))
conv("depthwise", "1,17,5,5", "17,1,3,3", "group = 17, pads = [1, 1, 1, 1]",
     lambda x, p, b: F.conv2d(x, p, b, padding=1, groups=17))
conv("dilations", "2,3,11,11", "4,3,3,3", "dilations = [2, 2]",
     lambda x, p, b: F.conv2d(x, p, b, dilation=2))
conv("uneven_pads", "2,3,7,8", "4,3,3,2", "pads = [1, 0, 2, 1]",
     lambda x, p, b: F.conv2d(F.pad(x, (0, 1, 1, 2)), p, b))
conv("strides", "2,3,7,9", "5,3,3,3", "strides = [2, 2], pads = [1, 1, 1, 1]",
     lambda x, p: F.conv2d(x, p, None, 2, 1), bias=False)
conv("uneven_strides", "2,3,8,9", "5,3,1,3", "strides = [2, 3]",
     lambda x, p, b: F.conv2d(x, p, b, (2, 3)))
conv("1d", "2,3,17", "5,3,3", "pads = [1, 1]", lambda x, p, b: F.conv1d(x, p, b, padding=1))
conv("1d_all", "1,3,17", "6,1,5", "group = 3, strides = [2], dilations = [2]",
     lambda x, p, b: F.conv1d(x, p, b, 2, 0, 2, 3))
conv("pointwise", "1,3,5,5", "17,3,1,1", "strides = [2, 2]",
     lambda x, p, b: F.conv2d(x, p, b, 2))
conv("whole_image", "3,4,5,5", "7,4,5,5", "group = 1", F.conv2d)
conv("same_upper", "2,3,7,8", "4,3,3,4", 'auto_pad = "SAME_UPPER", strides = [2, 2]')
conv("same_lower", "2,3,7,8", "4,3,3,4", 'auto_pad = "SAME_LOWER", strides = [2, 2]')
conv("valid", "2,3,7,8", "4,3,3,4", 'auto_pad = "VALID"', F.conv2d)


# Pools.
def pool(name, op, x, attributes, function=None, opset=17):
    case(f"{op}_{name}", f"x[{x}]", f"y = {op} <{attributes}> (x)", function, opset=opset)


BY_TWO = "kernel_shape = [2, 2], strides = [2, 2]"
BY_THREE = "kernel_shape = [3, 3], strides = [2, 2]"
pool("plain", "MaxPool", "2,3,7,9", BY_TWO, lambda x: F.max_pool2d(x, 2))
pool("pads", "MaxPool", "2,3,7,9", BY_THREE + ", pads = [1, 1, 1, 1]",
     lambda x: F.max_pool2d(x, 3, 2, 1))
pool("ceil", "MaxPool", "2,3,8,8", BY_THREE + ", ceil_mode = 1",
     lambda x: F.max_pool2d(x, 3, 2, 0, ceil_mode=True))
pool("ceil_pads", "MaxPool", "2,3,8,9", BY_THREE + ", pads = [1, 1, 1, 1], ceil_mode = 1",
     lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True))
# The window that the ceiling adds would begin in the pads, and does not count.
pool("ceil_behind", "MaxPool", "2,3,7,7",
     "kernel_shape = [2, 2], strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1",
     lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True))
pool("dilations", "MaxPool", "2,3,9,9", "kernel_shape = [3, 3], dilations = [2, 2]",
     lambda x: F.max_pool2d(x, 3, 1, 0, 2))
pool("1d", "MaxPool", "2,3,9", "kernel_shape = [2], strides = [2]", lambda x: F.max_pool1d(x, 2))
pool("uneven_pads", "MaxPool", "2,1,7,7", BY_TWO + ", pads = [1, 0, 0, 1]",
     lambda x: F.max_pool2d(F.pad(x, (0, 1, 1, 0), value=-1e9), 2))
pool("plain", "AveragePool", "2,3,7,9", BY_TWO, lambda x: F.avg_pool2d(x, 2))
pool("pads", "AveragePool", "2,3,7,9", BY_THREE + ", pads = [1, 1, 1, 1]",
     lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False))
pool("counts_pads", "AveragePool", "2,3,7,9",
     BY_THREE + ", pads = [1, 1, 1, 1], count_include_pad = 1",
     lambda x: F.avg_pool2d(x, 3, 2, 1))
pool("ceil", "AveragePool", "2,3,8,8", BY_THREE + ", ceil_mode = 1",
     lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True), opset=21)
pool("ceil_pads", "AveragePool", "2,3,8,9", BY_THREE + ", pads = [1, 1, 1, 1], ceil_mode = 1",
     lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), opset=21)
pool("1d", "AveragePool", "2,17,9", "kernel_shape = [3], strides = [3]",
     lambda x: F.avg_pool1d(x, 3))
pool("uneven_pads", "AveragePool", "2,1,7,7", BY_TWO + ", pads = [1, 0, 0, 1]")
case("GlobalAveragePool_images", "x[2,17,5,3]", "y = GlobalAveragePool (x)",
     lambda x: x.mean((2, 3), keepdim=True))
case("GlobalAveragePool_one", "x[1,1,5]", "y = GlobalAveragePool (x)",
     lambda x: x.mean(2, keepdim=True))
case("GlobalAveragePool_volumes", "x[2,17,2,3,5]", "y = GlobalAveragePool (x)",
     lambda x: x.mean((2, 3, 4), keepdim=True))

# Reductions: axes as attribute, then as input.
for op, function in {"ReduceMean": torch.mean, "ReduceSum": torch.sum}.items():
    for name, axes, keep in [
        ("kept", [1], 1), ("last", [-1], 0), ("middle", [1, 2], 0), ("apart", [1, 3], 1),
        ("inner", [2], 0), ("swapped", [3, 1], 0),
    ]:
        if op == "ReduceMean":
            case(f"{op}_{name}", "x[2,3,4,5]", f"y = {op} <axes = {axes}, keepdims = {keep}> (x)",
                 lambda x, a=axes, k=keep, f=function: f(x, a, keepdim=bool(k)), opset=13)
        if op == "ReduceSum" or name in ("kept", "apart"):
            case(f"{op}_{name}_18", "x[2,3,4,5]",
                 f"a = Constant <value_ints = {axes}> ()\n y = {op} <keepdims = {keep}> (x, a)",
                 lambda x, a=axes, k=keep, f=function: f(x, a, keepdim=bool(k)), opset=18)
case("ReduceSum_nothing", "x[2,3,5]", "y = ReduceSum <noop_with_empty_axes = 1> (x)",
     lambda x: x, opset=18)

# What only moves elements.
for axis in (1, 2, -1):
    name = str(axis).replace("-", "m")
    case(f"Concat_{name}", "x[2,3,2,5]", f"t = Tanh (x)\n y = Concat <axis = {axis}> (x, t, x)",
         lambda x, axis=axis: torch.cat([x, torch.tanh(x), x], axis))
case("Concat_parameter", "x[1,3,5] p[1,2,5]", "y = Concat <axis = 1> (p, x)",
     lambda x, p: torch.cat([p, x], 1))
case("Concat_uneven", "x[2,17,5]",
     "m = ReduceMean <axes = [1], keepdims = 1> (x)\n y = Concat <axis = 1> (m, x)",
     lambda x: torch.cat([x.mean(1, keepdim=True), x], 1))
for name, perm in [("heads", [0, 2, 1, 3]), ("back", [0, 3, 2, 1]), ("images", [0, 3, 1, 2]),
                   ("batch", [1, 0, 2, 3])]:
    case(f"Transpose_{name}", "x[2,3,4,5]", f"y = Transpose <perm = {perm}> (x)",
         lambda x, perm=perm: x.permute(perm))
for name, sizes, axis in [("even", [4, 4, 4], 2), ("uneven", [7, 1, 4], -1), ("batch", [1, 2], 0)]:
    parts = ", ".join("abc"[:len(sizes)])
    last = "abc"[len(sizes) - 1]
    case(f"Split_{name}", "x[3,2,12]",
         f"s = Constant <value_ints = {sizes}> ()\n {parts} = Split <axis = {axis}> (x, s)\n"
         f"t = Tanh (a)\n y = Concat <axis = {axis}> ({last}, t)",
         lambda x, sizes=sizes, axis=axis: torch.cat(
             [x.split(sizes, axis)[-1], torch.tanh(x.split(sizes, axis)[0])], axis))
case("Split_last_smaller", "x[3,8]",
     "a, b, c = Split <axis = 1, num_outputs = 3> (x)\n y = Concat <axis = 1> (c, a)",
     lambda x: torch.cat([x[:, 6:], x[:, :3]], 1), opset=18)
case("Split_gate", "x[3,2,34]",
     "a, b = Split <axis = -1> (x)\n s = Sigmoid (b)\n y = Mul (a, s)",
     lambda x: F.glu(x, -1))
# Queries, keys and values of four heads, out of one tensor.
def heads(x, mask=None, value=None):
    q, k, v = [t.unflatten(2, (4, -1)).transpose(1, 2) for t in x.split(20, 2)]
    scores = q @ k.transpose(2, 3) * 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, value)
    return (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)


QKV = ("n = Constant <value_ints = [20, 20, 20]> ()\n q0, k0, v0 = Split <axis = 2> (x, n)\n"
       "d = Constant <value_ints = [0, 0, 4, -1]> ()\n q1 = Reshape (q0, d)\n"
       "k1 = Reshape (k0, d)\n v1 = Reshape (v0, d)\n"
       "q = Transpose <perm = [0, 2, 1, 3]> (q1)\n k = Transpose <perm = [0, 2, 3, 1]> (k1)\n"
       "v = Transpose <perm = [0, 2, 1, 3]> (v1)\n p = MatMul (q, k)\n"
       "half = Constant <value_float = 0.5> ()\n scores = Mul (p, half)\n")
REST = ("a = Softmax (m)\n w = MatMul (a, v)\n o = Transpose <perm = [0, 2, 1, 3]> (w)\n"
        "e = Constant <value_ints = [0, 0, -1]> ()\n y = Reshape (o, e)")
# As PyTorch's exporters write the mask: ones, their lower triangle, its zeros.
CAUSAL = ("one = Constant <value_floats = [1.0]> ()\n tt = Constant <value_ints = [7, 7]> ()\n"
          "ones = Expand (one, tt)\n tri = Trilu <upper = 0> (ones)\n"
          "zero = Constant <value_float = 0.0> ()\n above = Equal (tri, zero)\n"
          "VALUE")
case("Heads", "x[2,7,60]", QKV + REST.replace("(m)", "(scores)"), heads)
# The text has no infinities.
INFINITE = ("minus = Constant <value_float = -1.0> ()\n low = Div (minus, zero)\n")
for name, value in [("inf", -torch.inf), ("1e9", -1e9), ("lowest", -3.4028235e38)]:
    low = INFINITE if name == "inf" else f"low = Constant <value_float = {value}> ()\n"
    case(f"Heads_causal_{name}", "x[2,7,60]",
         QKV + CAUSAL.replace("VALUE", low) + "m = Where (above, low, scores)\n" + REST,
         lambda x, value=value: heads(x, torch.ones(7, 7).triu(1) == 1, value))
case("Heads_mask_added", "x[2,7,60]",
     QKV + CAUSAL.replace("VALUE", INFINITE) + "bias = Where (above, low, zero)\n"
     "m = Add (scores, bias)\n" + REST,
     lambda x: heads(x, torch.ones(7, 7).triu(1) == 1, -torch.inf))
# A row with nothing left: the mean, as long as the mask is finite.
case("Where_masked_row", "x[3,5]",
     "c = Constant <value = bool[3,1] {0, 1, 0}> ()\n"
     "low = Constant <value_float = -1e9> ()\n m = Where (c, low, x)\n y = Softmax (m)",
     lambda x: torch.softmax(
         x.masked_fill(torch.tensor([[False], [True], [False]]), -1e9), -1))
case("Where_both", "x[3,5] p[1,5]",
     "c = Constant <value = bool[3,5] {0,1,1,0,1,1,0,0,0,1,1,1,0,1,0}> ()\n"
     "t = Tanh (x)\n y = Where (c, t, p)",
     lambda x, p: torch.where(torch.tensor(
         [[0, 1, 1, 0, 1], [1, 0, 0, 0, 1], [1, 1, 0, 1, 0]]) == 1, torch.tanh(x), p))
# The root of a negative number stays where it is not chosen.
case("Where_nan", "x[3,5]",
     "c = Cast <to = 9> (input)\n z = Constant <value_float = 0.0> ()\n"
     "s = Mul (x, x)\n y = Where (c, s, z)", lambda x: x * x)
case("Sqrt", "x[3,17]", "s = Sigmoid (x)\n y = Sqrt (s)",
     lambda x: torch.sqrt(torch.sigmoid(x)))
for name, exponent in {"two": 2, "three": 3, "root": 0.5, "inverse": -1.5, "five": 5}.items():
    case(f"Pow_{name}", "x[3,17]",
         f"e = Constant <value_float = {exponent:.1f}> ()\n"
         "s = Sigmoid (x)\n h = Constant <value_float = 0.5> ()\n a = Add (s, h)\n"
         "y = Pow (a, e)", lambda x, e=exponent: (torch.sigmoid(x) + 0.5) ** e)
case("Expand", "x[3,1,5]",
     "s = Constant <value_ints = [2, 1, 4, 1]> ()\n e = Expand (x, s)\n y = Tanh (e)",
     lambda x: torch.tanh(x.expand(2, 3, 4, 5)))
for name, starts, ends, axes, function in [
    ("front", [0], [2], [1], lambda x: x[:, :2]),
    ("back", [-3], [2**63 - 1], [-1], lambda x: x[..., -3:]),
    ("inside", [1, 1], [3, 6], [1, 2], lambda x: x[:, 1:3, 1:6]),
    ("batch", [1], [2], [0], lambda x: x[1:2]),
]:
    case(f"Slice_{name}", "x[2,4,7]",
         f"b = Constant <value_ints = {starts}> ()\n e = Constant <value_ints = {ends}> ()\n"
         f"a = Constant <value_ints = {axes}> ()\n t = Tanh (x)\n y = Slice (t, b, e, a)",
         lambda x, f=function: f(torch.tanh(x)))
case("Slice_repeated", "x[4,5]",
     "b = Constant <value_ints = [2]> ()\n e = Constant <value_ints = [3]> ()\n"
     "r = Slice (x, b, e)\n s = Constant <value_ints = [3, 5]> ()\n y = Expand (r, s)",
     lambda x: x[2:3].expand(3, 5))
case("Pad", "x[2,4,7]",
     "p = Constant <value_ints = [0, 1, 2, 0, 0, 1]> ()\n"
     "v = Constant <value_float = 0.5> ()\n t = Tanh (x)\n y = Pad (t, p, v)",
     lambda x: F.pad(torch.tanh(x), (2, 1, 1, 0), value=0.5))
case("Pad_crop", "x[2,4,7]",
     "p = Constant <value_ints = [-1, 2, -2, 1]> ()\n a = Constant <value_ints = [1, -1]> ()\n"
     "y = Pad (x, p,, a)", lambda x: F.pad(x, (2, 1, -1, -2)), opset=18)
case("Slice_halves", "x[3,8]",
     "o = Constant <value_ints = [0]> ()\n h = Constant <value_ints = [4]> ()\n"
     "n = Constant <value_ints = [8]> ()\n a = Constant <value_ints = [1]> ()\n"
     "f = Slice (x, o, h, a)\n g = Slice (x, h, n, a)\n m = Neg (g)\n"
     "y = Concat <axis = 1> (m, f)",  # How rotary embeddings turn a vector.
     lambda x: torch.cat([-x[:, 4:], x[:, :4]], 1))
SWAP = "t = Transpose <perm = [0, 2, 1]> (x)\n"
case("Transpose_Softmax", "x[2,5,7]", SWAP + "y = Softmax <axis = -1> (t)",
     lambda x: torch.softmax(x.transpose(1, 2), -1))
case("Transpose_LayerNorm", "x[2,5,7] g[5] b[5]", SWAP + "y = LayerNormalization (t, g, b)",
     lambda x, g, b: F.layer_norm(x.transpose(1, 2), (5,), g, b))
case("Transpose_Conv", "x[2,5,7,3] p[4,3,3,3]",
     "t = Transpose <perm = [0, 3, 1, 2]> (x)\n y = Conv (t, p)",
     lambda x, p: F.conv2d(x.permute(0, 3, 1, 2), p))
case("Conv_Reshape_Transpose", "x[2,3,6,6] p[4,3,3,3]",
     "c = Conv (x, p)\n s = Constant <value_ints = [0, 4, -1]> ()\n r = Reshape (c, s)\n"
     "t = Transpose <perm = [0, 2, 1]> (r)\n y = Softmax <axis = 2> (t)",
     lambda x, p: torch.softmax(F.conv2d(x, p).flatten(2).transpose(1, 2), 2))
case("Reshape_twice", "x[2,3,4,5]",
     "s = Constant <value_ints = [2, -1, 6]> ()\n r = Reshape (x, s)\n a = Relu (r)\n"
     "t = Constant <value_ints = [2, 12, 5]> ()\n y = Reshape (a, t)",
     lambda x: torch.relu(x).reshape(2, 12, 5))
case("Squeeze_Unsqueeze", "x[2,1,5,1]",
     "a = Constant <value_ints = [1, 3]> ()\n s = Squeeze (x, a)\n"
     "b = Constant <value_ints = [1, -1]> ()\n u = Unsqueeze (s, b)\n y = Tanh (u)", torch.tanh)
# What PyTorch's exporters write for x.reshape(x.shape[0], -1), and for a number.
case("Reshape_by_shape", "x[2,3,4]",
     "s = Shape (x)\n o = Constant <value_int = 0> ()\n n = Gather (s, o)\n"
     "a = Constant <value_ints = [0]> ()\n u = Unsqueeze (n, a)\n"
     "m = Constant <value_ints = [-1]> ()\n t = Concat <axis = 0> (u, m)\n"
     "y = Reshape (x, t)", lambda x: x.flatten(1))
case("Exported_number", "x[3,5] val_0[] p[5]", "h = Mul (x, val_0)\n y = Add (h, p)",
     lambda x, number, p: x * number.detach() + p)
# Rows of tables: repeated, from the end, by computed indices, along another axis.
ROWS = torch.tensor([[0, -1, 3], [3, 1, 0]])
INDICES = "i = Constant <value = int64[2,3] {0, -1, 3, 3, 1, 0}> ()\n"
case("Gather_rows", "x[2,3,17] p[5,17]", INDICES + "e = Gather (p, i)\n y = Mul (e, x)",
     lambda x, p: p[ROWS] * x)
case("Gather_places", "x[2,3,17] p[5,17]",
     "i = Constant <value = int64[1,3] {1, 2, 3}> ()\n e = Gather (p, i)\n y = Mul (e, x)",
     lambda x, p: p[1:4] * x)
case("Gather_last", "x[2,5,3]",
     "i = Constant <value_int = -1> ()\n h = Tanh (x)\n y = Gather <axis = 1> (h, i)",
     lambda x: torch.tanh(x)[:, -1])
case("Gather_columns", "x[2,5,3]", INDICES + "y = Gather <axis = 1> (x, i)",
     lambda x: x[:, ROWS])
case("Gather_computed", "x[2,3,4] p[6,4]",
     "i = Cast <to = 6> (input)\n r = Gather (p, i)\n a = Constant <value_ints = [3]> ()\n"
     "u = Unsqueeze (x, a)\n y = Mul (r, u)")
case("Gather_tied", "x[2,3,8] p[5,8]",
     INDICES + "e = Gather (p, i)\n h = Add (e, x)\n a = Tanh (h)\n"
     "t = Transpose <perm = [1, 0]> (p)\n y = MatMul (a, t)",
     lambda x, p: torch.tanh(p[ROWS] + x) @ p.T)
case("Gather_norm", "x[2,3,8] p[5,8] g[8] b[8]",
     INDICES + "e = Gather (p, i)\n h = Add (e, x)\n y = LayerNormalization (h, g, b)",
     lambda x, p, g, b: F.layer_norm(p[ROWS] + x, (8,), g, b))
case("Flatten_one", "x[3,2,5,1]", "y = Flatten <axis = 1> (x)", lambda x: x.flatten(1))
case("Flatten_last", "x[3,2,5]", "y = Flatten <axis = -1> (x)", lambda x: x.flatten(0, 1))
case("Identity", "x[3,5]", "y = Identity (x)", lambda x: x)
case("Dropout", "x[3,5]", "r = Constant <value_float = 0.3> ()\n y = Dropout (x, r)")

# A cast of the model's rounds, whatever the precision: ties, overflow, subnormals.
EDGES = [2049, 2051, 65519, 65520, -1e6, 1e-8, 3e-8, 6.1e-5, 1.00048828125, 1.0004883, 0.1,
         1 / 3, 3e38, -0.0, 65504, 1.00390625]
for name, kind in {"f16": 10, "bf16": 16}.items():
    case(f"Cast_{name}", "x[4,4]", f"h = Cast <to = {kind}> (x)\n y = Cast <to = 1> (h)",
         values=EDGES)
case("Cast_both", "x[4,4]",
     "h = Cast <to = 10> (x)\n f = Cast <to = 1> (h)\n b = Cast <to = 16> (f)\n"
     "y = Cast <to = 1> (b)\n d = Cast <to = 11> (x)\n z = Cast <to = 1> (d)",
     outputs="y z", values=EDGES)
case("Cast_then_product", "x[3,17] p[17,5]",
     "h = Cast <to = 10> (x)\n f = Cast <to = 1> (h)\n y = MatMul (f, p)")
case("Cast_integers", "x[2,3]",
     "y = Identity (x)\n i = Cast <to = 7> (x)\n b = Cast <to = 9> (x)\n f = Cast <to = 1> (b)",
     outputs="y i:int64 b:bool f", values=[0.0, 0.5, -0.5, 1.9, -3.2, 70000.4])

# Outputs that are no results, and parameters and values with several uses.
case("Output_several", "x[3,5]", "y = Tanh (x)\n z = Add (y, x)\n u = Identity (x)",
     lambda x: torch.tanh(x), outputs="y z u")
case("Output_input", "x[3,5]", "y = Tanh (x)", torch.tanh, outputs="y input")
case("Output_input_renamed", "x[3,5]", "y = Tanh (x)\n z = Identity (input)", torch.tanh,
     outputs="y z")
case("Output_constant", "x[3,5]",
     "y = Tanh (x)\n z = Constant <value = float[2,3] {0.0, 1.0, 2.0, 3.0, 4.0, 0.1}> ()",
     torch.tanh, outputs="y z")
case("Output_parameter", "x[3,5]", "y = Tanh (x)", torch.tanh, outputs="y w0")
case("Output_twice", "x[3,5]", "y = Tanh (x)\n z = Identity (y)", torch.tanh, outputs="y z")
case("Output_reshaped", "x[3,4]",
     "y = Tanh (x)\n s = Constant <value_ints = [3, 2, 2]> ()\n z = Reshape (y, s)\n"
     "t = Transpose <perm = [1, 0]> (y)", torch.tanh, outputs="y z t")
case("Output_reshaped_input", "x[3,4]",
     "y = Tanh (x)\n s = Constant <value_ints = [3, 2, 2]> ()\n z = Reshape (input, s)",
     torch.tanh, outputs="y z")
case("Output_reshaped_parameter", "x[3,4]",
     "y = Tanh (x)\n s = Constant <value_ints = [2, 2]> ()\n z = Reshape (w0, s)",
     torch.tanh, outputs="y z")
case("Output_scalar", "x[3,5]", "y = Tanh (x)\n z = ReduceMean <keepdims = 0> (y)", torch.tanh,
     outputs="y z", opset=18)
case("Output_scalar_first", "x[3,5]", "y = ReduceMean <keepdims = 0> (x)", torch.mean, opset=18)
case("Shared_weight", "x[3,5] p[5,5]", "a = MatMul (x, p)\n h = Tanh (a)\n y = MatMul (h, p)",
     lambda x, p: torch.tanh(x @ p) @ p)
case("Shared_weight_transposed", "x[3,5] p[7,5]",
     "a = Gemm <transB = 1> (x, p)\n h = Relu (a)\n y = Gemm (h, p)",
     lambda x, p: torch.relu(x @ p.T) @ p)
case("Itself_minus", "x[3,5]", "y = Sub (x, x)", lambda x: x - x)
case("Itself_times", "x[3,5]", "y = Mul (x, x)", lambda x: x * x)
case("Itself_divided", "x[3,5]", "s = Sigmoid (x)\n d = Add (s, s)\n y = Div (s, d)",
     lambda x: torch.sigmoid(x) * 0 + 0.5)

# Elements by index.
def ints(name, shape, values):
    return f"{name} = Constant <value = int64{shape} {{{', '.join(map(str, values))}}}> ()\n"


def index(shape, values):
    return torch.tensor(values).reshape(shape)


case("GatherElements", "x[3,4]",
     ints("i", "[3,2]", [0, 3, 1, 1, 2, 0]) + "y = GatherElements <axis = 1> (x, i)",
     lambda x: x.gather(1, index((3, 2), [0, 3, 1, 1, 2, 0])), opset=18)
case("GatherND", "x[4,3,17]",
     ints("i", "[3,2]", [0, 2, 3, 1, 0, 2]) + "y = GatherND (x, i)",
     lambda x: x[[0, 3, 0], [2, 1, 2]], opset=18)
case("ScatterElements", "x[3,4] u[3,2]",
     ints("i", "[3,2]", [0, 3, 1, 2, 2, 0]) + "y = ScatterElements <axis = 1> (x, i, u)",
     lambda x, u: x.scatter(1, index((3, 2), [0, 3, 1, 2, 2, 0]), u), opset=18)
case("ScatterElements_add", "x[3,4] u[2,4]",
     ints("i", "[2,4]", [0, 2, 1, 2, 0, 0, 1, 2])
     + 'y = ScatterElements <reduction = "add"> (x, i, u)',
     lambda x, u: x.scatter_add(0, index((2, 4), [0, 2, 1, 2, 0, 0, 1, 2]), u), opset=18)
for kind, torch_kind in {"max": "amax", "min": "amin", "mul": "prod"}.items():
    case(f"ScatterElements_{kind}", "x[3,4] u[3,4]",
         ints("i", "[3,4]", [0, 2, 1, 2, 0, 0, 1, 2, 0, 1, 0, 2])
         + f'y = ScatterElements <reduction = "{kind}"> (x, i, u)',
         lambda x, u, k=torch_kind: x.scatter_reduce(
             0, index((3, 4), [0, 2, 1, 2, 0, 0, 1, 2, 0, 1, 0, 2]), u, k), opset=18)
    # Each update twice: equal extremes share the gradient.
    case(f"ScatterND_{kind}", "x[4,3] u[5,3]",
         ints("i", "[10,1]", [3, 1, 0, 0, 3] * 2) + "c = Concat <axis = 0> (u, u)\n"
         f' y = ScatterND <reduction = "{kind}"> (x, i, c)',
         lambda x, u, k=torch_kind: x.scatter_reduce(
             0, torch.tensor([3, 1, 0, 0, 3] * 2)[:, None].expand(-1, 3), torch.cat([u, u]), k),
         opset=18)
case("ScatterND", "x[4,3,2] u[2,3,2]",
     ints("i", "[2,1]", [3, 1]) + "y = ScatterND (x, i, u)",
     lambda x, u: x.index_put((torch.tensor([3, 1]),), u), opset=18)
REGIONS = ("r = Constant <value = float[3,4] {0.3, 0.9, 4.2, 3.1, -2.0, 1.0, 8.5, 4.6, 2.0, 2.5, "
           "2.4, 6.0}> ()\n" + ints("b", "[3]", [0, 1, 0]))
for name, attributes in {
        "average": "output_height = 2, output_width = 3, sampling_ratio = 2, spatial_scale = 0.9",
        "max": 'mode = "max", output_height = 2, output_width = 2, sampling_ratio = 1',
        "no_shift": 'coordinate_transformation_mode = "output_half_pixel", output_height = 3, '
                    "sampling_ratio = 3"}.items():
    case(f"RoiAlign_{name}", "x[2,3,5,6]", f"{REGIONS} y = RoiAlign <{attributes}> (x, r, b)")
case("TopK", "x[3,17]", "k = Constant <value_ints = [4]> ()\n y, i = TopK (x, k)",
     lambda x: x.topk(4).values, outputs="y i:int64")
case("TopK_smallest", "x[7,5]",
     "k = Constant <value_ints = [3]> ()\n y, i = TopK <axis = 0, largest = 0> (x, k)",
     lambda x: x.topk(3, 0, largest=False).values, outputs="y i:int64")
case("ArgMax", "x[3,17]", "y = Tanh (x)\n i = ArgMax <axis = 1, keepdims = 0> (x)\n"
     "j = ArgMin <axis = 0> (x)", torch.tanh, outputs="y i:int64 j:int64")
case("CumSum", "x[3,17]", "a = Constant <value_int = 1> ()\n y = CumSum (x, a)",
     lambda x: x.cumsum(1))
case("CumSum_blocks", "x[2,301]", "a = Constant <value_int = 1> ()\n y = CumSum (x, a)",
     lambda x: x.cumsum(1))
case("CumSum_blocks_outer", "x[131,3]",
     "a = Constant <value_int = 0> ()\n y = CumSum <reverse = 1> (x, a)",
     lambda x: x.flip(0).cumsum(0).flip(0))
case("Slice_steps", "x[7,17]",
     "b = Constant <value_ints = [6, 1]> ()\n e = Constant <value_ints = [-8, 17]> ()\n"
     "a = Constant <value_ints = [0, 1]> ()\n s = Constant <value_ints = [-2, 3]> ()\n"
     "y = Slice (x, b, e, a, s)", lambda x: x.flip(0)[::2, 1::3])
case("Pad_reflect", "x[2,3,5,4]",
     'p = Constant <value_ints = [0, 0, 2, 1, 0, 0, 1, 3]> ()\n y = Pad <mode = "reflect"> (x, p)',
     lambda x: F.pad(x, (1, 3, 2, 1), mode="reflect"))
case("Pad_edge", "x[2,3,5,4]",
     'p = Constant <value_ints = [0, 0, 2, 1, 0, 0, 1, 3]> ()\n y = Pad <mode = "edge"> (x, p)',
     lambda x: F.pad(x, (1, 3, 2, 1), mode="replicate"))
case("Tile", "x[3,5]", "r = Constant <value_ints = [2, 3]> ()\n y = Tile (x, r)",
     lambda x: x.tile(2, 3))
for name, options, function in [
    ("nearest", 'mode = "nearest", coordinate_transformation_mode = "asymmetric", '
     'nearest_mode = "floor"', dict(mode="nearest")),
    ("linear", 'mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"',
     dict(mode="bilinear")),
    ("align_corners", 'mode = "linear", coordinate_transformation_mode = "align_corners"',
     dict(mode="bilinear", align_corners=True)),
    ("cubic", 'mode = "cubic", coordinate_transformation_mode = "half_pixel"',
     dict(mode="bicubic")),
]:
    case(f"Resize_{name}", "x[2,3,5,6]",
         "z = Constant <value_ints = [2, 3, 7, 17]> ()\n" + f"y = Resize <{options}> (x, , , z)",
         lambda x, o=function: F.interpolate(x, (7, 17), **o), opset=18)
case("Resize_antialias", "x[1,2,17,13]",
     "z = Constant <value_ints = [1, 2, 6, 5]> ()\n"
     'y = Resize <mode = "linear", antialias = 1, exclude_outside = 1> (x, , , z)',
     lambda x: F.interpolate(x, (6, 5), mode="bilinear", antialias=True), opset=18)
for mode in ("linear", "nearest", "cubic"):
    for padding in ("zeros", "border", "reflection"):
        torch_mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
        case(f"GridSample_{mode}_{padding}", "x[2,3,5,4] g[2,3,17,2]",
             f'y = GridSample <mode = "{mode}", padding_mode = "{padding}"> (x, g)',
             lambda x, g, m=torch_mode, p=padding:
             F.grid_sample(x, g, mode=m, padding_mode=p, align_corners=False), opset=20)
case("DepthToSpace", "x[2,12,3,4]",
     'y = DepthToSpace <blocksize = 2, mode = "CRD"> (x)', lambda x: F.pixel_shuffle(x, 2))
case("Einsum_attention", "q[2,3,4,5] k[2,6,4,5]",
     'y = Einsum <equation = "bqhd,bkhd->bhqk"> (q, k)',
     lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k))
case("Einsum_chain", "a[3,4] b[4,17] c[17,2]",
     'y = Einsum <equation = "ab,bc,cd->da"> (a, b, c)',
     lambda a, b, c: torch.einsum("ab,bc,cd->da", a, b, c))
case("Pow_fraction", "x[3,17]", "s = Softplus (x)\n e = Constant <value_float = 1.3> ()\n"
     "y = Pow (s, e)", lambda x: F.softplus(x) ** 1.3)
case("ReduceProd", "x[3,4]", "a = Constant <value_ints = [1]> ()\n"
     "y = ReduceProd <keepdims = 0> (x, a)", lambda x: x.prod(1), opset=18)

# Windows of any rank.
case("Conv_3d", "x[2,4,4,5,6] w[6,2,2,3,2] b[6]",
     "y = Conv <group = 2, strides = [1, 2, 1], pads = [1, 1, 0, 1, 1, 0]> (x, w, b)",
     lambda x, w, b: F.conv3d(x, w, b, (1, 2, 1), (1, 1, 0), groups=2))
case("ConvTranspose", "x[2,4,5,3] w[4,3,3,2] b[6]",
     "y = ConvTranspose <group = 2, strides = [2, 1], pads = [1, 0, 1, 0], "
     "output_padding = [1, 0]> (x, w, b)",
     lambda x, w, b: F.conv_transpose2d(x, w, b, (2, 1), (1, 0), (1, 0), groups=2))
case("ConvTranspose_1d", "x[2,3,7] w[3,2,3]", "y = ConvTranspose <strides = [2]> (x, w)",
     lambda x, w: F.conv_transpose1d(x, w, stride=2))
case("ConvTranspose_3d", "x[1,2,3,2,4] w[2,3,2,2,3] b[3]",
     "y = ConvTranspose <strides = [2, 1, 2]> (x, w, b)",
     lambda x, w, b: F.conv_transpose3d(x, w, b, (2, 1, 2)))
case("MaxPool_3d", "x[2,3,4,5,6]",
     "y = MaxPool <kernel_shape = [2, 3, 2], strides = [2, 1, 2], pads = [0, 1, 0, 0, 1, 0]> (x)",
     lambda x: F.max_pool3d(x, (2, 3, 2), (2, 1, 2), (0, 1, 0)))
case("MaxPool_indices", "x[2,3,6,7]",
     "y, i = MaxPool <kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 0]> (x)",
     lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 0)), outputs="y i:int64")
case("AveragePool_3d", "x[2,3,4,5,6]",
     "y = AveragePool <kernel_shape = [2, 3, 2], pads = [0, 1, 1, 0, 1, 1]> (x)",
     lambda x: F.avg_pool3d(x, (2, 3, 2), 1, (0, 1, 1), count_include_pad=False))
case("AveragePool_ceil_padded", "x[2,3,5,6]",
     "y = AveragePool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 1, 1, 1], "
     "ceil_mode = 1, count_include_pad = 1> (x)",
     lambda x: F.avg_pool2d(x, (3, 2), 2, 1, ceil_mode=True), opset=19)
case("GlobalMaxPool", "x[2,3,5,4]", "y = GlobalMaxPool (x)",
     lambda x: F.adaptive_max_pool2d(x, 1))
case("InstanceNormalization", "x[2,3,5,4] s[3] b[3]", "y = InstanceNormalization (x, s, b)",
     lambda x, s, b: F.instance_norm(x, weight=s, bias=b))
case("GroupNormalization", "x[2,6,5,4] s[6] b[6]",
     "y = GroupNormalization <num_groups = 3> (x, s, b)",
     lambda x, s, b: F.group_norm(x, 3, s, b), opset=21)
case("LRN", "x[2,7,3,4]", "y = LRN <size = 3, alpha = 0.5, beta = 0.75, bias = 1.5> (x)",
     lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 1.5))
case("LpNormalization", "x[5,17]", "y = LpNormalization (x)", lambda x: F.normalize(x))


# Recurrent: PyTorch's gates are i f g o and r z n, ONNX's i o f c and z r h.
def recurrent(kind, order, x, w, r, b=None):
    features, hidden = w.shape[-1], r.shape[-1]
    parts = [w, r] if b is None else [w, r, *b.chunk(2, -1)]
    parts = [torch.cat([p.chunk(len(order), 1)[i] for i in order], 1) for p in parts]
    flat = [p[d] for d in range(w.shape[0]) for p in parts]
    module = getattr(torch.nn, kind)(features, hidden, bias=b is not None,
                                     bidirectional=w.shape[0] == 2).to(x.dtype)
    names = [name for name, _ in module.named_parameters()]
    y, _ = torch.func.functional_call(module, dict(zip(names, flat)), (x,))
    return y.reshape(*x.shape[:2], w.shape[0], hidden).transpose(1, 2)


case("LSTM", "x[4,3,2] w[1,20,2] r[1,20,5] b[1,40]", "y = LSTM <hidden_size = 5> (x, w, r, b)",
     lambda x, w, r, b: recurrent("LSTM", (0, 2, 3, 1), x, w, r, b))
case("LSTM_both", "x[4,3,2] w[2,20,2] r[2,20,5]",
     'y = LSTM <hidden_size = 5, direction = "bidirectional"> (x, w, r)',
     lambda x, w, r: recurrent("LSTM", (0, 2, 3, 1), x, w, r))
case("GRU", "x[4,3,2] w[1,15,2] r[1,15,5] b[1,30]",
     "y = GRU <hidden_size = 5, linear_before_reset = 1> (x, w, r, b)",
     lambda x, w, r, b: recurrent("GRU", (1, 0, 2), x, w, r, b))
case("RNN", "x[4,3,2] w[2,5,2] r[2,5,5] b[2,10]",
     'y = RNN <hidden_size = 5, direction = "bidirectional"> (x, w, r, b)',
     lambda x, w, r, b: recurrent("RNN", (0,), x, w, r, b))
