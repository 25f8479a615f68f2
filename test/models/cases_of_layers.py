"""Rows of make_models.py: norms, convolutions, pools, reductions."""
import torch
import torch.nn.functional as F

from case import case
from cases_of_elements import numbers

# Norms. BatchNormalization in inference form; the training form is another function.
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
    """ROOT q stands for nodes that compute r, the square root of mean(q) + epsilon."""
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
# PyTorch's biased variance, with the mean computed separately.
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
# The additional window of ceil_mode would begin in the padding, and is dropped.
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

# Reductions, with axes as an attribute and as an input.
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
