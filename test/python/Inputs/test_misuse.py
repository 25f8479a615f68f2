"""Misuse raises an exception that names what was found and what to do."""

import gc
import os
import pickle
import signal
import tempfile
import threading
import unittest

import numpy as np

import mpc
from digits import batches, program, session, train_data


def batch(**changes):
    """A good batch with other entries; None leaves one out."""
    result = {**next(batches()), **changes}
    return {name: array for name, array in result.items() if array is not None}


LABELS = next(batches())["labels"]
IMAGES = next(batches())["images"]
# A batch, and words of the message.
BATCHES = {
    "type": (batch(images=IMAGES.astype(np.float64)),
             "input 'images' has the type float64, .* takes f32; use array.astype\\(numpy.float32\\)"),
    "narrower integers": (batch(labels=LABELS.astype(np.uint64)), "'labels' has the type uint64"),
    "floats as labels": (batch(labels=LABELS.astype(np.float32)), "'labels' has the type float32"),
    "strings": (batch(labels=LABELS.astype(str)), "'labels' has the type <U"),
    "objects": (batch(images=np.full(3, None)), "'images' has the type object"),
    "complex": (batch(images=IMAGES.astype(np.complex64)), "'images' has the type complex64"),
    "shape": (batch(images=IMAGES[:, :, :4].copy()), r"'images'\): expected f32\[64,1,8,8\], got"),
    "rank": (batch(images=IMAGES.reshape(64, 64)), r"got f32\[64,64\]"),
    "scalar": (batch(images=np.float32(1)), r"got f32\[\]"),
    "batch size": (batch(images=IMAGES[:32]), r"got f32\[32,1,8,8\]"),
    "no samples": (batch(images=IMAGES[:0]), r"got f32\[0,1,8,8\]"),
    "missing": (batch(labels=None), "the batch lacks the input 'labels'"),
    "misspelled": (batch(labels=None, label=LABELS), "'labels'; did you mean 'label'"),
    "empty": ({}, "the batch lacks the input 'images'"),
    "too few": ([IMAGES], "expected 2 arrays, for the inputs images, labels, but the batch has 1"),
    "too many": ((IMAGES, LABELS, LABELS), "the batch has 3"),
    "one array": (IMAGES, "of type ndarray"),
    "None": (None, "of type NoneType"),
    "text": ("images", "of type str"),
    "a list of numbers": (batch(labels=[1] * 64), "'labels' is of type list, not an array"),
    "a number": (batch(labels=1), "'labels' is of type int, not an array"),
    "any object": (batch(labels=object()), "'labels' is of type object, not an array"),
    "a None": ({"images": IMAGES, "labels": None}, "'labels' is of type NoneType"),
    "transposed": (batch(images=IMAGES.swapaxes(2, 3)),
                   "'images' is not contiguous; use numpy.ascontiguousarray"),
    "strided": (batch(images=np.repeat(IMAGES, 2, axis=3)[..., ::2]), "'images' is not contiguous"),
    "label beyond classes": (batch(labels=LABELS + 10), r"outside \[0, 10\)"),
    "negative label": (batch(labels=LABELS - 10), r"outside \[0, 10\)"),
    "huge label": (batch(labels=np.full(64, 2**62)), r"outside \[0, 10\)"),
    "more dimensions than any tensor": (batch(images=np.zeros((1,) * 40, np.float32)), "expected"),
}
PREDICTIONS = {
    "no samples": (dict(batch=IMAGES[:0]), "no samples"),
    "rank": (dict(batch=IMAGES[0]), "has the shape"),
    "unknown output": (dict(batch=IMAGES, outputs=["logit"]), "no output 'logit'; did you mean 'logits'"),
    "unknown out": (dict(batch=IMAGES, out={"logit": IMAGES}), "did you mean 'logits'"),
    "type of out": (dict(batch=IMAGES, out={"logits": np.empty((64, 10))}), "'logits' has the type float64"),
    "shape of out": (dict(batch=IMAGES, out={"logits": np.empty((64, 1), np.float32)}), r"got f32\[64,1\]"),
    "transposed out": (dict(batch=IMAGES, out={"logits": np.empty((10, 64), np.float32).T}),
                       "output 'logits' is not contiguous"),
}


