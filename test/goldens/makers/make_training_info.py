#!/usr/bin/env python3
"""Writes training_info/: models that bring their own training steps, made with the onnx
package, and 20 steps of the same in PyTorch.

Each of the optimizers of ai.onnx.preview.training, Nesterov's form among them, with T
above 0 and with weight decay; updates that are written out in plain ops, with a rate that
the step changes and a limit of the norm; a penalty of a gradient, which is a gradient of
one; two updates in one step, where the second sees what the first did; running
statistics; several optimizers in one step; gradients at other values than those of the
graph; a name that two algorithms give to numbers of their own; weights that follow what
others become; a formula that is no number between the tensors of a pack.

Needs numpy, onnx and torch. The results are in the repository.
"""
import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parents[1] / "training_info"
BATCH, STEPS, SAMPLES = 8, 20, 40
PREVIEW = "ai.onnx.preview.training"
rng = np.random.default_rng(7)


def weight(*shape):
    return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def tensor(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def number(name, value):
    return tensor(name, np.float32(value))


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=outputs.split()[0] + "_node",
                            domain=domain, **attributes)


def gradient(xs, y, outputs, zs=""):
    return node("Gradient", f"{xs} {zs}", outputs, PREVIEW, xs=xs.split(), y=y,
                **({"zs": zs.split()} if zs else {}))


def count():
    """T, the step count, and the node that increments it."""
    return [tensor("T", np.int64(0)), tensor("one", np.int64(1))], node("Add", "T one", "T_new")


def update(op, names, states, **attributes):
    """An optimizer node for these weights, its states, and its bindings."""
    each = names.split()
    inputs = ["R", "T", *each, *[f"d_{n}" for n in each]]
    outputs, bindings = [f"{n}_new" for n in each], [(n, f"{n}_new") for n in each]
    for state in states.split():
        inputs += [f"{state}_{n}" for n in each]
        outputs += [f"{state}_{n}_new" for n in each]
        bindings += [(f"{state}_{n}", f"{state}_{n}_new") for n in each]
    return node(op, " ".join(inputs), " ".join(outputs), PREVIEW, **attributes), bindings


def zeros(states, weights):
    return [tensor(f"{s}_{n}", np.zeros_like(weights[n])) for s in states.split() for n in weights]


def save(name, main, infos):
    infos = [helper.make_training_info(algorithm, bindings, None, None)
             for algorithm, bindings in infos]
    model = helper.make_model(main, opset_imports=[helper.make_opsetid("", 17),
                                                   helper.make_opsetid(PREVIEW, 1)],
                              producer_name="make_training_info.py", ir_version=8)
    model.training_info.extend(infos)
    onnx.save(model, HERE / f"{name}.onnx")


def graph(name, nodes, inputs, outputs, tensors):
    return helper.make_graph(nodes, name, inputs, outputs, tensors)


LOSS = value("loss", TensorProto.FLOAT, [])
LABELS = value("labels", TensorProto.INT64, [BATCH])


def batches(*arrays):
    for step in range(STEPS):
        begin = step * BATCH % SAMPLES
        yield tuple(torch.from_numpy(a[begin : begin + BATCH]) for a in arrays)


def run(parameters, loss_of, updates_of, data):
    """Losses and gradient norms of 20 steps."""
    losses, norms = [], []
    for time, batch in enumerate(batches(*data)):
        loss, gradients = loss_of(parameters, batch)
        losses.append(loss.item())
        norms.append(torch.sqrt(sum((g.double() ** 2).sum() for g in gradients)).item())
        with torch.no_grad():
            updates_of(parameters, gradients, time)
    return {"loss": losses, "grad_norm": norms}


def leaves(weights):
    return {n: torch.tensor(w, requires_grad=True) for n, w in weights.items()}


def backward(loss, parameters):
    return torch.autograd.grad(loss, list(parameters.values()))


GOLDENS = {}
x = rng.standard_normal((SAMPLES, 6)).astype(np.float32)
labels = rng.integers(0, 3, SAMPLES)
images = rng.standard_normal((SAMPLES, 2, 8, 8)).astype(np.float32)
tokens = rng.integers(0, 11, (SAMPLES, 5))


