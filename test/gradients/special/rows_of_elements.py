"""Rows of make_special_points.py: elementwise ops and unary functions."""
import torch
import torch.nn.functional as F

from row import INF, NAN, floats, ints, row

NEAR = [-2, -1, -0.5, -0.0, 0.0, 0.5, 1, 2]
TINY = [-1e-30, 1e-30]
FAR = [-1e4, -100, 100, 1e4]
BOTH = NEAR + TINY + FAR


def pair(x, y):
    """All pairs of two lists."""
    return [a for a in x for _ in y], [b for _ in x for b in y]


# Arithmetic. Add, Sub, Neg, Sum and Mean are linear.
row("Mul_zero", {"x": [0, 0, -0.0, 2, 1e30, -1], "y": [0, 3, 2, 0, 1e30, -1]}, "z = Mul (x, y)", torch.mul)
row("Mul_self", {"x": [0, -0.0, 1, -3]}, "z = Mul (x, x)", lambda x: x * x)
row("Div_zero", {"x": [0, 1, -1, 0, -0.0, 2, 3, 1], "y": [1, 1, 1, -2, 2, 2, -3, 1e30]},
    "z = Div (x, y)", torch.div)
row("Div_byZero", {"x": [1, -1, 2], "y": [0, 0, -0.0]}, "z = Div (x, y)", torch.div)
row("Div_byInfinity", {"x": [1, -1, 0], "y": [INF, -INF, INF]}, "z = Div (x, y)", torch.div)
row("Div_self", {"x": [1, -1, 1e-20, 1e20]}, "z = Div (x, x)", lambda x: x / x)
row("Reciprocal", {"x": [1, -1, 1e18, INF, -INF, 0.25]}, "z = Reciprocal (x)", torch.reciprocal)
row("Reciprocal_zero", {"x": [0, -0.0]}, "z = Reciprocal (x)", torch.reciprocal)

BASES, EXPONENTS = [0, -0.0, 1, 2, 0.5, 1e5], [0, 1, 2, 3, 0.5, 1.5, 4]
x, y = pair(BASES, EXPONENTS)
row("Pow_exponent", {"x": x, "y": y}, "z = Pow (x, y)", torch.pow)
x, y = pair([1, 2, 0.5], [-1, -0.5, -2, -0.0])
row("Pow_negativeExponent", {"x": x, "y": y}, "z = Pow (x, y)", torch.pow)
row("Pow_atZeroNegative", {"x": [0, 0, -0.0, 0], "y": [-1, -2, -1, -0.5]}, "z = Pow (x, y)", torch.pow)
row("Pow_negativeBase", {"x": [-1, -2, -2, -0.5, -3, -1, -2]},
    "y = Constant <value_floats = [2.0, 3.0, 1.0, -1.0, 0.0, 1.0, -2.0]> ()\n z = Pow (x, y)",
    lambda x: torch.pow(x, torch.tensor([2, 3, 1, -1, 0, 1, -2.0])))
row("Pow_negativeBaseExponent", {"x": [-1, -2, -2, -0.5, -3], "y": [2, 3, 1, -1, 0]}, "z = Pow (x, y)", torch.pow)
row("Pow_constants", {"x": [0, 0, 0, 0, 0, 0.25, 1]},
    "y = Constant <value_floats = [1.0, 2.0, 3.0, 0.0, 1.5, 1.0, 1.0]> ()\n z = Pow (x, y)",
    lambda x: torch.pow(x, torch.tensor([1, 2, 3, 0, 1.5, 1, 1])))
row("Pow_ofConstant", {"y": [0, 1, -1, 2, 0.5]}, floats(two=2) + "z = Pow (two, y)", lambda y: torch.pow(2, y))
row("Pow_ofZero", {"y": [0, 1, 2, 0.5]}, floats(zero=0) + "z = Pow (zero, y)", lambda y: torch.pow(0.0, y))
for exponent in (0, 1, 2, 3, 0.5, 1.5, 2.5, 0.3, 1.3, 4, 40, 33.5):
    row(f"Pow_by{exponent}".replace(".", "p"), {"x": [0, -0.0, 1, 2]}, floats(e=exponent) + "z = Pow (x, e)",
        lambda x, e=exponent: torch.pow(x, e))
