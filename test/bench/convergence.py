#!/usr/bin/env python3
"""Final metrics of training in each precision, compared with the spread between seeds.

usage: convergence.py TEXT [--precisions fp32 bf16 fp16] [--json=FILE]

mpc trains five small models from scratch, each with several seeds for the initial weights, the
order of samples and, unless the data is from a file, the data. TEXT is the text for the character
model: tinyshakespeare.txt. Prints mean and standard deviation over the seeds of loss and accuracy
on data that was not used for training. A precision is worse if one of its means is worse than that
of the first precision by more than twice the standard error of the difference.

Needs torch and onnx. Runs on one thread; --json saves finished runs and skips them later.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import torch
import torch.nn as nn

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIGITS = ROOT / "runtime/examples/digits"


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


class Cnn(nn.Sequential):
    def __init__(self):
        super().__init__(*self.block(1, 16), *self.block(16, 32), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(32 * 16, 10))

    @staticmethod
    def block(before, after):
        return nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()


class Lstm(nn.Module):
    """Reads an image as 16 steps of 4 pixels."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 48, batch_first=True), nn.Linear(48, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        b, t, w = x.shape
        q, k, v = (p.reshape(b, t, self.heads, -1).transpose(1, 2)
                   for p in self.qkv(self.norm1(x)).split(w, 2))
        scores = torch.softmax(q @ k.transpose(2, 3) * (w // self.heads) ** -0.5 + mask, 3)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(b, t, w))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    LENGTH = 64

    def __init__(self, words, width=64, layers=3):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(0.02 * torch.randn(1, self.LENGTH, width))
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)
        self.register_buffer("mask", torch.full((self.LENGTH, self.LENGTH), -1e9).triu(1))

    def forward(self, x):
        x = self.words(x) + self.places
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x))


