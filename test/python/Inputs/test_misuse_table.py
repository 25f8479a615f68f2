"""One wrong call in each line: the exception, and words that name what is wrong and what to do.

test_misuse, test_trainer, test_diagnosis and test_compile have more.
"""

import array
import copy
import functools
import gc
import os
import pickle
import tempfile
import unittest
import warnings

import ml_dtypes
import numpy as np

import mpc
from digits import MLP, batches, program, session, train_data

IMAGES, LABELS = next(batches()).values()
WEIGHT = "fc1.weight"


def fortran():
    return np.asfortranarray(np.zeros((10, 128), np.float32))


class Hostile:
    """An array whose protocol does something unexpected."""

    def __init__(self, action):
        self.action = action

    def __dlpack__(self, **keywords):
        self.action()
        return IMAGES.__dlpack__()

    def __dlpack_device__(self):
        return IMAGES.__dlpack_device__()


def fails():
    raise RuntimeError("my own error")


SESSIONS = [
    # States
    (lambda s: s.states["fc1.weigth"], KeyError, "no state 'fc1.weigth'; did you mean 'fc1.weight'"),
    (lambda s: s.states[1], KeyError, "no state '1'"),
    (lambda s: s.states.spec("x"), KeyError, "no state 'x'"),
    (lambda s: s.states.__setitem__("fc1.weigth", 1), mpc.InvalidArgument, "did you mean 'fc1.weight'"),
    (lambda s: s.states.__setitem__(2, 1), mpc.InvalidArgument, "no state '2'"),
    (lambda s: s.states.__setitem__(WEIGHT, np.zeros(3)), mpc.InvalidArgument,
     r"state 'fc1.weight' has the type float64, .* use array.astype\(numpy.float32\)"),
    (lambda s: s.states.__setitem__(WEIGHT, np.zeros(3, np.float32)), mpc.InvalidArgument,
     r"state 'fc1.weight' is f32\[256,64\]"),
    (lambda s: s.states.__setitem__(WEIGHT, [1.0]), mpc.InvalidArgument, "of type list, .*numpy.asarray"),
    (lambda s: s.states.__setitem__(WEIGHT, None), mpc.InvalidArgument, "of type NoneType"),
    (lambda s: s.states.__setitem__(WEIGHT, 1.0), mpc.InvalidArgument, "of type float"),
    (lambda s: s.states.__setitem__("fc2.weight", fortran()), mpc.InvalidArgument, "not contiguous"),
    (lambda s: setattr(s, "states", {}), AttributeError, "states"),
    (lambda s: setattr(s, "program", None), AttributeError, "program"),
    (lambda s: setattr(s, "weights", {}), AttributeError, "weights"),
    (lambda s: setattr(s, "lr", -1), mpc.InvalidArgument, "at least 0, but is -1"),
    (lambda s: setattr(s, "lr", float("nan")), mpc.InvalidArgument, "finite .* but is nan"),
    (lambda s: setattr(s, "lr", float("inf")), mpc.InvalidArgument, "finite .* but is inf"),
    (lambda s: setattr(s, "lr", "0.1"), TypeError, "must be a number, but is '0.1'"),
    (lambda s: setattr(s, "lr", None), TypeError, "must be a number, but is None"),
    (lambda s: s.load_state_dict([]), TypeError, "dict of arrays by name, not list"),
    (lambda s: s.load_state_dict({}), mpc.InvalidArgument, 'missing keys: "fc1.weight"'),
    (lambda s: s.load_state_dict({**s.state_dict(), "x": 1}), mpc.InvalidArgument, 'unexpected keys: "x"'),
    (lambda s: s.load_state_dict({WEIGHT: IMAGES}, strict=False), mpc.InvalidArgument, "'fc1.weight'"),
    (lambda s: s.load_into(None), mpc.InvalidArgument, "not made by mpc.from_torch"),
    # Properties and checkpoints
    (lambda s: s.set_property(1, "x"), TypeError, "set_property"),
    (lambda s: s.set_property("x", 1), TypeError, "set_property"),
    (lambda s: s.get_property(None), TypeError, "get_property"),
    (lambda s: s.save_checkpoint(None), TypeError, "NoneType"),
    (lambda s: s.save_checkpoint("/proc/no/where"), mpc.IoError, "/proc/no/where"),
    (lambda s: s.save_checkpoint(""), mpc.Error, ""),
    (lambda s: s.load_checkpoint(MLP), mpc.Error, "mlp.onnx"),
    (lambda s: s.load_checkpoint("/no/where"), mpc.IoError, "/no/where"),
    (lambda s: s.load_checkpoint(3.5), TypeError, "float"),
    # Batches
    (lambda s: s.step(x for x in [IMAGES, LABELS]), mpc.InvalidArgument, "of type generator"),
    (lambda s: s.step({1: IMAGES, 2: LABELS}), mpc.InvalidArgument, "lacks the input 'images'"),
    (lambda s: s.step(images=IMAGES), mpc.InvalidArgument, "lacks the input 'labels'"),
    (lambda s: s.step(images=IMAGES, label=LABELS), mpc.InvalidArgument, "did you mean 'label'"),
    (lambda s: s.step({IMAGES.tobytes(): 1}), mpc.InvalidArgument, "lacks the input 'images'"),
    (lambda s: s.step(train_data()), mpc.InvalidArgument, r"got f32\[1500,1,8,8\]"),
    (lambda s: s.step((LABELS, IMAGES)), mpc.InvalidArgument, "'images' has the type int64"),
    (lambda s: s.step((IMAGES.tobytes(), LABELS)), mpc.InvalidArgument, "'images' has the type"),
    (lambda s: s.step((bytearray(8), LABELS)), mpc.InvalidArgument, "'images' has the type"),
    (lambda s: s.step((array.array("d", [1]), LABELS)), mpc.InvalidArgument, "array"),
    (lambda s: s.step((IMAGES[::-1], LABELS)), mpc.InvalidArgument, "not contiguous"),
    (lambda s: s.step((np.broadcast_to(np.float32(1), (64, 1, 8, 8)), LABELS)), mpc.InvalidArgument,
     "not contiguous"),
    (lambda s: s.step((np.broadcast_to(np.float32(1), (2**40, 1, 8, 8)), LABELS)),
     mpc.InvalidArgument, "not contiguous"),
    (lambda s: s.step((IMAGES.astype(bool), LABELS)), mpc.InvalidArgument, "has the type bool"),
    (lambda s: s.step((IMAGES.astype(np.uint8), LABELS)), mpc.InvalidArgument, "has the type uint8"),
    (lambda s: s.step((IMAGES.astype(np.longdouble), LABELS)), mpc.InvalidArgument, "has the type"),
    (lambda s: s.step((IMAGES, LABELS.astype("M8[s]"))), mpc.InvalidArgument, "datetime64"),
    (lambda s: s.step((IMAGES, LABELS.astype("m8[s]"))), mpc.InvalidArgument, "timedelta64"),
    (lambda s: s.step((IMAGES, LABELS.astype(bytes))), mpc.InvalidArgument, "has the type"),
    (lambda s: s.step((IMAGES, LABELS.astype([("a", "i8")]))), mpc.InvalidArgument, "has the type"),
    (lambda s: s.step((IMAGES, LABELS.astype(np.float16))), mpc.InvalidArgument, "float16"),
    (lambda s: s.step((IMAGES, LABELS.astype(ml_dtypes.bfloat16))), mpc.InvalidArgument, "bfloat16"),
    (lambda s: s.step((IMAGES, LABELS.reshape(64, 1))), mpc.InvalidArgument, r"got i64\[64,1\]"),
    (lambda s: s.step((IMAGES, LABELS.reshape(8, 8))), mpc.InvalidArgument, r"got i64\[8,8\]"),
    (lambda s: s.step((IMAGES[:63], LABELS[:63])), mpc.InvalidArgument, r"got f32\[63,1,8,8\]"),
    (lambda s: s.step((Hostile(fails), LABELS)), (mpc.InvalidArgument, RuntimeError), ""),
    (lambda s: s.step((Hostile(lambda: s.step((IMAGES, LABELS))), LABELS)),
     (mpc.InvalidArgument, RuntimeError), ""),
    (lambda s: s.step((IMAGES, type("A", (), {"__array__": fails})())), mpc.InvalidArgument,
     "'labels' cannot be read as an array"),
    (lambda s: s.step((IMAGES, type("A", (), {"__array__": lambda *a, **k: 1})())),
     mpc.InvalidArgument, "'labels' cannot be read"),
    # Evaluation and prediction
    (lambda s: s.evaluate(None), mpc.InvalidArgument, "of type NoneType"),
    (lambda s: s.evaluate(IMAGES), mpc.InvalidArgument, "expected arrays for 2 inputs"),
    (lambda s: s.evaluate({"images": IMAGES}), mpc.InvalidArgument, "lacks the input 'labels'"),
    (lambda s: s.evaluate((IMAGES, LABELS.tolist())), mpc.InvalidArgument, "of type list"),
    (lambda s: s.evaluate((IMAGES[:9], LABELS)), mpc.InvalidArgument, "'images' has 9, 'labels' has 64"),
    (lambda s: s.evaluate((IMAGES, LABELS + 99)), mpc.InvalidArgument, r"outside \[0, 10\)"),
    (lambda s: s.predict(None), mpc.InvalidArgument, "NoneType"),
    (lambda s: s.predict([]), mpc.InvalidArgument, "expected 1 arrays"),
    (lambda s: s.predict({}), mpc.InvalidArgument, "lacks the input 'images'"),
    (lambda s: s.predict(IMAGES.ravel()), mpc.InvalidArgument, "has the shape"),
    (lambda s: s.predict(IMAGES, outputs="logits"), TypeError, "outputs must be a list of names"),
    (lambda s: s.predict(IMAGES, outputs=[1]), mpc.InvalidArgument, "no output '1'"),
    (lambda s: s.predict(IMAGES, out=[IMAGES]), TypeError, "out a dict of arrays"),
    (lambda s: s.predict(IMAGES, out={"logits": None}), mpc.InvalidArgument,
     "output 'logits' is of type NoneType"),
    (lambda s: s.predict(IMAGES, out={"logits": [1.0]}), mpc.InvalidArgument, "of type list"),
    (lambda s: s.predict(IMAGES, out={"logits": b"x" * 2560}), mpc.InvalidArgument, "'logits'"),
    (lambda s: s.predict(IMAGES[:5], out={"logits": np.empty((5, 10), np.float32)}),
     mpc.InvalidArgument, r"expected f32\[64,10\], got f32\[5,10\]"),
    (lambda s: s.run("walk", (), ()), mpc.InvalidArgument, "no entry point 'walk'"),
    (lambda s: s.run("predict", (IMAGES,), ()), mpc.InvalidArgument, "for each output"),
    # Copies
    (lambda s: pickle.dumps(s), TypeError, "cannot be copied to another process; create one there"),
    (lambda s: copy.copy(s), TypeError, "create one there"),
    (lambda s: copy.deepcopy(s), TypeError, "create one there"),
]

