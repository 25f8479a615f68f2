"""mpc.Trainer is the loop of `mpc train`: losses and checkpoints are the same, bit for bit."""

import filecmp
import itertools
import json
import os
import tempfile
import unittest
import warnings

import numpy as np

import mpc
from digits import FOLDER, MLP, program, run_mpc, train_data

DATA = FOLDER / "digits-train.npz"
TEST = FOLDER / "digits-test.npz"


def arguments(folder=None, **more):
    options = {"num_train_epochs": 2, "logging_steps": 1, "device": "cpu", "threads": 1, "seed": 3}
    return mpc.TrainingArguments(folder, **{**options, **more})


def test_data():
    with np.load(TEST) as file:
        return dict(file)


class Losses(mpc.TrainerCallback):
    def __init__(self, last=None):
        self.losses, self.last, self.events = [], last, []

    def on_log(self, args, state, control, logs, **keywords):
        if "loss" in logs:
            self.losses.append(np.float32(logs["loss"]))

    def on_step_end(self, args, state, control, **keywords):
        control.should_training_stop = state.global_step == self.last


class Batches:
    """An iterable of batches; the order of each epoch is another."""

    def __init__(self, size=64, count=23):
        self.size, self.count, self.epoch, self.begun = size, count, 0, []

    def __len__(self):
        return self.count

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        self.begun.append(self.epoch)
        order = np.random.default_rng(self.epoch).permutation(1500)
        data = train_data()
        for i in range(self.count):
            rows = order[i * self.size : (i + 1) * self.size]
            yield {name: array[rows] for name, array in data.items()}


