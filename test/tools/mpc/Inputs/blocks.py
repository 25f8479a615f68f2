#!/usr/bin/env python3
"""Prints a model, as ONNX's text for protobuf, of equal blocks in modules.

Nodes are named as PyTorch's exporter does: "/blocks/blocks.0/fc/Gemm". The first
argument says how many blocks, the second how wide they are.
"""
import sys

blocks, width = int(sys.argv[1]), int(sys.argv[2])


def tensor(name, dims, value):
    shape = " ".join(f"dims: {extent}" for extent in dims)
    count = 1
    for extent in dims:
        count *= extent
    data = " ".join([f"float_data: {value}"] * count)
    print(f'  initializer {{ name: "{name}" data_type: 1 {shape} {data} }}')


def node(name, op, inputs, output, attribute=""):
    operands = " ".join(f'input: "{i}"' for i in inputs)
    print(f'  node {{ name: "{name}" op_type: "{op}" {operands} output: "{output}" {attribute} }}')


def value(kind, name, columns):
    shape = f"dim {{ dim_value: 64 }} dim {{ dim_value: {columns} }}"
    print(f'  {kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{ {shape} }} }} }} }}')


print('ir_version: 8\nopset_import { version: 17 }\ngraph {\n  name: "blocks"')
TRANSPOSED = 'attribute { name: "transB" type: INT i: 1 }'
last = "x"
for i in range(blocks):
    module = f"/blocks/blocks.{i}"
    node(f"{module}/fc/Gemm", "Gemm", [last, f"blocks.{i}.fc.weight", f"blocks.{i}.fc.bias"], f"f{i}", TRANSPOSED)
    node(f"{module}/act/Relu", "Relu", [f"f{i}"], f"a{i}")
    tensor(f"blocks.{i}.fc.weight", [width, width], 0.01 * (i + 1))
    tensor(f"blocks.{i}.fc.bias", [width], 0.1)
    last = f"a{i}"
node("/head/Gemm", "Gemm", [last, "head.weight"], "y", TRANSPOSED)
tensor("head.weight", [10, width], 0.05)
value("input", "x", width)
value("output", "y", 10)
print("}")
