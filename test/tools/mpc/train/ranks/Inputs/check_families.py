"""Checks that two ranks train models of several families as one process with twice the micro-batches
does: the same losses and skipped updates; and the same bits in another run and with another MPI. (They are
too small to share states: check_shard.py.)"""

import json
import sys

from ranks import LAUNCHERS, different, run, states, train

families = sys.argv[1]
first, last = LAUNCHERS[0], LAUNCHERS[-1]
STEPS = 12


def steps(name, package, data, *options, **how):
    """The losses of the updates, and those that are skipped."""
    output = train(
        package, name, f"--data={data}", "--no-shuffle", "--seed=7", f"--steps={STEPS}", "--json",
        *options, **how,
    )  # fmt: skip
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    lines = [line for line in lines if "step" in line and "loss" in line]
    assert len(lines) == STEPS, output
    return [line["loss"] for line in lines], [bool(line.get("skipped")) for line in lines]


def apart(found, expected):
    return max(abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True) if b is not None)


def check(model, tolerance, *compiled, skips=False, draws=False):
    """`draws`: ranks draw other numbers than micro-batches."""
    group, name = model.split("/")
    golden = json.load(open(f"{families}/{group}/{group}.json"))[name]
    data = f"{families}/{group}/{name}.npz"
    compiled = [
        f"{families}/{group}/{name}-dynamo.onnx", *golden["options"], "--lr=0.003", *compiled,
    ]  # fmt: skip
    run("mpc", "compile", *compiled, "--accumulate=2", "-o", "one.mpc")
    run("mpc", "compile", *compiled, "--data-parallel", "-o", f"{name}.mpc")
    one, one_skipped = steps(f"{name}-one", "one.mpc", data)
    two, two_skipped = steps(f"{name}-two", f"{name}.mpc", data, launcher=first, ranks=2)
    off = apart(two, one)
    print(f"{name} {' '.join(compiled[2:])}: {off:.1e} apart, {sum(two_skipped)} skipped", flush=True)
    assert any(one_skipped) == any(two_skipped) == skips, (name, one_skipped, two_skipped)
    # Gradients of a micro-batch are half as large, so they overflow up to one halving of the scale later.
    assert 0 <= sum(two_skipped) - sum(one_skipped) <= skips, (name, one_skipped, two_skipped)
    assert draws or off <= tolerance, (name, one, two)
    expected = states(f"{name}-two")
    for other, launcher in (("again", first), ("mpi", last)):
        steps(f"{name}-{other}", f"{name}.mpc", data, launcher=launcher, ranks=2)
        wrong = different(expected, states(f"{name}-{other}"))
        assert not wrong, (name, other, wrong)


check("decoders/gpt2", 1e-6, "--precision=fp32", "--clip-norm=0.5")
check("sequences/lstm", 1e-6, "--precision=fp32", "--ema=0.9", "--lr-schedule=cosine", "--warmup=3")
check("tables/dlrm", 1e-3, "--precision=fp16", "--loss-scale-init=16777216", "--optimizer=sgd", skips=True)
check("encoders/bert", 1e-6, "--precision=bf16", "--clip-value=0.1", "--optimizer=lamb")
check("images/unet-nearest", 1e-6, "--precision=bf16", "--master-weights=bf16-kahan")
check("dropout/gpt2-dropout", 0, "--precision=bf16", draws=True)
print("ok")
