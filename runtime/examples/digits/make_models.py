#!/usr/bin/env python3
"""Writes mlp.onnx and cnn.onnx, two classifiers of 8x8 digits, beside this script.

The graphs are what PyTorch would export in inference form, with the initial
weights that torch.nn gives its layers: uniform in +-1/sqrt(fan_in), norms at one
and zero.

Needs numpy and onnx. The models are in the repository, so nobody has to run it;
running it again gives the same weights.
"""
import math
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 1
OPSET = 20
HERE = pathlib.Path(__file__).resolve().parent


class Graph:
    """A chain of nodes; `top` is the value that the next node takes."""

    def __init__(self, name):
        self.name = name
        self.top = "images"
        self.nodes = []
        self.initializers = []
        self.random = np.random.default_rng(SEED)

    def weight(self, name, value):
        array = np.asarray(value, dtype=np.float32)
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def uniform(self, name, shape, fan_in):
        bound = 1 / math.sqrt(fan_in)
        return self.weight(name, self.random.uniform(-bound, bound, shape))

    def node(self, op_type, name, *more_inputs, output=None, **attributes):
        output = output or f"{name}.out"
        self.nodes.append(
            helper.make_node(
                op_type, [self.top, *more_inputs], [output], name=name, **attributes
            )
        )
        self.top = output

    def gemm(self, name, fan_in, fan_out, output=None):
        weight = self.uniform(f"{name}.weight", (fan_out, fan_in), fan_in)
        bias = self.uniform(f"{name}.bias", (fan_out,), fan_in)
        self.node("Gemm", name, weight, bias, output=output, transB=1)

    def conv_bn(self, number, channels_in, channels_out):
        """A 3x3 convolution with padding 1, then a batch normalization."""
        name, norm = f"conv{number}", f"bn{number}"
        shape = (channels_out, channels_in, 3, 3)
        weight = self.uniform(f"{name}.weight", shape, channels_in * 9)
        self.node("Conv", name, weight, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        ones, zeros = np.ones(channels_out), np.zeros(channels_out)
        self.node(
            "BatchNormalization",
            norm,
            self.weight(f"{norm}.weight", ones),
            self.weight(f"{norm}.bias", zeros),
            self.weight(f"{norm}.running_mean", zeros),
            self.weight(f"{norm}.running_var", ones),
            epsilon=1e-5,
            momentum=0.9,
        )

    def save(self):
        image = helper.make_tensor_value_info(
            "images", TensorProto.FLOAT, ["N", 1, 8, 8]
        )
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])
        graph = helper.make_graph(
            self.nodes, self.name, [image], [logits], self.initializers
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=9,
            producer_name="make_models.py",
        )
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, HERE / f"{self.name}.onnx")
        statistics = ("running_mean", "running_var", "dropout.ratio")
        size = sum(
            math.prod(i.dims)
            for i in self.initializers
            if not i.name.endswith(statistics)
        )
        print(f"{self.name}.onnx: {size} parameters")


def make_mlp():
    g = Graph("mlp")
    g.node("Flatten", "flatten")
    g.gemm("fc1", 64, 256)
    scale = g.weight("norm.weight", np.ones(256))
    bias = g.weight("norm.bias", np.zeros(256))
    g.node("LayerNormalization", "norm", scale, bias, axis=-1, epsilon=1e-5)
    g.node("Gelu", "gelu")
    g.node("Dropout", "dropout", g.weight("dropout.ratio", 0.1))
    g.gemm("fc2", 256, 10, output="logits")
    g.save()


def make_cnn():
    g = Graph("cnn")
    g.conv_bn(1, 1, 32)
    g.node("Relu", "relu1")
    g.node("MaxPool", "pool", kernel_shape=[2, 2], strides=[2, 2])
    shortcut = g.top
    g.conv_bn(2, 32, 32)
    g.node("Relu", "relu2")
    g.conv_bn(3, 32, 32)
    g.node("Add", "residual", shortcut)
    g.node("Relu", "relu3")
    g.conv_bn(4, 32, 32)
    g.node("Relu", "relu4")
    g.node("GlobalAveragePool", "average")
    g.node("Flatten", "flatten")
    g.gemm("fc", 32, 10, output="logits")
    g.save()


if __name__ == "__main__":
    make_mlp()
    make_cnn()
