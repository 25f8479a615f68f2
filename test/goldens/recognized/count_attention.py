#!/usr/bin/env python3
"""Counts the attention that mpc recognizes in the models of ../families and of bf16.

count_attention.py MPC FOLDER: compares with attention.json: for each model and exporter the number of
attentions, and of other products of a softmax. Models without either are not listed. FOLDER is for what it
writes. With --write, writes attention.json instead. A third number, unless 0, is that of gradients of
attention, on a CPU in fp32, which one projection's tensor takes whole.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES, TABLE = HERE.parent / "families", HERE / "attention.json"


def count(mpc, model, options, folder):
    """The numbers of attentions, of other products of a softmax, and of gradients of packed attention."""
    command = [mpc, "compile", model, *options, "--precision=fp32", "--stop-after=fusion", f"--dump-stages={folder}"]
    done = subprocess.run([*map(str, command)], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    graph = (folder / "1-graph.mlir").read_text()
    notes = re.findall(r"product '[^']+'(?: and (\d+) more)? of a softmax: attention not recognised", done.stderr)
    packed = (folder / "4-fusion.mlir").read_text().count("= train.packed_attention_grad ")
    counts = [len(re.findall(r"= train\.attention ", graph)), sum(1 + int(more or 0) for more in notes)]
    return counts + [packed] if packed else counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    found = {f"bf16/{model.stem}": count(arguments.mpc, model, [], arguments.folder)
             for model in sorted(HERE.glob("bf16/*.onnx"))}
    for goldens in sorted(FAMILIES.glob("*/*.json")):
        if goldens.stem != goldens.parent.name:
            continue
        for name, golden in json.loads(goldens.read_text()).items():
            for exporter in golden["exporters"]:
                model = goldens.parent / f"{name}-{exporter}.onnx"
                if b"Softmax" not in model.read_bytes():
                    continue
                counts = count(arguments.mpc, model, golden["options"], arguments.folder)
                if any(counts):
                    found[f"{goldens.stem}/{model.stem}"] = counts
    if arguments.write:
        lines = [f' "{name}": {counts}' for name, counts in found.items()]
        TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    expected = json.loads(TABLE.read_text())
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            print(f"{name}: expected {expected.get(name)}, found {found.get(name)}")
    sys.exit(expected != found)


if __name__ == "__main__":
    main()
