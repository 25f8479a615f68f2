#!/usr/bin/env python3
"""Writes metrics/: predictions, what they are compared with, and scikit-learn's metrics of them.

The models of the tests (test/tools/mpc/metrics/Inputs) return their input, or the row of a
table for each token, so that predictions are exactly the arrays of the data: with ties, ignored
labels, classes that do not occur and numbers of samples that do not fill batches. The digits are
predicted by the initial weights of runtime/examples/digits/mlp.onnx. metrics.json has the values.

Needs numpy, onnx and scikit-learn. The results are in the repository.
"""
import json
import pathlib

import numpy as np
import onnx
import onnx.reference
from sklearn import metrics as sk

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = ROOT / "test/goldens/metrics"
AVERAGES = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
IGNORED = -100


def softmax(scores):
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def of_counts(truth, predicted, default):
    """Metrics of predicted labels; `default` is the average of names without one."""
    values = {}
    for name, score in AVERAGES.items():
        values[name] = score(truth, predicted, average=default, zero_division=0)
        for average in ("macro", "micro", "weighted"):
            values[f"{name}-{average}"] = score(truth, predicted, average=average, zero_division=0)
    values["iou"] = sk.jaccard_score(truth, predicted, average=default, zero_division=0)
    return values


def of_one_label(truth, predicted, classes):
    return {
        "accuracy": sk.accuracy_score(truth, predicted),
        "balanced-accuracy": sk.balanced_accuracy_score(truth, predicted),
        "mcc": sk.matthews_corrcoef(truth, predicted),
        "confusion": sk.confusion_matrix(truth, predicted, labels=range(classes)).tolist(),
    }


def of_classes(scores, labels, ranked=(), are_probabilities=False, ignored=IGNORED):
    """Metrics of scores [rows, classes]. The ranks need every class to occur."""
    scores = scores.reshape(-1, scores.shape[-1]).astype(np.float64)
    kept = labels.reshape(-1) != ignored
    scores, labels = scores[kept], labels.reshape(-1)[kept]
    classes = scores.shape[1]
    chances = scores if are_probabilities else softmax(scores)
    # scikit-learn requires sums of 1 in f64.
    chances = chances / chances.sum(-1, keepdims=True)
    values = of_one_label(labels, scores.argmax(-1), classes)
    values |= of_counts(labels, scores.argmax(-1), "macro")
    values["top2"] = sk.top_k_accuracy_score(labels, scores, k=2, labels=range(classes))
    values["perplexity"] = np.exp(sk.log_loss(labels, chances, labels=range(classes)))
    if "auc" in ranked:
        values["auc"] = sk.roc_auc_score(labels, chances, multi_class="ovr", average="macro")
        values["average-precision"] = sk.average_precision_score(labels, chances, average="macro")
    return values


def of_binary(scores, targets, threshold=0):
    scores, targets = scores.astype(np.float64), targets.astype(np.int64)
    predicted = (scores > threshold).astype(np.int64)
    values = {"accuracy": sk.accuracy_score(targets.reshape(-1), predicted.reshape(-1))}
    if scores.shape[1] == 1:
        scores, targets, predicted = scores[:, 0], targets[:, 0], predicted[:, 0]
        values |= of_one_label(targets, predicted, 2)
    values |= of_counts(targets, predicted, "binary" if scores.ndim == 1 else "macro")
    values["auc"] = sk.roc_auc_score(targets, scores, average="macro")
    values["average-precision"] = sk.average_precision_score(targets, scores, average="macro")
    return values


def of_numbers(numbers, targets):
    numbers, targets = numbers.astype(np.float64), targets.astype(np.float64)
    return {
        "mae": sk.mean_absolute_error(targets, numbers),
        "mse": sk.mean_squared_error(targets, numbers),
        "rmse": sk.root_mean_squared_error(targets, numbers),
        "r2": sk.r2_score(targets, numbers, multioutput="uniform_average"),
    }


def eighths(random, shape):
    """Scores with ties, which 16-bit floats hold exactly."""
    return (np.round(8 * random.standard_normal(shape)) / 8).astype(np.float32)


def learned(random, scores, axis=-1):
    """Labels that the scores predict better than chance."""
    return (scores + 0.8 * random.standard_normal(scores.shape)).argmax(axis)


