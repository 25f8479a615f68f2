"""reserved.py MPC: compiles a model with every option that adds states, and finds out that
models whose initializers have the names of those states are refused.
"""
import json
import re
import subprocess
import sys

mpc = sys.argv[1]

WIDTH = 32
WEIGHTS = ["w1", "w2", "w3", "scale", "bias", "mean", "var"]
OPTIONS = [
    *([f"--optimizer={name}"] for name in
      ("sgd", "momentum", "adam", "adamw", "hf-adamw", "nadam", "lamb", "lion", "adagrad")),
    ["--optimizer=rmsprop", "--momentum=0.9"],
    ["--accumulate=2", "--ema=0.99", "--ema-warmup", "--lr-schedule=cosine", "--warmup=2", "--clip-norm=1"],
    ["--precision=fp16", "--accumulate=2", "--loss-scale-hysteresis=2"],
    ["--precision=bf16", "--master-weights=bf16-kahan"],
    ["--precision=bf16", "--master-weights=bf16-stochastic"],
    ["--precision=fp8", "--accumulate=2"],
    ["--precision=fp8", "--fp8-scaling=current", "--master-weights=bf16-kahan"],
    ["--precision=fp32", "--check-numerics"],
    ["--precision=fp32", "--observe=profile"],
]


def initializer(name, dims):
    count = 1
    for dim in dims:
        count *= dim
    shape = " ".join(f"dims: {dim}" for dim in dims)
    return f'initializer {{ name: "{name}" data_type: 1 {shape} float_data: [{", ".join(["0.5"] * count)}] }}\n'


def node(op, inputs, output):
    names = " ".join(f'input: "{name}"' for name in inputs)
    return f'node {{ op_type: "{op}" {names} output: "{output}" }}\n'


def model(path, extra=None):
    """Three products, a norm and dropout; `extra` is added to the result."""
    text = "".join(initializer(w, [WIDTH, WIDTH]) for w in WEIGHTS[:3])
    text += "".join(initializer(w, [WIDTH]) for w in WEIGHTS[3:])
    text += 'initializer { name: "half" data_type: 1 float_data: 0.5 }\n'
    text += 'initializer { name: "yes" data_type: 9 int32_data: 1 }\n'
    text += node("MatMul", ["x", "w1"], "a") + node("MatMul", ["a", "w2"], "b")
    text += ('node { op_type: "BatchNormalization" input: "b" input: "scale" input: "bias" input: "mean" '
             'input: "var" output: "c" output: "" output: "" attribute { name: "training_mode" type: INT i: 1 } }\n')
    text += node("Dropout", ["c", "half", "yes"], "d") + node("MatMul", ["d", "w3"], "e")
    result = "e"
    if extra:
        text += initializer(extra, [WIDTH]) + node("Add", ["e", extra], "f")
        result = "f"
    dims = f"shape {{ dim {{ dim_value: {WIDTH} }} dim {{ dim_value: {WIDTH} }} }}"
    with open(path, "w") as file:
        file.write('ir_version: 8\nopset_import { version: 17 }\ngraph {\n'
                   f'input {{ name: "x" type {{ tensor_type {{ elem_type: 1 {dims} }} }} }}\n'
                   + text + f'output {{ name: "{result}" }}\n}}\n')


def compile(path, *options):
    return subprocess.run([mpc, "compile", path, "-o", "out.mpc", "--loss=mse", *options],
                          capture_output=True, text=True)


model("plain.textproto")
reserved = set()
for options in OPTIONS:
    result = compile("plain.textproto", *options)
    assert result.returncode == 0, (options, result.stderr)
    shown = subprocess.run([mpc, "inspect", "out.mpc", "--json"], capture_output=True, check=True, text=True)
    for state in json.loads(shown.stdout)["states"]:
        name = state["name"]
        # Constants of the program get names that are free.
        if name in WEIGHTS or re.fullmatch(r"constant\.\d+", name):
            continue
        reserved.add(name)
        if state.get("slots") and name != "parameters":
            reserved.add(name + "/w1")

for name in ("parameters", "ema", "ema_count", "total_steps", "micro_step", "loss_scale", "compensation",
             "random_seed", "ema/w1", "gradients/w1", "rmsprop.velocity/w1", "pending/mean"):
    assert name in reserved, (name, sorted(reserved))
for name in sorted(reserved):
    model("taken.textproto", name)
    for options in ([], [f"--freeze=^{re.escape(name)}$"]):
        result = compile("taken.textproto", *options)
        assert result.returncode == 3, (name, options, result.stderr)
        assert f"initializer '{name}': error: has a name that mpc uses itself" in result.stderr, result.stderr