def mlp_weights():
    return {"w1": weight(16, 6), "b1": weight(16), "w2": weight(3, 16), "b2": weight(3)}


def mlp_graph(weights, activation="Relu"):
    return graph("mlp", [node("Gemm", "x w1 b1", "h", transB=1), node(activation, "h", "a"),
                         node("Gemm", "a w2 b2", "logits", transB=1)],
                 [value("x", TensorProto.FLOAT, [BATCH, 6])],
                 [value("logits", TensorProto.FLOAT, [BATCH, 3])],
                 [tensor(n, w) for n, w in weights.items()])


def mlp_loss(p, batch, activation=torch.relu):
    a = activation(F.linear(batch[0], p["w1"], p["b1"]))
    return F.cross_entropy(F.linear(a, p["w2"], p["b2"]), batch[1])


CROSS_ENTROPY = node("SoftmaxCrossEntropyLoss", "logits labels", "loss")


def make_momentum(name, mode):
    weights = mlp_weights()
    names = " ".join(weights)
    tensors, counting = count()
    step, bindings = update("Momentum", names, "V", alpha=0.9, beta=0.7, norm_coefficient=0.01,
                            mode=mode)
    algorithm = graph("step", [CROSS_ENTROPY,
                               gradient(names, "loss", " ".join(f"d_{n}" for n in weights), "x labels"),
                               step, counting],
                      [LABELS], [LOSS], [number("R", 0.1), *tensors, *zeros("V", weights)])
    save(name, mlp_graph(weights), [(algorithm, [*bindings, ("T", "T_new")])])
    p, v = leaves(weights), {n: 0 for n in weights}

    def loss_of(p, batch):
        loss = mlp_loss(p, batch)
        return loss, backward(loss, p)

    def updates_of(p, gradients, time):
        for (n, w), g in zip(p.items(), gradients):
            g = g + 0.01 * w
            v[n] = 0.9 * v[n] + (0.7 if time else 1) * g
            w -= 0.1 * (g + 0.9 * v[n] if mode == "nesterov" else v[n])

    GOLDENS[name] = run(p, loss_of, updates_of, (x, labels))


def adam(p, gradients, time, v, h, rate, post=0.0, decay=0.0):
    for (n, w), g in zip(p.items(), gradients):
        g = g + decay * w
        v[n] = 0.9 * v[n] + 0.1 * g
        h[n] = 0.999 * h[n] + 0.001 * g * g
        r = rate * np.sqrt(1 - 0.999**time) / (1 - 0.9**time) if time else rate
        w.copy_((1 - post) * (w - r * v[n] / (torch.sqrt(h[n]) + 1e-6)))


