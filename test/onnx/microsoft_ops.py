#!/usr/bin/env python3
"""ONNX Runtime's training ops: compares results of mpc with those of ONNX Runtime.

usage: microsoft_ops.py make [--filter=REGEX]   write the models and goldens in microsoft/
       microsoft_ops.py check MPC FOLDER        compare, as microsoft-ops.test does

A family of microsoft_cases.py is one model, microsoft/FAMILY.onnx; each case is a part of it;
FAMILY.npz has its inputs and FAMILY.wanted.npz its outputs. To make them takes numpy, onnx and
onnxruntime-training 1.19, to check them nothing but Python.
"""
import math
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import npz

HERE = pathlib.Path(__file__).resolve().parent / "microsoft"
# Maximum errors of an element, relative to itself and to the largest of its tensor. Errors in f32 come from
# another order of summation; bf16 rounds by 2^-9 and f16 by 2^-12, several times in a row.
TOLERANCES = {"fp32": (1e-5, 2e-6), "bf16": (0, 3e-2), "fp16": (0, 8e-3)}


def read_npz(path):
    return {name: (array.shape, array.values()) for name, array in npz.read(path).items()}


def differs(found, wanted, relative, of_largest):
    """How an output differs from the golden; empty if it does not."""
    if found[0] != wanted[0]:
        return f"shape {found[0]}, not {wanted[0]}"
    finite = [abs(w) for w in wanted[1] if math.isfinite(w)]
    slack = of_largest * max(finite, default=0)
    for i, (a, b) in enumerate(zip(found[1], wanted[1])):
        same = a == b or (math.isnan(a) and math.isnan(b))
        if not same and not abs(a - b) <= relative * abs(b) + slack:
            return f"element {i} is {a!r}, not {b!r}"
    return ""


def check(mpc, folder):
    package, out = (pathlib.Path(folder) / name for name in ("model.mpc", "found.npz"))
    bad = 0
    for model in sorted(HERE.glob("*.onnx")):
        wanted = read_npz(model.with_suffix(".wanted.npz"))
        for precision, tolerance in TOLERANCES.items():
            subprocess.run([mpc, "compile", model, f"--precision={precision}", "-o", package], check=True)
            subprocess.run([mpc, "predict", package, "--data", model.with_suffix(".npz"), "-o", out],
                           check=True)
            found = read_npz(out)
            how = {name: differs(found[name], value, *tolerance) for name, value in wanted.items()}
            for name in filter(how.get, how):
                print(f"{model.stem} {precision} {name}: {how[name]}")
                bad += 1
            print(f"{model.stem} {precision}: {len(wanted)} outputs")
    return bad


def golden(case, text, runtime):
    """The expected results of a case: from its formula, or otherwise from ONNX Runtime."""
    import numpy as np
    import onnx.parser
    model = onnx.parser.parse_model(text)
    for node in model.graph.node:  # The syntax cannot express omitted outputs.
        node.output[:] = ["" if o.startswith("_") else o for o in node.output]
    if case.formula:
        wide = {k: v.astype(float) if v.dtype.kind == "f" else v for k, v in
                (case.inputs | case.known).items()}
        values = case.formula(**wide)
        values = values if isinstance(values, tuple) else (values,)
        return model, [np.asarray(v) for v in values]
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(model.SerializeToString(), options)
    return model, session.run(None, case.inputs)


def declare(name, array):
    kinds = {"float32": "float", "int64": "int64", "int32": "int32", "bool": "bool"}
    return f"{kinds[array.dtype.name]}[{', '.join(map(str, array.shape))}] {name}".replace("[]", "")


def text_of(case):
    def known(name, array):
        values = ", ".join(str(v.item() if array.dtype.kind != "b" else int(v)) for v in array.ravel())
        return f"{declare(name, array)} = {{{values}}}"

    inputs = [declare(n, a) for n, a in case.inputs.items()]
    inputs += [known(n, a) for n, a in case.known.items()]
    return (f'<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]>\n'
            f"{case.name} ({', '.join(inputs)}) => ({case.outputs}) {{ {case.nodes} }}")


def make(pattern):
    import numpy as np
    import onnx
    import onnx.compose
    import onnxruntime as runtime
    import microsoft_cases_of_shapes  # noqa: F401
    from microsoft_cases import FAMILIES

    runtime.set_default_logger_severity(3)
    for family, cases in FAMILIES.items():
        whole, inputs, wanted = None, {}, {}
        for case in cases:
            if not re.search(pattern, f"{family}/{case.name}"):
                continue
            try:
                model, values = golden(case, text_of(case), runtime)
            except Exception as error:  # Report which of a hundred cases failed.
                sys.exit(f"{family}/{case.name}: {error}\n{text_of(case)}")
            prefix = case.name + "."
            inputs |= {prefix + n: a for n, a in case.inputs.items()}
            for output, value in zip(model.graph.output, values):
                kind = onnx.helper.tensor_dtype_to_np_dtype(output.type.tensor_type.elem_type)
                wanted[prefix + output.name] = np.asarray(value).astype(kind)
            onnx.compose.add_prefix(model, prefix, inplace=True)
            if whole is None:
                whole = model
                whole.graph.name = family
                continue
            for field in ("input", "output", "node", "initializer", "value_info"):
                getattr(whole.graph, field).extend(getattr(model.graph, field))
        if whole is None:
            continue
        known = {i.name for i in whole.graph.initializer}
        kept = [i for i in whole.graph.input if i.name not in known]
        del whole.graph.input[:]
        whole.graph.input.extend(kept)
        onnx.save(whole, HERE / f"{family}.onnx")
        np.savez_compressed(HERE / f"{family}.npz", **inputs)
        np.savez_compressed(HERE / f"{family}.wanted.npz", **wanted)
        print(f"{family}: {len(inputs)} inputs, {len(wanted)} outputs")


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        options = dict(o.removeprefix("--").split("=", 1) for o in sys.argv[2:])
        make(options.get("filter", ""))
    elif sys.argv[1:2] == ["check"] and len(sys.argv) == 4:
        sys.exit(check(sys.argv[2], sys.argv[3]) > 0)
    else:
        sys.exit(__doc__)
