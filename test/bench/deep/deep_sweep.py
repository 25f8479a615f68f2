"""Trains random deep graphs for one step and compares loss and gradients with f64.

usage: deep_sweep.py MPC [--count=2000] [--seed=0] [--jobs=1] [--compare] [--results=FILE] [--junit=FILE]
       deep_sweep.py MPC --only=FAMILY/SEED/SIZE/PRECISION [--reduce] [--keep=FOLDER]

The same graph runs in PyTorch in f64, which is the reference, and in f32 (or in
bf16 or fp16 with autocast). An error is the distance from the reference, of the
loss and of the gradient of each weight. mpc's error may be four times PyTorch's
("holds"). If it is larger, the graph runs 16 times in f64 with every result
perturbed by up to half an ulp, and the worst of these errors may replace
PyTorch's ("rounding"). After a ReLU whose input is a rounding error away from
zero any error may occur: the graph runs again with four times the perturbation,
and mpc's error may be 1.5 times the worst of these ("kink"). A step in fp16 may
be skipped if f64 has a gradient that overflows fp16 ("overflow"). PyTorch has no
fp8, so for fp8 the comparison is always with perturbed runs. With --compare, `mpc
compare --against=fp64` must also pass ("compare" if only that fails).

The results of each graph go to a file (default: deep-sweep.jsonl), and a run
that is started again resumes. --junit also writes them as tests.
--only runs one graph, --keep keeps its files, --reduce finds the smallest size
that fails: graphs of the same seed have the same beginning.
"""
import argparse
import concurrent.futures
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..")]
import torch

import blocks
import npz
import torch_ops

# Half an ulp of the type to which each precision rounds results. In fp8, products
# with extents that are multiples of 16 read FP8.
UNITS = {"fp32": 2.0**-24, "bf16": 2.0**-9, "fp16": 2.0**-12, "fp8": 2.0**-9}
PRODUCT_UNITS = {"fp8": 2.0**-4}
GRAINS = {"fp8": 16}
LOSS_SCALE = 256
LARGEST_FP16 = 65504
OPTIONS = {"fp16": [f"--loss-scale={LOSS_SCALE}"],
           "fp8": ["--fp8-scaling=current", "--fp8-all-layers"]}
LIMIT = 4.0
# A learning rate so large that only a rounding error of the old weights remains: the new
# weights are the gradients.
RATE = 2.0**40
SAMPLES = 16
# After a kink the error may be 1.5 times that of the worst sample, not LIMIT times.
KINK = 1.5 / LIMIT


def cases(count, seed):
    """FAMILY/SEED/SIZE/PRECISION, in an order such that each part is a mixture."""
    draw = random.Random(seed)
    for index in range(count):
        family = list(blocks.FAMILIES)[index % 4]
        kind = draw.random()
        low, high = ((60, 110) if kind < 0.75 else (110, 250) if kind < 0.94 else
                     (250, 800) if kind < 0.995 else (1000, 5000))
        precision = draw.choice(["fp32"] * 11 + ["bf16"] * 3 + ["fp16"] * 3 + ["fp8"] * 3)
        yield f"{family}/{seed + index}/{draw.randrange(low, high)}/{precision}"


def read_safetensors(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            values = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32) \
                if end > begin else torch.zeros(0)
            tensors[name] = values.reshape(entry["shape"]).double()
    return tensors


class Failed(Exception):
    pass


class Skipped(Exception):
    """The gradients were not finite."""


def mpc(program, *arguments, folder, statuses=(0,)):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode not in statuses:
        raise Failed(f"mpc {arguments[0]} exits with {done.returncode}: "
                     + done.stderr.strip()[-400:])
    return done.stdout


def step(program, graph, precision, folder):
    """The loss and the gradients of one step, in the form of torch_ops.run."""
    graph.write(f"{folder}/deep", npz)
    mpc(program, "compile", "deep.onnxtxt", f"--precision={precision}", "--optimizer=sgd",
        f"--lr={RATE:.0f}", "-o", "deep.mpc", *OPTIONS.get(precision, []), folder=folder)
    out = mpc(program, "train", "deep.mpc", "--data=deep.npz", "--steps=1",
              "--checkpoint-dir=run", "--json", "--no-shuffle", "--threads=1", folder=folder)
    line = json.loads(out.splitlines()[0])
    if line["skipped"]:
        raise Skipped()
    # A weight without any effect is not in the checkpoint.
    after = {name: torch_ops.tensor(source, torch.float64)
             for name, source in graph.weights.items()}
    after |= read_safetensors(f"{folder}/run/step-1/model.safetensors")
    return line["loss"], {
        name: (torch_ops.tensor(source, torch.float64) - after[name]) / RATE
        for name, source in graph.weights.items()}