def make_cnn():
    weights = {"k": weight(4, 2, 3, 3), "kb": weight(4), "scale": 1 + weight(4), "shift": weight(4),
               "w": weight(3, 64), "b": weight(3)}
    names = " ".join(weights)
    mean, var = np.zeros(4, np.float32), np.ones(4, np.float32)
    main = graph("cnn", [node("Conv", "images k kb", "c", pads=[1, 1, 1, 1]),
                         node("BatchNormalization", "c scale shift mean var", "n mean_new var_new",
                              training_mode=1, momentum=0.9),
                         node("Relu", "n", "r"),
                         node("MaxPool", "r", "m", kernel_shape=[2, 2], strides=[2, 2]),
                         node("Flatten", "m", "f"), node("Gemm", "f w b", "logits", transB=1)],
                 [value("images", TensorProto.FLOAT, [BATCH, 2, 8, 8])],
                 [value("logits", TensorProto.FLOAT, [BATCH, 3]),
                  value("mean_new", TensorProto.FLOAT, [4]),
                  value("var_new", TensorProto.FLOAT, [4])],
                 [*[tensor(n, w) for n, w in weights.items()], tensor("mean", mean), tensor("var", var)])
    tensors, counting = count()
    step, bindings = update("Adam", names, "V H", norm_coefficient_post=0.001)
    algorithm = graph("step", [CROSS_ENTROPY,
                               gradient(names, "loss", " ".join(f"d_{n}" for n in weights),
                                        "images labels"),
                               step, counting],
                      [LABELS], [LOSS], [number("R", 0.01), *tensors, *zeros("V H", weights)])
    save("cnn", main, [(algorithm, [*bindings, ("T", "T_new"), ("mean", "mean_new"),
                                    ("var", "var_new")])])
    p = leaves(weights)
    v, h = {n: 0 for n in weights}, {n: 0 for n in weights}
    running = {"mean": torch.tensor(mean), "var": torch.tensor(var)}

    def forward(p, images, normal):
        c = F.conv2d(images, p["k"], p["kb"], padding=1)
        r = F.max_pool2d(torch.relu(normal(c)), 2)
        return F.linear(r.flatten(1), p["w"], p["b"])

    def loss_of(p, batch):
        def normal(c):
            with torch.no_grad():
                for n, s in (("mean", c.mean((0, 2, 3))), ("var", c.var((0, 2, 3), unbiased=False))):
                    running[n] = 0.9 * running[n] + 0.1 * s
            return F.batch_norm(c, None, None, p["scale"], p["shift"], training=True)

        loss = F.cross_entropy(forward(p, batch[0], normal), batch[1])
        return loss, backward(loss, p)

    golden = run(p, loss_of, lambda p, g, t: adam(p, g, t, v, h, 0.01, post=0.001), (images, labels))

    def normal(c):
        return F.batch_norm(c, running["mean"], running["var"], p["scale"], p["shift"])

    logits = forward(p, torch.from_numpy(images), normal)
    golden["eval_loss"] = F.cross_entropy(logits, torch.from_numpy(labels)).item()
    GOLDENS["cnn"] = golden


def make_embedding():
    """One rate for the table, another optimizer for the rest."""
    table, rest = {"table": weight(11, 8)}, {"w": weight(3, 8), "b": weight(3)}
    main = graph("texts", [node("Gather", "table tokens", "e"),
                           node("ReduceMean", "e", "m", axes=[1], keepdims=0),
                           node("Gemm", "m w b", "logits", transB=1)],
                 [value("tokens", TensorProto.INT64, [BATCH, 5])],
                 [value("logits", TensorProto.FLOAT, [BATCH, 3])],
                 [tensor(n, w) for n, w in {**table, **rest}.items()])
    tensors, counting = count()
    first, bindings = update("Adagrad", "table", "H", decay_factor=0.1, norm_coefficient=0.001)
    second, more = update("Momentum", "w b", "V", alpha=0.5, beta=1.0, norm_coefficient=0.0,
                          mode="standard")
    second.input[0] = "R2"
    algorithm = graph("step", [CROSS_ENTROPY,
                               gradient("table w b", "loss", "d_table d_w d_b", "tokens labels"),
                               first, second, counting],
                      [LABELS], [LOSS], [number("R", 0.2), number("R2", 0.05), *tensors,
                                         *zeros("H", table), *zeros("V", rest)])
    save("embedding", main, [(algorithm, [*bindings, *more, ("T", "T_new")])])
    p = leaves({**table, **rest})
    state = {n: 0 for n in p}

    def loss_of(p, batch):
        logits = F.linear(p["table"][batch[0]].mean(1), p["w"], p["b"])
        loss = F.cross_entropy(logits, batch[1])
        return loss, backward(loss, p)

    def updates_of(p, gradients, time):
        for (n, w), g in zip(p.items(), gradients):
            if n == "table":
                g = g + 0.001 * w
                state[n] = state[n] + g * g
                w -= 0.2 / (1 + time * 0.1) * g / (torch.sqrt(state[n]) + 1e-6)
            else:
                state[n] = 0.5 * state[n] + g
                w -= 0.05 * state[n]

    GOLDENS["embedding"] = run(p, loss_of, updates_of, (tokens, labels))