for exponent in (-1, -2, -0.5, -1.5, -0.3):
    name = f"Pow_by{exponent}".replace(".", "p").replace("-", "Minus")
    for what, values in (("", [1, 2, 0.5]), ("AtZero", [0])):
        row(name + what, {"x": values}, floats(e=exponent) + "z = Pow (x, e)",
            lambda x, e=exponent: torch.pow(x, e))
for exponent in (1, 2, 3, 0, -1, -2):
    row(f"Pow_by{exponent}Below".replace("-", "Minus"), {"x": [-1, -2, -0.5]},
        floats(e=exponent) + "z = Pow (x, e)", lambda x, e=exponent: torch.pow(x, e))
row("Pow_infinite", {"x": [INF, INF, INF, INF], "y": [1, 2, -1, 0]}, "z = Pow (x, y)", torch.pow)

x, y = [0, -0.0, 3, -3, 4, 5.5, -5.5, 6, 7, 1, 1], [2, 2, 3, 3, 2, 2, 2, -3, -3, INF, -INF]
row("Mod_fmod", {"x": x, "y": y}, "z = Mod <fmod = 1> (x, y)", torch.fmod)
row("Mod_floor", {"x": x[:9], "y": y[:9]}, "z = Mod (x, y)", torch.remainder)
row("Sqrt", {"x": [1, 4, 1e30, 1e-30, 0.25]}, "z = Sqrt (x)", torch.sqrt)
row("Sqrt_zero", {"x": [0, 1]}, "z = Sqrt (x)", torch.sqrt)
row("Sqrt_infinite", {"x": [INF, 1]}, "z = Sqrt (x)", torch.sqrt)
row("CastLike", {"x": [0, 1, -0.0, -2]}, floats(f=0) + "z = CastLike (x, f)", lambda x: x + 0)
row("Where", {"x": [0, 1, 2, INF], "y": [INF, 1, 2, 3]},
    "c = Constant <value = bool[4] {1, 0, 1, 0}> ()\n z = Where (c, x, y)",
    lambda x, y: torch.where(torch.tensor([True, False, True, False]), x, y))
row("Where_equal", {"x": [0, 1, -0.0, 2], "y": [0, 1, 0, 3]}, "c = Less (x, y)\n z = Where (c, x, y)",
    lambda x, y: torch.where(x < y, x, y))
row("PRelu", {"x": [[0, -0.0, 1], [-1, 2, -2]], "s": [0.25, 0, -1]}, "z = PRelu (x, s)",
    lambda x, s: F.prelu(x, s))
TIES = {"x": [0, 1, -1, 0, 2, INF, -INF, 3], "y": [0, 1, -1, -0.0, 1, INF, -INF, 4]}
row("Max_ties", TIES, "z = Max (x, y)", torch.maximum)
row("Min_ties", TIES, "z = Min (x, y)", torch.minimum)
row("Max_self", {"x": [0, 1, -1]}, "z = Max (x, x)", lambda x: torch.maximum(x, x))
row("Min_self", {"x": [0, 1, -1]}, "z = Min (x, x)", lambda x: torch.minimum(x, x))
row("Max_three", {"x": [0, 1, 2], "y": [0, 1, 1], "w": [0, 0, 2]}, "z = Max (x, y, w)",
    lambda x, y, w: torch.maximum(torch.maximum(x, y), w))
row("Max_broadcast", {"x": [[0, 1], [1, 2]], "y": [1, 1]}, "z = Max (x, y)", torch.maximum)
# clamp as PyTorch's exporters write it.
row("Max_clamp", {"x": [0, -0.0, 1, -1, 2]}, floats(b=0) + "z = Max (x, b)", lambda x: torch.clamp(x, min=0))
row("Min_clamp", {"x": [0, 1, -1, 2]}, floats(b=1) + "z = Min (x, b)", lambda x: torch.clamp(x, max=1))
row("Max_vector", {"x": [0, 1, -1, 2]}, "b = Constant <value_floats = [0.0, 0.0, 0.0, 3.0]> ()\n z = Max (x, b)",
    lambda x: torch.maximum(x, torch.tensor([0, 0, 0, 3.0])))