CREATION = [
    (lambda: mpc.Session(None), TypeError, "takes an mpc.Program, not NoneType; use mpc.Program.load"),
    (lambda: mpc.Session(MLP), TypeError, "use mpc.Program.load"),
    (lambda: mpc.Session(program(), 1), TypeError, "device must be a string, but is 1"),
    (lambda: mpc.Session(program(), None), TypeError, "device must be a string, but is None"),
    (lambda: mpc.Session(program(), "gpu"), mpc.Error, "gpu"),
    (lambda: mpc.Session(program(), ""), mpc.Error, ""),
    (lambda: mpc.Session(program(), "cuda:x"), mpc.Error, "cuda:x"),
    (lambda: mpc.Session(program(), threads="2"), TypeError, "threads must be an integer, but is '2'"),
    (lambda: mpc.Session(program(), threads=1.5), TypeError, "threads must be an integer"),
    (lambda: mpc.Session(program(), threads=True), TypeError, "threads must be an integer"),
    (lambda: mpc.Session(program(), threads=-1), mpc.InvalidArgument, "at least 1"),
    (lambda: mpc.Session(program(), threads=2**40), mpc.InvalidArgument, "threads"),
    (lambda: mpc.Session(program(), seed="1"), TypeError, "seed must be an integer"),
    (lambda: mpc.Session(program(), seed=2**63), mpc.InvalidArgument, r"\[0, 2\*\*63\)"),
    (lambda: mpc.Session(program(), copy="yes"), TypeError, "copy must be True or False"),
    (lambda: mpc.Session(program(), deterministic=1), TypeError, "deterministic must be True or False"),
    (lambda: mpc.Session(program(), allow_non_finite=None), TypeError, "True or False, but is None"),
    (lambda: mpc.Session(program(), dtype=1), TypeError, "dtype"),
    (lambda: mpc.Program(None), TypeError, "bytes of a package, not NoneType"),
    (lambda: mpc.Program(str(MLP)), TypeError, "use mpc.Program.load"),
    (lambda: mpc.Program(MLP.read_bytes()), mpc.Damaged, ""),
    (lambda: mpc.Program(program()._package[:5000]), mpc.Damaged, ""),
    (lambda: mpc.Program(program()._package + b"more"), mpc.Error, ""),
    (lambda: mpc.Program.load(1), TypeError, "int"),
    (lambda: mpc.Program.load(MLP), mpc.Damaged, "mlp.onnx"),
    (lambda: mpc.Program.load(MLP.parent), mpc.Error, "digits"),
    (lambda: program().save(None), TypeError, "NoneType"),
    (lambda: program().save(MLP.parent), mpc.IoError, "digits"),
    (lambda: program().inputs("evalute"), mpc.InvalidArgument, "did you mean 'evaluate'"),
    (lambda: program().outputs(1), TypeError, "named by a string, not int"),
    (lambda: program().batch_sizes("x"), mpc.InvalidArgument, "no entry point 'x'; known are 'step'"),
    (lambda: program().report(1), TypeError, "named by a string, not int"),
    (lambda: program().report("cuda"), mpc.InvalidArgument, "no code for the device 'cuda'"),
    (lambda: setattr(program(), "options", {}), AttributeError, "options"),
    (lambda: mpc.compile(), TypeError, "model"),
    (lambda: mpc.compile(None), TypeError, "model must be a path"),
    (lambda: mpc.compile(MLP.parent), mpc.Error, "digits"),
    (lambda: mpc.compile(MLP, lr=float("nan")), mpc.CompileError, "`lr`"),
    (lambda: mpc.compile(MLP, lr=-1.5), mpc.CompileError, "`lr`"),
    (lambda: mpc.compile(MLP, batch=0), mpc.CompileError, "`batch`"),
    (lambda: mpc.compile(MLP, batch=2**70), mpc.CompileError, "`batch`"),
    (lambda: mpc.compile(MLP, dim={"T": 1}), mpc.CompileError, "T=1: the model has no such dimension"),
    (lambda: mpc.compile(MLP, loss="cross_entropy"), mpc.CompileError, "cross"),
    (lambda: mpc.compile(MLP, init="none.safetensors"), mpc.Error, "none.safetensors"),
    (lambda: mpc.no_such_name, AttributeError, "no attribute 'no_such_name'"),
]


