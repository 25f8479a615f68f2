"""Process groups of torch.distributed are communicators; torchrun starts trainers."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np
import torch.distributed as distributed

import mpc

FOLDER = pathlib.Path(os.environ["MPC_DIGITS"])
SCRIPT = '''
import os, sys, warnings
import numpy as np, torch.distributed as distributed
import mpc

what, folder, digits = sys.argv[1:]
warnings.simplefilter("ignore", mpc.CompileNote)
data = dict(np.load(digits + "/digits-train.npz"))
options = {"batch": 16, "precision": "fp32"}
rank = int(os.environ["RANK"])


def batch(number):
    return {name: array[16 * number : 16 * number + 16] for name, array in data.items()}


def start():
    distributed.init_process_group("gloo")
    program = mpc.compile(digits + "/cnn.onnx", data_parallel=True, **options)
    return mpc.Session(program, "cpu", 1, communicator=distributed.group.WORLD)


def train_session():
    with start() as session:
        assert (session.rank, session.size) == (rank, 2)
        for i in range(10):
            own = batch(2 * i + rank)
            info = session.step_async(own).result() if i % 2 else session.step(own)
        np.savez(f"{folder}/{rank}.npz", **session.state_dict())
    distributed.destroy_process_group()


def lose_rank():
    session = start()
    session.step(batch(rank))
    if rank == 1:
        os._exit(3)
    try:
        session.step(batch(0))
    except mpc.RankLost as error:
        assert isinstance(error.__cause__, RuntimeError)
        print("lost:", error, flush=True)


def train_trainer():
    args = mpc.TrainingArguments(folder, max_steps=20, seed=3, device="cpu", threads=1, logging_steps=5)
    with mpc.Trainer(digits + "/cnn.onnx", args, train_dataset=data, compile_options=options) as trainer:
        step = trainer.train().global_step
        np.savez(f"{folder}/{rank}.npz", **trainer.session.state_dict())
    print(f"rank {rank} made {step} steps", flush=True)


{"session": train_session, "lost": lose_rank, "trainer": train_trainer}[what]()
'''


class TorchRanks(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", mpc.CompileNote)
        warnings.simplefilter("ignore", mpc.TrainNote)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "script.py").write_text(SCRIPT)

    def torchrun(self, what):
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2",
                   "--standalone", self.folder / "script.py", what, self.folder, FOLDER]
        result = subprocess.run(command, capture_output=True, text=True, timeout=200)
        return result.returncode, result.stdout + result.stderr

    def weights(self, name):
        with np.load(self.folder / name) as file:
            # Running statistics are averaged over the ranks.
            return {name: file[name] for name in file.files if "running_" not in name}

    def compare(self, expected):
        for name in ("0.npz", "1.npz"):
            for state, array in self.weights(name).items():
                np.testing.assert_array_equal(array, expected[state], state)

    def program(self):
        return mpc.compile(FOLDER / "cnn.onnx", batch=16, precision="fp32", accumulate=2)

    def test_session(self):
        status, output = self.torchrun("session")
        self.assertEqual(status, 0, output)
        with np.load(FOLDER / "digits-train.npz") as file:
            data = dict(file)
        with mpc.Session(self.program(), "cpu", 1) as alone:
            for i in range(20):
                alone.step({name: array[16 * i : 16 * i + 16] for name, array in data.items()})
            self.compare(alone.state_dict())

    def test_groups(self):
        """A group of one process, and one that does not exchange host memory."""
        distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
        self.addCleanup(distributed.destroy_process_group)
        world = distributed.group.WORLD
        with mpc.Session(self.program(), "cpu", 1, communicator=world) as alone:
            self.assertEqual((alone.rank, alone.size), (0, 1))
        with mock.patch.object(distributed.ProcessGroup, "_get_backend", side_effect=RuntimeError):
            with self.assertRaisesRegex(mpc.InvalidArgument, "'gloo', .* host memory; use .*gloo"):
                mpc.Session(self.program(), "cpu", 1, communicator=world)

    def test_lost_rank(self):
        status, output = self.torchrun("lost")
        self.assertNotEqual(status, 0)
        self.assertRegex(output, "lost: .*RuntimeError: ")

    def test_trainer(self):
        status, output = self.torchrun("trainer")
        self.assertEqual(status, 0, output)
        self.assertEqual(output.count("made 20 steps"), 2, output)
        self.assertIn("step-20", os.listdir(self.folder))
        args = mpc.TrainingArguments(max_steps=20, seed=3, device="cpu", threads=1)
        data = str(FOLDER / "digits-train.npz")
        with mpc.Trainer(self.program(), args, train_dataset=data) as trainer:
            trainer.train()
            self.compare(trainer.session.state_dict())


if __name__ == "__main__":
    unittest.main()