def compare(program, precision, folder):
    """The reason why `mpc compare` fails, or None."""
    out = mpc(program, "compare", "deep.onnxtxt", "--data=deep.npz", "--against=fp64",
              "--steps=1", f"--precision={precision}", "--json", *OPTIONS.get(precision, []),
              folder=folder, statuses=(0, 1, 6))
    found = json.loads(out)
    return None if found["holds"] else found["verdict"]


class Errors:
    """Distances of a run from the reference."""

    def __init__(self, run, reference):
        self.loss = abs(run[0] - reference[0])
        self.tensors = {name: (run[1][name] - reference[1][name]).norm().item()
                        for name in reference[1]}
        self.all = sum(error**2 for error in self.tensors.values()) ** 0.5

    def scaled(self, share):
        self.loss *= share
        self.all *= share
        self.tensors = {name: error * share for name, error in self.tensors.items()}
        return self

    def worst(self, other):
        """Takes the maximum with `other`."""
        self.loss = max(self.loss, other.loss)
        self.all = max(self.all, other.all)
        self.tensors = {name: max(error, other.tensors[name])
                        for name, error in self.tensors.items()}
        return self


def perturbed(graph, reference, precision, samples, found=None, factor=1.0, share=1.0):
    """The quantile `share` of the worst errors of runs with rounding."""
    unit, product_unit = UNITS[precision], PRODUCT_UNITS.get(precision, 0.0)
    for seed in range(samples):
        run = torch_ops.run(graph, torch.float64, factor * unit, seed, factor * product_unit)
        errors = Errors(run, reference).scaled(share)
        found = errors if found is None else found.worst(errors)
    return found


def ratios(errors, yardstick, reference, ulp):
    """The ratios of the loss, of all gradients as one vector, and the worst of a tensor.

    A small tensor may be exact in the compared run by chance. The divisor is therefore
    at least the usual error of tensors in the graph, and a rounding error of the whole
    gradient. For gradients that are only rounding errors, such as those of biases before
    a norm, relative errors are meaningless, but an ulp of the whole gradient is no
    error.
    """
    norms = {name: gradient.norm().item() for name, gradient in reference[1].items()}
    usual = statistics.median([yardstick.tensors[name] / norm if norm else 0.0
                               for name, norm in norms.items()])
    total = sum(norm**2 for norm in norms.values()) ** 0.5
    count = sum(gradient.numel() for gradient in reference[1].values())
    worst, name_of_worst = 0.0, None
    for name, norm in norms.items():
        is_zero = norm < 1e-10 * total
        share = 1.0 if is_zero else (reference[1][name].numel() / count) ** 0.5
        floor = ulp * total * share
        allowed = max(yardstick.tensors[name], usual * norm, floor)
        if not errors.tensors[name] <= worst * allowed:
            worst, name_of_worst = errors.tensors[name] / allowed, name
    return {"loss": errors.loss / max(yardstick.loss, ulp * abs(reference[0])),
            "gradient": errors.all / max(yardstick.all, ulp * total),
            "tensor": worst, "name": name_of_worst}


def holds(found):
    return max(found["loss"], found["gradient"], found["tensor"]) <= LIMIT


def run_in_torch(graph, precision):
    if precision == "fp32":
        return torch_ops.run(graph, torch.float32)
    return torch_ops.run_autocast(graph, {"bf16": torch.bfloat16, "fp16": torch.float16}[precision])


def verdict_of(program, precision, folder, compared, verdict):
    why = compare(program, precision, folder) if compared else None
    return {"verdict": verdict} if why is None else {"verdict": "compare", "why": why}


def judge(graph, precision, program, folder, compared):
    """The record of a graph, without its name."""
    reference = torch_ops.run(graph, torch.float64)
    record = {"nodes": len(graph.nodes), "weights": len(graph.weights)}
    try:
        errors = Errors(step(program, graph, precision, folder), reference)
    except Failed as failure:
        return record | {"verdict": "fails", "why": str(failure)}
    except Skipped:
        largest = max(gradient.abs().max().item() for gradient in reference[1].values())
        if precision == "fp16" and LOSS_SCALE * largest > LARGEST_FP16:
            return record | {"verdict": "overflow", "largest": largest}
        return record | {"verdict": "fails", "why": "the step was skipped"}
    unit = UNITS[precision]
    total = sum(g.norm().item()**2 for g in reference[1].values()) ** 0.5
    record |= {"loss_error": errors.loss / abs(reference[0]), "gradient_error": errors.all / total}

    yardstick, is_rounding = None, precision == "fp8"
    if not is_rounding:
        yardstick = Errors(run_in_torch(graph, precision), reference)
        record["torch"] = ratios(errors, yardstick, reference, 2 * unit)
        is_rounding = not holds(record["torch"])
    if not is_rounding:
        return record | verdict_of(program, precision, folder, compared, "holds")
    yardstick = perturbed(graph, reference, precision, SAMPLES, yardstick)
    record["rounding"] = ratios(errors, yardstick, reference, 2 * unit)
    if not holds(record["rounding"]):
        yardstick = perturbed(graph, reference, precision, 2 * SAMPLES, yardstick, LIMIT, KINK)
        record["kink"] = ratios(errors, yardstick, reference, 2 * unit)
        return record | ({"verdict": "kink"} if holds(record["kink"]) else
                         {"verdict": "fails", "why": "errors are larger than those of rounding"})
    return record | verdict_of(program, precision, folder, compared,
                               "holds" if precision == "fp8" else "rounding")