class Misuse(unittest.TestCase):
    def test_batches(self):
        with session() as trained:
            for case, (wrong, words) in BATCHES.items():
                with self.subTest(case), self.assertRaisesRegex(mpc.InvalidArgument, words):
                    trained.step(wrong)
                with self.subTest(case), self.assertRaises(mpc.Error):
                    trained.evaluate(wrong) if case not in ("batch size",) else trained.step(wrong)
            # Nothing of this has changed the session.
            self.assertEqual(trained.step(batch()).step, 1)

    def test_predictions(self):
        with session() as trained:
            for case, (arguments, words) in PREDICTIONS.items():
                with self.subTest(case), self.assertRaisesRegex(mpc.InvalidArgument, words):
                    trained.predict(arguments.pop("batch"), **arguments)
            out = np.empty((64, 10), np.float32)
            out.flags.writeable = False
            with self.assertRaisesRegex(mpc.InvalidArgument, "output 'logits' is read-only"):
                trained.predict(IMAGES, out={"logits": out})
            with self.assertRaisesRegex(mpc.InvalidArgument, "different numbers of samples"):
                trained.evaluate(batch(labels=LABELS[:5]))

    def test_calls(self):
        with session() as trained:
            for call in (lambda: trained.step(), lambda: trained.step(1, 2),
                         lambda: trained.step(batch(), images=IMAGES)):
                self.assertRaisesRegex(TypeError, "one batch", call)
            self.assertEqual(trained.step(images=IMAGES, labels=LABELS).step, 1)
            self.assertEqual(trained.step((IMAGES, LABELS)).step, 2)
            self.assertRaises(TypeError, pickle.dumps, trained)

    def test_not_finite(self):
        images = IMAGES.copy()
        images[3, 0, 1, 2] = np.nan
        with session() as trained:
            weights = trained.state_dict()
            with self.assertRaises(mpc.NumericError) as caught:
                trained.step(batch(images=images))
            self.assertIsInstance(caught.exception, ArithmeticError)
            self.assertTrue(caught.exception.info.skipped)
            for name, array in trained.state_dict().items():
                np.testing.assert_array_equal(array, weights[name])

    def test_closed(self):
        trained = session()
        trained.close()
        trained.close()
        self.assertTrue(trained.closed)
        self.assertIn("closed", repr(trained))
        for call in (lambda: trained.step(batch()), lambda: trained.evaluate(batch()),
                     lambda: trained.states["fc1.bias"], lambda: trained.device,
                     lambda: trained.save_checkpoint("x"), lambda: trained.predict(IMAGES),
                     lambda: trained.get_property("x"), trained.finish_update):
            self.assertRaisesRegex(mpc.InvalidArgument, r"closed; create another .* mpc.Session", call)

    def test_creation(self):
        for arguments, error, words in (
            (dict(device="cpux"), mpc.Error, "cpux"),
            (dict(device="cuda:99"), mpc.Unavailable, "cuda|CUDA"),
            (dict(threads=0), mpc.InvalidArgument, "threads must be at least 1"),
            (dict(seed=-1), mpc.InvalidArgument, "seed must be in"),
        ):
            with self.assertRaisesRegex(error, words):
                mpc.Session(program(), **arguments)
        with self.assertRaisesRegex(TypeError, "mpc.Program.load"):
            mpc.Session("model.mpc")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder, session() as trained:
            missing = os.path.join(folder, "missing")
            with self.assertRaises(mpc.IoError) as caught:
                mpc.Program.load(missing)
            self.assertIsInstance(caught.exception, OSError)
            for wrong in (b"", b"MPC", os.urandom(1000)):
                self.assertRaises(mpc.Damaged, mpc.Program, wrong)
            self.assertRaises(TypeError, mpc.Program, "text")
            self.assertRaises(mpc.IoError, program().save, os.path.join(missing, "m.mpc"))
            self.assertRaises(mpc.IoError, trained.save_checkpoint, os.path.join(missing, "x"))
            self.assertRaises(mpc.IoError, trained.load_checkpoint, missing)
            checkpoint = os.path.join(folder, "checkpoint")
            trained.save_checkpoint(checkpoint)
            with mpc.Session(program(optimizer="sgd"), device="cpu") as other:
                self.assertRaises(mpc.Incompatible, other.load_checkpoint, checkpoint)

    def test_unknown_entry(self):
        with self.assertRaisesRegex(mpc.InvalidArgument, "no entry point 'walk'"):
            program().inputs("walk")
        with self.assertRaisesRegex(mpc.InvalidArgument, "no code for the device 'cuda'"):
            program().report("cuda")

    def test_program_may_go_first(self):
        trained = mpc.Session(mpc.Program(program()._package), device="cpu")
        gc.collect()
        self.assertEqual(trained.step(batch()).step, 1)

    def test_one_thread_at_a_time(self):
        data = train_data()
        trained = session()
        errors, evaluating, done = [], threading.Event(), threading.Event()

        def evaluate():
            evaluating.set()
            for _ in range(20):
                try:
                    trained.evaluate(data)
                except mpc.InvalidArgument as error:
                    errors.append(str(error))
            done.set()

        thread = threading.Thread(target=evaluate)
        thread.start()
        evaluating.wait()
        while not done.is_set():
            try:
                trained.evaluate(data)
            except mpc.InvalidArgument as error:
                errors.append(str(error))
        thread.join()
        self.assertTrue(errors)
        self.assertTrue(all("in use by another thread" in text for text in errors), errors)
        self.assertEqual(trained.step(batch()).step, 1)

    def test_forked_process(self):
        trained = session()
        trained.step(batch())
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                trained.step(batch())
            except mpc.InvalidArgument as error:
                os.write(write, str(error).encode())
            with session() as own:
                own.step(batch())
            del trained
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as messages:
            self.assertIn("cannot be used in a forked one; create a session there", messages.read())
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(trained.step(batch()).step, 2)


if __name__ == "__main__":
    unittest.main()
