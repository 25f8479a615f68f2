"""names.py MPC: compiles models whose weights have names that are refused, and
leaves good.mpc, with names that are odd."""
import subprocess
import sys

mpc = sys.argv[1]

# As protobuf's text has them, and what the error says.
REFUSED = {
    "a\\000b": "its name holds a NUL",
    "a\\377b": "its name is not UTF-8",
    "a\\355\\240\\200": "its name is not UTF-8",
    "__metadata__": "the name is reserved by the safetensors format",
}
ODD = [
    "w",
    "a/b",
    "esc\\033[2J\\r\\n",
    "quote\\\"back\\\\slash",
    "w\\303\\244gt",
    "adam.first_moment",
    "adam.first_moment/w",
    "adam.first_moment/",
    "Adam.first_moment/w",
    "parameters/w",
    "__metadata__/w",
    "step/w",
    "..",
    "n" * 1000,
]


def model(path, names):
    """A sum of the input and of weights of such names."""
    value, nodes = "x", ""
    for i, name in enumerate(names):
        nodes += f'initializer {{ name: "{name}" data_type: 1 dims: 2 float_data: [1, {i}] }}\n'
        nodes += f'node {{ op_type: "Add" input: "{value}" input: "{name}" output: "sum.{i}" }}\n'
        value = f"sum.{i}"
    with open(path, "w") as file:
        file.write(
            'opset_import { version: 17 }\ngraph {\n'
            'input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 2 } } } } }\n'
            + nodes
            + f'output {{ name: "{value}" }}\n}}\n'
        )


def compile(path, package):
    return subprocess.run([mpc, "compile", path, "-o", package, "--precision=fp32"], capture_output=True)


for name, message in REFUSED.items():
    model("bad.textproto", [name])
    result = compile("bad.textproto", "bad.mpc")
    said = result.stderr.decode()  # Fails where it is no UTF-8.
    assert result.returncode == 3 and message in said, (name, result)
    assert all(c.isprintable() or c == "\n" for c in said), said

# An input, a node, its output: whatever the name is of.
for place in ['input: "x"', 'output: "sum.0"', 'op_type: "Add"']:
    model("bad.textproto", ["w"])
    text = open("bad.textproto").read()
    bad = 'name: "n\\377" op_type: "Add"' if "op_type" in place else place[:-1] + '\\377"'
    text = text.replace(place, bad)
    if place == 'input: "x"':
        text = text.replace('name: "x"', 'name: "x\\377"')
    if place == 'output: "sum.0"':
        text = text.replace('output { name: "sum.0"', 'output { name: "sum.0\\377"')
    open("bad.textproto", "w").write(text)
    result = compile("bad.textproto", "bad.mpc")
    assert result.returncode == 3 and b"its name is not UTF-8" in result.stderr, (place, result)

model("good.textproto", ODD)
result = compile("good.textproto", "good.mpc")
assert result.returncode == 0, result
