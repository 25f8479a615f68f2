"""What test_mpi.py starts as several processes: script.py WHAT FOLDER."""

import os
import pickle
import sys
import time
import warnings

import numpy as np

import mpc
from digits import FOLDER, train_data

what, folder = sys.argv[1:]
warnings.simplefilter("ignore", mpc.CompileNote)


def options(**more):
    return {"batch": 16, "precision": "fp32", **more}


def cnn(**more):
    """It has no dropout, for which each rank draws numbers of its own."""
    return mpc.compile(FOLDER / "cnn.onnx", **options(**more))


def batch(number):
    return {name: array[16 * number : 16 * number + 16] for name, array in train_data().items()}


def train_session():
    """Trains with `mpc.communicator`, and compares with one process."""
    with mpc.communicator(timeout=30) as ranks:
        assert isinstance(ranks, mpc.Communicator) and repr(ranks) == f"<mpc.Communicator {ranks.rank} of 2>"
        try:
            pickle.dumps(ranks)
        except TypeError as error:
            assert "cannot be copied to another process" in str(error), error
        with mpc.Session(cnn(data_parallel=True), "cpu", 1, communicator=ranks) as one:
            assert (one.rank, one.size) == (ranks.rank, ranks.size) == (ranks.rank, 2)
            for i in range(10):
                own = batch(2 * i + one.rank)
                info = one.step_async(own).result() if i % 2 else one.step(own)
            assert info.step == 10
            weights = one.state_dict()
        second = mpc.communicator()
        second.close()
        late = mpc.Session(cnn(data_parallel=True), "cpu", 1, communicator=ranks)
    assert ranks.closed and "closed" in repr(ranks)
    for call in (lambda: late.step(batch(0)), lambda: mpc.Session(late.program, communicator=ranks)):
        try:
            call()
        except mpc.InvalidArgument as error:
            assert "the communicator is closed" in str(error)
        else:
            raise AssertionError("a closed communicator was used")
    try:
        mpc.communicator()
    except mpc.Unavailable as error:
        assert "cannot be initialized again" in str(error), error
    else:
        raise AssertionError("MPI was initialized again")
    with mpc.Session(cnn(accumulate=2), "cpu", 1) as alone:
        for i in range(20):
            alone.step(batch(i))
        for name, array in alone.state_dict().items():
            if "running_" not in name:  # These are averaged over the ranks.
                np.testing.assert_array_equal(array, weights[name], name)
    print("equal")


class Watch(mpc.TrainerCallback):
    def on_step_end(self, args, state, control, **keywords):
        if what == "wait":
            time.sleep(0.05)
            if state.global_step == 3 and state.is_world_process_zero:
                open(os.path.join(folder, "ready"), "x").close()
        if what == "raise" and state.global_step == 3 and not state.is_world_process_zero:
            raise ValueError("my own error")
        if what == "stop" and state.global_step == 5:
            control.should_training_stop = not state.is_world_process_zero


def train_trainer():
    args = mpc.TrainingArguments(
        folder, num_train_epochs=1000 if what == "wait" else 2, seed=3, device="cpu", threads=1,
        save_steps=10**6 if what == "wait" else 20, save_total_limit=2, logging_steps=1, resume_from_checkpoint=what == "resume",
    )
    model = FOLDER / "mlp.onnx"
    with mpc.Trainer(model, args, train_dataset=str(FOLDER / "digits-train.npz"), callbacks=[Watch],
                     compile_options=options()) as trainer:
        result = trainer.train()
        trainer.save_model(os.path.join(folder, "trained"))
    if trainer.state.is_world_process_zero:
        print(f"step {result.global_step} loss {result.training_loss}")


def fail():
    """An exception outside of a `with` statement, while the other rank waits."""
    ranks = mpc.communicator()
    session = mpc.Session(cnn(data_parallel=True), "cpu", 1, communicator=ranks)
    if ranks.rank == 1:
        raise ValueError("my own error")
    session.step(batch(0))


def hang():
    """Rank 1 does not answer."""
    with mpc.communicator(timeout=2) as ranks:
        session = mpc.Session(cnn(data_parallel=True), "cpu", 1, communicator=ranks)
        if ranks.rank == 1:
            time.sleep(60)
        session.step(batch(0))


{"session": train_session, "fail": fail, "hang": hang}.get(what, train_trainer)()
