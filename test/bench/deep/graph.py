"""A graph of ONNX nodes, which can be written as text and run by torch_ops.py."""
import math
import random
import struct


class Node:
    def __init__(self, op, inputs, outputs, attributes):
        self.op, self.inputs, self.outputs = op, inputs, outputs
        self.attributes = attributes

    def text(self):
        attributes = ", ".join(f"{key} = {literal(value)}"
                               for key, value in self.attributes.items())
        return (f"{', '.join(self.outputs)} = {self.op}"
                f"{f'<{attributes}>' if attributes else ''}({', '.join(self.inputs)})")


def literal(value):
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


def round_to_f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


class Tensor:
    """Numbers in row-major order. `kind` is ONNX's name for the type."""

    NPY = {"float": ("<f4", "f"), "int64": ("<i8", "q"), "bool": ("|b1", "?")}

    def __init__(self, kind, shape, values):
        self.kind, self.shape = kind, tuple(shape)
        self.values = [round_to_f32(v) for v in values] if kind == "float" else list(values)

    def text(self, name):
        form = "{:.9g}" if self.kind == "float" else "{}"
        values = ", ".join(form.format(int(v) if self.kind == "bool" else v)
                           for v in self.values)
        return f"{self.kind}[{', '.join(map(str, self.shape))}] {name} = {{{values}}}"

    def number(self):
        """The only element; in the text, floats have a decimal point."""
        value = self.values[0]
        if self.kind != "float":
            return str(value)
        text = f"{value:.9g}"
        return text if "." in text else text.replace("e", ".0e") if "e" in text else text + ".0"

    def bytes(self):
        return struct.pack(f"<{len(self.values)}{self.NPY[self.kind][1]}", *self.values)


class Graph:
    """Nodes in order, with the shape of every value.

    `weights` are trained, `constants` are not, `inputs` come from the data.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes, self.shapes = [], {}
        self.weights, self.constants, self.inputs = {}, {}, {}
        self.loss = None

    def node(self, op, inputs, shape, **attributes):
        """Appends a node and returns the name of its only result."""
        return self.node_of(op, inputs, [shape], **attributes)[0]

    def node_of(self, op, inputs, shapes, **attributes):
        outputs = []
        for shape in shapes:
            outputs.append(f"v{len(self.shapes)}")
            self.shapes[outputs[-1]] = tuple(shape)
        self.nodes.append(Node(op, list(inputs), outputs, attributes))
        return outputs

    def shape(self, value):
        return self.shapes[value]

    def weight(self, shape, scale, center=0.0):
        name = f"w{len(self.weights)}"
        values = [self.random.gauss(center, scale) for _ in range(math.prod(shape))]
        self.weights[name] = Tensor("float", shape, values)
        self.shapes[name] = tuple(shape)
        return name

    def statistic(self, shape, value):
        return self._constant("float", shape, [value] * math.prod(shape))

    def ints(self, values):
        return self._constant("int64", (len(values),), values)

    def number(self, value):
        return self._constant("float", (), [value])

    def mask(self, shape, share):
        values = [self.random.random() < share for _ in range(math.prod(shape))]
        return self._constant("bool", shape, values)

    def _constant(self, kind, shape, values):
        tensor = Tensor(kind, shape, values)
        for name, other in self.constants.items():
            if (other.kind, other.shape, other.values) == (kind, tensor.shape, tensor.values):
                return name
        name = f"{'stat' if kind == 'float' and shape else 'c'}{len(self.constants)}"
        self.constants[name] = tensor
        self.shapes[name] = tensor.shape
        return name

    def input(self, name, kind, shape, values):
        self.inputs[name] = Tensor(kind, shape, values)
        self.shapes[name] = tuple(shape)
        return name

    def normal_input(self, name, shape):
        values = [self.random.gauss(0, 1) for _ in range(math.prod(shape))]
        return self.input(name, "float", shape, values)

    def text(self):
        inputs = ", ".join(f"{t.kind}[{', '.join(map(str, t.shape))}] {name}"
                           for name, t in self.inputs.items())
        known = {**self.constants, **self.weights}
        # The text syntax does not allow scalar initializers.
        scalars = {name: t for name, t in known.items() if not t.shape}
        nodes = [f"{name} = Constant<value_{t.kind.rstrip('64')} = {t.number()}>()"
                 for name, t in scalars.items()]
        nodes = "\n".join("  " + text for text in nodes + [node.text() for node in self.nodes])
        known = ", ".join(t.text(name) for name, t in known.items() if name not in scalars)
        return (f'<ir_version: 8, opset_import: ["" : 18]>\n'
                f"deep ({inputs}) => (float {self.loss})\n  <{known}>\n{{\n{nodes}\n}}\n")

    def write(self, name, npz):
        with open(f"{name}.onnxtxt", "w") as file:
            file.write(self.text())
        npz.write(f"{name}.npz", {
            key: npz.Array(Tensor.NPY[t.kind][0], t.shape, t.bytes())
            for key, t in self.inputs.items()})