def make_plain():
    """w - rate * g in plain ops; the rate falls, and g is clipped to a norm of 0.5."""
    weights = mlp_weights()
    nodes = [CROSS_ENTROPY, gradient(" ".join(weights), "loss", " ".join(f"d_{n}" for n in weights))]
    for n in weights:
        nodes.append(node("ReduceSumSquare", f"d_{n}", f"q_{n}", keepdims=0))
    nodes += [node("Sum", " ".join(f"q_{n}" for n in weights), "square"), node("Sqrt", "square", "norm"),
              node("Div", "limit norm", "ratio"), node("Min", "ratio one", "factor")]
    for n in weights:
        nodes += [node("Mul", f"d_{n} factor", f"c_{n}"), node("Mul", f"c_{n} rate", f"s_{n}"),
                  node("Sub", f"{n} s_{n}", f"{n}_new")]
    nodes.append(node("Mul", "rate fall", "rate_new"))
    algorithm = graph("step", nodes, [LABELS], [LOSS],
                      [tensor("rate", np.array([0.5], np.float32)), number("limit", 0.5),
                       number("one", 1), number("fall", 0.9)])
    save("plain", mlp_graph(weights), [(algorithm, [*[(n, f"{n}_new") for n in weights],
                                                    ("rate", "rate_new")])])
    p = leaves(weights)

    def loss_of(p, batch):
        loss = mlp_loss(p, batch)
        return loss, backward(loss, p)

    def updates_of(p, gradients, time):
        norm = torch.sqrt(sum((g**2).sum() for g in gradients))
        for w, g in zip(p.values(), gradients):
            w -= 0.5 * 0.9**time * g * torch.clamp(0.5 / norm, max=1)

    GOLDENS["plain"] = run(p, loss_of, updates_of, (x, labels))


def make_penalty():
    """The loss and 0.1 times the square of its gradient with respect to the input."""
    weights = mlp_weights()
    names = " ".join(weights)
    nodes = [CROSS_ENTROPY, gradient("x", "loss", "d_x", f"{names} labels"),
             node("ReduceSumSquare", "d_x", "square", keepdims=0), node("Mul", "square share", "penalty"),
             node("Add", "loss penalty", "total"),
             gradient(names, "total", " ".join(f"d_{n}" for n in weights), "x labels")]
    tensors, counting = count()
    step, bindings = update("Adam", names, "V H")
    algorithm = graph("step", [*nodes, step, counting], [LABELS],
                      [value("total", TensorProto.FLOAT, [])],
                      [number("R", 0.02), number("share", 20), *tensors, *zeros("V H", weights)])
    save("penalty", mlp_graph(weights, "Tanh"), [(algorithm, [*bindings, ("T", "T_new")])])
    p = leaves(weights)
    v, h = {n: 0 for n in weights}, {n: 0 for n in weights}

    def loss_of(p, batch):
        given = batch[0].clone().requires_grad_()
        loss = mlp_loss(p, (given, batch[1]), torch.tanh)
        d_x, = torch.autograd.grad(loss, given, create_graph=True)
        total = loss + 20 * (d_x**2).sum()
        return total, backward(total, p)

    GOLDENS["penalty"] = run(p, loss_of, lambda p, g, t: adam(p, g, t, v, h, 0.02), (x, labels))


