#!/usr/bin/env python3
"""Runs ONNX's own node tests through `mpc compile` and `mpc predict`, in fp32.

usage: node_tests.py MPC [--filter=REGEX] [--op=NAME] [--json=FILE] [--list=FILE] [--verbose]

The cases give axes, shapes and scales as inputs; what mpc must know becomes an
initializer. Needs the onnx package, which makes the cases, and numpy. Prints how many cases pass,
how many are refused and why, and every one whose result differs or that crashes. `--list` writes what
does not pass as Markdown: REFUSED.md is that of mpc's CPU target.
"""
import argparse
import collections
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

RTOL, ATOL = 1e-3, 1e-6
REFUSED = 3  # Exit code for a model that mpc does not accept.
OPSET = 13  # Cases of older opsets are counted separately.
# Their outputs are random numbers of another generator.
RANDOM = {"test_bernoulli_seed", "test_bernoulli_seed_expanded",
          "test_training_dropout_default", "test_training_dropout"}


def array(value):
    """A tensor of a test as a NumPy array; None for sequences, maps and optionals."""
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    return value if isinstance(value, np.ndarray) or np.isscalar(value) else None


def is_float(case):
    """Whether all tensors are f32, i64 or bool, with at least one f32."""
    kinds = set()
    for value in list(case.model.graph.input) + list(case.model.graph.output):
        if value.type.WhichOneof("value") != "tensor_type":
            return False
        kinds.add(value.type.tensor_type.elem_type)
    types = onnx.TensorProto
    return types.FLOAT in kinds and kinds <= {types.FLOAT, types.INT64, types.INT32,
                                              types.BOOL}


def fix_inputs(case, why):
    """The case with inputs that must be known as initializers; None if there are none.

    Those that the message names, or else every list of integers: shapes, axes, repeats.
    """
    if not re.search("must be known at compile time|on constants only|must be an initializer", why):
        return None
    model, data = onnx.ModelProto(), case.data_sets[0][0]
    model.CopyFrom(case.model)
    values = {i.name: array(v) for i, v in zip(model.graph.input, data)}
    named = [n for n in re.findall("'([^']*)'", why) if n in values]
    fixed = named or [n for n, v in values.items() if np.asarray(v).dtype.kind == "i"]
    if not fixed:
        return None
    for name in fixed:
        tensor = onnx.numpy_helper.from_array(np.asarray(values[name]), name)
        model.graph.initializer.append(tensor)
    kept = [(i, n) for n, i in enumerate(model.graph.input) if i.name not in fixed]
    del model.graph.input[:]
    model.graph.input.extend(i for i, _ in kept)
    sets = [([inputs[n] for _, n in kept], outputs) for inputs, outputs in case.data_sets]
    return dataclasses.replace(case, model=model, data_sets=sets)


def run(mpc, case, folder):
    """The outcome of a case and the reason: ("passed", "") or another word and a line."""
    word, why = run_as_it_is(mpc, case, folder)
    fixed = fix_inputs(case, why) if word == "refused" else None
    return run(mpc, fixed, folder) if fixed else (word, why)


def run_as_it_is(mpc, case, folder):
    model, data, out = (folder / name for name in ("m.onnx", "d.npz", "o.npz"))
    package = folder / "m.mpc"
    for path in (data, out, package):
        path.unlink(missing_ok=True)
    onnx.save(case.model, model)
    command = [mpc, "compile", model, "--precision=fp32", "-o", package]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        ops = re.findall(r"note: (\S+) \(\d+ node", done.stderr)
        if ops:
            lines = ["error: unsupported: " + ", ".join(sorted(ops))]
        word = "refused" if done.returncode == REFUSED else "crashed"
        return word, (lines or done.stderr.splitlines() or [str(done.returncode)])[0]
    names = [i.name for i in case.model.graph.input]
    initialized = {i.name for i in case.model.graph.initializer}
    names = [name for name in names if name not in initialized]
    for inputs, outputs in case.data_sets:
        np.savez(data, **{n: np.asarray(array(v)) for n, v in zip(names, inputs)})
        command = [mpc, "predict", package, "--data", data, "-o", out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            return ("unpredicted" if done.returncode > 0 else "crashed"), done.stderr.strip().splitlines()[-1]
        found = np.load(out)
        for value, wanted in zip(case.model.graph.output, outputs):
            wanted = np.asarray(array(wanted))
            got = found[value.name]
            if got.shape != wanted.shape:
                return "wrong", f"{value.name} is {got.shape}, not {wanted.shape}"
            close = np.isclose(got.astype(float), wanted.astype(float), RTOL, ATOL, True)
            if not close.all() and case.name in RANDOM:
                return "random", "other random numbers"
            if not close.all():
                off = np.abs(got.astype(float) - wanted.astype(float))[~close].max()
                return "wrong", f"{value.name} is off by {off}"
    return "passed", ""


def opset(case):
    return {entry.domain: entry.version for entry in case.model.opset_import}.get("", 0)


def without_names(why):
    return re.sub(r"^.*?error: ", "", re.sub(r"'[^']*'", "'...'", why))


def write_list(path, cases, results):
    """The cases that do not pass, by reason."""
    recent = [case.name for case in cases if opset(case) >= OPSET]
    passed = sum(results[name][0] == "passed" for name in recent)
    lines = ["# ONNX node tests that mpc does not pass", "",
             f"Written by `node_tests.py --list`. It runs the cases of onnx {onnx.__version__} whose "
             f"tensors are f32, i64, i32 and bool. Of the {len(recent)} cases of opset {OPSET} or later, "
             f"{passed} pass ({100 * passed / len(recent):.1f} %)."]
    reasons = collections.defaultdict(list)
    for case in cases:
        word, why = results[case.name]
        if word != "passed":
            reasons[word, without_names(why)].append(case.name)
    for (word, why), names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += ["", f"**{word}: {why}**", ""] + [f"- {name}" for name in names]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mpc")
    parser.add_argument("--filter", default="")
    parser.add_argument("--op", help="only cases whose model has this op")
    parser.add_argument("--json")
    parser.add_argument("--list")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = [case for case in collect_testcases(None)
             if is_float(case) and re.search(arguments.filter, case.name)
             and arguments.op in (None, *(node.op_type for node in case.model.graph.node))]
    results, reasons = {}, collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        for case in cases:
            word, why = run(arguments.mpc, case, pathlib.Path(name))
            results[case.name] = [word, why]
            if word in ("refused", "unpredicted"):
                reasons[without_names(why)].append(case.name)
            elif word != "passed" or arguments.verbose:
                print(f"{word} {case.name}: {why}", flush=True)
    print()
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):5} {why} ({', '.join(names[:3])}{', ...' if names[3:] else ''})")
    print()
    for word, count in collections.Counter(r[0] for r in results.values()).most_common():
        print(f"{count:5} {word}")
    recent = [results[case.name][0] for case in cases if opset(case) >= OPSET]
    print(f"{recent.count('passed'):5} passed of {len(recent)} of opset {OPSET} or later")
    if arguments.list:
        write_list(arguments.list, cases, results)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))
    return any(word in ("wrong", "crashed") for word, _ in results.values())


if __name__ == "__main__":
    sys.exit(main())
