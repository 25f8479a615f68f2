"""Rows of make_models.py: ops that move elements, and shapes as exporters write them."""
import torch
import torch.nn.functional as F

from case import case

# Ops that only move elements.
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
# Queries, keys and values of four heads, from one tensor.
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
# The mask as PyTorch's exporters write it: ones, their lower triangle, its zeros.
CAUSAL = ("one = Constant <value_floats = [1.0]> ()\n tt = Constant <value_ints = [7, 7]> ()\n"
          "ones = Expand (one, tt)\n tri = Trilu <upper = 0> (ones)\n"
          "zero = Constant <value_float = 0.0> ()\n above = Equal (tri, zero)\n"
          "VALUE")
case("Heads", "x[2,7,60]", QKV + REST.replace("(m)", "(scores)"), heads)
# The text syntax has no infinities.
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
# A fully masked row gives the mean if the mask is finite.
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
# The square root of a negative number is in the branch that is not chosen.
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
# What PyTorch's exporters write for x.reshape(x.shape[0], -1), and for a constant size.
case("Reshape_by_shape", "x[2,3,4]",
     "s = Shape (x)\n o = Constant <value_int = 0> ()\n n = Gather (s, o)\n"
     "a = Constant <value_ints = [0]> ()\n u = Unsqueeze (n, a)\n"
     "m = Constant <value_ints = [-1]> ()\n t = Concat <axis = 0> (u, m)\n"
     "y = Reshape (x, t)", lambda x: x.flatten(1))
case("Exported_number", "x[3,5] val_0[] p[5]", "h = Mul (x, val_0)\n y = Add (h, p)",
     lambda x, number, p: x * number.detach() + p)
# Rows of tables: repeated, negative indices, computed indices, along another axis.
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

# A cast in the model rounds in every precision: ties, overflow, subnormals.
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

# Outputs that are also used inside, and parameters and values with several uses.
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
