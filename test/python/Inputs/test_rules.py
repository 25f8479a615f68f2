"""Each error of mpc.compile has a rule: an id of compiler/Support/Faults.def, which the guide explains."""

import os
import pathlib
import re
import tempfile
import unittest
import warnings

import mpc
from digits import FOLDER, MLP

SOURCE = pathlib.Path(mpc.__file__).resolve().parents[3]


def ids():
    """The meaning of each id in Faults.def."""
    text = (SOURCE / "compiler/Support/Faults.def").read_text()
    return dict(re.findall(r'^MPC_FAULT\(\w+, "([a-z-]+)",\s*"(.*)"\)$', text, re.MULTILINE))


def model(body, inputs="float[N, 2] x", outputs="float[N, 2] y", opset=17):
    return (f'<ir_version: 8, opset_import: ["" : {opset}]>\n'
            f"m ({inputs}) => ({outputs}) {body}\n").encode()


WEIGHT = "<float[2, 2] w = {1, 2, 3, 4}> "
# An id, a model or its file, options.
CASES = [
    ("invalid-file", b"no model", {}),
    ("invalid-model", b"\x08\x08", {}),
    # A graph with field 15, a sparse initializer.
    ("unsupported-feature", b"\x08\x08\x3a\x02\x7a\x00", {}),
    ("unsupported-version", model("{ y = Relu(x) }", opset=99), {}),
    ("invalid-name", model("{ y = Relu(z) }"), {}),
    ("invalid-name", model("{ y = Relu(x) y = Relu(x) }"), {}),
    ("unknown-size", model("{ y = Relu(x) }", "float[N, T] x", "float[N, T] y"), {}),
    ("unsupported-op", model("{ y = NoSuchOp(x) }"), {}),
    ("operand-count", model("{ y = Relu(x, x) }"), {}),
    ("bad-attribute", model("{ y = Relu <slope = 1.0> (x) }"), {}),
    ("bad-attribute", model('{ y = Softmax <axis = "last"> (x) }'), {}),
    ("unsupported-type", model("{ y = Identity(x) }", "complex64[N, 2] x", "complex64[N, 2] y"), {}),
    ("unsupported-type", model("{ y = Sqrt(x) }", "int64[N, 2] x", "int64[N, 2] y"), {}),
    ("shape-mismatch", model("{ y = Add(x, z) }", "float[N, 2] x, float[N, 3] z"), {}),
    ("shape-mismatch", model("{ y = Softmax <axis = 5> (x) }"), {}),
    ("not-constant", model("{ y = Reshape(x, s) }", "float[N, 2] x, int64[2] s"), {}),
    ("invalid-node", model("{ r = Constant <value = float {1.5}> () y, m = Dropout(x, r) }"), {}),
    ("no-loss", model(WEIGHT + "{ y = MatMul(x, w) z = Relu(y) }",
                      outputs="float[N, 2] y, float[N, 2] z"), {}),
    ("nothing-to-train", model(WEIGHT + "{ t = MatMul(x, w) y = Floor(t) }"), {"loss": "mse"}),
    ("weight-mismatch", MLP, {"init": FOLDER / "cnn.onnx"}),
    ("invalid-option", MLP, {"precision": "fp31"}),
    ("option-conflict", MLP, {"nesterov": True}),
    ("option-conflict", MLP, {"freeze": "no such weight"}),
    ("option-conflict", MLP, {"dim": {"M": 3}}),
    ("option-conflict", MLP, {"extra_outputs": ["fc1.ou"]}),
]


class Rules(unittest.TestCase):
    def test_errors_have_rules(self):
        warnings.simplefilter("ignore", mpc.CompileNote)
        for rule, given, options in CASES:
            with self.subTest(rule, given=given, **options):
                with self.assertRaises(mpc.CompileError) as caught:
                    if given == MLP or not given.startswith(b"<"):
                        mpc.compile(given, **options)
                    else:
                        self.compile_text(given, options)
                self.assertEqual([error.rule for error in caught.exception.errors], [rule])
        self.assertLessEqual({rule for rule, *_ in CASES}, ids().keys())

    def compile_text(self, text, options):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnxtxt"
            path.write_bytes(text)
            mpc.compile(path, **options)

    def test_the_guide_has_each_rule(self):
        guide = pathlib.Path(os.environ["MPC_GUIDE"]).read_text()
        section = guide.partition("## Rules of compile errors\n")[2].partition("\n## ")[0]
        rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", section, re.MULTILINE))
        self.assertEqual(rows, ids())


if __name__ == "__main__":
    unittest.main()
