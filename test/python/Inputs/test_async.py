"""Session.step_async is Session.step in another thread."""

import _thread
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np

import mpc
from digits import batches, program, session, train_data


def slow_batch():
    """A batch and a session whose steps take long enough to watch."""
    data = {name: np.tile(array, (8,) + (1,) * (array.ndim - 1)) for name, array in train_data().items()}
    count = len(data["labels"])
    return data, mpc.Session(program(batch=count), device="cpu", threads=1)


def broken_batch():
    batch = next(batches())
    return {**batch, "images": np.full_like(batch["images"], np.nan)}


class Async(unittest.TestCase):
    def test_steps_are_the_same(self):
        with session() as trained, session() as expected:
            future = None
            for batch in batches(count=30):
                future = trained.step_async(**batch) if future else trained.step_async(batch)
                self.assertIsInstance(future, mpc.StepFuture)
                loss = expected.step(batch).loss
                self.assertEqual(future.result().loss, loss)
            self.assertEqual((future.result(timeout=0).step, future.done()), (30, True))
            self.assertIsNone(future.exception())
            for name, array in trained.state_dict().items():
                np.testing.assert_array_equal(array, expected.states[name])

    def test_other_calls_wait(self):
        batch, trained = slow_batch()
        first = trained.step_async(batch)
        self.assertFalse(first.done())
        with self.assertRaisesRegex(TimeoutError, "not done"):
            first.result(timeout=1e-3)
        self.assertRaises(TimeoutError, first.exception, timeout=0)
        second = trained.step_async(batch)
        self.assertTrue(first.done())
        self.assertEqual(trained.step(batch).step, 3)
        self.assertEqual((first.result().step, second.result().step), (1, 2))
        last = trained.step_async(batch)
        before = trained.states["fc2.bias"]
        self.assertTrue(last.done())
        last = trained.step_async(batch)
        trained.close()
        self.assertTrue(last.done() and trained.closed)
        self.assertEqual(last.result().step, 5)
        self.assertEqual(before.shape, (10,))
        with self.assertRaisesRegex(mpc.InvalidArgument, "closed"):
            trained.step_async(batch)

    def test_python_goes_on(self):
        batch, trained = slow_batch()
        counts = [0]

        def count():
            while not future.done():
                counts[0] += 1

        with trained:
            future = trained.step_async(batch)
            others = [threading.Thread(target=count) for _ in range(2)]
            for thread in others:
                thread.start()
            future.result()
            for thread in others:
                thread.join()
        self.assertGreater(counts[0], 10)

    def test_errors(self):
        with session() as trained:
            with self.assertRaisesRegex(mpc.InvalidArgument, "labels"):
                trained.step_async({"images": broken_batch()["images"]})
            self.assertRaisesRegex(TypeError, "one batch", trained.step_async)
            wrong = trained.step_async(broken_batch())
            for _ in range(2):
                with self.assertRaises(mpc.NumericError) as caught:
                    wrong.result()
                self.assertTrue(caught.exception.info.skipped)
            self.assertIsInstance(wrong.exception(), mpc.NumericError)
            short = next(batches(size=32))
            self.assertIsInstance(trained.step_async(short).exception(), mpc.InvalidArgument)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(trained.step_async(next(batches())).result().step, 1)
                del wrong
            with self.assertWarnsRegex(RuntimeWarning, r"result\(\) was not called: .*nan"):
                trained.step_async(broken_batch())
                gc.collect()
        args = mpc.TrainingArguments(device="cpu", max_steps=1)
        with mpc.Trainer(program(), args, train_dataset=train_data()) as trainer:
            trainer.train()
            with self.assertRaisesRegex(mpc.InvalidArgument, "belongs to an mpc.Trainer"):
                trainer.session.step_async(next(batches()))

    def test_arrays_live_as_long_as_the_step(self):
        batch, trained = slow_batch()
        expected = trained.step(batch).loss
        with session() as other:
            self.assertEqual(other.step_async(next(batches())).result().step, 1)
        _, again = slow_batch()
        future = again.step_async({name: array.copy() for name, array in batch.items()})
        gc.collect()
        np.full(batch["images"].shape, np.nan, np.float32)  # Would take freed memory.
        del again
        self.assertEqual(future.result().loss, expected)
        trained.step_async(batch)  # Nobody waits for it.
        del trained

    def test_keyboard_interrupt(self):
        # It is ignored in a process in the background.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        batch, trained = slow_batch()
        with trained:
            for wait in (lambda future: future.result(), lambda future: trained.states["fc2.bias"]):
                future = trained.step_async(batch)
                timer = threading.Timer(0.005, _thread.interrupt_main)
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    wait(future)
                    timer.join()
                    time.sleep(1)  # The step was faster.
                self.assertFalse(future.result().skipped)

    def test_forked_process(self):
        batch, trained = slow_batch()
        future = trained.step_async(batch)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                future.result()
            except mpc.InvalidArgument:
                del trained, future
                with session() as own:
                    os._exit(int(own.step_async(next(batches())).result().step != 1))
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(future.result().step, 1)

    def test_end_of_the_process(self):
        batch, trained = slow_batch()
        with tempfile.TemporaryDirectory() as folder:
            trained.program.save(os.path.join(folder, "m.mpc"))
            np.savez(os.path.join(folder, "d.npz"), **batch)
            code = (
                "import mpc, numpy\n"
                "trained = mpc.Session(mpc.Program.load('m.mpc'), threads=1)\n"
                "future = trained.step_async(dict(numpy.load('d.npz')))\n"
                "cycle = [future, trained]; cycle.append(cycle)\n"
                "del future, trained\n"
            )
            subprocess.run([sys.executable, "-c", code], check=True, cwd=folder)


if __name__ == "__main__":
    unittest.main()
