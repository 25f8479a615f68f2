"""Ranks that are threads, whose communicator is like one of mpi4py."""

import threading
import unittest
import warnings

import numpy as np

import mpc
from digits import FOLDER, train_data


class Meeting:
    """Exchanges values between threads, until one of them leaves."""

    def __init__(self, size):
        self.size, self.rounds, self.counts = size, {}, [0] * size
        self.is_left, self.changed = False, threading.Condition()

    def exchange(self, rank, value):
        with self.changed:
            number = self.counts[rank]
            self.counts[rank] += 1
            values = self.rounds.setdefault(number, {})
            self.rounds.pop(number - 2, None)
            values[rank] = value
            self.changed.notify_all()
            while len(values) < self.size:
                if self.is_left or not self.changed.wait(30):
                    raise ConnectionError("a rank is gone")
            return [values[other] for other in range(self.size)]

    def leave(self):
        with self.changed:
            self.is_left = True
            self.changed.notify_all()


class Mpi:
    """A communicator with the methods of mpi4py that are used."""

    def __init__(self, rank, size, meeting=None, before=lambda: None):
        self.rank, self.size, self.meeting, self.before = rank, size, meeting, before

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def Abort(self, code):
        self.meeting.leave()

    def Alltoallv(self, sent, received):
        self.before()
        (data, (sizes, begins)), (array, (counts, places)) = sent, received
        parts = [data[begin : begin + size].copy() for size, begin in zip(sizes, begins)]
        for other, all_parts in enumerate(self.meeting.exchange(self.rank, parts)):
            part = all_parts[self.rank]
            array.reshape(-1)[places[other] : places[other] + counts[other]] = part

    def Allgatherv(self, own, received):
        self.before()
        array, (counts, places) = received
        for other, part in enumerate(self.meeting.exchange(self.rank, own.copy())):
            array[places[other] : places[other] + counts[other]] = part


def on_ranks(size, body, **more):
    """The results, or exceptions, of body(communicator) in a thread for each rank."""
    meeting = Meeting(size)
    results = [None] * size

    def run(rank):
        try:
            results[rank] = body(Mpi(rank, size, meeting, **more))
        except BaseException as error:
            results[rank] = error
        finally:
            meeting.leave()

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


class RanksTest(unittest.TestCase):
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
