"""Writes a random deep graph with a loss, and data for it.

usage: deep_graphs.py TEST_FOLDER SEED NODES NAME

NAME.onnxtxt has about so many nodes: residual streams, concatenations of many
parts, weights that several nodes share, sums along both axes, and biases that
are not zero. NAME.npz has one batch.
"""
import random
import struct
import sys

sys.path.insert(0, sys.argv[1])
import npz

seed, size, name = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
random.seed(seed)
BATCH = random.choice([2, 3, 8])
CLASSES = random.choice([3, 5, 17])
WIDTH = random.choice([4, 8, 24])

nodes, weights, widths = [], {}, {"x": WIDTH}


def weight(shape, scale, center=0.0):
    count = 1
    for extent in shape:
        count *= extent
    name = f"w{len(weights)}"
    values = ", ".join(f"{random.gauss(center, scale):.6g}" for _ in range(count))
    weights[name] = f"float[{', '.join(map(str, shape))}] {name} = {{{values}}}"
    return name


def node(text, width):
    name = f"v{len(nodes)}"
    nodes.append(f"{name} = {text}")
    widths[name] = width
    return name


# Weights that many nodes share, by the widths they lead from and to.
shared = {}


def linear(value, to):
    width = widths[value]
    if (width, to) not in shared or random.random() < 0.3:
        shared[width, to] = (weight((width, to), width**-0.5), weight((to,), 0.3))
    matrix, bias = shared[width, to]
    return node(f"Gemm({value}, {matrix}, {bias})", to)


def normalized(value):
    width = widths[value]
    scale, bias = weight((width,), 0.1, 1.0), weight((width,), 0.1)
    return node(f"LayerNormalization<axis = 1>({value}, {scale}, {bias})", width)


def activated(value):
    return node(f"{random.choice(['Relu', 'Tanh', 'Sigmoid', 'Softplus'])}({value})",
                widths[value])


def block(value):
    """One of the things that deep models are made of; as wide as `value`."""
    width = widths[value]
    kind = random.randrange(5)
    if kind == 0:  # Pre-norm residual.
        return node(f"Add({value}, {linear(activated(linear(normalized(value), 2 * width)), width)})",
                    width)
    if kind == 1:  # Dense: what is new goes beside what was there.
        parts = [value]
        for _ in range(random.choice([2, 5, 30])):
            joined = node(f"Concat<axis = 1>({', '.join(parts)})",
                          sum(widths[part] for part in parts))
            parts.append(activated(linear(normalized(joined), random.choice([1, 3, 4]))))
        joined = node(f"Concat<axis = 1>({', '.join(parts)})", sum(widths[p] for p in parts))
        return linear(joined, width)
    if kind == 2:  # Gates that a softmax over the features gives.
        gates = node(f"Softmax<axis = 1>({linear(value, width)})", width)
        return normalized(node(f"Mul({value}, {gates})", width))
    if kind == 3:  # What the whole batch has in common.
        mean = node(f"ReduceMean<keepdims = 1>({value}, batch_axis)", width)
        return node(f"Sub({value}, {mean})", width)
    return normalized(linear(value, width))


value = "x"
while len(nodes) < size:
    value = block(value)
logits = linear(value, CLASSES)
nodes.append(f"loss = SoftmaxCrossEntropyLoss<reduction = \"mean\">({logits}, labels)")

with open(f"{name}.onnxtxt", "w") as file:
    file.write(f"""<ir_version: 8, opset_import: ["" : 18]>
deep (float[{BATCH}, {WIDTH}] x, int64[{BATCH}] labels) => (float loss)
  <int64[1] batch_axis = {{0}}, {", ".join(weights.values())}>
{{
""" + "\n".join("  " + text for text in nodes) + "\n}\n")
numbers = [random.gauss(0, 1) for _ in range(BATCH * WIDTH)]
labels = [random.randrange(CLASSES) for _ in range(BATCH)]
npz.write(f"{name}.npz", {
    "x": npz.Array("<f4", (BATCH, WIDTH), struct.pack(f"{len(numbers)}f", *numbers)),
    "labels": npz.Array("<i8", (BATCH,), struct.pack(f"{BATCH}q", *labels)),
})