class UNet(nn.Module):
    """A two-level U-Net with a skip connection."""

    def __init__(self, width=8):
        super().__init__()
        self.down1, self.down2 = self.block(1, width), self.block(width, 2 * width)
        self.floor = self.block(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.side2 = self.block(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.side1 = self.block(2 * width, width)
        self.head = nn.Conv2d(width, 4, 1)

    @staticmethod
    def block(before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after),
                             nn.ReLU())

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(nn.functional.max_pool2d(first, 2))
        floor = self.floor(nn.functional.max_pool2d(second, 2))
        up = self.side2(torch.cat([self.up2(floor), second], 1))
        return self.head(self.side1(torch.cat([self.up1(up), first], 1)))


def load_digits(part):
    """Of training and test data: images of 8 x 8 in 0 ... 1, and what they show."""
    with np.load(DIGITS / f"digits-{part}.npz") as file:
        return file["images"].reshape(-1, 1, 8, 8).astype(np.float32), file["labels"]


def digits(_):
    return [load_digits(part) for part in ("train", "test")]


def digits_in_rows(_):
    return [(images.reshape(-1, 16, 4), labels) for images, labels in digits(None)]


class Text:
    """Windows of a text; the last tenth is not used for training."""

    def __init__(self, path):
        text = path.read_text()
        self.letters = sorted(set(text))
        place = {letter: i for i, letter in enumerate(self.letters)}
        self.codes = np.array([place[letter] for letter in text], np.int64)

    def windows(self, seed):
        """Each seed begins at another position, so that the windows differ and not only their order."""
        codes = self.codes[seed % Gpt.LENGTH:]
        count = (len(codes) - 1) // Gpt.LENGTH
        x = codes[:count * Gpt.LENGTH].reshape(count, -1)
        y = codes[1:count * Gpt.LENGTH + 1].reshape(count, -1)
        split = count * 9 // 10
        return (x[:split], y[:split]), (x[split:split + 1024], y[split:split + 1024])


def draw_shapes(seed, count, size=32):
    """Noisy images of a disc, a box and a diamond; labels of pixels are 1, 2, 3, or 0 for the background."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size]
    images = random.normal(0, 0.4, (count, 1, size, size)).astype(np.float32)
    labels = np.zeros((count, size, size), np.int64)
    for image, label in zip(images, labels):
        for kind in random.permutation(3) + 1:
            y, x, radius = *random.uniform(4, size - 4, 2), random.uniform(3, 8)
            dy, dx = abs(rows - y), abs(columns - x)
            distance = {1: np.hypot(dy, dx), 2: np.maximum(dy, dx), 3: dy + dx}[kind]
            inside = distance < radius
            label[inside] = kind
            image[0][inside] += random.uniform(0.5, 1)
    return images, labels


def shapes(seed):
    # All seeds are tested on the same images.
    return draw_shapes(seed + 1, 1024), draw_shapes(0, 256)


class Task:
    def __init__(self, model, data, steps, batch, lr, *options):
        self.model, self.data, self.steps = model, data, steps
        self.options = [f"--lr={lr}", f"--batch={batch}", *options]


def make_tasks(text):
    return {
        "digits mlp": Task(Mlp, digits, 460, 64, 3e-3, "--lr-schedule=cosine"),
        "digits cnn": Task(Cnn, digits, 460, 64, 3e-3, "--lr-schedule=cosine"),
        "character gpt": Task(lambda: Gpt(len(text.letters)), text.windows, 1200, 32, 2e-3,
                              "--lr-schedule=cosine", "--warmup=100", "--clip-norm=1"),
        "lstm classifier": Task(Lstm, digits_in_rows, 690, 64, 5e-3, "--lr-schedule=cosine",
                                "--clip-norm=1"),
        "u-net": Task(UNet, shapes, 320, 32, 5e-3, "--label-axis=1", "--lr-schedule=cosine"),
    }


class Sample:
    """One metric of several runs; larger is better if `sign` is 1."""

    def __init__(self, runs, metric, sign):
        values = [run[metric] for run in runs]
        self.mean, self.deviation = statistics.fmean(values), statistics.stdev(values)
        self.error, self.sign = self.deviation / math.sqrt(len(values)), sign

    def gain(self, other):
        return self.sign * (self.mean - other.mean)

    def better(self, other):
        """The difference in standard deviations of the other."""
        gain = self.gain(other)
        if not gain:
            return 0.0
        return gain / other.deviation if other.deviation else math.copysign(math.inf, gain)

    def is_worse(self, other):
        return self.gain(other) < -2 * math.hypot(self.error, other.error)


class Benchmark:
    def __init__(self, args):
        self.args = args
        self.tasks = make_tasks(Text(args.text))
        self.environment = dict(os.environ, OMP_NUM_THREADS="1")
        self.results = {}
        if args.json and args.json.exists():
            self.results = json.loads(args.json.read_text())

    def mpc(self, *words):
        done = subprocess.run([str(word) for word in (self.args.build / "bin/mpc", *words)],
                              env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"convergence.py: mpc {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def export(self, task, seed, folder):
        """Writes weights and data of a seed: model.onnx, train.npz, test.npz."""
        torch.manual_seed(seed)
        model = task.model().train()
        for name, (x, labels) in zip(("train", "test"), task.data(seed)):
            np.savez(folder / f"{name}.npz", x=x, labels=labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(model, (torch.from_numpy(x[:2]),), folder / "model.onnx",
                              input_names=["x"], output_names=["y"], opset_version=17,
                              dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, dynamo=False,
                              do_constant_folding=False,
                              training=torch.onnx.TrainingMode.TRAINING)

    def precision_options(self, task, seed, precision, folder):
        """Forces fp8 everywhere, because the models are small; auto uses a profile of the first steps."""
        if precision == "fp8":
            return ["--fp8-all-layers"]
        if precision != "auto":
            return []
        package, profile = folder / "observed.mpc", folder / "profile.json"
        self.mpc("compile", folder / "model.onnx", "-o", package, "--precision=fp32",
                 "--observe=profile", *task.options)
        self.mpc("profile", package, "--data", folder / "train.npz", "--steps=10",
                 f"--seed={seed}", "-o", profile)
        return [f"--profile={profile}"]

    def train(self, task, seed, precision, folder):
        package, data = folder / "model.mpc", folder / "train.npz"
        checkpoints = folder / f"{precision}-run"
        self.mpc("compile", folder / "model.onnx", "-o", package, f"--precision={precision}",
                 *task.options, *self.precision_options(task, seed, precision, folder))
        steps = self.mpc("train", package, "--data", data, f"--steps={task.steps}",
                         f"--seed={seed}", "--threads=1", "--quiet", "--json",
                         "--checkpoint-dir", checkpoints)
        result = self.mpc("eval", package, "--data", folder / "test.npz", "--checkpoint",
                          checkpoints, "--threads=1", "--json")
        steps = [json.loads(line) for line in steps.splitlines()]
        skipped = sum(step.get("skipped", False) for step in steps)
        return {**json.loads(result), "skipped": skipped}

    def run(self):
        for name, task in self.tasks.items():
            for seed in range(self.args.seeds):
                missing = [p for p in self.args.precisions
                           if f"{name}/{p}/{seed}" not in self.results]
                if not missing:
                    continue
                with tempfile.TemporaryDirectory() as place:
                    folder = pathlib.Path(place)
                    self.export(task, seed, folder)
                    for precision in missing:
                        self.keep(f"{name}/{precision}/{seed}",
                                  lambda: self.train(task, seed, precision, folder))
            self.show(name)

    def keep(self, key, train):
        begin = time.monotonic()
        self.results[key] = train()
        print(f"{key}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
        if self.args.json:
            self.args.json.write_text(json.dumps(self.results, indent=1) + "\n")

    def show(self, name):
        reference = None
        for precision in self.args.precisions:
            runs = [self.results[f"{name}/{precision}/{seed}"] for seed in range(self.args.seeds)]
            samples = [Sample(runs, "eval_loss", -1), Sample(runs, "accuracy", 1)]
            reference = reference or samples
            better = [sample.better(other) for sample, other in zip(samples, reference)]
            columns = [f"{sample.mean:.4f} ± {sample.deviation:.4f} ({gain:+.2f})"
                       for sample, gain in zip(samples, better)]
            worse = any(sample.is_worse(other) for sample, other in zip(samples, reference))
            print("|", " | ".join([name, precision, *columns, "worse" if worse else "holds",
                                   str(sum(run["skipped"] for run in runs))]), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16", "fp16"])
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--json", type=pathlib.Path, help="what is done so far")
    args = parser.parse_args()
    if args.seeds < 2:
        parser.error("--seeds must be 2 or more: there is no deviation of one")
    torch.set_num_threads(1)
    bench = Benchmark(args)
    print("mean ± deviation (better than the first by so many of its deviations)\n")
    print("| task | precision | loss | accuracy | | skipped |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    bench.run()


main()
