"""Sessions and trainers of several ranks, which are threads with a communicator like mpi4py's."""

import gc
import os
import sys
import tempfile
import threading
import time
import types
import unittest
import warnings
from unittest import mock

import numpy as np

import mpc
from digits import FOLDER, MLP, train_data


class Mpi:
    """A communicator with the methods of mpi4py that are used."""

    def __init__(self, rank, size, shared, before=lambda: None):
        self.rank, self.size, self.before = rank, size, before
        self.slots, self.barrier = shared

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def Abort(self, code):
        self.barrier.abort()

    def _exchange(self, sent, copy):
        try:
            self.before()
        except Exception:
            self.barrier.abort()  # As connections are closed.
            raise
        self.slots[self.rank] = sent
        self.barrier.wait()
        for other, slot in enumerate(self.slots):
            copy(other, slot)
        self.barrier.wait()

    def Alltoallv(self, sent, received):
        array, (counts, places) = received

        def copy(other, slot):
            data, (sizes, begins) = slot
            part = data[begins[self.rank] : begins[self.rank] + sizes[self.rank]]
            array.reshape(-1)[places[other] : places[other] + counts[other]] = part

        self._exchange(sent, copy)

    def Allgatherv(self, own, received):
        array, (counts, places) = received

        def copy(other, slot):
            array[places[other] : places[other] + counts[other]] = slot

        self._exchange(own, copy)


def on_ranks(size, body, **more):
    """The results of body(communicator) in a thread for each rank; raises the first exception."""
    shared = [None] * size, threading.Barrier(size, timeout=30)
    results = [None] * size

    def run(rank):
        try:
            results[rank] = body(Mpi(rank, size, shared, **more))
        except BaseException as error:
            shared[1].abort()
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def cnn(**options):
    """It has no dropout, for which each rank draws numbers of its own."""
    return mpc.compile(FOLDER / "cnn.onnx", **{"batch": 16, "precision": "fp32", **options})


def batch(number):
    return {name: array[16 * number : 16 * number + 16] for name, array in train_data().items()}


