#!/usr/bin/env python3
"""Writes updates/updates.json: 40 updates by PyTorch, for each optimizer, schedule and group.

One linear layer in f64, on the same batches in all cases; and where f32 ends, whose
roundings add up (Lion's steps are all of one size). Schedules are those of
torch.optim.lr_scheduler, a warm-up of W steps being LinearLR(1 / (W + 1), 1, W) in
front of them; averages those of torch.optim.swa_utils. Lion is pytorch_optimizer's;
LAMB is written down from the paper.

Needs numpy, torch and pytorch_optimizer. The results are in the repository.
"""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from pytorch_optimizer import Lion
from torch.optim import lr_scheduler, swa_utils

HERE = pathlib.Path(__file__).resolve().parents[1] / "updates"
STEPS, LR = 40, 0.003


class Lamb(torch.optim.Optimizer):
    """Algorithm 2 of You et al., Large Batch Optimization for Deep Learning, 2020."""

    def __init__(self, parameters, **options):
        defaults = {"betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0}
        super().__init__(parameters, {**defaults, **options})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (beta1, beta2), decay = group["betas"], group["weight_decay"]
            for weight in group["params"]:
                state, gradient = self.state[weight], weight.grad
                time = state["time"] = state.get("time", 0) + 1
                first = beta1 * state.get("first", 0) + (1 - beta1) * gradient
                second = beta2 * state.get("second", 0) + (1 - beta2) * gradient**2
                state["first"], state["second"] = first, second
                root = (second / (1 - beta2**time)).sqrt() + group["eps"]
                ratio = first / (1 - beta1**time) / root + decay * weight
                trust = weight.norm() / ratio.norm()
                weight -= group["lr"] * trust * ratio


# Names in mpc and PyTorch, options of mpc, options of PyTorch. Numbers are not exact in
# binary, to test their rounding.
OPTIMIZERS = [
    ("sgd", torch.optim.SGD, {}, {}),
    ("momentum", torch.optim.SGD, {"momentum": 0.9}, {"momentum": 0.9}),
    ("adam", torch.optim.Adam, {}, {}),
    ("adamw", torch.optim.AdamW, {}, {"weight_decay": 0.01}),
    ("nadam", torch.optim.NAdam, {}, {}),
    (
        "nadam",
        torch.optim.NAdam,
        {"beta1": 0.8, "beta2": 0.99, "weightDecay": 0.03, "epsilon": 1e-3},
        {"betas": (0.8, 0.99), "weight_decay": 0.03, "eps": 1e-3},
    ),
    ("lamb", Lamb, {}, {}),
    (
        "lamb",
        Lamb,
        {"beta1": 0.8, "beta2": 0.99, "weightDecay": 0.03, "epsilon": 1e-3},
        {"betas": (0.8, 0.99), "weight_decay": 0.03, "eps": 1e-3},
    ),
    ("lion", Lion, {}, {}),
    (
        "lion",
        Lion,
        {"beta1": 0.8, "beta2": 0.95, "weightDecay": 0.1},
        {"betas": (0.8, 0.95), "weight_decay": 0.1},
    ),
    ("adagrad", torch.optim.Adagrad, {}, {}),
    (
        "adagrad",
        torch.optim.Adagrad,
        {"weightDecay": 0.03, "epsilon": 1e-3},
        {"weight_decay": 0.03, "eps": 1e-3},
    ),
    ("rmsprop", torch.optim.RMSprop, {}, {}),
    (
        "rmsprop",
        torch.optim.RMSprop,
        {"alpha": 0.9, "momentum": 0.8, "weightDecay": 0.03, "epsilon": 1e-3},
        {"alpha": 0.9, "momentum": 0.8, "weight_decay": 0.03, "eps": 1e-3},
    ),
]

# Name, options of mpc, schedule of the steps after the warm-up.
SCHEDULES = [
    ("constant", {}, None),
    (
        "linear",
        {"lrMin": 0.0003},
        lambda o, n: lr_scheduler.LinearLR(o, 1, 0.0003 / LR, n),
    ),
    (
        "cosine",
        {"lrMin": 0.0003},
        lambda o, n: lr_scheduler.CosineAnnealingLR(o, n, 0.0003),
    ),
    ("polynomial", {"lrPower": 2.5}, lambda o, n: lr_scheduler.PolynomialLR(o, n, 2.5)),
    (
        "step",
        {"lrPeriod": 7, "lrGamma": 0.3},
        lambda o, n: lr_scheduler.StepLR(o, 7, 0.3),
    ),
    ("exponential", {"lrGamma": 0.9}, lambda o, n: lr_scheduler.ExponentialLR(o, 0.9)),
    (
        "cosine-restarts",
        {"lrPeriod": 5},
        lambda o, n: lr_scheduler.CosineAnnealingWarmRestarts(o, 5),
    ),
    (
        "cosine-restarts",
        {"lrPeriod": 5, "lrFactor": 2, "lrMin": 0.0003},
        lambda o, n: lr_scheduler.CosineAnnealingWarmRestarts(o, 5, 2, 0.0003),
    ),
]


def warmed(make, warmup):
    """The schedule after `warmup` steps of rising rates."""

    def build(optimizer):
        main = make or (lambda o, n: lr_scheduler.ConstantLR(o, 1))
        if warmup == 0:
            return main(optimizer, STEPS)
        rise = lr_scheduler.LinearLR(optimizer, 1 / (warmup + 1), 1, warmup)
        parts = [rise, main(optimizer, STEPS - warmup)]
        return lr_scheduler.SequentialLR(optimizer, parts, [warmup])

    return build


def one_cycle(share):
    return lambda o: lr_scheduler.OneCycleLR(
        o, LR, STEPS, pct_start=share, cycle_momentum=False
    )


class WarmAverage:
    """AveragedModel's function for a decay that starts as (1 + n) / (10 + n)."""

    def __init__(self, decay):
        self.decay = decay

    def __call__(self, average, weight, count):
        decay = min(self.decay, (1 + count.item()) / (10 + count.item()))
        return decay * average + (1 - decay) * weight


def batches():
    random = np.random.default_rng(3)
    for _ in range(STEPS):
        x = random.uniform(-1, 1, (4, 3))
        t = random.uniform(-1, 1, (4, 2))
        yield x.tolist(), t.tolist(), random.integers(0, 2, 4)


def start():
    random = np.random.default_rng(4)
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        for parameter in layer.parameters():
            values = random.uniform(-1, 1, tuple(parameter.shape)).astype(np.float32)
            parameter.copy_(torch.from_numpy(values))
    return layer


def case(name, options, **how):
    """The results of a run in f64, and the end of a run in f32."""
    torch.set_default_dtype(torch.float64)
    result = {"name": name, "options": options, **train(**how)}
    torch.set_default_dtype(torch.float32)
    single = train(**how)
    result["f32"] = {key: single[key] for key in ("end", "average") if key in single}
    return result


def train(
    optimizer=torch.optim.AdamW,
    arguments=None,
    groups=None,
    schedule=None,
    average=None,
    clip_value=0,
    clip_norm=0,
    loss=lambda y, t, labels: F.mse_loss(y, t),
    accumulate=1,
):
    """One run in the default type. `groups` has the arguments for weight and bias."""
    layer = start()
    own = groups or ({}, {})
    parameters = [dict(g, params=[p]) for g, p in zip(own, layer.parameters())]
    if arguments is None:
        arguments = {"weight_decay": 0.01}
    update = optimizer(parameters, lr=LR, **arguments)
    scheduler = schedule(update) if schedule else None
    averaged = swa_utils.AveragedModel(layer, avg_fn=average) if average else None
    losses, norms, rates = [], [], []
    for number, (x, t, labels) in enumerate(batches()):
        y = layer(torch.tensor(x))
        value = loss(y, torch.tensor(t), torch.from_numpy(labels))
        (value / accumulate).backward()
        losses.append(value.item())
        if (number + 1) % accumulate:
            continue
        weights = list(layer.parameters())
        norms.append(torch.nn.utils.get_total_norm([p.grad for p in weights]).item())
        if clip_value:
            torch.nn.utils.clip_grad_value_(weights, clip_value)
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(weights, clip_norm)
        rates.append(update.param_groups[-1]["lr"])
        update.step()
        update.zero_grad()
        if scheduler:
            scheduler.step()
        if averaged:
            averaged.update_parameters(layer)

    def values(model):
        return {"w": model.weight.T.flatten().tolist(), "b": model.bias.tolist()}

    result = {"loss": losses, "grad_norm": norms}
    if schedule:
        result["rates"] = rates
    result["end"] = values(layer)
    if averaged:
        result["average"] = values(averaged.module)
    return result


def optimizer_cases():
    for number, (name, make, options, arguments) in enumerate(OPTIMIZERS):
        options = dict(options, optimizer=name)
        yield case(f"{name}{number}", options, optimizer=make, arguments=arguments)
        yield case(
            f"{name}{number}_groups",
            dict(options, groups=["w:lr=0.1x,weight-decay=0.2"], noDecay=["biases"]),
            optimizer=make,
            arguments=arguments,
            groups=({"lr": 0.1 * LR, "weight_decay": 0.2}, {"weight_decay": 0}),
        )


def schedule_cases():
    for number, (name, options, make) in enumerate(SCHEDULES):
        for warmup in (0, 6, 0.25):
            if name == "constant" and warmup == 0:
                continue
            steps = int(warmup * STEPS) if warmup < 1 else warmup
            yield case(
                f"{name}{number}_warmup{warmup}",
                dict(options, schedule=name, warmup=warmup, totalSteps=STEPS),
                schedule=warmed(make, steps),
            )
    for share in (0.3, 0.5):
        yield case(
            f"one-cycle_{share}",
            dict(schedule="one-cycle", warmup=share, totalSteps=STEPS),
            schedule=one_cycle(share),
        )


def other_cases():
    ema = swa_utils.get_ema_avg_fn
    yield case("ema", {"ema": 0.9}, average=ema(0.9))
    yield case("ema_warmup", {"ema": 0.9, "emaWarmup": True}, average=WarmAverage(0.9))
    yield case("ema_zero", {"ema": 1e-30}, average=ema(0.0))
    yield case("clip_value", {"clipValue": 0.1}, clip_value=0.1)
    both = {"clipValue": 0.1, "clipNorm": 0.15}
    yield case("clip_both", both, clip_value=0.1, clip_norm=0.15)
    yield case(
        "clip_both_accumulate",
        dict(both, accumulate=4),
        clip_value=0.1,
        clip_norm=0.15,
        accumulate=4,
    )
    for smoothing in (0.1, 0.9):
        yield case(
            f"smoothing_{smoothing}",
            {"loss": "softmax-cross-entropy", "labelSmoothing": smoothing},
            loss=lambda y, t, labels: F.cross_entropy(
                y, labels, label_smoothing=smoothing
            ),
        )
    everything = dict(
        both,
        groups=["w:lr=0.1x"],
        noDecay=["biases"],
        schedule="exponential",
        lrGamma=0.9,
        warmup=6,
        ema=0.9,
        emaWarmup=True,
        accumulate=2,
    )
    yield case(
        "everything",
        everything,
        groups=({"lr": 0.1 * LR}, {"weight_decay": 0}),
        schedule=warmed(SCHEDULES[5][2], 6),
        average=WarmAverage(0.9),
        clip_value=0.1,
        clip_norm=0.15,
        accumulate=2,
    )


def main():
    torch.set_num_threads(1)
    cases = [*optimizer_cases(), *schedule_cases(), *other_cases()]
    result = {
        "lr": LR,
        "start": {
            "w": start().weight.T.flatten().tolist(),
            "b": start().bias.tolist(),
        },
        "batches": [
            {"x": sum(x, []), "t": sum(t, []), "labels": n.tolist()}
            for x, t, n in batches()
        ],
        "cases": cases,
    }
    (HERE / "updates.json").write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