class Table(unittest.TestCase):
    def check(self, call, error, words):
        with self.assertRaisesRegex(error, words) as caught:
            call()
        # A text that was made for it, not that of a C++ exception.
        self.assertTrue(str(caught.exception))
        self.assertNotIn("std::", str(caught.exception))

    def test_sessions(self):
        with session() as trained:
            for number, (call, error, words) in enumerate(SESSIONS):
                with self.subTest(f"{number}: {words}"):
                    self.check(functools.partial(call, trained), error, words)
            # Nothing of this has changed the session.
            self.assertEqual(trained.step((IMAGES, LABELS)).step, 1)

    def test_creation(self):
        warnings.simplefilter("ignore", mpc.CompileNote)
        for number, (call, error, words) in enumerate(CREATION):
            with self.subTest(f"{number}: {words}"):
                self.check(call, error, words)

    def test_closed_while_arrays_are_read(self):
        trained = session()
        with self.assertRaises(mpc.InvalidArgument):
            trained.step((Hostile(trained.close), LABELS))
        trained.close()
        other = session()

        def drop():
            nonlocal other
            other = None
            gc.collect()

        other.step((Hostile(drop), LABELS))

    def test_damaged_checkpoints(self):
        with tempfile.TemporaryDirectory() as folder, session() as trained:
            trained.save_checkpoint(f"{folder}/good")
            for name in os.listdir(f"{folder}/good"):
                with self.subTest(name):
                    trained.save_checkpoint(f"{folder}/{name}-bad")
                    os.truncate(f"{folder}/{name}-bad/{name}", 10)
                    self.check(lambda: trained.load_checkpoint(f"{folder}/{name}-bad"),
                               (mpc.Damaged, mpc.IoError), name)

    def test_programs_are_copied(self):
        made = pickle.loads(pickle.dumps(program()))
        self.assertEqual(made.options, program().options)
        self.assertEqual(copy.deepcopy(made).inputs(), made.inputs())


if __name__ == "__main__":
    unittest.main()
