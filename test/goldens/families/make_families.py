#!/usr/bin/env python3
"""Writes GROUP/: families of models as PyTorch's exporters write them, and 20 training steps of PyTorch.

make_families.py [--only REGEX] [GROUP...]: convolutional.py and the files beside it have the models. Of each there are

  GROUP/NAME-script.onnx     by the TorchScript exporter, opset 17
  GROUP/NAME-dynamo.onnx     by torch.export, optimize=False
  GROUP/NAME-optimized.onnx  the same with optimize=True, of a few
  GROUP/NAME.npz             two batches
  GROUP/GROUP.json           losses in f32 and under torch.autocast in bf16, and the options of mpc

Dropout is 0, except in the group of that name (../makers/masks.py), eval() is not called, losses are those of the two batches in turn, with AdamW. ONNX has no detach() and no
padding_idx: no model has the one, no input the other. The seed is the first with which PyTorch itself, started from
weights that differ by a millionth, keeps to its losses within 2e-5; and in bf16, and from weights that differ by a
thousandth, within 5e-3: ReLU, the largest of several and norms of a batch amplify rounding, where nothing can be
compared.

Needs numpy, onnx, onnxscript, torch 2.13, torchvision 0.28 and transformers 5.23. The results are in the repository.
"""
import argparse
import importlib
import json
import os
import pathlib
import re
import shutil
import sys
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
warnings.filterwarnings("ignore")

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import FAMILIES

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "makers"))
from masks import Masks

GROUPS = ["attention", "convolutional", "dropout", "images", "sequences", "tables", "encoders", "decoders", "perception"]
STEPS, RATE, BATCHES = 20, 0.003, 2
# Half of the test's tolerance in bf16, a fifth in fp32.
ROUNDING, BF16_ROUNDING = 2e-5, 5e-3


def make(family, seed):
    torch.manual_seed(seed)
    module, inputs = family.build(family.batch * BATCHES)
    module.train()
    for part in module.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = family.dropout
    with torch.no_grad(): # Zeros hide faults, and exporters merge equal parameters.
        for parameter in module.parameters():
            if parameter.requires_grad:
                constant = (parameter == parameter.flatten()[0]).all()
                parameter.add_((0.05 if constant else 0.001) * torch.randn_like(parameter))
    return module, inputs


def wanted(family, module, inputs):
    """The array that the output is compared with, and its name."""
    shape = list(module(*batch_of(inputs, 0, family)).shape)
    shape[0] *= BATCHES
    random = np.random.default_rng(1)
    if family.loss == "softmax-cross-entropy":
        classes = shape.pop(family.axis)
        labels = torch.from_numpy(random.integers(0, classes, shape))
        mask = inputs.get("attention_mask")
        if mask is not None and mask.shape == labels.shape:
            labels[mask == 0] = -100
        return {"labels": labels}
    if family.loss == "bce-with-logits":
        return {"targets": torch.from_numpy(random.integers(0, 2, shape).astype(np.float32))}
    return {"targets": torch.from_numpy((random.standard_normal(shape) * 8).round().astype(np.float32) / 8)}


def batch_of(arrays, step, family):
    begin = step % BATCHES * family.batch
    return tuple(values[begin:begin + family.batch] for values in arrays.values())


def loss_of(family, output, target):
    if family.loss == "softmax-cross-entropy":
        return F.cross_entropy(output.movedim(family.axis, 1), target)
    return {"mse": F.mse_loss, "bce-with-logits": F.binary_cross_entropy_with_logits}[family.loss](output, target)


def train(family, seed, autocast=False, noise=None, size=1e-6):
    module, inputs = make(family, seed)
    targets = wanted(family, make(family, seed)[0], inputs)
    if noise is not None:
        torch.manual_seed(noise)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(1 + size * torch.randn_like(parameter))
    update = torch.optim.AdamW(module.parameters(), lr=RATE, weight_decay=0.01)
    losses = []
    for step in range(STEPS):
        update.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast), Masks(step):
            output = module(*batch_of(inputs, step, family))
        loss = loss_of(family, output.float(), *batch_of(targets, step, family))
        loss.backward()
        update.step()
        losses.append(float(f"{loss.item():.8g}"))
    return losses


def apart(found, expected):
    return max(abs(a - b) / abs(b) for a, b in zip(found, expected))


