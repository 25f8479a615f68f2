"""Arrays are lent to programs, not copied."""

import array
import unittest

import ml_dtypes
import numpy as np

import mpc
from digits import batches, session
from mpc._arrays import Copies


class Dlpack:
    """An array that has nothing but DLPack, such as one of PyTorch."""

    def __init__(self, array, newest=(1, 0)):
        self.array, self.newest, self.calls = array, newest, 0

    def __dlpack__(self, **keywords):
        self.calls += 1
        if self.newest < (1, 0):
            keywords.pop("max_version", None) and self.fail()
        return self.array.__dlpack__(**keywords)

    def fail(self):
        raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Arrays(unittest.TestCase):
    def setUp(self):
        self.session = session()
        self.addCleanup(self.session.close)
        self.batch = next(batches())
        self.expected = self.session.predict(self.batch["images"])["logits"]

    def predict(self, images, copies=0):
        before = Copies.count
        logits = self.session.predict({"images": images})["logits"]
        self.assertEqual(Copies.count - before, copies)
        np.testing.assert_array_equal(logits, self.expected)

    def test_numpy(self):
        self.predict(self.batch["images"])
        images = self.batch["images"].copy()
        images.flags.writeable = False
        self.predict(images)
        # Any alignment.
        room = np.empty(images.nbytes + 1, np.uint8)[1:]
        unaligned = room.view(np.float32).reshape(images.shape)
        unaligned[...] = images
        self.predict(unaligned)

    def test_dlpack(self):
        images = self.batch["images"]
        for newest in ((1, 0), (0, 8)):
            with self.subTest(newest):
                lent = Dlpack(images, newest)
                info = self.session.step({"images": lent, "labels": Dlpack(self.batch["labels"])})
                self.assertGreater(lent.calls, 0)
                self.assertGreater(info.step, 0)

    def test_buffers(self):
        before = Copies.count
        flat = array.array("f", self.batch["images"].tobytes())
        images = memoryview(flat).cast("B").cast("f", self.batch["images"].shape)
        labels = memoryview(array.array("q", self.batch["labels"].tolist()))
        self.session.step((images, labels))
        self.assertEqual(Copies.count, before)

    def test_lossless_conversions(self):
        before = Copies.count
        for dtype in (np.int32, np.uint8, np.int16):
            self.session.step((self.batch["images"], self.batch["labels"].astype(dtype)))
        self.assertEqual(Copies.count - before, 3)
        for dtype in (np.float16, ml_dtypes.bfloat16, ">f4"):
            self.session.predict(self.batch["images"].astype(dtype))
        self.assertEqual(Copies.count - before, 6)

    def test_copies_if_asked(self):
        images = np.asfortranarray(self.batch["images"].reshape(64, 1, 8, 8))
        with session(copy=True) as trained:
            before = Copies.count
            logits = trained.predict(images)["logits"]
            self.assertEqual(Copies.count - before, 1)
            np.testing.assert_array_equal(logits, self.expected)

    def test_no_copy_in_steps(self):
        before = Copies.count
        for batch in batches():
            self.session.step(batch)
        self.session.evaluate(batch)
        self.assertEqual(Copies.count, before)

    def test_outputs_own_their_memory(self):
        self.assertTrue(self.expected.flags.owndata)
        self.assertTrue(self.expected.flags.writeable)
        kept = self.expected.copy()
        self.session.close()
        np.testing.assert_array_equal(self.expected, kept)


if __name__ == "__main__":
    unittest.main()
