#!/usr/bin/env python3
"""Prints the metadata_props of an ONNX file: "NODE KEY=VALUE", of the model "- KEY=VALUE".

Parses protobuf itself, because not every version of the onnx package has the field in nodes.
"""
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Numbers and bytes of the fields that have a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            _, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        else:
            at += {1: 8, 5: 4}[key & 7]


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
