"""Steps, sessions and programs leave nothing behind."""

import gc
import os
import unittest

import mpc
from digits import batches, program, session


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Memory(unittest.TestCase):
    def check(self, work, count):
        """Memory and files after `count` calls are those after a quarter of them."""
        for _ in range(count // 4):
            work()
        gc.collect()
        before, files = resident(), len(os.listdir("/proc/self/fd"))
        for _ in range(count - count // 4):
            work()
        gc.collect()
        self.assertLess(resident() - before, 4 << 20)
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)

    def test_steps(self):
        batch = next(batches())
        with session() as trained:
            self.check(lambda: trained.step(batch), 2000)

    def test_predictions(self):
        images = next(batches())["images"][:40]
        with session() as trained:
            self.check(lambda: trained.predict(images), 1000)

    def test_sessions(self):
        batch = next(batches())

        def work():
            with session() as trained:
                trained.step(batch)

        self.check(work, 200)

    def test_programs(self):
        package = program()._package
        self.check(lambda: mpc.Program(package).report(), 200)

    def test_errors(self):
        with session() as trained:
            self.check(lambda: self.assertRaises(mpc.InvalidArgument, trained.step, {}), 1000)


if __name__ == "__main__":
    unittest.main()
