#!/usr/bin/env python3
"""Finds the tests of an op, for tools/test.sh --op=NAME.

tests_of_op.py NAME       NAME is an ONNX op (Gather, com.microsoft.SliceGrad) or one of ours (train.matmul)
tests_of_op.py --untested ops that have no test of any kind

Prints a line for each test, or group of tests, that the registries list:

  lit PATH                a lit test below test/ that contains or names the op, or runs a model or golden with it
  gtest PROGRAM FILTER    tests of a GoogleTest program whose bodies name the op, or that run a row with it
  families GROUP NAME     a golden of test/goldens/families
  onnx OP                 ONNX's own node tests (test/onnx/node_tests.py)
"""
import difflib
import functools
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEST = ROOT / "test"
LIT = (".mlir", ".onnxtxt", ".test", ".textproto")


def known_ops():
    """All ops, by each of their names: {"Gather": "Gather", "SliceGrad": "com.microsoft.SliceGrad", "train.add": ...}."""
    table = (ROOT / "compiler/Import/OPS.md").read_text()
    ops = re.findall(r"^\| ([A-Z]\w*|[a-z.]+\.[A-Z]\w*) \| \d", table, re.M)
    ours = []
    for td in (ROOT / "compiler/Dialect/Train").rglob("*.td"):
        ours += re.findall(r'^def Train_\w+Op\s*:\s*\w+<\s*"(\w+)"', td.read_text(), re.M)
    names = {f"train.{name}": f"train.{name}" for name in ours}
    for op in ops:
        names.setdefault(op.rpartition(".")[2], op)
        names[op] = op
    return names


class Op:
    def __init__(self, name):
        self.name = name
        self.short = name if name.startswith("train.") else name.rpartition(".")[2]
        word = re.escape(self.short)
        # Names of ops are also ordinary words: Add, Size, If.
        used = rf"""(?<![\w])(?:{word}\s*[<("]|\({word}\)|"{word}"|'{word}'|=\^?{word}\b)"""
        self.used = re.compile(rf"\b{word}(?![\w.])" if name.startswith("train.") else used)
        # Field 4 of a NodeProto, op_type.
        self.encoded = bytes([0x22, len(self.short)]) + self.short.encode()

    def is_in(self, text):
        return self.used.search(text) is not None


@functools.cache
def read(path):
    return path.read_text(errors="replace")


@functools.cache
def read_bytes(path):
    return path.read_bytes()


@functools.cache
def files(folder, *suffixes):
    return sorted(path for path in (TEST / folder).rglob("*") if path.suffix in suffixes)


def in_model(op, path):
    return op.encoded in read_bytes(path) if path.suffix == ".onnx" else op.is_in(read(path))


def lit_tests():
    for path in files(".", *LIT):
        inputs = "Inputs" in path.parts or path.is_relative_to(TEST / "models")
        if not inputs and "RUN:" in read(path) and path.name != "test-op.test":
            yield path


def find_lit(op):
    inputs = [p for p in files(".", ".onnx", *LIT, ".py") if "Inputs" in p.parts and in_model(op, p)]
    for path in lit_tests():
        text = read(path)
        if op.is_in(text) or any(p.name in text for p in inputs if p.parents[1] in path.parents):
            yield "lit", path.relative_to(TEST).as_posix()


def find_goldens(op):
    """Lit tests of goldens are named like their folder; those of ONNX Runtime name the folder of the model."""
    for path in files("goldens", ".onnx"):
        folder = path.parent.name
        if in_model(op, path) and path.parent.parent.name == "families":
            name = re.sub("-(script|dynamo|optimized)$", "", path.stem)
            yield "families", folder, name
        elif in_model(op, path):
            yield "lit", f"goldens/{folder.replace('_', '-')}.test"
    for path in files("models/ort", ".onnx"):
        if in_model(op, path):
            for test in lit_tests():
                if "goldens/ort" in test.as_posix() and re.search(rf"\b{path.parent.name}\b(?!-)", read(test)):
                    yield "lit", test.relative_to(TEST).as_posix()
    if any(in_model(op, path) for path in files("onnx/microsoft", ".onnx")):
        yield "lit", "onnx/microsoft-ops.test"


@functools.cache
def programs():
    """The program of each test source."""
    found = {}
    for path in files(".", ".txt"):
        if path.name == "CMakeLists.txt":
            for program, body in re.findall(r"mpc_add_unit_test\((mpc-[\w-]+)(.*?)\)", read(path), re.S):
                for source in re.findall(r"[\w./-]+_test\.cpp", body):
                    found[(path.parent / source).resolve()] = program
    return found


def find_gtest(op):
    """Tests whose bodies name the op."""
    for path, program in programs().items():
        parts = re.split(r"^(?:TEST|TEST_F|TEST_P)\((\w+),\s*(\w+)\)", read(path), flags=re.M)
        for suite, name, body in zip(parts[1::3], parts[2::3], parts[3::3]):
            if op.is_in(body.replace('\\"', '"')):
                yield "gtest", program, f"{suite}.{name}:*/{suite}.{name}/*"


def find_rows(op):
    """Rows of tables that GoogleTest programs run and that have the op."""
    if re.search(rf"\b{re.escape(op.short)}\b", read(TEST / "compiler/Import/nodes.h")):
        yield "gtest", "mpc-import-test", "OpList.*:HostileOps.*"
    for path in (TEST / "gradients").glob("models*.cpp"):
        for row in re.split(r'^\s*(?=\{"|MPC_\w+\(")', read(path), flags=re.M)[1:]:
            macro, name = re.match(r'(\{|MPC_\w+\()"(\w+)"', row).groups()
            if op.is_in(row.replace(f'"{name}"', "", 1)):
                yield "gtest", "mpc-gradients-test", f"Models/*/{'' if macro == '{' else '*_'}{name}"
    sampled = re.compile(rf'\{{"{re.escape(op.short)}",')
    if any(sampled.search(read(path)) for path in (TEST / "gradients/samples").glob("*.cpp") if path.stem != "samples"):
        yield "gtest", "mpc-gradients-test", f"Ops/*/{op.short}"
    points = json.loads(read(TEST / "gradients/special/goldens/special_points.json"))
    for name, row in points.items():
        if op.is_in("\n".join(row["nodes"])):
            yield "gtest", "mpc-gradients-test", f"All/*SpecialPoints.*/{name}"
    for path in files("models/goldens", ".onnxtxt"):
        if op.is_in(read(path)):
            yield "gtest", "mpc-models-test", f"All/Models.*/{path.stem}_????"


PARTS = (find_rows, find_lit, find_goldens, find_gtest)


def find(op):
    """All tests of the op, in order."""
    found = dict.fromkeys(line for part in PARTS for line in part(op))
    if op.name[0].isupper():
        found["onnx", op.name] = None
    return list(found)


def main(argument):
    names = known_ops()
    if argument == "--untested":
        for name in sorted(set(names.values())):
            if not any(True for part in PARTS for _ in part(Op(name))):
                print(name)
        return 0
    if argument not in names:
        near = difflib.get_close_matches(argument.lower(), [name.lower() for name in names], 1, 0)
        nearest = next(name for name in names if name.lower() == near[0])
        print(f"test.sh: error: --op: there is no op '{argument}', neither in compiler/Import/OPS.md nor in the train "
              f"dialect; nearest is '{nearest}'", file=sys.stderr)
        return 2
    for line in find(Op(names[argument])):
        print(*line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
