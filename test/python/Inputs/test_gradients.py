"""Programs whose loss, or whose update, is the caller's: forward, backward and gradients."""

import unittest
import warnings

import numpy as np

import mpc
from digits import FOLDER as MODELS
from digits import train_data

warnings.simplefilter("ignore", mpc.CompileNote)
BATCH = 64


def cross_entropy(logits, labels):
    """The mean loss and the gradient of the logits."""
    logits = logits.astype(np.float64)
    exps = np.exp(logits - logits.max(1, keepdims=True))
    shares = exps / exps.sum(1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(shares[rows, labels]).mean()
    shares[rows, labels] -= 1
    return loss, shares / len(labels)


class External(unittest.TestCase):
    def setUp(self):
        data = train_data()
        self.images, self.labels = data["images"][:BATCH], data["labels"][:BATCH]

    def compile(self, model, **options):
        return mpc.compile(MODELS / f"{model}.onnx", batch=BATCH, optimizer="none", **options)

    def halves(self, model, **options):
        """The loss and the gradients of a program whose loss NumPy computes."""
        program = self.compile(model, loss="external", **options)
        self.assertEqual(program.entries[:2], ("forward", "backward"))
        session = mpc.Session(program, deterministic=True)
        dtype = program.inputs("forward")[0].dtype
        logits = session.forward(self.images.astype(dtype))["logits"]
        loss, gradient = cross_entropy(logits, self.labels)
        first = session.backward(gradient.astype(dtype))
        again = session.backward({"logits": gradient.astype(dtype)})
        for name, value in first.items():
            np.testing.assert_array_equal(value, again[name])
        return loss, first

    def check_same(self, found, expected, tolerance):
        self.assertEqual(found.keys(), expected.keys())
        scale = max(np.abs(value).max() for value in expected.values())
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, atol=tolerance * scale, err_msg=name)

    def test_halves_are_the_step(self):
        cases = [
            ("mlp", dict(precision="fp32"), 1e-6), ("mlp", dict(precision="bf16"), 1e-5),
            ("mlp", dict(precision="fp64"), 1e-7), ("mlp", dict(precision="fp8"), 1e-5),
            ("cnn", dict(precision="fp32", recompute="full"), 1e-5),
            ("cnn", dict(precision="bf16", recompute="selective"), 1e-5),
            ("cnn", dict(precision="fp32", input_gradients=["images"]), 1e-5),
            ("mlp", dict(precision="tf32", freeze=["fc1"]), 1e-6),
        ]
        for model, options, tolerance in cases:
            with self.subTest(model=model, **options):
                loss, found = self.halves(model, **options)
                session = mpc.Session(self.compile(model, **options), deterministic=True)
                dtype = session.program.inputs()[0].dtype
                batch = (self.images.astype(dtype), self.labels)
                expected_loss, expected = session.gradients(batch)
                self.assertAlmostEqual(loss, expected_loss, places=5)
                self.check_same(found, expected, tolerance)
                self.assertEqual("images" in found, "input_gradients" in options)
                self.assertEqual("fc1.weight" in found, model == "mlp" and "freeze" not in options)

    def test_gradients_are_those_of_training(self):
        """SGD by hand, beside the optimizer of a program."""
        trained = mpc.Session(
            mpc.compile(MODELS / "mlp.onnx", batch=BATCH, optimizer="sgd", lr=0.1, precision="fp32")
        )
        byhand = mpc.Session(self.compile("mlp", precision="fp32"))
        batch = (self.images, self.labels)
        for _ in range(5):
            expected = trained.step(batch).loss
            loss, gradients = byhand.gradients(batch)
            self.assertAlmostEqual(loss, expected, places=5)
            for name, gradient in gradients.items():
                byhand.states[name] = byhand.states[name] - np.float32(0.1) * gradient

    def test_scaled_by_the_caller(self):
        loss, plain = self.halves("mlp", precision="fp32")
        program = self.compile("mlp", precision="fp16", loss="external")
        session = mpc.Session(program)
        _, gradient = cross_entropy(session.forward(self.images)["logits"], self.labels)
        scaled = session.backward((gradient * 4096).astype(np.float32))
        self.check_same({n: g / 4096 for n, g in scaled.items()}, plain, 5e-3)

    def test_function(self):
        loss, gradients = mpc.gradients(
            MODELS / "mlp.onnx", (self.images, self.labels), inputs=["images"], batch=BATCH
        )
        self.assertEqual(gradients["images"].shape, self.images.shape)
        self.assertEqual(gradients["fc2.bias"].shape, (10,))
        # By finite differences, in the direction of the gradient.
        step = 1e-2 * gradients["images"] / np.linalg.norm(gradients["images"])
        moved, _ = mpc.gradients(
            self.compile("mlp", precision="fp32"), (self.images + step, self.labels)
        )
        self.assertAlmostEqual(
            (moved - loss) / 1e-2, np.linalg.norm(gradients["images"]), delta=1e-3
        )

    def test_tensors(self):
        batch = {"images": self.images, "labels": self.labels}
        found = mpc.tensors(MODELS / "mlp.onnx", batch, ["gelu.out", "fc1.out", "dropout.out"], batch=BATCH)
        self.assertEqual(list(found), ["gelu.out", "fc1.out", "dropout.out"])
        session = mpc.Session(self.compile("mlp", precision="fp32"))
        weight, bias = (session.states[f"fc1.{name}"] for name in ("weight", "bias"))
        expected = self.images.reshape(BATCH, -1) @ weight.reshape(-1, 64).T + bias
        np.testing.assert_allclose(found["fc1.out"], expected, atol=1e-5)
        # As in training: with dropout.
        kept = found["dropout.out"] != 0
        self.assertTrue(0.5 < kept.mean() < 0.99)
        ratio = (found["dropout.out"] / found["gelu.out"])[kept]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
        # Norms use the statistics of the batch.
        (norm,) = mpc.tensors(MODELS / "cnn.onnx", self.images, ["bn1.out"], batch=BATCH).values()
        np.testing.assert_allclose(norm.mean((0, 2, 3)), 0, atol=1e-5)
        program = self.compile("mlp", loss="external", extra_outputs=["norm.out", "logits"])
        values = mpc.tensors(program, (self.images, self.labels), ["norm.out"])
        self.assertEqual(values["norm.out"].shape, found["fc1.out"].shape)
        for call, error, text in (
            (lambda: mpc.tensors(MODELS / "mlp.onnx", batch, ["gelu.oud"]), mpc.CompileError,
             "no value that a node computes; similar name: 'gelu.out'"),
            (lambda: mpc.tensors(MODELS / "mlp.onnx", batch, "gelu.out"), TypeError, "a list of names"),
            (lambda: mpc.tensors(program, batch, ["norm"]), mpc.InvalidArgument,
             "did you mean 'norm.out'.*extra_outputs"),
            (lambda: mpc.tensors(program, batch, [], lr=1), TypeError, "a program already"),
            (lambda: mpc.tensors(session.program, batch, []), mpc.InvalidArgument, "no 'forward'"),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()

    def test_order_of_calls(self):
        session = mpc.Session(self.compile("mlp", loss="external", precision="fp32"))
        gradient = np.zeros((BATCH, 10), np.float32)
        with self.assertRaisesRegex(mpc.InvalidArgument, "run 'forward' first"):
            session.backward(gradient)
        session.forward(self.images)
        session.backward(gradient)
        session.predict(self.images)
        session.backward(gradient)
        session.states["fc2.bias"] = np.zeros(10, np.float32)
        with self.assertRaisesRegex(mpc.InvalidArgument, "again after any state was written"):
            session.backward(gradient)

    def test_errors(self):
        external = self.compile("mlp", loss="external")
        session = mpc.Session(external)
        step = mpc.Session(self.compile("mlp"))
        for call, text in [
            (lambda: session.step(self.images), "no entry point 'step'|no training|loss='external'"),
            (lambda: session.gradients((self.images, self.labels)), "has no 'step'.*optimizer='none'"),
            (lambda: session.evaluate((self.images, self.labels)), "evaluate"),
            (lambda: step.forward(self.images), "has no 'forward'.*loss='external'"),
            (lambda: step.backward(self.images), "has no 'backward'"),
            (lambda: session.forward(self.images[:3]), r"expected f32\[64,1,8,8\], got f32\[3,1,8,8\]"),
            (lambda: mpc.gradients(MODELS / "mlp.onnx", (self.images,), inputs=["pixels"]),
             "pixels names no input that is a float; those of the model are 'images'"),
            (lambda: self.compile("mlp", lr=0.1), "`lr` has no effect with `optimizer=`none"),
            (lambda: self.compile("mlp", accumulate=2), "`accumulate` has no effect"),
            (lambda: self.compile("mlp", precision="fp16"), "leaves to the caller; use bf16 or fp32"),
            (lambda: self.compile("mlp", master_weights="bf16-kahan"), "has no effect"),
            (lambda: mpc.compile(MODELS / "mlp.onnx", loss="external"), "requires `optimizer=`none"),
            (lambda: self.compile("mlp", loss="external", eval_batch=[8]), "several batch sizes"),
            (lambda: self.compile("mlp", loss="external", target=["cpu", "cuda:sm_90"]),
             "several targets"),
            (lambda: self.compile("mlp", loss="external", observe="numerics"), "combined with `observe`"),
            (lambda: mpc.compile(MODELS / "mlp.onnx", input_gradients=["images"]),
             "`input_gradients` requires `optimizer=`none"),
        ]:
            with self.subTest(text):
                with self.assertRaisesRegex(mpc.Error, text):
                    call()
        with self.assertRaisesRegex(mpc.InvalidArgument, "compile with optimizer='none'"):
            mpc.Session(mpc.compile(MODELS / "mlp.onnx", batch=BATCH)).gradients(
                (self.images, self.labels)
            )
        with self.assertRaisesRegex(TypeError, "a program already"):
            mpc.gradients(external, self.images, inputs=["images"])


if __name__ == "__main__":
    unittest.main()
