"""The rows of make_models.py.

A body is in ONNX's textual syntax. Its first tensor is the model's input times a
parameter, so that a gradient flows through every op; the others are parameters, with
only positive values if marked with +. The function is the same in PyTorch, for training.
"""
# Each module adds its rows, in this order.
import cases_of_elements
import cases_of_attention
import cases_of_layers
import cases_of_shapes
import cases_by_index
from case import CASES