class Trainer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.run = os.path.join(folder.name, "run")
        self.package = os.path.join(folder.name, "m.mpc")
        program().save(self.package)
        warnings.simplefilter("ignore", mpc.TrainNote)
        warnings.simplefilter("ignore", mpc.CompileNote)

    def command(self, *options, package=None):
        lines = run_mpc(
            "train", package or self.package, "--data", DATA, "--threads=1", "--json", *options
        ).splitlines()
        rows = (json.loads(line) for line in lines)
        return [np.float32(row["loss"]) for row in rows if "loss" in row]

    def train(self, args, data=None, last=None, model=None, **more):
        watch = Losses(last)
        data = train_data() if data is None else data
        with mpc.Trainer(model or program(), args, train_dataset=data, callbacks=[watch], **more) as t:
            result = t.train()
            self.state = t.state
            self.weights = t.session.state_dict()
        self.assertEqual(result.global_step, t.state.global_step)
        return watch.losses

    # The same as the command

    def test_losses_are_those_of_the_command(self):
        expected = self.command("--epochs=2", "--seed=3")
        self.assertEqual(self.train(arguments()), expected)
        self.assertEqual(self.train(arguments(), str(DATA)), expected)
        self.assertEqual(self.state.epoch, 2.0)
        ordered = self.command("--steps=5", "--seed=3", "--no-shuffle", "--lr=0.01")
        self.assertEqual(
            self.train(arguments(max_steps=5, shuffle=False, learning_rate=0.01)), ordered
        )

    def test_either_resumes_the_other(self):
        expected = self.command("--epochs=2", "--seed=3", f"--checkpoint-dir={self.run}-whole")
        # Stopped by a callback, continued by the command.
        first = self.train(arguments(self.run, save_steps=7), last=30)
        self.assertEqual(first, expected[:30])
        self.assertIn("step-30", os.listdir(self.run))
        rest = self.command("--epochs=2", f"--checkpoint-dir={self.run}", "--resume")
        self.assertEqual(rest, expected[30:])
        # Begun by the command, continued here.
        other = self.run + "-other"
        self.command("--steps=30", "--seed=3", f"--checkpoint-dir={other}")
        rest = self.train(arguments(other, seed=None, resume_from_checkpoint=True))
        self.assertEqual(rest, expected[30:])
        for name in os.listdir(f"{self.run}-whole/step-46"):
            for folder in (self.run, other):
                self.assertTrue(filecmp.cmp(f"{self.run}-whole/step-46/{name}",
                                            f"{folder}/step-46/{name}", shallow=False), name)

    def test_schedule_and_accumulation(self):
        made = program(lr_schedule="linear", warmup=0.1, accumulate=3)
        made.save(self.package)
        expected = self.command("--epochs=2", "--seed=3", "--last-batch=train")
        args = arguments(self.run, gradient_accumulation_steps=3, lr_scheduler_type="linear",
                         warmup_ratio=0.1, dataloader_drop_last=False)
        self.assertEqual(self.train(args, last=9, model=made), expected[:9])
        args.resume_from_checkpoint = os.path.join(self.run, "step-9")
        self.assertEqual(self.train(args, model=made), expected[9:])
        self.assertEqual((self.state.epoch, self.state.global_step), (2.0, 16))
        history = self.state.log_history
        self.assertEqual([row["step"] for row in history if "loss" in row], list(range(1, 17)))
        self.assertLess(history[-2]["learning_rate"], history[-3]["learning_rate"])

    # Data

    def test_kinds_of_data(self):
        data = train_data()
        expected = self.train(arguments())
        samples = [{n: a[i] for n, a in data.items()} for i in range(1500)]
        tuples = [(s["images"].tolist(), int(s["labels"])) for s in samples]

        class Fetched(list):
            def __getitems__(self, numbers):
                return [self[number] for number in numbers]

        def collate(items):
            return {n: np.stack([item[n] for item in items]) for n in items[0]}

        for case, given in {
            "tuple of arrays": (data["images"], data["labels"]),
            "other types": {"images": data["images"].astype(np.float64),
                            "labels": data["labels"].astype(np.uint16), "names": ["a"] * 1500},
            "not contiguous": {**data, "images": np.asfortranarray(data["images"])},
            "dicts": samples, "tuples": tuples, "batches of items": Fetched(samples),
        }.items():
            with self.subTest(case):
                self.assertEqual(self.train(arguments(), given), expected)
        self.assertEqual(self.train(arguments(), samples, data_collator=collate), expected)

    def test_iterables(self):
        whole = Batches()
        expected = self.train(arguments(), whole)
        self.assertEqual(whole.begun, [0, 1])
        # Continues in the middle of the second epoch.
        first = self.train(arguments(self.run, save_steps=100), Batches(), last=30)
        again = Batches()
        rest = self.train(arguments(self.run, resume_from_checkpoint=True), again)
        self.assertEqual(first + rest, expected)
        self.assertEqual(again.begun, [1])
        # Without a length; the second epoch begins when the first one ends.
        steps = arguments(max_steps=46)
        self.assertEqual(self.train(steps, itertools.chain(Batches(), Batches()))[:23], expected[:23])

        class Endless(Batches):
            __len__ = None

        self.assertEqual(self.train(steps, Endless())[:23], expected[:23])

    def test_wrong_data(self):
        data = train_data()
        late = list(Batches())
        late[1] = {**late[1], "labels": late[1]["labels"][:5]}
        for given, error, words in (
            ([], mpc.InvalidArgument, "no samples"),
            (iter(Batches()), mpc.InvalidArgument, "unknown length .*max_steps"),
            (Batches(size=32), mpc.InvalidArgument, "batch 0 .* 32 samples.*batch_size=64"),
            (Batches(count=24), mpc.InvalidArgument, "batch 23 .*drop_last=True"),
            (Batches(count=0), mpc.InvalidArgument, "no batches"),
            (1, TypeError, "train_dataset must be a path, a dict of arrays"),
            ({"images": data["images"]}, mpc.InvalidArgument, "lacks the input 'labels'"),
            ({**data, "labels": list(range(1500))}, mpc.InvalidArgument, "'labels' is of type list"),
            ({**data, "labels": data["labels"][:9]}, mpc.InvalidArgument, "labels.*9|9.*labels"),
            ({**data, "images": data["images"].astype(complex)}, mpc.InvalidArgument, "complex128"),
            ([{"images": data["images"][0]}] * 64, mpc.InvalidArgument, "'labels'"),
            ([(data["images"][0],)] * 64, mpc.InvalidArgument, "expected 2 arrays"),
            ([(data["images"][0], 0.5)] * 64, mpc.InvalidArgument, "sample .*'labels' has the type float64"),
            ([(data["images"][0][0], 1)] * 64, mpc.InvalidArgument, r"'images' has the shape \(8, 8\)"),
            ([(data["images"][0], 2**70)] * 64, mpc.InvalidArgument, "'labels'"),
            (str(DATA) + "x", mpc.IoError, "digits-train.npzx"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                self.train(arguments(shuffle=False), given)

        class Broken(list):
            def __getitem__(self, index):
                raise KeyError("my own error")

        with self.assertRaisesRegex(KeyError, "my own error"):
            self.train(arguments(), Broken([1] * 64))
        ended = mpc.InvalidArgument, "ended after 23 batches, but the run needs 99"
        with self.assertRaisesRegex(*ended):
            self.train(arguments(max_steps=99), iter(list(Batches())))

    # Evaluation

    def test_evaluates_and_keeps_the_best(self):
        def compute(prediction):
            hits = prediction.predictions.argmax(1) == prediction.label_ids
            return {"hits": hits.sum()}

        for metric, value in (("accuracy", None), ("eval_hits", None), ("loss", False)):
            folder = f"{self.run}-{metric}"
            args = arguments(folder, eval_strategy="steps", eval_steps=10, logging_steps=23,
                             save_strategy="epoch", load_best_model_at_end=True, save_total_limit=1,
                             metric_for_best_model=metric, greater_is_better=value)
            with mpc.Trainer(program(), args, train_dataset=train_data(), eval_dataset=str(TEST),
                             compute_metrics=compute) as trainer:
                before = trainer.evaluate()
                trainer.train()
                rows = [row for row in trainer.state.log_history if "eval_loss" in row]
                self.assertEqual([row["step"] for row in rows], [0, 10, 20, 30, 40, 46])
                self.assertGreater(before["eval_loss"], rows[-1]["eval_loss"])
                after = trainer.evaluate()
                self.assertEqual(after["eval_hits"], round(297 * after["eval_accuracy"]))
                self.assertIn(trainer.state.best_global_step, (40, 46))
                self.assertAlmostEqual(after["eval_" + metric.removeprefix("eval_")],
                                       trainer.state.best_metric, places=6)
                names = sorted(os.listdir(folder))
                self.assertEqual([n for n in names if n[0] != "."], ["best", "log_history.json", "step-46"])
                shown = run_mpc("eval", self.package, f"--checkpoint={folder}/best", "--data", TEST,
                                "--json", "--threads=1")
                self.assertAlmostEqual(json.loads(shown)["accuracy"], after["eval_accuracy"])

    def test_predicts(self):
        data = test_data()
        rows = [{n: a[i] for n, a in data.items()} for i in range(70)]
        with mpc.Trainer(program(), arguments()) as trainer:
            whole = trainer.predict(data)
            self.assertEqual(whole.predictions.shape, (297, 10))
            np.testing.assert_array_equal(whole.label_ids, data["labels"])
            self.assertEqual(set(whole.metrics), {"test_loss", "test_accuracy"})
            for given in (str(TEST), (data["images"], data["labels"])):
                np.testing.assert_array_equal(trainer.predict(given).predictions, whole.predictions)
            self.assertEqual(trainer.predict(rows).predictions.shape, (70, 10))
            unlabelled = trainer.predict({"images": data["images"]})
            self.assertEqual((unlabelled.label_ids, unlabelled.metrics), (None, {}))
            halves = ({n: a[at] for n, a in data.items()} for at in (slice(0, 99), slice(99, 297)))
            np.testing.assert_array_equal(trainer.predict(halves).predictions, whole.predictions)
            with self.assertRaisesRegex(mpc.InvalidArgument, "requires train_dataset"):
                trainer.train()
            with self.assertRaisesRegex(mpc.InvalidArgument, "requires eval_dataset"):
                trainer.evaluate()

    def test_stops_early(self):
        args = arguments(eval_strategy="epoch", early_stopping_patience=1, num_train_epochs=9,
                         learning_rate=0.0)
        with mpc.Trainer(program(), args, train_dataset=train_data(), eval_dataset=test_data()) as t:
            self.assertEqual(t.train().global_step, 46)

    def test_stops_early_by_compute_metrics(self):
        # The second is the best one, and the run continues after the fifth.
        scores = iter([0.5, 0.7, 0.6, 0.7, float("nan"), 0.6])
        for epochs, resumes, last in ((1, False, 23), (9, True, 25)):
            args = arguments(self.run, eval_strategy="steps", eval_steps=5, num_train_epochs=epochs,
                             early_stopping_patience=4, metric_for_best_model="score",
                             load_best_model_at_end=True, resume_from_checkpoint=resumes)
            with mpc.Trainer(program(), args, train_dataset=train_data(), eval_dataset=test_data(),
                             compute_metrics=lambda prediction: {"score": next(scores)}) as t:
                self.assertEqual(t.train().global_step, last)
                self.assertEqual((t.state.best_metric, t.state.best_global_step), (0.7, 10))

    # Callbacks and sessions

    def test_callbacks(self):
        test, seen = self, []

        class Watch:
            def on_train_begin(self, args, state, control, trainer, **keywords):
                seen.append("begin")

            def on_step_end(self, args, state, control, trainer, **keywords):
                if state.global_step == 2:
                    control.should_save = control.should_evaluate = control.should_log = True
                    trainer.session.states["fc2.bias"] = np.zeros(10, np.float32)
                    with test.assertRaisesRegex(mpc.InvalidArgument, "mpc.Trainer, which makes its"):
                        trainer.session.step(next(iter(Batches())))
                control.should_training_stop = state.global_step == 3

            def on_log(self, args, state, control, logs, **keywords):
                seen.append("loss" if "loss" in logs else "log")

            def on_evaluate(self, args, state, control, metrics, **keywords):
                seen.append(round(metrics["eval_accuracy"], 1))

            def on_save(self, args, state, control, **keywords):
                seen.append(sorted(n for n in os.listdir(args.output_dir) if "step" in n)[-1])

            def on_train_end(self, args, state, control, **keywords):
                seen.append("end")

        args = arguments(self.run, logging_steps=99, eval_strategy="epoch")
        trainer = mpc.Trainer(program(), args, train_dataset=train_data(), eval_dataset=test_data(),
                              callbacks=[Watch])
        trainer.train()
        self.assertEqual(seen, ["begin", "loss", "log", seen[3], "step-2", "step-3", "log", "end"])
        self.assertEqual(trainer.train().global_step, 46)  # Continues where the callback stopped it.
        trainer.remove_callback(Watch)
        session = trainer.session
        self.assertEqual(trainer.train().metrics["train_steps_per_second"], 0)  # All is done.
        with self.assertRaisesRegex(mpc.InvalidArgument, "training has begun"):
            trainer.train(resume_from_checkpoint=True)
        trainer.close()
        self.assertTrue(session.closed)
        for call in (trainer.train, trainer.evaluate):
            self.assertRaisesRegex(mpc.InvalidArgument, "the trainer is closed", call)

    def test_weights_from_before_training(self):
        with mpc.Trainer(program(), arguments(max_steps=1), train_dataset=train_data()) as trainer:
            trainer.session.states["fc1.weight"] = np.zeros_like(trainer.session.states["fc1.weight"])
            trainer.train()
            self.assertLess(np.abs(trainer.session.states["fc1.weight"]).max(), 0.01)

    def test_interrupts_save(self):
        class Interrupt:
            def on_step_end(self, args, state, control, **keywords):
                if state.global_step == 4:
                    raise KeyboardInterrupt

        trainer = mpc.Trainer(program(), arguments(self.run), train_dataset=train_data(),
                              callbacks=[Interrupt()])
        self.assertRaises(KeyboardInterrupt, trainer.train)
        trainer.close()
        self.assertIn("step-4", os.listdir(self.run))

    def test_saves_models(self):
        with mpc.Trainer(program(), arguments(max_steps=3), train_dataset=train_data()) as trainer:
            trainer.train()
            folder = os.path.join(self.folder, "model")
            trainer.save_model(folder)
            trainer.save_model(os.path.join(self.folder, "m.onnx"))
            expected = trainer.predict(test_data()).predictions
            trainer.session.load_checkpoint(os.path.join(folder, "checkpoint"))
        with mpc.Session(program(), device="cpu", threads=1) as session:
            session.load_checkpoint(os.path.join(folder, "checkpoint"))
            np.testing.assert_array_equal(session.predict(test_data())["logits"], expected)
        again = mpc.compile(os.path.join(self.folder, "m.onnx"), batch=64)
        with mpc.Session(again, device="cpu", threads=1) as session:
            np.testing.assert_array_equal(session.predict(test_data())["logits"], expected)

    def test_logs_for_tensorboard(self):
        self.train(arguments(self.run, max_steps=2, report_to=["tensorboard"]))
        self.assertTrue(os.listdir(os.path.join(self.run, "runs")))

    # Compilation

    def test_compiles_for_the_arguments(self):
        args = arguments(per_device_train_batch_size=32, per_device_eval_batch_size=16,
                         gradient_accumulation_steps=2, learning_rate=0.01, weight_decay=0.1,
                         adam_beta1=0.8, adam_beta2=0.99, adam_epsilon=1e-7, max_grad_norm=1,
                         lr_scheduler_type="constant_with_warmup", warmup_steps=3, bf16=False,
                         optim="adamw_torch", label_smoothing_factor=0.1)
        trainer = mpc.Trainer(MLP, args, compile_options={"ema": 0.9})
        options = trainer.program.options
        for name, value in dict(precision="fp32", accumulate="2", lr="0.01", weight_decay="0.1",
                                beta1="0.8", beta2="0.99", epsilon="1e-07", clip_norm="1",
                                warmup="3", lr_schedule="constant, warmup 3", optimizer="adamw",
                                label_smoothing="0.1", ema="0.9").items():
            self.assertEqual(options[name], value, name)
        self.assertEqual(trainer.program.batch_sizes(), (32,))
        self.assertIn(16, trainer.program.batch_sizes("evaluate"))
        mpc.Trainer(trainer.program, args)  # Agrees.

    def test_arguments_must_agree_with_the_program(self):
        for wrong, words in (
            (dict(per_device_train_batch_size=32), "compiled with batches of 64; .* batch=32"),
            (dict(per_device_eval_batch_size=5), "batches of 64"),
            (dict(gradient_accumulation_steps=2), "gradient_accumulation_steps=2 differs"),
            (dict(weight_decay=0.5), "compiled with weight_decay=0.01; .* weight_decay=0.5"),
            (dict(fp16=True), "fp16=True differs .*precision=bf16; .* precision='fp16'"),
            (dict(bf16=False), "bf16=False differs"),
            (dict(optim="sgd"), "optim='sgd' differs .*optimizer=adamw"),
            (dict(lr_scheduler_type="cosine"), "compiled with lr_schedule=constant"),
            (dict(warmup_steps=5), "warmup_steps=5 differs"),
            (dict(max_grad_norm=1.0), "max_grad_norm=1.0 differs .*clip_norm=0"),
        ):
            with self.subTest(wrong), self.assertRaisesRegex(mpc.InvalidArgument, words):
                mpc.Trainer(program(), arguments(**wrong))

    def test_wrong_arguments(self):
        for wrong, error, words in (
            (dict(learing_rate=1), TypeError, "no argument 'learing_rate'; did you mean 'learning_rate'"),
            (dict(gradient_checkpointing=True), TypeError, "recompute='full'"),
            (dict(evaluation_strategy="no"), TypeError, "use eval_strategy"),
            (dict(fsdp="full"), TypeError, "use shard='optimizer' or 'gradients'"),
            (dict(shard="weights"), mpc.InvalidArgument,
             "shard must be 'none', 'optimizer', 'gradients', but is 'weights'"),
            (dict(grad_comm="fp8"), mpc.InvalidArgument,
             "grad_comm must be 'fp32', 'bf16', but is 'fp8'"),
            (dict(learning_rate="0.1"), TypeError, "learning_rate must be a number or None, but is '0.1'"),
            (dict(bf16="yes"), TypeError, "bf16 must be True or False or None"),
            (dict(max_steps=1.5), TypeError, "max_steps must be an integer, but is 1.5"),
            (dict(num_train_epochs=True), TypeError, "num_train_epochs must be an integer"),
            (dict(num_train_epochs=0), mpc.InvalidArgument, "at least 1, but is 0"),
            (dict(max_steps=0), mpc.InvalidArgument, "max_steps must be at least 1, or -1"),
            (dict(eval_strategy="epochs"), mpc.InvalidArgument, "eval_strategy must be 'no', 'steps', 'epoch'"),
            (dict(report_to="wandb"), mpc.InvalidArgument, "'wandb'; use a callback"),
            (dict(report_to="tensorboard"), mpc.InvalidArgument, "requires logging_dir or output_dir"),
            (dict(bf16=True, fp16=True), mpc.InvalidArgument, "cannot both"),
            (dict(warmup_ratio=5), mpc.InvalidArgument, "use warmup_steps"),
            (dict(warmup_ratio=0.1, warmup_steps=5), mpc.InvalidArgument, "cannot be combined"),
            (dict(seed=1, data_seed=2), mpc.InvalidArgument, "pass only seed"),
            (dict(save_strategy="steps"), mpc.InvalidArgument, "save_strategy='steps' requires output_dir"),
            (dict(resume_from_checkpoint=True), mpc.InvalidArgument, "requires output_dir"),
            (dict(output_dir="x", load_best_model_at_end=True), mpc.InvalidArgument, "requires eval_strategy"),
            (dict(early_stopping_patience=2), mpc.InvalidArgument, "requires eval_strategy"),
            (dict(save_total_limit=0), mpc.InvalidArgument, "at least 1, but is 0"),
            (dict(seed=-1), mpc.InvalidArgument, "seed must be at least 0"),
        ):
            with self.subTest(wrong), self.assertRaisesRegex(error, words):
                mpc.TrainingArguments(**wrong)
        for wrong, error, words in (
            (dict(args={"seed": 1}), TypeError, "args must be mpc.TrainingArguments, not dict"),
            (dict(tokenizer=1), TypeError, "no argument 'tokenizer'; use data_collator"),
            (dict(optimizers=(1, 2)), TypeError, "use optim"),
            (dict(train_data=1), TypeError, "did you mean 'train_dataset'"),
            (dict(compute_metrics=1), TypeError, "compute_metrics must be a function, not int"),
            (dict(callbacks=[1]), TypeError, "int has none; known are on_train_begin"),
            (dict(callbacks=[type("C", (), {"on_steps_end": 1})]), TypeError, "did you mean on_step_end"),
            (dict(compile_options={"loss": "mse"}), mpc.InvalidArgument, "do not apply to an mpc.Program"),
            (dict(args=arguments(eval_strategy="epoch")), mpc.InvalidArgument, "requires eval_dataset"),
            (dict(args=arguments(metric_for_best_model="f1")), mpc.InvalidArgument, "'f1' is not computed"),
            (dict(args=arguments(lr_scheduler_type="inverse_sqrt")), mpc.InvalidArgument, "not supported"),
            (dict(model=1), TypeError, "model must be a path"),
            (dict(model=MLP, args=arguments(weight_decay=1.0), compile_options={"weight_decay": 2}),
             mpc.InvalidArgument, "compile_options has 'weight_decay', which weight_decay=1.0 sets"),
        ):
            with self.subTest(wrong), self.assertRaisesRegex(error, words):
                mpc.Trainer(wrong.pop("model", program()), wrong.pop("args", None), **wrong)

    def test_wrong_checkpoints(self):
        self.train(arguments(self.run, max_steps=2))
        for args, words in (
            (arguments(self.run), "`resume_from_checkpoint=True` to continue it, or choose another"),
            (arguments(self.run, resume_from_checkpoint="elsewhere"), "not the newest .* 'step-2'; use True"),
            (arguments(self.run, resume_from_checkpoint=True, seed=4), "`seed`.*differs"),
            (arguments(self.run, resume_from_checkpoint=True, shuffle=False), "shuffle=False"),
        ):
            with self.subTest(words), self.assertRaisesRegex(mpc.InvalidArgument, words):
                self.train(args)
        with mpc.Trainer(program(), arguments(self.run, resume_from_checkpoint=True),
                         train_dataset=train_data()):
            other = mpc.Trainer(program(), arguments(self.run), train_dataset=train_data())
            self.assertRaises(mpc.Error, other.train)

    def test_notes_name_arguments(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.train(arguments(self.run, max_steps=1, resume_from_checkpoint=True))
        notes = [warning for warning in caught if warning.category is mpc.TrainNote]
        self.assertTrue(any("28 of them are left out" in str(note.message) for note in notes))
        self.assertEqual({note.filename for note in notes}, {__file__})


if __name__ == "__main__":
    unittest.main()
