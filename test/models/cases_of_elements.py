"""Rows of make_models.py: elementwise ops, masks, products."""
import torch
import torch.nn.functional as F

from case import case

# Elementwise ops.
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
# Elements that equal computed bounds: the gradient goes to the elements.
case("Clip_tie", "x[2,5]", "m = ReduceMax <keepdims = 0> (x)\n q = Mul (m, m)\n"
     "e = Constant <value_float = 0.125> ()\n f = Constant <value_float = 0.1875> ()\n"
     "l = Mul (q, e)\n h = Mul (q, f)\n y = Clip (x, l, h)",
     lambda x: torch.clamp(x, x.amax() ** 2 / 8, x.amax() ** 2 * 3 / 16),
     values=[1, 2, 2.5, 3, 4, 3, 3, 2, 2, 0])
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
# All elements are the maximum of their row, or zero: gradients are shared, or 0.
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
