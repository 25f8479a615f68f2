"""Compiles models of test/goldens/families with and without debug locations.

usage: strip_locations.py MPC MPC_OPT [--count=N] [--last=STAGE]

Locations are for diagnostics: a module whose locations are stripped before every
stage becomes the same program. Only texts for people, which name nodes, are missing:
the attributes of the module and the names of calls.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[4] / "goldens" / "families"
PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8")
STAGES = ("graph", "grad", "precision", "fusion", "plan", "codegen")


def models(count):
    """Paths of `count` models of all groups, and the options they are compiled with."""
    every = []
    for group in sorted(ROOT.glob("*/*.json")):
        if group.name == "MANIFEST.json":
            continue
        for name, golden in json.loads(group.read_text()).items():
            for exporter in golden["exporters"]:
                path = group.parent / f"{name}-{exporter}.onnx"
                every.append((path.stat().st_size, path, golden["options"]))
    # The smaller half, so that a run takes seconds: what is told by locations does
    # not depend on sizes.
    every = sorted(every)[: len(every) // 2]
    return [entry[1:] for entry in every[:: len(every) // count][:count]]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, (command, result.stderr)
    return result.stdout


def program(text):
    """Its lines without texts for people: reports, and the names of calls."""
    lines = [line for line in text.splitlines() if not line.startswith("module attributes")]
    return [re.sub(r'(?<=[{ ])name = "[^"]*",? ?', "", line) for line in lines]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("mpc")
    parser.add_argument("mpc_opt")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--last", choices=STAGES, default="plan")
    options = parser.parse_args()
    last = STAGES.index(options.last) + 1
    chosen = models(options.count)
    assert len(chosen) == options.count, len(chosen)
    for path, flags in chosen:
        loss = [flag[2:] for flag in flags if not flag.startswith("--freeze=")]
        with tempfile.TemporaryDirectory() as folder:
            run([options.mpc, "compile", path, "--precision=fp32", *flags,
                 "--stop-after=graph", f"--dump-stages={folder}"])
            dump = f"{folder}/0-import.mlirbc"
            for precision in PRECISIONS:
                stages = [f"--mpc-stage-{name}" for name in STAGES[:last]]
                stages[1] += "=" + " ".join(loss)
                stages[2] += f"=precision={precision}"
                stripped = [part for stage in stages for part in ("--strip-debuginfo", stage)]
                expected = program(run([options.mpc_opt, dump, *stages]))
                found = program(run([options.mpc_opt, dump, *stripped]))
                assert len(expected) > 10
                assert found == expected, (path.name, precision, next(
                    (a, b) for a, b in zip(expected, found) if a != b))
    print(f"{len(chosen)} models in {len(PRECISIONS)} precisions: same programs")


if __name__ == "__main__":
    sys.exit(main())
