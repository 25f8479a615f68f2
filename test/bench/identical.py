#!/usr/bin/env python3
"""Compares the results of two builds of mpc on the same models, bit by bit.

usage: identical.py OLD NEW [--only=REGEX] [--models=40] [--results=FILE]

OLD and NEW are two mpc binaries. Models of test/goldens/families are compiled in
all precisions with several sets of flags and trained for a few steps, by OLD and by
NEW. Packages, losses, and all states of the checkpoint should be the same. A
different package is not a failure if everything computed from it is the same, because
the format may change. The exit code is 1 if a loss, a state or an exit code differs.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FAMILIES = pathlib.Path(__file__).resolve().parents[1] / "goldens" / "families"
PRECISIONS = ("fp32", "bf16", "fp16", "fp8")
STEPS = 6
# Each model is compiled in each precision, without flags and with two of these sets.
FLAGS = (
    ["--accumulate=2", "--clip-norm=1"],
    ["--ema=0.9", "--ema-warmup", "--lr-schedule=cosine", "--warmup=2"],
    ["--recompute=selective", "--optimizer=lion"],
    ["--freeze=(bias|0)", "--optimizer=momentum", "--nesterov"],
    ["--no-decay=norms,biases", "--group=.*weight:lr=0.5x", "--clip-value=0.5"],
    ["--check-numerics", "--accumulate=3", "--ema=0.99"],
    ["--master-weights=bf16-kahan", "--recompute=full"],
    ["--master-weights=bf16-stochastic", "--optimizer=adam"],
    ["--target=cpu,cuda", "--accumulate=2", "--optimizer=nadam"],
    ["--optimizer=lamb", "--memory-budget=80%"],
    ["--optimizer=rmsprop", "--momentum=0.9", "--observe=numerics"],
    ["--optimizer=adagrad", "--detach=.*1.*", "--batchnorm=frozen"],
)


def cases(count):
    """(model, data, golden's options, precision, flags), models from all groups."""
    goldens = [
        (group, name, golden)
        for group in sorted(FAMILIES.glob("*/*.json"))
        if group.name != "MANIFEST.json"
        for name, golden in json.loads(group.read_text()).items()
    ]
    chosen = goldens[:: max(1, len(goldens) // count)][:count]
    for number, (group, name, golden) in enumerate(chosen):
        folder = FAMILIES / group.stem
        exporters = golden["exporters"]
        model = folder / f"{name}-{exporters[number % len(exporters)]}.onnx"
        for index, precision in enumerate(PRECISIONS):
            first = 4 * number + 2 * index
            for flags in ([], FLAGS[first % len(FLAGS)], FLAGS[(first + 1) % len(FLAGS)]):
                yield model, folder / f"{name}.npz", golden["options"], precision, flags


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(mpc, model, data, options, folder):
    """The results of this build, without texts, which may change."""
    package, checkpoints = folder / "model.mpc", folder / "run"
    shutil.rmtree(checkpoints, ignore_errors=True)
    package.unlink(missing_ok=True)
    found = {}
    done = subprocess.run(
        [mpc, "compile", model, *options, "-o", package], capture_output=True, text=True
    )
    found["compile"] = done.returncode
    if done.returncode != 0:
        found["error"] = done.stderr.strip().splitlines()[-1:]
        return found
    found["package"] = digest(package)
    done = subprocess.run(
        [mpc, "train", package, f"--data={data}", f"--steps={STEPS}", "--seed=3", "--threads=1",
         "--device=cpu", f"--checkpoint-dir={checkpoints}", "--json"],
        capture_output=True, text=True,
    )
    found["train"] = done.returncode
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found["losses"] = [line["loss"] for line in lines if "step" in line and "loss" in line]
    found["states"] = states_of(checkpoints)
    return found


def states_of(checkpoints):
    """Digests of the tensors in the last checkpoint, by name."""
    states = {}
    for path in sorted(checkpoints.rglob("*.safetensors")):
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        for name, entry in json.loads(content[8 : 8 + size]).items():
            if name != "__metadata__":
                begin, end = (8 + size + offset for offset in entry["data_offsets"])
                states[name] = hashlib.sha256(content[begin:end]).hexdigest()
    return states


def compare(old, new):
    """The verdict in one word, and the differences."""
    if old["compile"] != new["compile"]:
        return "DIFFERS", f"compile: exit status {old['compile']} and {new['compile']}"
    if old["compile"] != 0:
        return "refused", "".join(old["error"])
    for key in ("train", "losses"):
        if old[key] != new[key]:
            return "DIFFERS", f"{key}: {old[key]} and {new[key]}"
    if old["states"] != new["states"]:
        names = [n for n in old["states"] | new["states"] if old["states"].get(n) != new["states"].get(n)]
        return "DIFFERS", f"states: {', '.join(sorted(names)[:5])}"
    if old["train"] == 0 and not (old["losses"] and old["states"]):
        return "DIFFERS", "nothing to compare: no losses or no states"
    return ("same", "") if old["package"] == new["package"] else ("other package", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="", help="cases whose line matches this")
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--results", type=pathlib.Path, help="a line of JSON per case; a run goes on where it stopped")
    arguments = parser.parse_args()
    known = {}
    if arguments.results and arguments.results.exists():
        known = dict(json.loads(line) for line in arguments.results.read_text().splitlines())
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model, data, options, precision, flags in cases(arguments.models):
            title = " ".join([model.stem, precision, *flags])
            if not re.search(arguments.only, title):
                continue
            if title not in known:
                options = [*options, f"--precision={precision}", *flags]
                known[title] = compare(*(run(mpc, model, data, options, folder) for mpc in (arguments.old, arguments.new)))
                if arguments.results:
                    with arguments.results.open("a") as file:
                        file.write(json.dumps([title, known[title]]) + "\n")
            verdict, why = known[title]
            counts[verdict] += 1
            if verdict != "same":
                print(f"{title}: {verdict} {why}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    sys.exit(1 if counts["DIFFERS"] or not counts else 0)


if __name__ == "__main__":
    main()
