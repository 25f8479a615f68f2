"""Trainers of several ranks, which are threads."""

import os
import signal
import sys
import tempfile
import types
import unittest
from unittest import mock

import mpc
from digits import train_data
from mpc._training.ranks import RunRanks
from with_ranks.threads import Mpi, RanksTest, cnn, on_ranks


class Trainers(RanksTest):
    def train(self, comm, folder, callback=None, **more):
        args = mpc.TrainingArguments(
            folder, **{"max_steps": 12, "save_steps": 5, "device": "cpu", "threads": 1, "seed": 3,
                       "eval_strategy": "steps", "eval_steps": 6, "logging_steps": 1, **more}
        )
        program = self.program if comm else cnn(accumulate=2)
        data = train_data()
        samples = [tuple(data[name][i] for name in data) for i in range(100)]
        with mpc.Trainer(
            program, args, train_dataset=data, eval_dataset=samples,
            compute_metrics=lambda prediction: {"twice": 2.0},
            callbacks=[callback] if callback else [], communicator=comm or False,
        ) as trainer:
            result = trainer.train()
            losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
            if folder:
                trainer.save_model(os.path.join(folder, "model"))
            return trainer.session.state_dict(), losses, result.global_step

    def test_trainer(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = [os.path.join(folder, name) for name in ("ranks", "alone")]
            best = {"load_best_model_at_end": True, "metric_for_best_model": "twice"}
            results = on_ranks(2, lambda comm: self.train(comm, runs[0], **best))
            expected = self.train(None, runs[1], **best)
            for weights, losses, step in results:
                self.assertEqual((losses, step), expected[1:])
            self.assert_same(results[0][0], results[1][0])
            self.assertEqual(sorted(os.listdir(runs[0])), sorted(os.listdir(runs[1])))
            # The other number of ranks continues.
            more = {"max_steps": 16, "resume_from_checkpoint": True}
            self.assertEqual(self.train(None, runs[0], **more)[2], 16)
            self.assertEqual(on_ranks(2, lambda c: self.train(c, runs[1], **more))[1][2], 16)

    def test_trainer_with_shares(self):
        runs = {}
        for name, more in (
            ("exact", {}), ("shared", {"shard": "gradients"}), ("rounded", {"grad_comm": "bf16"}),
            ("both", {"shard": "optimizer", "grad_comm": "bf16"}),
            ("best", {"shard": "optimizer", "load_best_model_at_end": True,
                      "metric_for_best_model": "twice"}),
        ):
            with tempfile.TemporaryDirectory() as folder:
                results = on_ranks(2, lambda comm: self.train(comm, folder, **more))
            self.assert_same(results[0][0], results[1][0])
            runs[name] = results[0][0]
        self.assert_same(runs["shared"], runs["exact"])
        self.assertEqual(runs["best"].keys(), runs["exact"].keys())
        self.assert_same(runs["both"], runs["rounded"])
        self.assertTrue(any((runs["rounded"][name] != runs["exact"][name]).any() for name in runs["exact"]))

    def test_one_rank_stops_all(self):
        class Stop(mpc.TrainerCallback):
            def on_step_end(self, args, state, control, **keywords):
                control.should_training_stop = state.global_step == 4 and not state.is_world_process_zero

            def on_epoch_end(self, args, state, control, **keywords):
                control.should_training_stop = not state.is_world_process_zero

        results = on_ranks(2, lambda comm: self.train(comm, None, Stop))
        self.assertEqual([result[2] for result in results], [4, 4])
        args = {"max_steps": -1, "num_train_epochs": 2}
        Stop.on_step_end = lambda self, *arguments, **keywords: None
        results = on_ranks(2, lambda comm: self.train(comm, None, Stop, **args))
        self.assertEqual([result[2] for result in results], [47, 47])

    def test_one_rank_fails(self):
        class Fail(mpc.TrainerCallback):
            def on_step_end(self, args, state, control, **keywords):
                if state.global_step == 2 and not state.is_world_process_zero:
                    raise ValueError("my own error")

        first, second = on_ranks(2, lambda comm: self.train(comm, None, Fail))
        self.assertIsInstance(second, ValueError)
        self.assertIsInstance(first, mpc.RankLost)
        self.assertIsInstance(first.__cause__, ConnectionError)
        # Data that only one rank has.
        first, second = on_ranks(2, lambda comm: self.train(comm, None, seed=comm.rank))
        for error in (first, second):
            self.assertIsInstance(error, mpc.InvalidArgument)
            self.assertIn("same order of samples", str(error))

    def test_other_arguments_of_trainers(self):
        args = mpc.TrainingArguments(max_steps=1, device="cpu")
        comm = Mpi(0, 2)
        with mpc.Trainer(cnn(), args, train_dataset=train_data(), communicator=comm) as trainer:
            self.assertRaisesRegex(mpc.InvalidArgument, "data_parallel=True", trainer.train)
        shared = types.SimpleNamespace(num_replicas=2)
        loader = type("Loader", (), {"__iter__": lambda self: iter(()), "__len__": lambda self: 3,
                                     "sampler": shared})()
        with mpc.Trainer(self.program, args, train_dataset=loader, communicator=False) as trainer:
            self.assertRaisesRegex(mpc.InvalidArgument, "sampler for 2 processes", trainer.train)
        with self.assertRaisesRegex(TypeError, "process group of torch.distributed, not str"):
            mpc.Trainer(self.program, args, train_dataset=train_data(), communicator="torch")

    def test_first_rank_fails(self):
        """Work of the first rank, such as saving, has an error on all."""
        error = mpc.IoError("the disk is full")
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(
            mpc.Session, "save_checkpoint", side_effect=error
        ):
            best = {"load_best_model_at_end": True, "metric_for_best_model": "twice"}
            first, second = on_ranks(2, lambda comm: self.train(comm, folder, **best))
        self.assertIs(first, error)
        self.assertIsInstance(second, mpc.RankLost)
        self.assertIn("rank 0 failed", str(second))

    def test_signal_after_the_last_step(self):
        # It is ignored in a process in the background.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with self.assertRaises(KeyboardInterrupt):
            with RunRanks(Mpi(0, 2)).signals():
                signal.raise_signal(signal.SIGINT)
                late = True
        self.assertTrue(late)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_torchrun_without_torch(self):
        launched = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}
        missing = {"torch": None, "torch.distributed": None}
        with mock.patch.dict(os.environ, launched), mock.patch.dict(sys.modules, missing):
            with self.assertRaisesRegex(mpc.Unavailable, "PyTorch cannot be imported"):
                mpc.Trainer(self.program, train_dataset=train_data())
            mpc.Trainer(self.program, train_dataset=train_data(), communicator=False).close()


if __name__ == "__main__":
    unittest.main()
