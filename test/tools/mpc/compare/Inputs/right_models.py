"""Writes small models of many kinds, with random weights, and data for them.

usage: right_models.py TEST_FOLDER SEED FOLDER

FOLDER/KIND.onnxtxt has an output `loss`, FOLDER/KIND.npz one batch. In many of them a gradient
is 0 but for rounding: through the maximum that a log-sum-exp subtracts, of the bias of keys, of
a bias or a scale before a norm.
"""
import math
import pathlib
import random
import struct
import sys

sys.path.insert(0, sys.argv[1])
import npz

random.seed(int(sys.argv[2]))
folder = pathlib.Path(sys.argv[3])
folder.mkdir(exist_ok=True)
BATCH = random.choice([4, 8, 12])
WIDTH = random.choice([16, 24])
CLASSES = random.choice([5, 10])
LABELS = ("labels", "int64", (BATCH,), lambda: random.randrange(CLASSES))
ROWS = ("x", "float", (BATCH, WIDTH), lambda: random.gauss(0.5, 1))
IMAGES = ("x", "float", (BATCH, 3, 8, 8), lambda: random.gauss(0.5, 1))
TARGETS = ("targets", "float", (BATCH, CLASSES), lambda: random.gauss(0, 1))
FLAGS = ("targets", "float", (BATCH, CLASSES), lambda: float(random.random() < 0.5))
CROSS_ENTROPY = 'loss = SoftmaxCrossEntropyLoss<reduction = "mean">(y, labels)'
PICK = """
  column = Unsqueeze(labels, one)
  picked = GatherElements<axis = 1>({}, column)"""


class Model:
    """A body in ONNX's text, in which W(3, 4) is a new weight of that shape."""

    def __init__(self, name, inputs, body):
        self.weights = []
        while (begin := body.find("W(")) >= 0:
            end = body.index(")", begin)
            shape = eval(f"({body[begin + 2:end]},)", {"w": WIDTH, "c": CLASSES})
            body = body[:begin] + self.weight(shape) + body[end + 1:]
        signature = ", ".join(f"{kind}[{', '.join(map(str, shape))}] {name}"
                              for name, kind, shape, _ in inputs)
        folder.joinpath(f"{name}.onnxtxt").write_text(f"""<ir_version: 8, opset_import: ["" : 20]>
{name} ({signature}) => (float loss)
<int64[1] zero = {{0}}, int64[1] one = {{1}}, {", ".join(self.weights)}>
{{{body}
}}
""")
        npz.write(folder / f"{name}.npz", {input[0]: array(*input) for input in inputs})

    def weight(self, shape):
        name = f"w{len(self.weights)}"
        fan = math.prod(shape[1:]) if len(shape) == 4 else shape[0]
        # Vectors are biases and scales.
        center, scale = (0.7, 0.2) if len(shape) == 1 else (0, fan**-0.5)
        values = ", ".join(f"{random.gauss(center, scale):.6g}" for _ in range(math.prod(shape)))
        self.weights.append(f"float[{', '.join(map(str, shape))}] {name} = {{{values}}}")
        return name


def array(name, kind, shape, draw):
    numbers = [draw() for _ in range(math.prod(shape))]
    code, descr = {"float": ("f", "<f4"), "int64": ("q", "<i8")}[kind]
    return npz.Array(descr, shape, struct.pack(f"<{len(numbers)}{code}", *numbers))


Model("softmax", [ROWS, LABELS], f"""
  h = Gemm(x, W(w, w), W(w))
  r = Relu(h)
  y = Gemm(r, W(w, c), W(c))
  {CROSS_ENTROPY}""")
Model("log_sum_exp", [ROWS, LABELS], f"""
  h = Gemm(x, W(w, c), W(c))
  z = ReduceLogSumExp<keepdims = 1>(h, one)
  y = Sub(h, z){PICK.format("y")}
  m = ReduceMean<keepdims = 0>(picked)
  loss = Neg(m)""")
Model("energy", [ROWS, LABELS], f"""
  h = Gemm(x, W(w, c), W(c))
  z = ReduceLogSumExp<keepdims = 1>(h, one){PICK.format("h")}
  d = Sub(z, picked)
  s = Mul(d, d)
  loss = ReduceMean<keepdims = 0>(s)""")
Model("own_softmax", [ROWS, LABELS], f"""
  h = Gemm(x, W(w, c), W(c))
  m = ReduceMax<keepdims = 1>(h, one)
  d = Sub(h, m)
  e = Exp(d)
  s = ReduceSum<keepdims = 1>(e, one)
  p = Div(e, s)
  y = Log(p)
  loss = NegativeLogLikelihoodLoss<reduction = "mean">(y, labels)""")
Model("layer_norm", [ROWS, LABELS], f"""
  a = Gemm(x, W(w, w), W(w))
  n = LayerNormalization<axis = 1>(a, W(w), W(w))
  b = Gemm(n, W(w, w), W(w))
  g = Gelu(b)
  s = Add(a, g)
  m = LayerNormalization<axis = 1>(s, W(w), W(w))
  y = Gemm(m, W(w, c), W(c))
  {CROSS_ENTROPY}""")
