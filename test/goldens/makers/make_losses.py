#!/usr/bin/env python3
"""Writes losses/losses.json: losses and gradients of small linear models by PyTorch in f64.

Each case has a model, the options of mpc, the inputs in the order of the program's, the
weights, and the loss and the gradients that PyTorch computes: torch.nn.functional where
it has the loss, torchvision's formula for the sigmoid focal loss, and the formula of
the documentation (docs/guide/models.md) otherwise. The last cases are points where
formulas break: saturated logits, ties, errors of exactly delta, zeros.

Needs numpy and torch. The results are in the repository.
"""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parents[1] / "losses"
HEAD = '<ir_version: 9, opset_import: ["" : 20]>\n'
ZEROS = {9: "{" + ", ".join(["0.0"] * 9) + "}", 3: "{0.0, 0.0, 0.0}"}
MODELS = {
    # [N, C], the same for one sample, [N, C, d]; two outputs [N, C], a mean and a
    # variance, three outputs.
    "linear": f"linear (float[4, 3] x, float[3, 3] w = {ZEROS[9]}, float[3] b = {ZEROS[3]})"
    " => (float[4, 3] y) { y = Gemm (x, w, b) }",
    "one": f"one (float[1, 3] x, float[3, 3] w = {ZEROS[9]}, float[3] b = {ZEROS[3]})"
    " => (float[1, 3] y) { y = Gemm (x, w, b) }",
    "pixels": f"pixels (float[4, 3, 5] x, float[3, 3] w = {ZEROS[9]})"
    " => (float[4, 3, 5] y) { y = MatMul (w, x) }",
    "heads": f"heads (float[4, 3] x, float[3, 3] w = {ZEROS[9]}, float[3, 3] v = {ZEROS[9]})"
    " => (float[4, 3] a, float[4, 3] b) { a = MatMul (x, w) b = MatMul (x, v) }",
    "spread": f"spread (float[4, 3] x, float[3, 3] w = {ZEROS[9]}, float[3, 3] v = {ZEROS[9]})"
    " => (float[4, 3] a, float[4, 3] b) { a = MatMul (x, w) c = MatMul (x, v) b = Exp (c) }",
    "triple": f"triple (float[4, 3] x, float[3, 3] w = {ZEROS[9]}, float[3, 3] v = {ZEROS[9]},"
    f" float[3, 3] u = {ZEROS[9]}) => (float[4, 3] a, float[4, 3] b, float[4, 3] c)"
    " { a = MatMul (x, w) b = MatMul (x, v) c = MatMul (x, u) }",
}
WEIGHTS = {"linear": "wb", "one": "wb", "pixels": "w", "heads": "wv", "spread": "wv", "triple": "wvu"}


def outputs(model, x, weights):
    if model == "spread":
        return [x @ weights["w"], torch.exp(x @ weights["v"])]
    if model in ("heads", "triple"):
        return [x @ weight for weight in weights.values()]
    if model == "pixels":
        return [weights["w"] @ x]
    return [x @ weights["w"] + weights["b"]]


class Data:
    """Random inputs of one model; f32 holds them exactly."""

    def __init__(self, model, scale=1.0, x=None):
        random = np.random.default_rng(list(model.encode()))
        shape = {"one": (1, 3), "pixels": (4, 3, 5)}.get(model, (4, 3))

        def uniform(*extents, low=-1.0):
            return torch.tensor(random.uniform(low, 1, extents).astype(np.float32).astype(float))

        self.model = model
        self.x = uniform(*shape) if x is None else x
        self.weights = {name: scale * uniform(*((3,) if name == "b" else (3, 3))) for name in WEIGHTS[model]}
        self.labels = torch.tensor(random.integers(0, 3, shape[:1] + shape[2:]))
        self.ignored = self.labels.clone()
        self.ignored.view(-1)[0] = -1
        self.numbers = 2 * uniform(*shape)
        self.others = 2 * uniform(*shape)
        self.flags = torch.tensor(random.integers(0, 2, shape).astype(float))
        self.shares = uniform(*shape, low=0.0)
        # Rounded to f32 they do not add up to 1 exactly, which no formula needs.
        self.odds = torch.softmax(3 * uniform(*shape), 1).float().double()
        self.odds.view(-1)[0] = 0
        self.sample = uniform(shape[0], low=0.0)