def make_rivals():
    """A generator and a discriminator. The discriminator is updated first, and the generator uses the new weights."""
    maker, judge = {"g": weight(6, 6), "gb": weight(6)}, {"w": weight(1, 6), "b": weight(1)}
    main = graph("rivals", [node("Gemm", "z g gb", "made", transB=1), node("Gemm", "made w b", "score", transB=1)],
                 [value("z", TensorProto.FLOAT, [BATCH, 6])],
                 [value("score", TensorProto.FLOAT, [BATCH, 1])],
                 [tensor(n, w) for n, w in {**maker, **judge}.items()])
    real = value("real", TensorProto.FLOAT, [BATCH, 6])

    def descent(nodes, names, inputs, rate):
        nodes = [*nodes, gradient(names, "loss", " ".join(f"d_{n}" for n in names.split()))]
        for n in names.split():
            nodes += [node("Mul", f"d_{n} {rate}", f"s_{n}"), node("Sub", f"{n} s_{n}", f"{n}_new")]
        return (graph("step", nodes, inputs, [LOSS], [number(rate, 0.1)]),
                [(n, f"{n}_new") for n in names.split()])

    first = descent([node("Gemm", "real w b", "real_score", transB=1), node("Neg", "real_score", "low"),
                     node("Softplus", "low", "l1"), node("Softplus", "score", "l2"),
                     node("Add", "l1 l2", "l"), node("ReduceMean", "l", "loss", keepdims=0)],
                    "w b", [real], "rate1")
    second = descent([node("Neg", "score", "low"), node("Softplus", "low", "l"),
                      node("ReduceMean", "l", "loss", keepdims=0)], "g gb", [], "rate2")
    save("rivals", main, [first, second])
    p, losses = leaves({**maker, **judge}), []
    norms = []
    for z, real in batches(x, x[::-1].copy()):
        def score(t):
            return F.linear(t, p["w"], p["b"])

        made = F.linear(z, p["g"], p["gb"])
        loss = (F.softplus(-score(real)) + F.softplus(score(made))).mean()
        dw, db = torch.autograd.grad(loss, [p["w"], p["b"]], retain_graph=True)
        losses.append(loss.item())
        with torch.no_grad():
            p["w"] -= 0.1 * dw
            p["b"] -= 0.1 * db
        made = F.linear(z, p["g"], p["gb"])
        loss = F.softplus(-score(made)).mean()
        dg, dgb = torch.autograd.grad(loss, [p["g"], p["gb"]])
        norms.append(torch.sqrt(sum((g.double() ** 2).sum() for g in (dw, db, dg, dgb))).item())
        with torch.no_grad():
            p["g"] -= 0.1 * dg
            p["gb"] -= 0.1 * dgb
    GOLDENS["rivals"] = {"loss": losses, "grad_norm": norms}


def make_elsewhere():
    """Weights are updated by gradients at x + 0.3 dloss/dx."""
    weights = mlp_weights()
    names = " ".join(weights)
    nodes = [CROSS_ENTROPY, gradient("x", "loss", "d_x", f"{names} labels"), node("Mul", "d_x reach", "far"),
             node("Add", "x far", "there"),
             node("Gradient", f"{names} there labels", " ".join(f"d_{n}" for n in weights), PREVIEW,
                  xs=names.split(), zs=["x", "labels"], y="loss")]
    for n in weights:
        nodes += [node("Mul", f"d_{n} rate", f"s_{n}"), node("Sub", f"{n} s_{n}", f"{n}_new")]
    algorithm = graph("step", nodes, [LABELS], [LOSS], [number("reach", 3), number("rate", 0.2)])
    save("elsewhere", mlp_graph(weights, "Tanh"), [(algorithm, [(n, f"{n}_new") for n in weights])])
    p = leaves(weights)

    def loss_of(p, batch):
        given = batch[0].clone().requires_grad_()
        loss = mlp_loss(p, (given, batch[1]), torch.tanh)
        d_x, = torch.autograd.grad(loss, given)
        there = (given + 3 * d_x).detach()
        return loss, backward(mlp_loss(p, (there, batch[1]), torch.tanh), p)

    def updates_of(p, gradients, time):
        for w, g in zip(p.values(), gradients):
            w -= 0.2 * g

    GOLDENS["elsewhere"] = run(p, loss_of, updates_of, (x, labels))


def make_names():
    """Two updates whose algorithms both call their rate R and a matrix M."""
    first, second = {"w1": weight(16, 6), "b1": weight(16)}, {"w2": weight(3, 16), "b2": weight(3)}
    weights, infos = {**first, **second}, []
    scales = {"w1": np.float32(1 + rng.random((16, 6))), "w2": np.float32(1 + rng.random((3, 16)))}
    for own, rate, matrix in ((first, 0.3, scales["w1"]), (second, 0.05, scales["w2"])):
        w, b = own
        step, bindings = update("Momentum", f"{w} {b}", "V", alpha=0.5, beta=1.0, norm_coefficient=0.0,
                                mode="standard")
        step.input[1] = f"T_{w}"
        step.input[4] = "scaled"
        nodes = [CROSS_ENTROPY, gradient(f"{w} {b}", "loss", f"d_{w} d_{b}"),
                 node("Mul", f"d_{w} M", "scaled"), step]
        tensors = [number("R", rate), tensor(f"T_{w}", np.int64(0)), tensor("M", matrix)]
        infos.append((graph("step", nodes, [LABELS], [LOSS], [*tensors, *zeros("V", own)]), bindings))
    save("names", mlp_graph(weights), infos)
    p, v, losses, norms = leaves(weights), {n: 0 for n in weights}, [], []
    for batch in batches(x, labels):
        total = 0
        for own, rate in ((first, 0.3), (second, 0.05)):
            loss = mlp_loss(p, batch)
            if own is first:
                losses.append(loss.item())
            for n, g in zip(own, torch.autograd.grad(loss, [p[n] for n in own])):
                total += (g.double() ** 2).sum()
                g = g * torch.tensor(scales[n]) if n in scales else g
                v[n] = 0.5 * v[n] + g
                with torch.no_grad():
                    p[n] -= rate * v[n]
        norms.append(torch.sqrt(total).item())
    GOLDENS["names"] = {"loss": losses, "grad_norm": norms}


