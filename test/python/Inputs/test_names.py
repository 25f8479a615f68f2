"""Each public name is documented, and appears in a test; results have the types that the stubs say."""

import ast
import inspect
import os
import pathlib
import re
import typing
import unittest
import warnings

import mpc
from digits import batches, program, session, train_data
from mpc._errors import error_of_exit, make_error

TESTS = pathlib.Path(__file__).resolve().parent


def public_members(value):
    return [name for name in vars(value) if not name.startswith("_")]


class Names(unittest.TestCase):
    def test_each_name_is_in_the_guide(self):
        guide = pathlib.Path(os.environ["MPC_GUIDE"]).read_text()
        for name in mpc.__all__:
            self.assertRegex(guide, rf"\b{name}\b")

    def test_each_name_is_in_a_test(self):
        text = "\n".join(path.read_text() for path in TESTS.rglob("*.py"))
        for name in mpc.__all__:
            value = getattr(mpc, name)
            for member in [name, *(public_members(value) if inspect.isclass(value) else ())]:
                self.assertRegex(text, rf"\b{member}\b", name)

    def test_each_name_is_typed(self):
        """Functions and methods have annotations, which are the stubs of Python code."""
        for path in pathlib.Path(mpc.__file__).resolve().parent.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef):
                    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                    untyped = [a.arg for a in arguments
                               if a.annotation is None and a.arg not in ("self", "cls")]
                    self.assertEqual((untyped, node.returns is None), ([], False), (path, node.name))

    def test_results(self):
        warnings.simplefilter("ignore", mpc.TrainNote)
        batch = next(batches())
        with session() as trained:
            info = trained.step(batch)
            self.assertIsInstance(info, mpc.StepInfo)
            self.assertGreater(info.grad_norm, 0)
            metrics = trained.evaluate(batch)
            self.assertIsInstance(metrics, mpc.Metrics)
            self.assertEqual(metrics.parts, {})
            self.assertIsInstance(trained.states, mpc.States)
            profile = mpc.profile(trained, batch, steps=1)
        self.assertIsInstance(profile, mpc.Profile)
        time = profile.instructions[0]
        self.assertIsInstance(time, mpc.InstructionTime)
        self.assertTrue(time.kind and 0 < time.min_seconds <= time.seconds and 0 < time.share < 1)
        self.assertTrue(any(one.implementation for one in profile.instructions))
        spec = program().inputs()[0]
        self.assertIsInstance(spec, mpc.TensorSpec)
        self.assertEqual(spec.batch_dim, 0)
        self.assertIsInstance(program().states[0], mpc.StateSpec)
        report = program().report()
        self.assertIsInstance(report, mpc.Report)
        self.assertIn("flops_16bit", report.summary["step"])

    def test_results_of_trainers(self):
        warnings.simplefilter("ignore", mpc.TrainNote)
        seen = []

        class Watch(mpc.TrainerCallback):
            def on_epoch_end(self, args, state, control, **keywords):
                seen.append((state.epoch, type(state), type(control)))

        def compute(prediction):
            self.assertIsInstance(prediction, mpc.EvalPrediction)
            return {"one": 1}

        args = mpc.TrainingArguments(num_train_epochs=2, logging_strategy="epoch", device="cpu")
        self.assertFalse(args.wants_tensorboard)
        with mpc.Trainer(program(), args, train_dataset=train_data(),
                         compute_metrics=compute) as trainer:
            trainer.add_callback(Watch())
            result = trainer.train()
            self.assertIsInstance(result, mpc.TrainOutput)
            self.assertAlmostEqual(result.training_loss, result.metrics["train_loss"])
            predicted = trainer.predict(train_data())
        self.assertIsInstance(predicted, mpc.PredictionOutput)
        self.assertEqual(predicted.metrics["test_one"], 1)
        self.assertEqual(seen, [(float(n), mpc.TrainerState, mpc.TrainerControl) for n in (1, 2)])
        rows = [row["step"] for row in trainer.state.log_history if "loss" in row]
        self.assertEqual(rows, [23, 46])
        self.assertIsNone(trainer.state.best_model_checkpoint)

    def test_errors(self):
        """One class for each code of the C API and for each exit status."""
        codes = (mpc.InvalidArgument, mpc.Incompatible, mpc.OutOfMemory, mpc.Unavailable,
                 mpc.DeviceLost, mpc.Internal, mpc.IoError, mpc.Damaged, mpc.NumericError,
                 mpc.RankLost)
        for code, error in enumerate(codes, start=1):
            self.assertIs(type(make_error(code, "text")), error)
            self.assertTrue(issubclass(error, mpc.Error))
        self.assertIs(type(make_error(99, "text")), mpc.Internal)
        self.assertIs(type(error_of_exit(7, "mpc: error: text")), mpc.OutOfMemory)
        self.assertEqual(str(error_of_exit(4, "mpc: error: text")), "text")
        message = mpc.CompileMessage("text", "fc1", "Gemm", ("more",))
        self.assertEqual(str(message), "node 'fc1' (Gemm): text\n  more")
        self.assertTrue(typing.get_type_hints(mpc.CompileMessage))


if __name__ == "__main__":
    unittest.main()
