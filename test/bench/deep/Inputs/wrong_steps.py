"""Checks that deep_sweep.py detects wrong steps, which are derived from PyTorch's."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import torch

import blocks
import deep_sweep
import torch_ops

FAULTS = {
    "right": lambda loss, gradients: (loss, gradients),
    "gradient": lambda loss, gradients: (loss, gradients | {"w3": gradients["w3"] * 1.0001}),
    "loss": lambda loss, gradients: (loss * 1.00001, gradients),
    "none": lambda loss, gradients: (loss, {name: 0 * g for name, g in gradients.items()}),
}
torch.set_num_threads(1)
graph = blocks.make_graph("rows", 3, 60)
for name, fault in FAULTS.items():
    deep_sweep.step = lambda *_: fault(*torch_ops.run(graph, torch.float32))
    with tempfile.TemporaryDirectory() as folder:
        record = deep_sweep.judge(graph, "fp32", None, folder, False)
    place = f" at {record['kink']['name']}" if name == "gradient" else ""
    print(f"{name}: {record['verdict']}{place}")
