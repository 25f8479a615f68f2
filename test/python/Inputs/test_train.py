"""Training from Python computes what `mpc train` computes."""

import json
import os
import tempfile
import unittest

import numpy as np

import mpc
from digits import batches, program, run_mpc, session, train_data, FOLDER


class Train(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = os.path.join(folder.name, "m.mpc")
        self.run = os.path.join(folder.name, "run")
        self.folder = folder.name
        program().save(self.package)

    def train(self, *options):
        lines = run_mpc(
            "train", self.package, "--data", FOLDER / "digits-train.npz", "--no-shuffle",
            "--threads=1", "--json", *options,
        ).splitlines()
        rows = (json.loads(line) for line in lines)
        return [np.float32(row["loss"]) for row in rows if "loss" in row]

    def test_losses_are_those_of_the_command(self):
        expected = self.train("--epochs=2")
        with session() as trained:
            losses = [np.float32(trained.step(batch).loss) for batch in batches(count=46)]
        self.assertEqual(losses, expected)

    def test_continues_a_checkpoint_of_the_command(self):
        expected = self.train("--epochs=2")
        self.train("--epochs=1", f"--checkpoint-dir={self.run}")
        with session() as trained:
            self.assertIn("step-", trained.load_checkpoint(self.run))
            losses = [np.float32(trained.step(batch).loss) for batch in batches(count=23)]
        self.assertEqual(losses, expected[23:])

    def test_the_command_reads_checkpoints(self):
        checkpoint = os.path.join(self.folder, "checkpoint")
        with session() as trained:
            for batch in batches():
                trained.step(batch)
            trained.save_checkpoint(checkpoint)
            metrics = trained.evaluate(train_data())
            logits = trained.predict(train_data())["logits"]
        shown = json.loads(run_mpc(
            "eval", self.package, f"--checkpoint={checkpoint}", "--threads=1", "--json",
            "--data", FOLDER / "digits-train.npz",
        ))
        self.assertAlmostEqual(shown["eval_loss"] if "eval_loss" in shown else shown["loss"],
                               metrics.loss, places=6)
        self.assertAlmostEqual(shown["accuracy"], metrics.accuracy, places=9)
        self.assertEqual(metrics.samples, 1500)
        written = os.path.join(self.folder, "logits.npy")
        run_mpc("predict", self.package, f"--checkpoint={checkpoint}", "--threads=1", "-o", written,
                "--data", FOLDER / "digits-train.npz")
        np.testing.assert_array_equal(np.load(written), logits)

    def test_batches_may_be_incomplete(self):
        with session() as trained:
            images = train_data()["images"]
            whole = trained.predict(images[:130])["logits"]
            self.assertEqual(whole.shape, (130, 10))
            one = trained.predict({"images": images[129:130]})["logits"]
            np.testing.assert_array_equal(whole[129:], one)
            out = {"logits": np.empty((64, 10), np.float32)}
            trained.predict(images[:64], out=out)
            np.testing.assert_array_equal(out["logits"], whole[:64])

    def test_other_batch_sizes(self):
        several = mpc.Session(program(batch=(64, 32), eval_batch=1), device="cpu", threads=1)
        images = train_data()["images"][:97]
        with several, session() as one:
            self.assertEqual(sorted(several.program.batch_sizes("predict")), [1, 32, 64])
            np.testing.assert_array_equal(
                several.predict(images)["logits"], one.predict(images)["logits"]
            )
            info = several.step(next(batches(32)))
            self.assertEqual(info.step, 1)

    def test_accumulates(self):
        with mpc.Session(program(accumulate=3), device="cpu") as trained:
            infos = [trained.step(batch) for batch in batches(count=4)]
            self.assertEqual([info.updated for info in infos], [False, False, True, False])
            self.assertAlmostEqual(infos[2].update_loss, sum(i.loss for i in infos[:3]) / 3, 5)
            self.assertTrue(trained.finish_update().updated)

    def test_schedule(self):
        with mpc.Session(program(lr_schedule="linear", total_steps=10), device="cpu") as trained:
            rates = [trained.step(batch).lr for batch in batches(count=3)]
            self.assertGreater(rates[0], rates[2])
            with self.assertRaisesRegex(mpc.InvalidArgument, "schedule 'linear"):
                trained.lr
            with self.assertRaisesRegex(mpc.InvalidArgument, "schedule 'linear"):
                trained.lr = 0.1


if __name__ == "__main__":
    unittest.main()