def focal(x, t, gamma=2.0, alpha=None):
    """torchvision.ops.sigmoid_focal_loss, without reduction."""
    p = torch.sigmoid(x)
    entropy = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    loss = entropy * (1 - (p * t + (1 - p) * (1 - t))) ** gamma
    return loss if alpha is None else (alpha * t + (1 - alpha) * (1 - t)) * loss


def softmax_focal(y, labels, gamma=2.0, weight=None, ignore=-100):
    entropy = F.cross_entropy(y, labels, reduction="none", ignore_index=ignore)
    counted = (labels != ignore).double()
    if weight is not None:
        counted = counted * weight[labels.clamp(min=0)]
    return (-torch.expm1(-entropy)) ** gamma * entropy, counted


def mean(losses, weights):
    return (losses * weights).sum() / weights.sum()


CASES = []


def case(name, data, options, inputs, loss):
    weights = {name: value.clone().requires_grad_() for name, value in data.weights.items()}
    value = loss(*outputs(data.model, data.x, weights))
    value.backward()
    CASES.append({
        "name": name, "model": data.model, "options": options,
        "inputs": [tensor.flatten().tolist() for tensor in (data.x, *inputs)],
        "weights": {name: value.flatten().tolist() for name, value in data.weights.items()},
        "loss": value.item(),
        "gradients": {name: value.grad.flatten().tolist() for name, value in weights.items() if value.grad is not None},
    })


def all_losses(data, end=""):
    """Every loss with its options, on one model."""
    d, classes = data, torch.tensor([0.5, 2.0, 1.25]).double()

    def add(name, options, target, loss):
        case(f"{name}_{data.model}{end}", data, options, [target], lambda y: loss(y, target))

    entropy = {"loss": "cross-entropy"}
    if data.model != "one":  # There, no label would count.
        add("ignore_index", entropy | {"ignore-index": "-1"}, d.ignored,
            lambda y, t: F.cross_entropy(y, t, ignore_index=-1))
        add("class_weights_ignore_index", entropy | {"class-weights": "0.5,2,1.25", "ignore-index": "1"}, d.labels,
            lambda y, t: F.cross_entropy(y, t, weight=classes, ignore_index=1))
    add("class_weights", entropy | {"class-weights": "0.5,2,1.25"}, d.labels,
        lambda y, t: F.cross_entropy(y, t, weight=classes))
    binary = {"loss": "bce-with-logits"}
    add("pos_weight", binary | {"pos-weight": "3"}, d.flags,
        lambda y, t: F.binary_cross_entropy_with_logits(y, t, pos_weight=torch.tensor(3.0)))
    columns = torch.tensor([0.25, 3, 1, 2, 0.5] if data.model == "pixels" else [0.25, 3, 1]).double()
    add("pos_weights", binary | {"pos-weight": ",".join(f"{w:g}" for w in columns.tolist())}, d.shares,
        lambda y, t: F.binary_cross_entropy_with_logits(y, t, pos_weight=columns))
    add("huber", {"loss": "huber"}, d.numbers, F.huber_loss)
    add("huber_delta", {"loss": "huber", "huber-delta": "0.5"}, d.numbers, lambda y, t: F.huber_loss(y, t, delta=0.5))
    add("smooth_l1", {"loss": "smooth-l1"}, d.numbers, F.smooth_l1_loss)
    add("smooth_l1_beta", {"loss": "smooth-l1", "huber-delta": "0.25"}, d.numbers,
        lambda y, t: F.smooth_l1_loss(y, t, beta=0.25))
    add("focal", {"loss": "focal"}, d.flags, lambda y, t: focal(y, t).mean())
    add("focal_alpha", {"loss": "focal", "focal-gamma": "1.5", "focal-alpha": "0.25"}, d.flags,
        lambda y, t: focal(y, t, 1.5, 0.25).mean())
    add("focal_shares", {"loss": "focal", "focal-gamma": "3"}, d.shares, lambda y, t: focal(y, t, 3.0).mean())
    add("softmax_focal", {"loss": "softmax-focal"}, d.labels, lambda y, t: mean(*softmax_focal(y, t)))
    add("softmax_focal_weights", {"loss": "softmax-focal", "focal-gamma": "1", "class-weights": "0.5,2,1.25"}, d.labels,
        lambda y, t: mean(*softmax_focal(y, t, 1.0, classes)))
    add("kl", {"loss": "kl"}, d.odds, lambda y, t: F.kl_div(y.log_softmax(1), t, reduction="batchmean"))
    add("cosine", {"loss": "cosine"}, d.numbers, lambda y, t: (1 - F.cosine_similarity(y, t, dim=-1)).mean())
    add("poisson_nll", {"loss": "poisson-nll"}, d.shares, F.poisson_nll_loss)