def digits():
    data = np.load(ROOT / "runtime/examples/digits/digits-test.npz")
    model = onnx.load(ROOT / "runtime/examples/digits/mlp.onnx")
    images = next(name for name in data.files if name != "labels")
    scores, = onnx.reference.ReferenceEvaluator(model).run(None, {model.graph.input[0].name: data[images]})
    values = of_classes(scores, data["labels"], ranked=("auc",))
    values["top5"] = sk.top_k_accuracy_score(data["labels"], scores, k=5, labels=range(10))
    return values


def main():
    HERE.mkdir(exist_ok=True)
    random = np.random.default_rng(5)
    golden = {"digits": digits()}

    def write(name, values, **arrays):
        np.savez(HERE / f"{name}.npz", **arrays)
        golden[name] = values

    # Class 4 is never a label, and class 3 is never predicted.
    x = random.standard_normal((53, 5)).astype(np.float32)
    x[:, 3] = -9
    labels = learned(random, x[:, :4])
    labels[::7] = 3
    write("classes", of_classes(x, labels), x=x, labels=labels)

    x = random.standard_normal((61, 4)).astype(np.float32)
    labels = learned(random, x)
    labels[[3, 20, 60]] = IGNORED
    write("ignored", of_classes(x, labels, ranked=("auc",)), x=x, labels=labels)
    # The same as probabilities, from a softmax in f32.
    golden["softmax"] = of_classes(softmax(x), labels, ("auc",), are_probabilities=True)

    x = eighths(random, (50, 1))
    targets = (x + random.standard_normal(x.shape) > 0.3).astype(np.float32)
    write("binary", of_binary(x, targets), x=x, targets=targets)
    # The same as probabilities, from a sigmoid in f32.
    golden["sigmoid"] = of_binary(1 / (1 + np.exp(-x)), targets, 0.5)

    x = eighths(random, (41, 4))
    targets = (x + random.standard_normal(x.shape) > [0, 0.5, 1, -1]).astype(np.float32)
    x[:, 2] = -np.abs(x[:, 2])  # Never predicted.
    write("labels", of_binary(x, targets), x=x, targets=targets)

    targets = (random.standard_normal((37, 2)) * [1, 50] + [1000, -3]).astype(np.float32)
    x = (targets + random.standard_normal((37, 2)) * [0.5, 10]).astype(np.float32)
    write("numbers", of_numbers(x, targets), x=x, targets=targets)

    x = random.standard_normal((9, 3, 4, 5)).astype(np.float32)
    labels = learned(random, x, axis=1)
    labels[random.random(labels.shape) < 0.1] = IGNORED
    write("segments", of_classes(np.moveaxis(x, 1, -1), labels, ranked=("auc",)), x=x, labels=labels)

    table = random.standard_normal((6, 7)).astype(np.float32)
    tokens = random.integers(0, 6, (11, 8))
    labels = learned(random, table[tokens])
    labels[:, -1] = IGNORED
    write("texts", of_classes(table[tokens], labels), tokens=tokens, labels=labels)
    print("table of texts.onnxtxt:", ", ".join(f"{value:.9g}" for value in table.reshape(-1)))

    x = random.standard_normal((45, 3)).astype(np.float32)
    labels = learned(random, x)
    labels[5] = -1
    write("graph", of_classes(x, labels, ranked=("auc",), ignored=-1), x=x, labels=labels)

    x = random.standard_normal((29, 3)).astype(np.float32)
    labels, heights = learned(random, x), random.standard_normal((29, 3))
    classes = random.integers(0, 3, 29)
    values = {"f1": of_classes(x, labels)["f1"], "mae:z": of_numbers(-x, heights)["mae"],
              "r2:z": of_numbers(-x, heights)["r2"], "accuracy:z": of_classes(-x, classes)["accuracy"]}
    write("heads", values, x=x, labels=labels, heights=heights, classes=classes)

    cases = (f"{json.dumps(name)}: {json.dumps(values)}" for name, values in golden.items())
    (HERE / "metrics.json").write_text("{" + ",\n".join(cases) + "}\n")


if __name__ == "__main__":
    main()