# Unary functions.
def function(op, compute, points=None, what="", attributes="", opset=23):
    row(op + what, {"x": BOTH if points is None else points}, f"z = {op} {attributes} (x)", compute, opset=opset)


for op, compute in {"Sin": torch.sin, "Cos": torch.cos, "Atan": torch.atan, "Asinh": torch.asinh,
                    "Erf": torch.erf, "Abs": torch.abs, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid,
                    "Softsign": F.softsign, "Relu": torch.relu, "Mish": F.mish, "Elu": F.elu, "Selu": F.selu,
                    "LeakyRelu": F.leaky_relu, "Gelu": F.gelu}.items():
    function(op, compute)
for op, compute in {"Atan": torch.atan, "Asinh": torch.asinh, "Erf": torch.erf, "Abs": torch.abs,
                    "Tanh": torch.tanh, "Sigmoid": torch.sigmoid, "Relu": torch.relu, "LeakyRelu": F.leaky_relu,
                    "Elu": F.elu, "Selu": F.selu, "Softplus": F.softplus}.items():
    function(op, compute, [-INF, INF], "_infinite")
# Flat functions, together with something that is not flat; otherwise nothing would be trained.
for op, compute in {"Sign": torch.sign, "Floor": torch.floor, "Ceil": torch.ceil, "Round": torch.round}.items():
    row(op, {"x": BOTH}, f"f = {op} (x)\n z = Add (f, x)", lambda x, f=compute: f(x) + x)
function("Softsign", F.softsign, [-1e30, 1e30], "_wide")
function("Exp", torch.exp, [-INF, -1e4, -1, -0.0, 0, 1, 80])
function("Exp", torch.exp, [INF], "_infinite")
function("Log", torch.log, [1, 2, 1e-30, 1e30])
function("Log", torch.log, [0, -0.0, INF], "_infinite")
# LogSigmoid as PyTorch's older exporter writes it.
row("Log_sigmoid", {"x": [-1e4, -200, -100, -88, -1, -0.0, 0, 1, 100, 1e4]}, "s = Sigmoid (x)\n z = Log (s)",
    F.logsigmoid, trained_only=True)
function("Tan", torch.tan, [-1, -0.0, 0, 1, 3])
function("Asin", torch.asin, [-0.5, -0.0, 0, 0.5])
function("Asin", torch.asin, [-1, 1], "_ends")
function("Acos", torch.acos, [-0.5, -0.0, 0, 0.5])
function("Acos", torch.acos, [-1, 1], "_ends")
function("Sinh", torch.sinh, [-80, -1, -0.0, 0, 1, 1e-30, 80])
function("Cosh", torch.cosh, [-80, -1, -0.0, 0, 1, 1e-30, 80])
function("Acosh", torch.acosh, [1.5, 2, 1e4, 1e30])
function("Acosh", torch.acosh, [1], "_ends")
function("Atanh", torch.atanh, [-0.5, -0.0, 0, 0.5])
function("Atanh", torch.atanh, [-1, 1], "_ends")
function("Softplus", F.softplus)
function("Gelu", lambda x: F.gelu(x, approximate="tanh"), None, "_tanh", '<approximate = "tanh">')
function("Swish", F.silu, opset=24)
function("Swish", lambda x: x * torch.sigmoid(1.5 * x), None, "_alpha", "<alpha = 1.5>", opset=24)
row("SwiGLU", {"x": [0, -0.0, 1e4, -1e4, 1], "y": [0, 1, 2, 3, 0]}, "z = SwiGLU (x, y)",
    lambda x, y: F.silu(x) * y, opset=28)