def session(program, comm, **options):
    return mpc.Session(program, "cpu", 1, communicator=comm, **options)


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        warnings.simplefilter("ignore", mpc.CompileNote)
        cls.program = cnn(data_parallel=True)

    def setUp(self):
        warnings.simplefilter("ignore", mpc.CompileNote)
        warnings.simplefilter("ignore", mpc.TrainNote)

    def assert_same(self, one, other):
        for name in one:
            if "running_" not in name:  # These are averaged over the ranks.
                np.testing.assert_array_equal(one[name], other[name], name)

    def test_ranks_are_micro_batches(self):
        for size in (2, 3):
            def train(comm):
                with session(self.program, comm) as own:
                    self.assertEqual((own.rank, own.size), (comm.rank, size))
                    for i in range(8):
                        given = batch(size * i + own.rank)
                        info = own.step_async(given).result() if i % 2 else own.step(given)
                    return own.state_dict(), info.update_loss, info.step

            results = on_ranks(size, train)
            with session(cnn(accumulate=size), None) as alone:
                self.assertEqual((alone.rank, alone.size), (0, 1))
                for i in range(8 * size):
                    info = alone.step(batch(i))
                expected = alone.state_dict()
            for weights, loss, step in results:
                self.assert_same(weights, results[0][0])
                self.assertEqual(step, 8)
                if size == 2:
                    self.assert_same(weights, expected)
                    self.assertEqual(loss, info.update_loss)
                    continue
                # The order of more additions differs, by a few units in the last place.
                for name in (name for name in expected if "running_" not in name):
                    np.testing.assert_allclose(weights[name], expected[name], 1e-4, 1e-6)

    def test_exceptions_of_the_communicator(self):
        for is_async in (False, True):
            calls, ready = [], threading.Barrier(2)

            def fail(comm):
                own = session(self.program, comm)
                own.step(batch(comm.rank))
                ready.wait()
                if comm.rank == 1:
                    comm.before = self.fails
                try:
                    own.step_async(batch(0)).result() if is_async else own.step(batch(0))
                except mpc.RankLost as error:
                    calls.append((comm.rank, str(error), error.__cause__))
                with self.assertRaises(mpc.Error):  # The session is lost.
                    own.step(batch(0))

            self.assertEqual(on_ranks(2, fail), [None, None])
            (rank0, _, cause0), (rank1, text, cause1) = sorted(calls, key=lambda call: call[0])
            self.assertEqual((rank0, rank1), (0, 1))
            self.assertIn("RuntimeError: the network is gone", text)
            self.assertIsInstance(cause1, RuntimeError)
            self.assertEqual(cause1.__traceback__.tb_frame.f_code.co_name, "reduce_scatter")
            self.assertIsInstance(cause0, threading.BrokenBarrierError)

    @staticmethod
    def fails():
        raise RuntimeError("the network is gone")

    def test_python_goes_on(self):
        """A rank that waits does not hold the GIL."""
        counts = []

        def wait(comm):
            with session(self.program, comm) as own:
                if comm.rank == 1:
                    own.step(batch(0))
                    return
                future = own.step_async(batch(1))
                counts.append(sum(1 for _ in iter(future.done, True)))
                future.result()

        def slow():
            time.sleep(0.02)

        self.assertEqual(on_ranks(2, wait, before=slow), [None, None])
        self.assertGreater(counts[0], 10)

    def test_lifetimes(self):
        def train(comm):
            own = session(self.program, comm)
            del comm
            gc.collect()
            info = own.step(batch(own.rank))
            future = own.step_async(batch(own.rank))
            del own
            return info.step, future.result().step

        self.assertEqual(on_ranks(2, train), [(1, 2), (1, 2)])

    def test_ranks_must_have_the_same(self):
        other = cnn(data_parallel=True, lr=0.5)

        def create(comm):
            with self.assertRaisesRegex(mpc.InvalidArgument, "same program and weights, .* rank 1"):
                session(other if comm.rank else self.program, comm)

        self.assertEqual(on_ranks(2, create), [None, None])

    def test_wrong_objects(self):
        comm = Mpi(0, 2, ([None] * 2, threading.Barrier(2)))
        for wrong in ("mpi", 1, True, object(), Mpi):
            with self.assertRaisesRegex((TypeError, mpc.InvalidArgument), "mpi4py"):
                session(self.program, wrong)
        comm.Is_inter = lambda: True
        with self.assertRaisesRegex(mpc.InvalidArgument, "intercommunicator"):
            session(self.program, comm)
        comm.Is_inter = lambda: 1 / 0
        with self.assertRaisesRegex(mpc.InvalidArgument, "cannot be used") as caught:
            session(self.program, comm)
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        with self.assertRaisesRegex(mpc.InvalidArgument, "data-parallel"):
            session(cnn(), Mpi(0, 2, (comm.slots, comm.barrier)))
        for wrong, error in (("1", TypeError), (True, TypeError), (0, mpc.InvalidArgument)):
            self.assertRaisesRegex(error, "timeout", mpc.communicator, wrong)
        with self.assertRaisesRegex(mpc.Unavailable, "no-such-mpi"), mock.patch.dict(
            os.environ, MPC_MPI_LIBRARY="no-such-mpi.so"
        ):
            mpc.communicator()

    def test_one_rank(self):
        with session(cnn(), Mpi(0, 1, ([None], None))) as alone:
            self.assertEqual((alone.rank, alone.size, alone.step(batch(0)).step), (0, 1, 1))

    def test_threads_of_mpi(self):
        """A communicator that only the main thread may call, and one of another MPI."""
        module = types.ModuleType("fake_mpi")
        module.Query_thread, module.THREAD_SERIALIZED = lambda: 1, 2
        with mock.patch.dict(sys.modules, fake_mpi=module), mock.patch.object(
            Mpi, "__module__", "fake_mpi"
        ):
            with session(cnn(), Mpi(0, 1, ([None], None))) as own:
                self.assertEqual(own.step(batch(0)).step, 1)
                with self.assertRaisesRegex(mpc.InvalidArgument, "MPI_THREAD_SERIALIZED"):
                    own.step_async(batch(0))
            module.COMM_WORLD = Mpi(0, 1, ([None], None))
            launched = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
            with mock.patch.dict(os.environ, launched):
                with self.assertRaisesRegex(mpc.Unavailable, "each is alone for mpi4py"):
                    session(cnn(), module.COMM_WORLD)

    def test_forked_process(self):
        def fork(comm):
            own = session(self.program, comm)
            child = os.fork() if comm.rank == 0 else 0
            if comm.rank == 0 and child == 0:
                with self.assertRaisesRegex(mpc.InvalidArgument, "forked"):
                    own.step(batch(0))
                os._exit(0)
            if child:
                self.assertEqual(os.waitpid(child, 0)[1], 0)
            return own.step(batch(0)).step

        self.assertEqual(on_ranks(2, fork), [1, 1])

    def test_processes_without_a_communicator(self):
        launched = {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"}
        with mock.patch.dict(os.environ, launched):
            with self.assertWarnsRegex(RuntimeWarning, "process 1 of 4, .* a model of its own"):
                session(self.program, None).close()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                session(self.program, False).close()

    # Trainers

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
        self.assertIsInstance(first.__cause__, threading.BrokenBarrierError)
        # Data that only one rank has.
        first, second = on_ranks(2, lambda comm: self.train(comm, None, seed=comm.rank))
        for error in (first, second):
            self.assertIsInstance(error, mpc.InvalidArgument)
            self.assertIn("same order of samples", str(error))

    def test_other_arguments_of_trainers(self):
        args = mpc.TrainingArguments(max_steps=1, device="cpu")
        comm = Mpi(0, 2, ([None] * 2, threading.Barrier(2)))
        with mpc.Trainer(cnn(), args, train_dataset=train_data(), communicator=comm) as trainer:
            self.assertRaisesRegex(mpc.InvalidArgument, "data_parallel=True", trainer.train)
        shared = types.SimpleNamespace(num_replicas=2)
        loader = type("Loader", (), {"__iter__": lambda self: iter(()), "__len__": lambda self: 3,
                                     "sampler": shared})()
        with mpc.Trainer(self.program, args, train_dataset=loader, communicator=False) as trainer:
            self.assertRaisesRegex(mpc.InvalidArgument, "sampler for 2 processes", trainer.train)
        with self.assertRaisesRegex(TypeError, "process group of torch.distributed, not str"):
            mpc.Trainer(self.program, args, train_dataset=train_data(), communicator="torch")


if __name__ == "__main__":
    unittest.main()