def weighted(data):
    """Weights of samples, for each form of losses."""
    def add(name, options, target, losses):
        def loss(y):
            values, weights = losses(y, target)
            spread = data.sample.reshape(-1, *[1] * (values.dim() - 1)).expand_as(values)
            return mean(values, weights * spread)

        case(f"sample_weights_{name}_{data.model}", data, options | {"sample-weights": "yes"},
             [target, data.sample], loss)

    def plain(loss):
        return lambda y, t: ((values := loss(y, t)), torch.ones_like(values))

    add("mse", {"loss": "mse"}, data.numbers, plain(lambda y, t: F.mse_loss(y, t, reduction="none")))
    add("huber", {"loss": "huber"}, data.numbers, plain(lambda y, t: F.huber_loss(y, t, reduction="none")))
    add("entropy", {"loss": "cross-entropy", "ignore-index": "-1"}, data.ignored,
        lambda y, t: (F.cross_entropy(y, t, ignore_index=-1, reduction="none"), (t != -1).double()))
    classes = torch.tensor([0.5, 2.0, 1.25]).double()
    add("classes", {"loss": "cross-entropy", "class-weights": "0.5,2,1.25"}, data.labels,
        lambda y, t: (F.cross_entropy(y, t, reduction="none"), classes[t]))
    add("cosine", {"loss": "cosine"}, data.numbers, plain(lambda y, t: 1 - F.cosine_similarity(y, t, dim=-1)))


def sums():
    d = Data("heads")
    entropy, error = F.cross_entropy, F.mse_loss
    case("sum", d, {"loss": "cross-entropy:a*0.3 + mse:b"}, [d.labels, d.numbers],
         lambda a, b: 0.3 * entropy(a, d.labels) + error(b, d.numbers))
    case("sum_of_targets", d, {"loss": "mse:a+l1:b*2"}, [d.numbers, d.others],
         lambda a, b: error(a, d.numbers) + 2 * F.l1_loss(b, d.others))
    case("sum_of_one_output", d, {"loss": "mse:b*0.5 + huber:b", "huber-delta": "0.5"}, [d.numbers],
         lambda a, b: 0.5 * error(b, d.numbers) + F.huber_loss(b, d.numbers, delta=0.5))
    case("share", d, {"loss": "mse:a*0.25"}, [d.numbers], lambda a, b: 0.25 * error(a, d.numbers))
    case("sum_of_samples", d, {"loss": "cosine:a + kl:b*0.5", "sample-weights": "yes"},
         [d.numbers, d.odds, d.sample],
         lambda a, b: mean(1 - F.cosine_similarity(a, d.numbers, dim=-1), d.sample)
         + 0.5 * mean(F.kl_div(b.log_softmax(1), d.odds, reduction="none").sum(1), d.sample))


