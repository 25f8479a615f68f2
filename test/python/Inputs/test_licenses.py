"""add_licenses.py adds a license for everything that is in a wheel."""

import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "python/add_licenses.py"
FOLDER = "mpc_x-1.dist-info/licenses/"


class Licenses(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "LICENSE").write_text("of mpc")
        (self.folder / "theirs").write_text("of theirs")

    def add(self, libraries, *extra):
        """The script's result for a wheel with these libraries."""
        self.wheel = self.folder / "x.whl"
        names = ["mpc/__init__.py", *(f"mpc_x.libs/{name}" for name in libraries)]
        with zipfile.ZipFile(self.wheel, "w") as wheel:
            for name in names:
                wheel.writestr(name, "")
            wheel.writestr("mpc_x-1.dist-info/RECORD", "mpc/__init__.py,,\n")
        return self.run_script(*extra)

    def run_script(self, *extra):
        return subprocess.run([sys.executable, SCRIPT, self.wheel, self.folder / "LICENSE", *extra],
                              capture_output=True, text=True, check=False)

    def texts(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            record = csv.reader(io.StringIO(wheel.read("mpc_x-1.dist-info/RECORD").decode()))
            self.assertEqual([row[0] for row in record if row[0].startswith(FOLDER)],
                             [name for name in wheel.namelist() if name.startswith(FOLDER)])
            return {name.removeprefix(FOLDER): wheel.read(name).decode()
                    for name in wheel.namelist() if name.startswith(FOLDER)}

    def test_all(self):
        libc = pathlib.Path("/usr/share/doc/libc6/copyright").read_text()
        libraries = ["libm-0123abcd.so.6", "libtheirs-0123abcd.so.3.6"]
        expected = {"LICENSE": "of mpc", "theirs": "of theirs", "libc6": libc}
        result = self.add(libraries, f"theirs={self.folder / 'theirs'}")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.texts(), expected)
        # Once more: nothing is there twice.
        self.run_script(f"theirs={self.folder / 'theirs'}")
        self.assertEqual(self.texts(), expected)

    def test_compiled_in(self):
        self.add([], "libc6")
        self.assertEqual(list(self.texts()), ["LICENSE", "libc6"])

    def test_unknown_library(self):
        result = self.add(["libtheirs-0123abcd.so.3.6"])
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"x\.whl: libtheirs\.so\.3\.6 is of 0 .* theirs=FILE")
        self.assertEqual(self.texts(), {})

    def test_missing_package(self):
        result = self.add([], "libtheirs")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "libtheirs/copyright is missing; install")


if __name__ == "__main__":
    unittest.main()
