"""Sessions of several ranks, which are threads."""

import gc
import os
import subprocess
import sys
import threading
import time
import types
import unittest
import warnings
from unittest import mock

import numpy as np

import mpc
from mpc._ranks.launch import share_of_cpus
from with_ranks.threads import Mpi, RanksTest, batch, cnn, on_ranks, session


def fails():
    raise RuntimeError("the network is gone")


class Sessions(RanksTest):
    def test_shared_states(self):
        def train(comm, shard):
            with session(self.program, comm, shard=shard) as own:
                for i in range(4):
                    own.step(batch(2 * i + own.rank))
                return own.state_dict()

        expected = on_ranks(2, lambda comm: train(comm, "none"))[0]
        for shard in ("optimizer", "gradients"):
            for states in on_ranks(2, lambda comm: train(comm, shard)):
                self.assert_same(states, expected)
        with self.assertRaisesRegex(mpc.InvalidArgument, "shard must be one of none, optimizer, gradients"):
            session(self.program, None, shard="weights")

    def test_rounded_gradients(self):
        def train(comm, **how):
            with session(self.program, comm, **how) as own:
                for i in range(4):
                    own.step(batch(2 * i + own.rank))
                return own.state_dict()

        exact = on_ranks(2, train)[0]
        rounded = on_ranks(2, lambda comm: train(comm, grad_comm="bf16"))
        self.assert_same(rounded[0], rounded[1])
        self.assertTrue(any((exact[name] != rounded[0][name]).any() for name in exact))
        for name in ("fc.weight", "fc.bias"):
            np.testing.assert_allclose(rounded[0][name], exact[name], atol=2e-3)
        for states in on_ranks(2, lambda comm: train(comm, grad_comm="bf16", shard="optimizer")):
            self.assert_same(states, rounded[0])
        with self.assertRaisesRegex(mpc.InvalidArgument, "grad_comm must be fp32 or bf16, but is 'fp16'"):
            session(self.program, None, grad_comm="fp16")

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
                    comm.before = fails
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
            self.assertIsInstance(cause0, ConnectionError)

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
        comm = Mpi(0, 2)
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
            session(cnn(), Mpi(0, 2))
        for wrong, error in (("1", TypeError), (True, TypeError), (0, mpc.InvalidArgument)):
            self.assertRaisesRegex(error, "timeout", mpc.communicator, wrong)
        with self.assertRaisesRegex(mpc.Unavailable, "no-such-mpi"), mock.patch.dict(
            os.environ, MPC_MPI_LIBRARY="no-such-mpi.so"
        ):
            mpc.communicator()

    def test_one_rank(self):
        with session(cnn(), Mpi(0, 1)) as alone:
            self.assertEqual((alone.rank, alone.size, alone.step(batch(0)).step), (0, 1, 1))

    def test_threads_of_mpi(self):
        """A communicator that only the main thread may call, and one of another MPI."""
        module = types.ModuleType("fake_mpi")
        module.Query_thread, module.THREAD_SERIALIZED = lambda: 1, 2
        with mock.patch.dict(sys.modules, fake_mpi=module), mock.patch.object(
            Mpi, "__module__", "fake_mpi"
        ):
            with session(cnn(), Mpi(0, 1)) as own:
                self.assertEqual(own.step(batch(0)).step, 1)
                with self.assertRaisesRegex(mpc.InvalidArgument, "MPI_THREAD_SERIALIZED"):
                    own.step_async(batch(0))
            module.COMM_WORLD = Mpi(0, 1)
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

    def test_end_of_the_process(self):
        """An exception that ends the process ends the other ranks, too."""
        code = (
            "from mpc._ranks.adapters import to_communicator\n"
            "class Mpi:\n"
            "    Get_rank, Get_size = lambda self: 0, lambda self: 2\n"
            "    Alltoallv = Allgatherv = None\n"
            "    def Abort(self, code): print('aborted', code)\n"
            "ranks = to_communicator(Mpi())\n"
        )
        for last, printed in (("1 / 0", "aborted 9\n"), ("pass", "")):
            result = subprocess.run([sys.executable, "-c", code + last], capture_output=True, text=True)
            self.assertEqual(result.stdout, printed, result.stderr)

    def test_share_of_cpus(self):
        with mock.patch.object(os, "cpu_count", return_value=6), mock.patch.object(
            os, "sched_getaffinity", return_value=set(range(6))
        ), mock.patch.dict(os.environ, LOCAL_WORLD_SIZE="4"):
            os.environ.pop("OMP_NUM_THREADS", None)
            self.assertEqual(share_of_cpus(), 1)
            os.environ["LOCAL_WORLD_SIZE"] = "2"
            self.assertEqual(share_of_cpus(), 3)
            os.environ["OMP_NUM_THREADS"] = "2"
            self.assertIsNone(share_of_cpus())
            del os.environ["OMP_NUM_THREADS"]
            os.sched_getaffinity.return_value = {1}  # Bound by the launcher.
            self.assertIsNone(share_of_cpus())


if __name__ == "__main__":
    unittest.main()
