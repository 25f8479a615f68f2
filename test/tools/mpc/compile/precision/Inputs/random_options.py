"""random_options.py MPC FOLDER COUNT: compiles models of FOLDER with random precision options.

Each time some types of nodes are kept in fp32 and some are put in 16 bit; models that
cannot be compiled at all are skipped. Any other failure is a compiler bug, because the
assignment and the verifier read the same rules.
"""
import pathlib
import random
import subprocess
import sys

TYPES = (
    "MatMul Gemm Conv Mul Add Sub Div Sqrt Pow Softmax LayerNormalization Reshape Transpose Slice Split Concat Gather "
    "ReduceMean ReduceSum Relu Gelu Tanh Sigmoid Where Exp Expand Erf BatchNormalization Clip"
).split()


def main():
    mpc, folder, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    models = sorted(folder.rglob("*.onnx"))
    draw = random.Random(20)
    done = 0
    for attempt in range(20 * count):
        model = draw.choice(models)
        names = draw.sample(TYPES, draw.randint(4, 24))
        split = draw.randint(1, len(names) - 1)
        options = [
            f"--precision={draw.choice(['bf16', 'fp16'])}",
            f"--keep-fp32=^({'|'.join(names[:split])})$",
            f"--force-low=^({'|'.join(names[split:])})$",
        ]
        run = subprocess.run(
            [mpc, "compile", str(model), *options, "--stop-after=precision"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        # 2: no node of these types, or one that stands for two. 3: not a model to train.
        assert run.returncode in (0, 2, 3), (model.name, options, run.stderr)
        done += run.returncode == 0
        if done == count:
            return
    sys.exit(f"only {done} were compiled")


main()
