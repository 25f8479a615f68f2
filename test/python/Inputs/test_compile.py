"""mpc.compile: models, options, notes and errors."""

import inspect
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest
import warnings

import mpc
from digits import MLP
from mpc import _compile

TEXT = b"""<ir_version: 8, opset_import: ["" : 17]>
m (float[N, 2] x) => (float[N, 2] y) {
  y = Relu <slope = 1.0> (x)
}
"""


class Compile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_options(self):
        made = _quiet(MLP, precision="fp32", lr=0.01, clip_norm=1, batch=[64, 32], ema=None,
                      freeze=["fc1[.]weight", "fc2[.]bias"])
        self.assertEqual(made.options["precision"], "fp32")
        self.assertEqual(made.options["lr"], "0.01")
        self.assertEqual(made.options["clip_norm"], "1")
        self.assertIn("fc2", made.options["freeze"])
        self.assertEqual(made.batch_sizes(), (64, 32))
        self.assertEqual(_quiet(MLP, warmup=3).options["warmup"], "3")

    def test_policy(self):
        path = self.folder / "policy.toml"

        def compile(text, **options):
            path.write_text(text)
            return _quiet(MLP, policy=path, **options)

        rule = '[[rule]]\nmatch = "^fc1$"\nformat = "fp32"\n'
        made = compile(f'version = 1\nprecision = "fp16"\n{rule}')
        self.assertEqual(made.options["precision"], "fp16")
        formats = [(op["node"], op["dtype"]) for op in made.report().ops if op["type"] == "Gemm"]
        self.assertIn(("fc2.grad", "f16"), formats)
        self.assertNotIn(("fc1.grad", "f16"), formats)
        made = compile(f'version = 1\nprecision = "fp16"\n{rule}', precision="bf16")
        self.assertEqual(made.options["precision"], "bf16")
        for text, words in (
            ("version", "is not a TOML file"), ("version = 2", "has version 2"),
            ("version = 1\nrules = 1", "unknown key 'rules'; did you mean 'rule'"),
            ("version = 1\nrule = 1", r"written as \[\[rule\]\]"),
            ("version = 1\n[[rule]]\nmatch = 'a'", "'match' and 'format'"),
            ("version = 1\n[[rule]]\nmatch = 'a'\nformat = 'b'", "unknown format 'b'"),
        ):
            with self.subTest(words), self.assertRaisesRegex(mpc.InvalidArgument, words):
                compile(text)
        self.assertRaisesRegex(TypeError, "use op_precision", mpc.compile, MLP, policy=["a=fp32"])
        self.assertRaisesRegex(mpc.IoError, "none.toml", mpc.compile, MLP, policy="none.toml")

    def test_models(self):
        data = MLP.read_bytes()

        class ModelProto:
            def SerializeToString(self):
                return data

        for model in (str(MLP), data, ModelProto()):
            self.assertEqual(_quiet(model).batch_sizes(), (64,))
        with self.assertRaisesRegex(TypeError, "mpc.from_torch"):
            mpc.compile(type("Module", (), {"state_dict": None})())
        with self.assertRaisesRegex(TypeError, "not int"):
            mpc.compile(1)

    def test_output(self):
        path = self.folder / "m.mpc"
        made = _quiet(MLP, output=path)
        again = mpc.Program.load(path)
        self.assertEqual(made.options, again.options)
        again.save(self.folder / "copy.mpc")
        self.assertEqual(path.read_bytes(), (self.folder / "copy.mpc").read_bytes())
        self.assertEqual(oct(path.stat().st_mode), oct((self.folder / "copy.mpc").stat().st_mode))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["copy.mpc", "m.mpc"])

    def test_notes(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = mpc.compile(MLP, batch=64)
        self.assertTrue(all(warning.category is mpc.CompileNote for warning in caught))
        self.assertEqual([str(warning.message) for warning in caught], list(made.notes))
        self.assertEqual({warning.filename for warning in caught}, {__file__})
        self.assertIn("softmax-cross-entropy", made.notes[0])
        self.assertIn("`loss`", made.notes[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", mpc.CompileNote)
            self.assertRaisesRegex(mpc.CompileNote, "using 32; use `batch`", mpc.compile, MLP)

    def test_wrong_options(self):
        for options, error, words in (
            (dict(precison="fp32"), TypeError, "no option 'precison'; did you mean 'precision'"),
            (dict(lr="0.1"), TypeError, "lr must be a number, but is '0.1'"),
            (dict(batch="64"), TypeError, "batch must be an integer or a list of integers"),
            (dict(batch=[1.5]), TypeError, "batch must be an integer or a list"),
            (dict(accumulate=True), TypeError, "accumulate must be an integer, but is True"),
            (dict(nesterov="yes"), TypeError, "nesterov must be True or False"),
            (dict(dim=["N"]), TypeError, "dim must be a dict of names and integers"),
            (dict(freeze=[1]), TypeError, "freeze must be a string or a list"),
            (dict(optimizer=True), TypeError, "optimizer must be a string"),
            (dict(precision="fp31"), mpc.CompileError, "`precision`.*fp31"),
            (dict(ema=2), mpc.CompileError, r"`ema` must be in \[0, 1\)"),
            (dict(nesterov=True), mpc.CompileError, "`nesterov`"),
            (dict(freeze="no such weight"), mpc.CompileError, "`freeze=?`'no such weight'"),
            (dict(output=self.folder / "missing" / "m.mpc"), mpc.IoError, "missing"),
        ):
            with self.subTest(options), self.assertRaisesRegex(error, words) as caught:
                mpc.compile(MLP, **options)
            if error is mpc.CompileError:
                self.assertIsInstance(caught.exception, ValueError)
                self.assertTrue(caught.exception.errors)
        self.assertRaises(mpc.IoError, mpc.compile, self.folder / "missing.onnx")

    def test_errors_name_nodes(self):
        path = self.folder / "broken.onnxtxt"
        path.write_bytes(TEXT)
        with self.assertRaises(mpc.CompileError) as caught:
            mpc.compile(path)
        (error,) = caught.exception.errors
        self.assertEqual((error.node, error.op), ("y", "Relu"))
        self.assertNotIn("node 'y'", error.text)
        self.assertIn("node 'y' (Relu): attribute 'slope'", str(error))
        path.write_bytes(TEXT.replace(b"Relu <slope = 1.0>", b"NoSuchOp"))
        with self.assertRaisesRegex(mpc.CompileError, "1 unsupported op") as caught:
            mpc.compile(path)
        self.assertIn("NoSuchOp", caught.exception.errors[0].details[0])
        for wrong in (b"", b"not a model", MLP.read_bytes()[:1000]):
            with self.assertRaises(mpc.CompileError) as caught:
                mpc.compile(wrong)
            self.assertTrue(caught.exception.errors[0].text)

    def test_external_data(self):
        model = external_model()
        with self.assertRaisesRegex(mpc.CompileError, "'w.*'w.bin', but the model is in memory"):
            mpc.compile(model)
        (self.folder / "w.bin").write_bytes(bytes(16))
        self.assertEqual(_quiet(model, folder=self.folder, loss="mse").inputs()[0].name, "x")

    def test_signature_and_documentation(self):
        rows = _compile.list_options()
        parameters = inspect.signature(mpc.compile).parameters
        self.assertEqual(list(parameters), ["model", "output", "folder", *rows])
        self.assertEqual(parameters["lr"].default, 0.001)
        self.assertEqual(parameters["weight_decay"].default, None)
        self.assertEqual(parameters["nesterov"].default, False)
        self.assertEqual(parameters["target"].default, ("cpu",))
        for keyword, row in rows.items():
            self.assertIn(f"{keyword}: {row.help}", mpc.compile.__doc__)
        self.assertNotIn("option '", mpc.compile.__doc__)

    def test_without_the_compiler(self):
        code = (
            "import sys; sys.modules['mpc_compiler'] = None\n"
            "import mpc\n"
            "try: mpc.compile('m.onnx')\n"
            "except ImportError as error: print(error)\n"
        )
        shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertIn("pip install mpc-compiler", shown.stdout)

    def test_versions_must_fit(self):
        code = (
            "import mpc; mpc.__version__ = '9.9'\n"
            "try: import mpc_compiler\n"
            "except ImportError as error: print(error)\n"
        )
        shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertIn("pip install mpc-runtime==", shown.stdout)

    def test_all_versions_are_the_same(self):
        shown = subprocess.run([sys.executable, "-m", "mpc", "--version"], check=True,
                               capture_output=True, text=True)
        self.assertEqual(shown.stdout, f"mpc {mpc.__version__}\n")
        for folder in ("runtime", "compiler"):
            file = pathlib.Path(_compile.__file__).resolve().parents[2] / folder / "pyproject.toml"
            project = tomllib.loads(file.read_text())["project"]
            self.assertEqual(project["version"], mpc.__version__)
        self.assertEqual(project["dependencies"], [f"mpc-runtime=={mpc.__version__}"])

    def test_command(self):
        shown = subprocess.run([sys.executable, "-m", "mpc", "compile", "--help"], check=True,
                               capture_output=True, text=True)
        self.assertIn("--precision", shown.stdout)


def _quiet(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mpc.CompileNote)
        return mpc.compile(model, **{"batch": 64, **options})


def external_model():
    """y = x w, where w, f32 [2, 2], is in the file w.bin: the bytes of a ModelProto."""

    def field(number, content):
        if isinstance(content, int):
            return bytes([number << 3, content])
        content = content.encode() if isinstance(content, str) else content
        return bytes([number << 3 | 2, len(content)]) + content

    def value(name, *extents):
        shape = b"".join(
            field(1, field(1, e) if isinstance(e, int) else field(2, e)) for e in extents
        )
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    node = field(1, "x") + field(1, "w") + field(2, "y") + field(4, "MatMul")
    location = field(1, "location") + field(2, "w.bin")
    weight = field(1, 2) + field(1, 2) + field(2, 1) + field(8, "w") + field(13, location) + field(14, 1)
    graph = (field(1, node) + field(2, "g") + field(5, weight)
             + field(11, value("x", "N", 2)) + field(12, value("y", "N", 2)))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


if __name__ == "__main__":
    unittest.main()
