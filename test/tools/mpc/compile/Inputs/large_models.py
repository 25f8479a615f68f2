"""large_models.py NAME: writes NAME.onnx, a model that is large in one respect.

weights: 64 MiB of weights. external: the same, in a file of their own. parts: Split into 400
parts, Relu of each, Concat. columns: Slice and Tanh of each of 400 columns, Concat.
"""
import sys


def number(value):
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(key << 3 | 2) + number(len(value)) + value


def integer(name, value):
    return field(5, field(1, name) + field(3, value) + field(20, 2))


def node(op, inputs, outputs, *attributes):
    return field(1, b"".join([field(1, name) for name in inputs] +
                             [field(2, name) for name in outputs] +
                             [field(4, op), *attributes]))


def tensor(name, shape, kind, data):
    return field(5, b"".join(field(1, extent) for extent in shape) + field(2, kind) +
                 field(8, name) + field(9, data))


def integers(name, *values):
    data = b"".join(value.to_bytes(8, "little") for value in values)
    return tensor(name, [len(values)], 7, data)


def value(key, name, shape):
    extents = b"".join(field(1, field(1, extent)) for extent in shape)
    return field(key, field(1, name) + field(2, field(1, field(1, 1) + field(2, extents))))


def external(name, shape, data):
    with open("external.data", "ab") as file:
        offset = file.tell()
        file.write(data)
    entries = {"location": "external.data", "offset": str(offset), "length": str(len(data))}
    return field(5, b"".join(field(1, extent) for extent in shape) + field(2, 1) +
                 field(8, name) + field(14, 1) +
                 b"".join(field(13, field(1, key) + field(2, text))
                          for key, text in entries.items()))


def weights(store=lambda name, shape, data: tensor(name, shape, 1, data)):
    size, before, nodes = 2048, "x", []
    for i in range(4):
        nodes.append(node("MatMul", [before, f"w{i}"], [f"y{i}"]))
        # Numbers near 1, all different.
        data = b"".join((0x3F800000 + j).to_bytes(4, "little") for j in range(size * size // 64))
        nodes.append(store(f"w{i}", [size, size], data * 64))
        before = f"y{i}"
    return nodes, [4, size], [4, size], before


def parts(count=400):
    names = [f"p{i}" for i in range(count)]
    nodes = [node("MatMul", ["x", "w"], ["h"]),
             tensor("w", [count, count], 1, bytes(4 * count * count)),
             node("Split", ["h"], names, integer("axis", 1), integer("num_outputs", count))]
    nodes += [node("Relu", [name], ["r" + name]) for name in names]
    nodes.append(node("Concat", ["r" + name for name in names], ["y"], integer("axis", 1)))
    return nodes, [8, count], [8, count], "y"


def columns(count=400):
    nodes = [node("MatMul", ["x", "w"], ["h"]),
             tensor("w", [count, count], 1, bytes(4 * count * count)), integers("one", 1)]
    for i in range(count):
        nodes += [integers(f"b{i}", i), integers(f"e{i}", i + 1),
                  node("Slice", ["h", f"b{i}", f"e{i}", "one"], [f"c{i}"]),
                  node("Tanh", [f"c{i}"], [f"t{i}"])]
    nodes.append(node("Concat", [f"t{i}" for i in range(count)], ["y"], integer("axis", 1)))
    return nodes, [8, count], [8, count], "y"


models = {"weights": weights, "external": lambda: weights(external), "parts": parts,
          "columns": columns}
nodes, inputs, outputs, output = models[sys.argv[1]]()
graph = b"".join(nodes) + field(2, "g") + value(11, "x", inputs) + value(12, output, outputs)
with open(sys.argv[1] + ".onnx", "wb") as file:
    file.write(field(1, 8) + field(7, graph) + field(8, field(2, 18)))
