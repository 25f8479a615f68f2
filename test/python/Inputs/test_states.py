"""States, state dicts, and the learning rate."""

import unittest

import ml_dtypes
import numpy as np

import mpc
from digits import batches, program, session


class States(unittest.TestCase):
    def test_round_trip_of_every_state(self):
        with session() as trained:
            for batch in batches(count=2):
                trained.step(batch)
            for name, array in dict(trained.states).items():
                if trained.states.spec(name).role in ("working_copy", "derived"):
                    continue
                trained.states[name] = array
                np.testing.assert_array_equal(trained.states[name], array)
                self.assertTrue(trained.states[name].flags.owndata)
            self.assertEqual(list(trained.states), [spec.name for spec in program().states])

    def test_written_weights_count(self):
        with session() as one, session() as other:
            for batch in batches(count=3):
                one.step(batch)
            other.load_state_dict(one.state_dict())
            images = next(batches())["images"]
            np.testing.assert_array_equal(
                one.predict(images)["logits"], other.predict(images)["logits"]
            )

    def test_state_dict_has_messages_as_torch(self):
        with session() as trained:
            state = trained.state_dict()
            bias = state.pop("fc1.bias")
            with self.assertRaisesRegex(mpc.InvalidArgument, 'missing keys: "fc1.bias"'):
                trained.load_state_dict(state)
            with self.assertRaisesRegex(mpc.InvalidArgument, 'unexpected keys: "other"'):
                trained.load_state_dict({**state, "fc1.bias": bias, "other": bias})
            trained.load_state_dict({**state, "other": bias}, strict=False)
            with self.assertRaisesRegex(mpc.InvalidArgument, r"fc1.bias.*f32\[64\].*f32\[3\]|f32"):
                trained.load_state_dict({"fc1.bias": bias[:3]}, strict=False)

    def test_unknown_state(self):
        with session() as trained:
            with self.assertRaises(KeyError):
                trained.states["fc1.weigth"]
            with self.assertRaisesRegex(mpc.InvalidArgument, "mean 'fc1.weight'"):
                trained.states["fc1.weigth"] = np.zeros(1)
            self.assertNotIn("fc1.weigth", trained.states)

    def test_learning_rate(self):
        with session() as trained:
            self.assertAlmostEqual(trained.lr, 1e-3)
            trained.lr = 0.0
            before = trained.state_dict()
            trained.step(next(batches()))
            for name, array in trained.state_dict().items():
                np.testing.assert_array_equal(array, before[name])
            with self.assertRaisesRegex(mpc.InvalidArgument, "at least 0, but is -1"):
                trained.lr = -1

    def test_bf16_weights(self):
        kahan = program(master_weights="bf16-kahan")
        with mpc.Session(kahan, device="cpu") as trained:
            weight = trained.states["fc1.weight"]
            self.assertEqual(weight.dtype, ml_dtypes.bfloat16)
            trained.states["fc1.weight"] = weight * 2
            np.testing.assert_array_equal(trained.states["fc1.weight"], weight * 2)
            with self.assertRaisesRegex(mpc.InvalidArgument, r"astype\(ml_dtypes.bfloat16\)"):
                trained.states["fc1.weight"] = weight.astype(np.float32)

    def test_properties_survive_checkpoints(self):
        with session() as trained:
            self.assertIsNone(trained.get_property("mine"))
            trained.set_property("mine", "x")
            self.assertEqual(trained.get_property("mine"), "x")
            trained.set_property("mine", None)
            self.assertIsNone(trained.get_property("mine"))


if __name__ == "__main__":
    unittest.main()
