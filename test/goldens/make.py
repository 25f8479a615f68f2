#!/usr/bin/env python3
"""Makes goldens, or checks that they are unchanged.

make.py GROUP...           runs the generator of each group and writes its MANIFEST.json
make.py --list             names the groups, their folders and what their generators need
make.py --check [FOLDER]   checks the files of all groups, or of one folder, against its MANIFEST.json

Making needs the group's packages (--list), checking nothing. README.md says what each group is compared with.
"""
import dataclasses
import os
import pathlib
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
import manifests

ROOT = pathlib.Path(__file__).resolve().parents[2]
BITS = "bit for bit"
EXPORTS = "numpy onnx onnxscript torch"


@dataclasses.dataclass
class Group:
    folder: str  # Below test/.
    command: str  # A script below test/ and its arguments.
    packages: str
    seeds: str
    repeats: str = BITS


def make_families():
    seeds = "those in the group's JSON file, the first with which rounding is not amplified"
    packages = EXPORTS + " torchvision transformers"
    groups = "attention convolutional decoders dropout encoders images perception sequences tables"
    return {
        f"families-{name}": Group(f"goldens/families/{name}", f"goldens/families/make_families.py {name}", packages, seeds)
        for name in groups.split()
    }


def of_training(name, packages, seeds):
    return Group(f"goldens/{name}", f"goldens/makers/make_{name}.py", packages, seeds)


NAMES = "CRC-32 of the case's name"
GROUPS = {
    "digits": of_training("digits", "numpy onnx torch", "3 of NumPy; dropout 0"),
    "updates": of_training("updates", "numpy torch pytorch_optimizer", "3 and 4 of NumPy"),
    "losses": of_training("losses", "numpy torch", "the bytes of the model's name, of NumPy"),
    "transformers": of_training("transformers", EXPORTS, "1 of NumPy and of PyTorch"),
    "detach": of_training("detach", EXPORTS, "1 of NumPy and of PyTorch"),
    "precision": of_training("precision", EXPORTS, "1 of PyTorch"),
    "fp8": of_training("fp8", "numpy onnx", "0 and 1 of NumPy"),
    "masters": of_training("masters", "numpy onnx torch", "12 of NumPy; stochastic rounding 7"),
    "metrics": of_training("metrics", "numpy onnx scikit-learn", "5 of NumPy"),
    "images": of_training("images", "numpy pillow", "11 of NumPy"),
    "augment": of_training("augment", "numpy pillow torch", "21 of NumPy"),
    "training_info": of_training("training_info", "numpy onnx torch", "7 of NumPy"),
    **make_families(),
    "recognized": Group("goldens/recognized/bf16", "goldens/makers/make_recognized.py",
                        EXPORTS + " torchvision transformers", "1 of PyTorch"),
    "models": Group("models/goldens", "models/make_models.py", "numpy onnx onnxruntime torch", NAMES,
                    "bit for bit, but for the last digit of outputs of onnx.reference (NumPy's matrix products)"),
    "ort": Group("models/ort", "models/make_ort_artifacts.py",
                 "numpy onnx onnxruntime-training torch flatbuffers", "1 of NumPy; 1 and 2 of PyTorch",
                 "bit for bit, but for the last bits where gradients are clipped"),
    "microsoft": Group("onnx/microsoft", "onnx/microsoft_ops.py make", "numpy onnx onnxruntime-training", NAMES),
    "special": Group("gradients/special/goldens", "gradients/special/make_special_points.py", "numpy torch",
                     "those of the rows"),
    "kernels": Group("kernels/goldens", "kernels/make_goldens.py", "torch", "0 of PyTorch; operands by their number"),
    "update_scale": Group("compiler/Dialect/Amp/goldens", "compiler/Dialect/Amp/make_update_scale.py", "numpy torch",
                          "those of the script's generator"),
}


def make(name):
    group = GROUPS[name]
    script, *arguments = shlex.split(group.command)
    folder = ROOT / "test" / group.folder
    folder.mkdir(parents=True, exist_ok=True)
    # torch.export orders loop-carried values by hashes of strings.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    subprocess.run([sys.executable, str(ROOT / "test" / script), *arguments], check=True, env=environment)
    manifests.write(folder, f"test/{script}", f"test/goldens/make.py {name}", group.seeds,
                    group.packages.split(), group.repeats)


def check(folders):
    """Prints faults, and returns whether there are any."""
    wrong = False
    for folder in folders or [f"test/{group.folder}" for group in GROUPS.values()]:
        for fault in manifests.check(pathlib.Path(os.path.relpath(ROOT / folder)), ROOT):
            print(fault)
            wrong = True
    return wrong


def main(arguments):
    if arguments[:1] == ["--list"]:
        for name, group in GROUPS.items():
            print(f"{name:24} test/{group.folder:32} {group.packages}")
        return 0
    if arguments[:1] == ["--check"]:
        return check(arguments[1:])
    unknown = [name for name in arguments if name not in GROUPS]
    if not arguments or unknown:
        print(__doc__ if not arguments else
              f"make.py: no group {unknown[0]!r}; there are {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    for name in arguments:
        make(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
