"""Examples in docstrings and in the guide run; every public name is documented and in stubs."""

import ast
import contextlib
import dataclasses
import doctest
import importlib
import inspect
import io
import os
import pathlib
import re
import tempfile
import unittest
import warnings

import numpy

import mpc
from digits import FOLDER, program, session, train_data
from mpc import _compile, _runtime

SOURCE = pathlib.Path(mpc.__file__).resolve().parent
MODULES = ("_diagnosis.bisect", "_diagnosis.compare", "_diagnosis.profile", "_diagnosis.ranges",
           "_batches", "_compile", "_errors", "_program", "_ranks.communicator", "_report", "_session", "_torch", "_training.arguments", "_training.callbacks", "_training.trainer")


class Documents(unittest.TestCase):
    def test_doctests(self):
        data = train_data()
        names = {"mpc": mpc, "numpy": numpy, "program": program(), "session": session(), **data}
        found = 0
        for module in MODULES:
            with contextlib.chdir(FOLDER):
                results = doctest.testmod(importlib.import_module(f"mpc.{module}"), extraglobs=names)
            self.assertEqual(results.failed, 0)
            found += results.attempted
        self.assertGreater(found, 10)

    def test_guide(self):
        """Runs the blocks of the guide, in a folder with the digits."""
        guide = pathlib.Path(os.environ["MPC_GUIDE"]).read_text()
        blocks = re.findall(r"```python\n(.*?)```", guide, re.S)
        blocks = [block for block in blocks if "torch" not in block]
        self.assertGreater(len(blocks), 3)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for name in ("mlp.onnx", "digits-train.npz", "digits-test.npz"):
                os.symlink(FOLDER / name, name)
            names = {}
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore", mpc.CompileNote)
                for block in blocks:
                    exec(block, names)

    def test_public_names_are_documented(self):
        for name in mpc.__all__:
            value = getattr(mpc, name)
            if name == "Batch":
                continue
            self.assertTrue(inspect.getdoc(value), name)
            if not inspect.isclass(value) or issubclass(value, (tuple, BaseException)):
                continue
            for member, attribute in vars(value).items():
                is_field = member in getattr(value, "__dataclass_fields__", ())
                if not member.startswith("_") and not (is_field or inspect.isdatadescriptor(attribute)):
                    self.assertTrue(inspect.getdoc(attribute), f"{name}.{member}")

    def test_guide_has_all_training_arguments(self):
        guide = pathlib.Path(os.environ["MPC_GUIDE"]).read_text()
        for field in dataclasses.fields(mpc.TrainingArguments):
            self.assertIn(f"`{field.name}`", guide)

    def test_stub_of_the_extension_is_complete(self):
        tree = ast.parse((SOURCE / "_runtime.pyi").read_text())
        stubs = {
            node.name: {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        }
        names = [n for n, value in vars(_runtime).items() if inspect.isclass(value)]
        self.assertEqual(sorted(stubs), sorted(names))
        for name in names:
            members = {m for m in vars(getattr(_runtime, name)) if not m.startswith("__")}
            self.assertEqual(members, stubs[name] - {"__init__"}, name)

    def test_stub_of_compile_has_the_options(self):
        tree = ast.parse((SOURCE / "_compile.pyi").read_text())
        (function,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "compile")
        stub = [argument.arg for argument in function.args.kwonlyargs]
        self.assertEqual(
            stub, ["output", "folder", *_compile.list_options()],
            "write it again with test/python/Inputs/make_stub.py",
        )


if __name__ == "__main__":
    unittest.main()
