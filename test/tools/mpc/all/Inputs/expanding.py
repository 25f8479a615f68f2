"""expanding.py: small models that expand to much, and some that only look so."""


def tensor(name):
    return (f'{{ name: "{name}" type {{ tensor_type {{ elem_type: 1 '
            "shape { dim { dim_value: 2 } dim { dim_value: 4 } } } } }")


def node(op, inputs, output, domain=""):
    names = " ".join(f'input: "{name}"' for name in inputs)
    return f'node {{ op_type: "{op}" domain: "{domain}" {names} output: "{output}" }}\n'


def model(path, nodes, inputs=(), output="y", functions=""):
    with open(path, "w") as file:
        file.write(
            'ir_version: 8\nopset_import { version: 17 }\n'
            'opset_import { domain: "own" version: 1 }\n'
            'graph {\n initializer { name: "w" data_type: 1 dims: 4 float_data: [1, 2, 3, 4] }\n'
            + "".join(f"input {tensor(name)}\n" for name in ["x", *inputs])
            + node("Mul", ["x", "w"], "v0") + "".join(nodes)
            + f"output {tensor(output)}\n}}\n" + functions)


def function(name, nodes):
    return (f'functions {{ name: "{name}" domain: "own" input: "x" output: "y"\n'
            'opset_import { version: 17 } opset_import { domain: "own" version: 1 }\n'
            + "".join(nodes) + "}\n")


depth = 18
doubling = function("f0", [node("Relu", ["x"], "y")])
for i in range(depth):
    doubling += function(f"f{i + 1}", [node(f"f{i}", ["x"], "m", "own"), node(f"f{i}", ["m"], "y", "own")])
model("doubling.textproto", [node(f"f{depth}", ["v0"], "y", "own")], functions=doubling)

chain = [node("Relu", [f"v{i}"], f"v{i + 1}") for i in range(50000)]
model("chain.textproto", chain, output="v50000")
adds = [node("Add", [f"v{i}", "x"], f"v{i + 1}") for i in range(4000)]
model("adds.textproto", adds, output="v4000")
sink = [node("Relu", ["v0"], "y")]
model("inputs.textproto", sink, inputs=[f"u{i}" for i in range(20000)])
model("unused.textproto", sink, inputs=[f"u{i}" for i in range(4000)])
