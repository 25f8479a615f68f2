#!/usr/bin/env python3
"""Prints the metadata_props of an ONNX file: "NODE KEY=VALUE", of the model "- KEY=VALUE".

Does not use the onnx package, because not every version of it has the field in nodes.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4]))
from protobuf import fields


def texts(message, number):
    return [data.decode() for field, data in fields(message) if field == number]


def show(name, message, number):
    for field, entry in fields(message):
        if field == number:
            print(f"{name} {texts(entry, 1)[0]}={texts(entry, 2)[0]}")


MODEL_GRAPH, MODEL_METADATA, GRAPH_NODE, NODE_NAME, NODE_METADATA = 7, 14, 1, 3, 9

with open(sys.argv[1], "rb") as file:
    model = file.read()
show("-", model, MODEL_METADATA)
for field, graph in fields(model):
    if field == MODEL_GRAPH:
        for kind, node in fields(graph):
            if kind == GRAPH_NODE:
                show(texts(node, NODE_NAME)[0], node, NODE_METADATA)
