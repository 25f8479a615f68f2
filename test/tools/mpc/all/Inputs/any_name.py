"""any_name.py MPC: checks that initializers may have the names of mpc's own states, functions and kernels.

For every set of options that adds states, a model has an initializer for each name that then occurs, some trained and some
frozen. It is compiled, trained, resumed and exported, and has the losses and weights of a model whose initializers have
names of no meaning.
"""
import json
import re
import pathlib
import random
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4]))
import npz
from protobuf import fields

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

# Names of entry points, of a kernel and of a constant, with and without what keeps names apart.
ALWAYS = {"predict", "evaluate", "train", "step", "accumulate", "apply", "initialize", "derive", "observe", "probe",
          "kernel_0", "constant.0", "mpc.step_count", "mpc.mpc.learning_rate", "step_count/w1"}
EXPECTED = ("parameters", "ema", "ema_count", "total_steps", "micro_step", "loss_scale", "compensation", "random_seed", "ema/w1",
            "gradients/w1", "rmsprop.velocity/w1", "pending/mean", "adam.first_moment", "fp8.scales", "learning_rate")


def initializer(name, dims):
    count = 1
    for dim in dims:
        count *= dim
    shape = " ".join(f"dims: {dim}" for dim in dims)
    return f'initializer {{ name: "{name}" data_type: 1 {shape} float_data: [{", ".join(["0.5"] * count)}] }}\n'


def node(op, inputs, output):
    names = " ".join(f'input: "{name}"' for name in inputs)
    return f'node {{ op_type: "{op}" {names} output: "{output}" }}\n'


def model(path, extras=()):
    """Three products, a norm and dropout; `extras` are added to the result, one by one."""
    text = "".join(initializer(w, [WIDTH, WIDTH]) for w in WEIGHTS[:3])
    text += "".join(initializer(w, [WIDTH]) for w in WEIGHTS[3:])
    text += 'initializer { name: "half" data_type: 1 float_data: 0.5 }\n'
    text += 'initializer { name: "yes" data_type: 9 int32_data: 1 }\n'
    text += node("MatMul", ["x", "w1"], "a") + node("MatMul", ["a", "w2"], "b")
    text += ('node { op_type: "BatchNormalization" input: "b" input: "scale" input: "bias" input: "mean" '
             'input: "var" output: "c" output: "" output: "" attribute { name: "training_mode" type: INT i: 1 } }\n')
    text += node("Dropout", ["c", "half", "yes"], "d") + node("MatMul", ["d", "w3"], "out")
    result = "out"
    for i, extra in enumerate(extras):
        text += initializer(extra, [WIDTH]) + node("Add", [result, extra], f"out{i}")
        result = f"out{i}"
    dims = f"shape {{ dim {{ dim_value: {WIDTH} }} dim {{ dim_value: {WIDTH} }} }}"
    with open(path, "w") as file:
        file.write('ir_version: 8\nopset_import { version: 17 }\ngraph {\n'
                   f'input {{ name: "x" type {{ tensor_type {{ elem_type: 1 {dims} }} }} }}\n'
                   + text + f'output {{ name: "{result}" }}\n}}\n')


def run(*command):
    done = subprocess.run([mpc, *command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def initializers_of(model):
    """Name to raw_data: ModelProto.graph is 7, GraphProto.initializer 5, TensorProto.name 8 and raw_data 9."""
    tensors = [dict(fields(t)) for n, graph in fields(model) if n == 7 for m, t in fields(graph) if m == 5]
    return {tensor[8].decode(): tensor.get(9, tensor.get(4)) for tensor in tensors}


def own_names(options):
    """What the compiler calls its own with these options."""
    run("compile", "plain.textproto", "-o", "plain.mpc", "--loss=mse", *options)
    names = set()
    for state in json.loads(run("inspect", "plain.mpc", "--json"))["states"]:
        if state["name"] not in WEIGHTS:
            names.add(state["name"])
            if state.get("slots") and state["name"] != "parameters":
                names.add(state["name"] + "/w1")
    return names


def train(names, options):
    """Losses of four steps with a stop in between, and what is exported of the extra weights."""
    shutil.rmtree("run", ignore_errors=True)
    model("named.textproto", names)
    frozen = "|".join(re.escape(name) for name in names[::3])
    run("compile", "named.textproto", "-o", "named.mpc", "--loss=mse", f"--freeze=^({frozen})$", *options)
    losses = []
    length = ["--total-steps=4"] if "--lr-schedule=cosine" in options else []
    for steps in ("2", "4"):
        lines = run("train", "named.mpc", "--data=data.npz", f"--steps={steps}", "--checkpoint-dir=run", "--resume",
                    "--threads=1", "--json", *length).splitlines()
        losses += [line["loss"] for line in map(json.loads, lines) if "step" in line and "loss" in line]
    kept = ["--weights=ema"] if "--ema=0.99" in options else []
    run("export", "named.mpc", "--checkpoint=run", "-o", "trained.onnx", *kept)
    exported = initializers_of(pathlib.Path("trained.onnx").read_bytes())
    assert all(exported[name] for name in names)
    return losses, [exported[name] for name in names]


model("plain.textproto")
draw = random.Random(0)
SAMPLES = 4 * WIDTH
npz.write("data.npz", {name: npz.Array("<f4", (SAMPLES, WIDTH), struct.pack(f"<{SAMPLES * WIDTH}f", *(draw.gauss(0, 1) for _ in range(SAMPLES * WIDTH))))
                       for name in ("x", "targets")})
seen = set()
for options in OPTIONS:
    names = sorted(own_names(options) | ALWAYS)
    seen.update(names)
    losses, weights = train(names, options)
    other_losses, other_weights = train([f"name{i}" for i in range(len(names))], options)
    assert len(losses) == 4 and len(set(losses)) > 1, (options, losses)
    assert losses == other_losses, (options, losses, other_losses)
    for name, ours, theirs in zip(names, weights, other_weights):
        assert ours == theirs, (options, name)
for name in EXPECTED:
    assert name in seen, (name, sorted(seen))
