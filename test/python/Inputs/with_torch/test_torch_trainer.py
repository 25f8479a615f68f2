"""mpc.Trainer takes PyTorch's modules and DataLoaders."""

import tempfile
import unittest
import warnings

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import mpc


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 5))

    def forward(self, features):
        return self.layers(features)


def dataset():
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(256, 6, generator=generator)
    return TensorDataset(features, features[:, :5].argmax(1))


def arguments(folder=None, **more):
    return mpc.TrainingArguments(folder, device="cpu", threads=1, logging_steps=1, **more)


class Losses(mpc.TrainerCallback):
    def __init__(self, last=None):
        self.losses, self.last = [], last

    def on_log(self, args, state, control, logs, **keywords):
        self.losses += [logs["loss"]] if "loss" in logs else []

    def on_step_end(self, args, state, control, **keywords):
        control.should_training_stop = state.global_step == self.last


class TorchTrainer(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", mpc.TrainNote)
        warnings.simplefilter("ignore", mpc.CompileNote)
        torch.manual_seed(1)

    def train(self, model, args, data, last=None):
        watch = Losses(last)
        with mpc.Trainer(model, args, train_dataset=data, callbacks=[watch]) as trainer:
            trainer.train()
            self.program = trainer.program
            self.weights = trainer.session.state_dict()
        return watch.losses

    def test_trains_modules(self):
        module, data = Classifier(), dataset()
        before = [parameter.clone() for parameter in module.parameters()]
        args = arguments(num_train_epochs=20, per_device_train_batch_size=64, learning_rate=0.01)
        losses = self.train(module, args, data)
        self.assertLess(losses[-1], losses[0] / 2)
        for parameter, old in zip(module.parameters(), before):
            self.assertGreater((parameter - old).abs().max(), 0.01)
        hits = module(data.tensors[0]).argmax(1) == data.tensors[1]
        self.assertGreater(hits.float().mean(), 0.9)
        # The same with arrays by name, and with batches.
        arrays = {"features": data.tensors[0], "labels": data.tensors[1].numpy()}
        self.assertEqual(self.train(self.program, args, arrays), losses)
        fresh = {n: t for n, t in zip(("features", "labels"), data.tensors)}
        torch.manual_seed(1)
        self.assertEqual(self.train(Classifier(), args, fresh), losses)
        with self.assertRaisesRegex(mpc.InvalidArgument, "needs example inputs: pass train_dataset"):
            mpc.Trainer(Classifier(), args)
        with self.assertRaisesRegex(mpc.InvalidArgument, "forward\\(\\) takes 'features'"):
            mpc.Trainer(Classifier(), args, train_dataset={"x": arrays["features"]})

    def test_resumes_with_a_loader(self):
        def loader(**options):
            return DataLoader(dataset(), batch_size=64, shuffle=True, drop_last=True, **options)

        whole = self.train(Classifier(), arguments(seed=3), loader())
        program = self.program
        self.assertEqual(len(whole), 12)
        self.assertNotEqual(whole, self.train(program, arguments(seed=4), loader()))
        torch.manual_seed(99)
        self.assertEqual(self.train(program, arguments(seed=3), loader(num_workers=1)), whole)
        with tempfile.TemporaryDirectory() as folder:
            first = self.train(program, arguments(folder, seed=3), loader(), last=6)
            args = arguments(folder, resume_from_checkpoint=True)
            self.assertEqual(first + self.train(program, args, loader()), whole)


if __name__ == "__main__":
    unittest.main()