Model("scaled_norm", [ROWS, LABELS], f"""
  a = Gemm(x, W(w, w), W(w))
  o = ReduceMean<keepdims = 1>(W(w, 1), zero)
  t = Mul(a, o)
  n = LayerNormalization<axis = 1, epsilon = 1e-12>(t, W(w), W(w))
  y = Gemm(n, W(w, c), W(c))
  {CROSS_ENTROPY}""")
for kind, norm in {"batch_norm": "n, _, _ = BatchNormalization<training_mode = 1>(a, W(8), W(8), W(8), W(8))",
                   "instance_norm": "n = InstanceNormalization(a, W(8), W(8))"}.items():
    Model(kind, [IMAGES, LABELS], f"""
  a = Conv<pads = [1, 1, 1, 1]>(x, W(8, 3, 3, 3), W(8))
  {norm.replace("_, _", "mean, var")}
  r = Relu(n)
  q = Conv<pads = [1, 1, 1, 1]>(r, W(8, 8, 3, 3), W(8))
  s = Add(q, n)
  p = GlobalAveragePool(s)
  f = Flatten(p)
  y = Gemm(f, W(8, c), W(c))
  {CROSS_ENTROPY}""")
Model("attention", [ROWS, LABELS], f"""
  u = Unsqueeze(x, one)
  shape = Constant<value_ints = [{BATCH}, 1, {WIDTH}]>()
  rows = Constant<value_ints = [1, {BATCH}, {WIDTH}]>()
  t = Reshape(u, rows)
  q0 = MatMul(t, W(w, w))
  q = Add(q0, W(w))
  k0 = MatMul(t, W(w, w))
  k = Add(k0, W(w))
  v0 = MatMul(t, W(w, w))
  v = Add(v0, W(w))
  kt = Transpose<perm = [0, 2, 1]>(k)
  scores = MatMul(q, kt)
  small = Constant<value_float = 0.25>()
  scaled = Mul(scores, small)
  p = Softmax<axis = -1>(scaled)
  o = MatMul(p, v)
  r = Add(o, t)
  f = Squeeze(r, zero)
  y = Gemm(f, W(w, c), W(c))
  {CROSS_ENTROPY}""")
Model("residuals", [ROWS, TARGETS], """
  a = Gemm(x, W(w, w), W(w))
  b = Tanh(a)
  s = Add(x, b)
  d = Gemm(s, W(w, w), W(w))
  e = Sigmoid(d)
  t = Mul(s, e)
  y = Gemm(t, W(w, c), W(c))
  off = Sub(y, targets)
  q = Mul(off, off)
  loss = ReduceMean<keepdims = 0>(q)""")
Model("flags", [ROWS, FLAGS], """
  h = Gemm(x, W(w, c), W(c))
  p = Softplus(h)
  q = Mul(h, targets)
  d = Sub(p, q)
  loss = ReduceMean<keepdims = 0>(d)""")
Model("rms_norm", [ROWS, LABELS], f"""
  a = Gemm(x, W(w, w), W(w))
  q = Mul(a, a)
  m = ReduceMean<keepdims = 1>(q, one)
  tiny = Constant<value_float = 0.000001>()
  e = Add(m, tiny)
  s = Sqrt(e)
  n = Div(a, s)
  g = Mul(n, W(w))
  y = Gemm(g, W(w, c), W(c))
  {CROSS_ENTROPY}""")
Model("cosines", [ROWS, LABELS], f"""
  a = Gemm(x, W(w, w), W(w))
  n = LpNormalization<axis = 1, p = 2>(a)
  k = LpNormalization<axis = 0, p = 2>(W(w, c))
  s = MatMul(n, k)
  sharp = Constant<value_float = 8.0>()
  y = Mul(s, sharp)
  {CROSS_ENTROPY}""")
Model("centred_weights", [ROWS, LABELS], f"""
  v = Identity(W(w, c))
  m = ReduceMean<keepdims = 1>(v, zero)
  d = Sub(v, m)
  y = MatMul(x, d)
  {CROSS_ENTROPY}""")
Model("flat_softmax", [ROWS, LABELS], f"""
  h = Gemm(x, W(w, c), W(c))
  p = Softmax<axis = 1>(h)
  s = ReduceSum<keepdims = 1>(p, one)
  y = Mul(h, s)
  {CROSS_ENTROPY}""")
# What arrives at the norms is the same everywhere: they pass on nothing.
Model("flat_norm", [ROWS], f"""
  width = Constant <value = int64[1] {{{WIDTH}}}> ()
  scale = ConstantOfShape <value = float[1] {{0.7}}> (width)
  h = MatMul(x, W(w, w))
  n = LayerNormalization(h, scale)
  flat = ReduceMean<keepdims = 0>(n)
  y = MatMul(x, W(w, c))
  q = Mul(y, y)
  other = ReduceMean<keepdims = 0>(q)
  loss = Add(flat, other)""")
