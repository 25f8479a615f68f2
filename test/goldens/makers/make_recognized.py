#!/usr/bin/env python3
"""Writes recognized/bf16/: transformers in bf16 as PyTorch's exporters write them (families/attention.py).

Their attention is counted (recognized/count_attention.py), but they are not trained: PyTorch rounds in other places.
The TorchScript exporter writes invalid casts for scaled_dot_product_attention in bf16.

Needs numpy, onnx, onnxscript, torch 2.13, torchvision 0.28 and transformers 5.24. The results are in the repository.
"""
import importlib
import pathlib
import sys

GOLDENS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(GOLDENS / "families"))
import make_families
import torch

BOTH = ("script", "dynamo")
MODELS = {"bert-eager": BOTH, "gpt2-eager": BOTH, "llama-left-padded": BOTH, "t5-unmasked": BOTH, "vit-eager": BOTH,
          "bert-unmasked": ("dynamo",), "gpt2-left-padded": ("dynamo",), "mistral-unmasked": ("dynamo",),
          "sdpa-groups": ("dynamo",)}


def in_bf16(family, seed):
    module, inputs = make(family, seed)
    return module.bfloat16(), {name: value.bfloat16() if value.is_floating_point() else value
                               for name, value in inputs.items()}


def main():
    importlib.import_module("attention")
    make_families.HERE, make_families.make = GOLDENS / "recognized", in_bf16
    (GOLDENS / "recognized/bf16").mkdir(exist_ok=True)
    for name, exporters in MODELS.items():
        family = make_families.FAMILIES[name]
        family.group = "bf16"
        for exporter in exporters:
            make_families.export(family, 1, exporter)


make = make_families.make
if __name__ == "__main__":
    main()