def make_teacher():
    """A student that learns to agree with a teacher, the moving average of the student, with
    Adam without epsilon."""
    student = {"w": weight(4, 6), "b": weight(4)}
    teacher = {"u": weight(4, 6), "c": weight(4)}
    main = graph("teacher", [node("Gemm", "x w b", "s", transB=1), node("Gemm", "x u c", "t", transB=1)],
                 [value("x", TensorProto.FLOAT, [BATCH, 6])], [value("s", TensorProto.FLOAT, [BATCH, 4])],
                 [tensor(n, w) for n, w in {**student, **teacher}.items()])
    tensors, counting = count()
    step, bindings = update("Adam", "w b", "V H", epsilon=0.0)
    nodes = [node("Sub", "s t", "e"), node("Mul", "e e", "q"), node("ReduceMean", "q", "loss", keepdims=0),
             gradient("w b", "loss", "d_w d_b"), step, counting]
    for n, old in (("u", "w"), ("c", "b")):
        nodes += [node("Mul", f"{n} most", f"k_{n}"), node("Mul", f"{old}_new rest", f"a_{n}"),
                  node("Add", f"k_{n} a_{n}", f"{n}_new")]
        bindings.append((n, f"{n}_new"))
    algorithm = graph("step", nodes, [], [LOSS],
                      [number("R", 0.01), number("most", 0.75), number("rest", 0.25), *tensors,
                       *zeros("V H", student)])
    save("teacher", main, [(algorithm, [*bindings, ("T", "T_new")])])
    p, t = leaves(student), {n: torch.tensor(w) for n, w in teacher.items()}
    v, h = {n: 0 for n in student}, {n: 0 for n in student}

    def loss_of(p, batch):
        error = F.linear(batch[0], p["w"], p["b"]) - F.linear(batch[0], t["u"], t["c"])
        loss = (error**2).mean()
        return loss, backward(loss, p)

    def updates_of(p, gradients, time):
        for (n, w), g in zip(p.items(), gradients):
            v[n] = 0.9 * v[n] + 0.1 * g
            h[n] = 0.999 * h[n] + 0.001 * g * g
            r = 0.01 * np.sqrt(1 - 0.999**time) / (1 - 0.9**time) if time else 0.01
            w -= r * v[n] / torch.sqrt(h[n])
        for n, old in (("u", "w"), ("c", "b")):
            t[n] = 0.75 * t[n] + 0.25 * p[old]

    GOLDENS["teacher"] = run(p, loss_of, updates_of, (x,))


def main():
    HERE.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    make_momentum("mlp", "standard")
    make_momentum("nesterov", "nesterov")
    make_cnn()
    make_embedding()
    make_plain()
    make_penalty()
    make_rivals()
    make_elsewhere()
    make_names()
    make_teacher()
    np.savez(HERE / "points.npz", x=x, labels=labels)
    np.savez(HERE / "images.npz", images=images, labels=labels)
    np.savez(HERE / "texts.npz", tokens=tokens, labels=labels)
    np.savez(HERE / "rivals.npz", z=x, real=x[::-1])
    text = json.dumps({n: {"own": g} for n, g in GOLDENS.items()}, indent=1)
    (HERE / "training_info.json").write_text(text + "\n")


main()