function("HardSwish", F.hardswish, [-4, -3, -1, -0.0, 0, 1, 3, 4, -1e4, 1e4])
function("HardSwish", F.hardswish, [-INF, INF], "_infinite")
SIXTH = "<alpha = 0.16666667, beta = 0.5>"
function("HardSigmoid", F.hardsigmoid, [-4, -3, -1, -0.0, 0, 1, 3, 4], "", SIXTH)
function("HardSigmoid", F.hardsigmoid, [-INF, INF], "_infinite", SIXTH)
function("Celu", lambda x: F.celu(x, 0.5), None, "", "<alpha = 0.5>")
function("Elu", lambda x: F.elu(x, 2.0), None, "_alpha", "<alpha = 2.0>")
function("ThresholdedRelu", lambda x: F.threshold(x, 0.5, 0), None, "", "<alpha = 0.5>")
function("ThresholdedRelu", lambda x: F.threshold(x, 0, 0), None, "_zero", "<alpha = 0.0>")
function("Shrink", lambda x: F.softshrink(x, 0.5), None, "_soft", "<bias = 0.5, lambd = 0.5>")
function("Shrink", lambda x: F.hardshrink(x, 0.5), None, "_hard", "<lambd = 0.5>")
LIMITS = [-2, -1, -0.5, 0, -0.0, 0.5, 1, 2, 6, 7]
for low, high, compute in ((-1, 1, lambda x: torch.clamp(x, -1, 1)), (0, 1, lambda x: torch.clamp(x, 0, 1)),
                           (1, 1, lambda x: torch.clamp(x, 1, 1)), (2, -1, lambda x: torch.clamp(x, 2, -1)),
                           (0, 6, F.relu6)):
    what = f"_{low}to{high}".replace("-", "m")
    row("Clip" + what, {"x": LIMITS}, floats(l=low, h=high) + "z = Clip (x, l, h)", compute)
row("Clip_infinite", {"x": [-INF, INF, 0]}, floats(l=-1, h=1) + "z = Clip (x, l, h)",
    lambda x: torch.clamp(x, -1, 1))
row("Clip_low", {"x": LIMITS}, floats(l=0) + "z = Clip (x, l)", lambda x: torch.clamp(x, min=0))
row("Clip_high", {"x": LIMITS}, floats(h=1) + "z = Clip (x, , h)", lambda x: torch.clamp(x, max=1))
row("Clip_learned", {"x": LIMITS, "l": -1, "h": 1}, "z = Clip (x, l, h)", lambda x, l, h: torch.clamp(x, l, h))
row("Clip_learnedCrossed", {"x": LIMITS, "l": 1, "h": -1}, "z = Clip (x, l, h)",
    lambda x, l, h: torch.clamp(x, l, h))
row("Clip_learnedEqual", {"x": [-1, 1, 2, 0], "l": 1, "h": 1}, "z = Clip (x, l, h)",
    lambda x, l, h: torch.clamp(x, l, h), wanted={"l": 0.25 + 0.5},
    reason="if learned bounds are equal, each receives the gradient of the elements it cuts off; in PyTorch's `clamp` "
           "the lower one receives none")
# Weights are [0.25, -0.75, 1.25, 0.5] and so on.
row("Clip_clamp6", {"x": [0, 6, 3, 7]}, floats(l=0, h=6) + "z = Clip (x, l, h)", lambda x: torch.clamp(x, 0, 6),
    wanted={"x": [0, 0, 1.25, 0]},
    reason="with bounds 0 and 6, elements equal to a bound receive no gradient, as in PyTorch's `relu6`; exporters "
           "write `clamp(0, 6)` as the same node")
row("Clip_hardtanh", {"x": [-1, 1, 0, 2]}, floats(l=-1, h=1) + "z = Clip (x, l, h)", F.hardtanh,
    wanted={"x": [0.25, -0.75, 1.25, 0]},
    reason="with other constant bounds, elements equal to a bound receive the gradient, as in PyTorch's `clamp`; "
           "exporters write `hardtanh`, which stops it, as the same node")
for op, compute in (("Max", torch.maximum), ("Min", torch.minimum)):
    row(f"{op}_number", {"x": [0, 1, -1]}, floats(b=0) + f"z = {op} (x, b)",
        lambda x, f=compute: f(x, torch.tensor(0.0)), wanted={"x": [0.25, -0.75 * (op == "Max"), 1.25 * (op == "Min")]},
        reason="elements equal to a constant number receive the whole gradient, as in PyTorch's `clamp`; exporters "
               f"write `{compute.__name__}`, which halves it, as the same node")
row("Clip_learnedHigh", {"x": LIMITS, "h": 1}, "z = Clip (x, , h)", lambda x, h: torch.clamp(x, max=h))