def of_several_outputs():
    d = Data("spread")
    case("gaussian_nll", d, {"loss": "gaussian-nll"}, [d.numbers], lambda a, b: F.gaussian_nll_loss(a, d.numbers, b))
    d = Data("triple")
    case("triplet", d, {"loss": "triplet:a,b,c"}, [], lambda a, b, c: F.triplet_margin_loss(a, b, c))
    case("triplet_margin", d, {"loss": "triplet:c,a,b*0.5 + mse:a", "triplet-margin": "0.25"}, [d.numbers],
         lambda a, b, c: 0.5 * F.triplet_margin_loss(c, a, b, margin=0.25) + F.mse_loss(a, d.numbers))
    case("triplet_samples", d, {"loss": "triplet", "sample-weights": "yes"}, [d.sample],
         lambda a, b, c: mean(F.triplet_margin_loss(a, b, c, reduction="none"), d.sample))
    d = Data("triple", scale=0.0)
    case("special_triplet", d, {"loss": "triplet"}, [], lambda a, b, c: F.triplet_margin_loss(a, b, c))


def special():
    """Zero weights, so that outputs are the zeros of ties; and logits of some 10^4."""
    d = Data("linear", scale=0.0)
    exact = torch.tensor([[1.0, -1, 0], [0.5, -0.5, 0], [1, 2, -2], [1e4, -1e4, 1e-3]]).double()

    def add(name, options, target, loss):
        case("special_" + name, d, options, [target], lambda y: loss(y, target))

    add("huber", {"loss": "huber"}, exact, F.huber_loss)
    add("smooth_l1", {"loss": "smooth-l1", "huber-delta": "0.5"}, exact, lambda y, t: F.smooth_l1_loss(y, t, beta=0.5))
    add("focal_gamma_0", {"loss": "focal", "focal-gamma": "0"}, d.flags, lambda y, t: focal(y, t, 0.0).mean())
    add("focal_gamma_half", {"loss": "focal", "focal-gamma": "0.5"}, d.flags, lambda y, t: focal(y, t, 0.5).mean())
    add("ties", {"loss": "softmax-focal"}, d.labels, lambda y, t: mean(*softmax_focal(y, t)))
    add("cosine_target_0", {"loss": "cosine"}, torch.zeros(4, 3).double(),
        lambda y, t: (1 - F.cosine_similarity(y, t, dim=-1)).mean())
    add("certain", {"loss": "kl"}, torch.eye(4, 3).double(),
        lambda y, t: F.kl_div(y.log_softmax(1), t, reduction="batchmean"))
    for scale in (1e4, -1e4):
        large = Data("linear")
        # Logits without cancellation, so that f32 holds them.
        large.weights = {"w": scale * torch.eye(3), "b": torch.zeros(3)}
        sign = "plus" if scale > 0 else "minus"
        for name, options, target, loss in [
            ("weights", {"loss": "cross-entropy", "class-weights": "0.5,2,1.25"}, large.labels,
             lambda y, t: F.cross_entropy(y, t, weight=torch.tensor([0.5, 2.0, 1.25]).double())),
            ("pos_weight", {"loss": "bce-with-logits", "pos-weight": "3"}, large.flags,
             lambda y, t: F.binary_cross_entropy_with_logits(y, t, pos_weight=torch.tensor(3.0))),
            ("focal", {"loss": "focal", "focal-alpha": "0.25"}, large.flags, lambda y, t: focal(y, t, 2, 0.25).mean()),
            ("softmax_focal", {"loss": "softmax-focal"}, large.labels, lambda y, t: mean(*softmax_focal(y, t))),
            ("huber", {"loss": "huber"}, large.numbers, F.huber_loss),
            ("kl", {"loss": "kl"}, large.odds, lambda y, t: F.kl_div(y.log_softmax(1), t, reduction="batchmean")),
            ("cosine", {"loss": "cosine"}, large.numbers, lambda y, t: (1 - F.cosine_similarity(y, t, dim=-1)).mean()),
        ]:
            case(f"special_{name}_{sign}", large, options, [target], lambda y: loss(y, target))


def main():
    torch.set_default_dtype(torch.float64)
    for model in ("linear", "pixels", "one"):
        all_losses(Data(model))
    for model in ("linear", "pixels"):
        weighted(Data(model))
    sums()
    of_several_outputs()
    special()
    HERE.mkdir(exist_ok=True)
    text = {name: HEAD + text for name, text in MODELS.items()}
    (HERE / "losses.json").write_text(json.dumps({"models": text, "cases": CASES}) + "\n")


if __name__ == "__main__":
    main()
