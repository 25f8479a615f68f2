"""mpc.compare, mpc.bisect, mpc.ranges and mpc.profile."""

import contextlib
import json
import math
import os
import sys
import tempfile
import unittest
import warnings

import numpy as np

import mpc
from digits import FOLDER, MLP, batches, session, train_data

DATA = str(FOLDER / "digits-train.npz")


class Diagnosis(unittest.TestCase):
    def check_views(self, result, records, name):
        """Tables and figures, with and without the packages for them."""
        self.assertIn(name, result._repr_html_())
        for record in records:
            self.assertFalse(hasattr(record, "__dict__"))
        for package, call in (("pandas", result.to_dataframe), ("matplotlib", result.plot)):
            with _without(package), self.assertRaisesRegex(ImportError, f"pip install {package}"):
                call()
        with contextlib.suppress(ImportError):
            self.assertEqual(len(result.to_dataframe()), len(records))
        with contextlib.suppress(ImportError):
            result.plot()
            getattr(result, "plot_losses", result.plot)()

    def test_compare(self):
        result = mpc.compare(MLP, train_data(), steps=3, batch=64, threads=1)
        self.assertIsInstance(result, mpc.Comparison)
        self.assertTrue(result.holds)
        self.assertIn("bf16 agrees with fp32", result.verdict)
        self.assertIsNone(result.parting)
        self.assertIsInstance(result.ops[0], mpc.ComparedOp)
        self.assertEqual((result.ops[1].phase, result.ops[0].inputs_error), ("forward", 0))
        self.assertIsInstance(result.steps[0], mpc.ComparedStep)
        self.assertAlmostEqual(result.steps[0].grad_norm, result.steps[0].reference_grad_norm, 2)
        self.assertEqual((result.precision, result.against, len(result.steps)), ("bf16", "fp32", 3))
        self.assertEqual(result.loss_error, max(
            abs(step.loss - step.reference_loss) / step.reference_loss for step in result.steps
        ))
        self.check_views(result, result.ops, "<td>fc1</td>")
        # The losses are those of training.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = mpc.compile(MLP, batch=64)
            args = mpc.TrainingArguments(max_steps=3, logging_steps=1, device="cpu", threads=1)
            with mpc.Trainer(made, args, train_dataset=train_data()) as trainer:
                trainer.train()
        losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
        np.testing.assert_allclose([step.loss for step in result.steps], losses, rtol=1e-6)

    def test_compare_finds_the_op(self):
        result = mpc.compare(MLP.read_bytes(), DATA, steps=1, batch=64, precision="fp16",
                             loss_scale=1e9)
        self.assertFalse(result.holds)
        self.assertEqual((result.parting.node, result.parting.error), ("fc2.grad", math.inf))
        self.assertTrue(math.isnan(result.steps[0].loss))
        self.assertIn("fc2.grad", repr(result))

    def test_bisect(self):
        result = mpc.bisect(MLP, DATA, steps=2, tolerance=1e-5, batch=64,
                            keep_fp32="fc1|norm|gelu|dropout")
        self.assertTrue(0 < len(result.ops) <= result.of)
        self.assertIsInstance(result.ops[0], mpc.KeptOp)
        self.check_views(result, result.ops, "must stay in f32")
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result.save_policy(os.path.join(folder, "policy.toml"))
            made = mpc.compile(MLP, policy=os.path.join(folder, "policy.toml"))
        formats = {op["node"]: op["dtype"] for op in made.report().ops if op["type"] == "Gemm"}
        self.assertEqual(formats[result.ops[0].node], "f32")

    def test_ranges(self):
        images = train_data()["images"]
        result = mpc.ranges(MLP, train_data(), steps=3, batch=64, threads=1)
        self.assertIsInstance(result, mpc.Ranges)
        self.assertEqual(result.steps, 3)
        named = {one.name: one for one in result.tensors}
        one = named["images"]
        self.assertIsInstance(one, mpc.TensorRange)
        self.assertEqual((one.kind, one.op, one.type, one.shape), ("input", "", "", (64, 1, 8, 8)))
        self.assertEqual(one.count, 3 * 64 * 64)
        self.assertEqual((one.nans, one.infinities, sum(one.exponents.values()) + one.zeros),
                         (0, 0, one.count))
        self.assertAlmostEqual(one.largest, images.max(), 6)
        self.assertAlmostEqual(one.smallest, images[images > 0].min(), 6)
        self.assertEqual(max(one.exponents), math.floor(math.log2(one.largest)))
        self.assertEqual((named["fc1"].kind, named["fc1"].type), ("forward", "Gemm"))
        self.assertGreater(named["fc1"].sensitivity["bf16"], named["fc1"].sensitivity["f16"])
        self.check_views(result, result.tensors, "images")
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = os.path.join(folder, "profile.json")
            result.save_profile(path)
            made = mpc.compile(MLP, batch=64, precision="auto", profile=path)
        self.assertEqual(json.loads(result.profile)["steps"], 3)
        self.assertTrue(made.report().ops)

    def test_profile(self):
        with session() as trained:
            result = mpc.profile(trained, next(batches()), steps=4)
            self.assertEqual(trained.step(next(batches())).step, 8)
            self.assertEqual(result.calls, 4)
            times = result.instructions
            self.assertAlmostEqual(sum(one.seconds for one in times), result.seconds)
            self.assertEqual(times, sorted(times, key=lambda one: -one.seconds))
            gemm = next(one for one in times if one.kernel == "matmul")
            self.assertIn("fc", gemm.nodes)
            self.assertGreater(gemm.flops, 0)
            self.check_views(result, times, "matmul")
            with tempfile.TemporaryDirectory() as folder:
                result.save_trace(os.path.join(folder, "trace.json"))
                with open(os.path.join(folder, "trace.json")) as file:
                    self.assertTrue(json.load(file)["traceEvents"])
            images = next(batches())["images"]
            predicted = mpc.profile(trained, images, steps=2, entry="predict")
            self.assertIn("predict", {one.entry for one in predicted.instructions})

    def test_misuse(self):
        with session() as trained, tempfile.TemporaryDirectory() as folder:
            batch = next(batches())
            for call, error, words in (
                (lambda: mpc.profile(trained, batch, steps=0), mpc.InvalidArgument, "at least 1"),
                (lambda: mpc.profile(trained, batch, entry="walk"), mpc.InvalidArgument, "'walk'"),
                (lambda: mpc.profile(trained, {}), mpc.InvalidArgument, "lacks the input"),
                (trained.stop_profile, mpc.InvalidArgument, "profile"),
                (lambda: mpc.compare(MLP, 1), TypeError, "data must be a path or a dict"),
                (lambda: mpc.compare(1, DATA), TypeError, "model must be a path"),
                (lambda: mpc.compare(MLP, DATA, stepz=1), TypeError, "did you mean 'steps'"),
                (lambda: mpc.compare(MLP, DATA, batch="64"), TypeError, "batch must be an integer"),
                (lambda: mpc.compare(MLP, DATA, steps=0), mpc.InvalidArgument, "steps"),
                (lambda: mpc.compare(MLP, DATA, against="fp8"), mpc.InvalidArgument, "against.*fp8"),
                (lambda: mpc.compare(MLP, DATA, precision="fp64"), mpc.InvalidArgument, "fp64"),
                (lambda: mpc.compare(MLP, DATA + "x"), mpc.IoError, "digits-train.npzx"),
                (lambda: mpc.compare(b"", DATA), mpc.InvalidArgument, "model"),
                (lambda: mpc.compare(MLP, {"images": batch["images"]}), mpc.InvalidArgument, "labels"),
                (lambda: mpc.ranges(MLP, DATA, precision="bf16"), TypeError, "measures in fp32"),
                (lambda: mpc.ranges(MLP, DATA, stepz=1), TypeError, "no option 'stepz'"),
                (lambda: mpc.ranges(MLP, DATA, batch=64, steps=0), mpc.InvalidArgument, "steps"),
                (lambda: mpc.ranges(MLP, 1, batch=64), TypeError, "data must be a path or a dict"),
                (lambda: mpc.ranges(MLP, DATA + "x", batch=64), mpc.IoError, "digits-train.npzx"),
                (lambda: mpc.Ranges(1, [], "").save_profile(f"{folder}/b/c"), mpc.IoError, "b/c"),
                (lambda: mpc.bisect(MLP, {**batch, "images": [1]}), mpc.InvalidArgument, "list"),
                (lambda: mpc.bisect(MLP, DATA, metric="speed"), mpc.InvalidArgument, "metric"),
                (lambda: mpc.Bisection([], 1, 1, "").save_policy(f"{folder}/a/b"), mpc.IoError, "a/b"),
            ):
                with self.subTest(words), self.assertRaisesRegex(error, words):
                    call()


@contextlib.contextmanager
def _without(package):
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules)
              if name.partition(".")[0] == package}
    sys.modules[package] = None
    try:
        yield
    finally:
        del sys.modules[package]
        sys.modules.update(hidden)


if __name__ == "__main__":
    unittest.main()