def autocast_losses(family, seed):
    try:
        return train(family, seed, autocast=True)
    except RuntimeError: # DeBERTa fills with the lowest number of f32, which bf16 cannot represent.
        return None


def find_seed(family):
    for seed in range(1, 40):
        losses = train(family, seed)
        fp32 = max(apart(train(family, seed, noise=n), losses) for n in (1, 2, 3))
        bf16 = [apart(autocast_losses(family, seed) or losses, losses)]
        bf16 += [apart(train(family, seed, noise=n, size=1e-3), losses) for n in (1, 2, 3)]
        if fp32 < ROUNDING and max(bf16) < BF16_ROUNDING:
            return seed
    raise RuntimeError(f"rounding matters with every seed: {fp32:.1e}, in bf16 {max(bf16):.1e}")


def shrink(graph, short):
    """Removes stack traces, shapes that mpc infers itself, and long names; keeps the program signature."""
    graph.ClearField("value_info")
    keep = {value.name for values in (graph.input, graph.output, graph.initializer) for value in values} | {""}
    for node in graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
        for attribute in node.attribute:
            if attribute.HasField("g"):
                shrink(attribute.g, short)
        node.input[:] = [short.get(name, name) for name in node.input]
        node.output[:] = [name if name in keep else short.setdefault(name, f"v{len(short)}") for name in node.output]
        node.name = node.output[0]


def export(family, seed, exporter):
    path = HERE / family.group / f"{family.name}-{exporter}.onnx"
    module, inputs = make(family, seed)
    options = dict(dynamo=False, opset_version=17, do_constant_folding=False,
                   training=torch.onnx.TrainingMode.TRAINING) if exporter == "script" else dict(
        dynamo=True, optimize=exporter == "optimized", external_data=False)
    torch.onnx.export(module, batch_of(inputs, 0, family), path, input_names=list(inputs), output_names=["output"],
                      verbose=False, **options)
    proto = onnx.load(path)
    shrink(proto.graph, {})
    onnx.save(proto, path)
    used = {i.name for i in proto.graph.input}
    assert used <= set(inputs), f"inputs that the model does not have: {used - set(inputs)}"
    return path.stat().st_size


def write(family):
    seed = find_seed(family)
    module, inputs = make(family, seed)
    targets = wanted(family, module, inputs)
    np.savez_compressed(HERE / family.group / f"{family.name}.npz",
                        **{name: values.numpy() for name, values in {**inputs, **targets}.items()})
    axis = [f"--label-axis={family.axis}"] if family.axis != -1 else []
    options = [f"--loss={family.loss}", *axis, *family.compile]
    golden = {"seed": seed, "exporters": family.exporters, "options": options,
              "fp32": train(family, seed), "bf16": autocast_losses(family, seed)}
    sizes = {exporter: export(family, seed, exporter) for exporter in family.exporters}
    count = sum(p.numel() for p in module.parameters())
    bf16 = f"{apart(golden['bf16'], golden['fp32']):.1e}" if golden["bf16"] else "fails"
    print(f"{family.name}: seed {seed}, {count} parameters, bf16 {bf16}, {sizes}", flush=True)
    return golden


def text_of(goldens):
    """Formats JSON with one line for each list."""
    families = []
    for name, golden in sorted(goldens.items()):
        lines = [f'  "{key}": {json.dumps(value)}' for key, value in golden.items()]
        families.append(f' "{name}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(families) + "\n}\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("groups", nargs="*", default=GROUPS)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    failures = []
    for group in arguments.groups:
        importlib.import_module(group)
        if not arguments.only:
            shutil.rmtree(HERE / group, ignore_errors=True)
        (HERE / group).mkdir(exist_ok=True)
        file = HERE / group / f"{group}.json"
        goldens = json.loads(file.read_text()) if arguments.only else {}
        for family in FAMILIES.values():
            if family.group == group and re.search(arguments.only, family.name):
                try:
                    goldens[family.name] = write(family)
                except Exception as error: # Exporters raise exceptions of all kinds.
                    failures.append(family.name)
                    print(f"{family.name}: {type(error).__name__}: {error}", flush=True)
                file.write_text(text_of(goldens))
    sys.exit(f"failed: {', '.join(failures)}" if failures else 0)


if __name__ == "__main__":
    main()