def run_case(case, program, keep=None, compared=False):
    torch.set_num_threads(1)
    family, seed, size, precision = case.split("/")
    graph = blocks.make_graph(family, int(seed), int(size), GRAINS.get(precision, 1))
    with tempfile.TemporaryDirectory(prefix="deep-") as folder:
        folder = keep or folder
        os.makedirs(folder, exist_ok=True)
        return {"case": case} | judge(graph, precision, program, folder, compared)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def is_failure(record):
    return record["verdict"] in ("fails", "compare")


def show(records):
    print(f"{'':10}{'graphs':>7}{'nodes':>14}{'holds':>7}{'rounding':>9}{'kink':>5}{'overflow':>9}{'compare':>8}{'fails':>6}"
          f"   ratio of gradients: half, 90 %, 99 %, worst; worst of losses")
    for precision in UNITS:
        rows = [r for r in records if r["case"].endswith("/" + precision)]
        if not rows:
            continue
        nodes = [r["nodes"] for r in rows]
        counts = [sum(r["verdict"] == verdict for r in rows)
                  for verdict in ("holds", "rounding", "kink", "overflow", "compare", "fails")]
        key = "rounding" if precision == "fp8" else "torch"
        gradients = [r[key]["gradient"] for r in rows if key in r]
        losses = [r[key]["loss"] for r in rows if key in r]
        spread = ", ".join(f"{quantile(gradients, share):.2f}" for share in (0.5, 0.9, 0.99, 1)) \
            if gradients else "-"
        print(f"{precision:10}{len(rows):7}{f'{min(nodes)}-{max(nodes)}':>14}{counts[0]:7}"
              f"{counts[1]:9}{counts[2]:5}{counts[3]:9}{counts[4]:8}{counts[5]:6}   {spread}; "
              f"{max(losses, default=0):.2f}")
    for record in records:
        if is_failure(record):
            print(f"{record['verdict']}: {record['case']} ({record['nodes']} nodes): "
                  f"{record['why']} {json.dumps(record.get('rounding', {}))}")


def write_junit(path, records):
    suite = ElementTree.Element("testsuite", name="deep-sweep")
    for record in records:
        case = ElementTree.SubElement(suite, "testcase", classname="deep-sweep",
                                      name=record["case"])
        if is_failure(record):
            ElementTree.SubElement(case, "failure", message=record["why"])
    ElementTree.ElementTree(suite).write(path)


def reduce(case, program):
    """The record of the smallest size that still fails for the same seed."""
    family, seed, size, precision = case.split("/")
    for smaller in sorted({max(2, int(size) * part // 12) for part in range(1, 13)}):
        record = run_case(f"{family}/{seed}/{smaller}/{precision}", program)
        print(f"{smaller:6} {record['verdict']:9} {json.dumps(record.get('rounding', {}))}",
              flush=True)
        if record["verdict"] == "fails":
            return record
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("mpc")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", default="deep-sweep.jsonl")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--junit")
    parser.add_argument("--only")
    parser.add_argument("--keep")
    parser.add_argument("--reduce", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(options.mpc)
    if options.only:
        record = reduce(options.only, program) if options.reduce else \
            run_case(options.only, program, options.keep, options.compare)
        print(json.dumps(record, indent=1))
        sys.exit(record is not None and is_failure(record))

    records = {}
    if os.path.exists(options.results):
        with open(options.results) as file:
            for record in map(json.loads, file):
                records[record["case"]] = record
    wanted = list(cases(options.count, options.seed))
    missing = [case for case in wanted if case not in records]
    with open(options.results, "a") as file, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for record in pool.map(lambda case: run_case(case, program, compared=options.compare), missing):
            records[record["case"]] = record
            file.write(json.dumps(record) + "\n")
            file.flush()
    found = [records[case] for case in wanted]
    show(found)
    if options.junit:
        write_junit(options.junit, found)
    sys.exit(any(map(is_failure, found)))


if __name__ == "__main__":
    main()
