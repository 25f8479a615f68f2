"""The notebooks of docs/notebooks run; those with PyTorch in an environment that has it."""

import importlib.util
import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(os.environ["MPC_SOURCE"])
FOLDER = SOURCE / "docs" / "notebooks"
sys.path += [str(SOURCE / "tools" / "docs"), str(SOURCE / "test" / "bench" / "deep")]
import notebooks  # noqa: E402

WITH_TORCH = ("text", "vision")


class Notebooks(unittest.TestCase):
    def test_run(self):
        has_torch = importlib.util.find_spec("torch") is not None
        for path in sorted(FOLDER.glob("*.ipynb")):
            if (path.stem in WITH_TORCH) != has_torch:
                continue
            if path.stem == "vision":
                if importlib.util.find_spec("timm") is None:
                    continue
                if importlib.util.find_spec("torchvision") is None:
                    import no_torchvision

                    no_torchvision.install()
            with self.subTest(path.stem):
                notebooks.run_notebook(path, update=False)

    def test_outputs_are_stored(self):
        for path in FOLDER.glob("*.ipynb"):
            cells = notebooks.read_cells(path)
            self.assertTrue(any("image/png" in o.get("data", {}) for c in cells for o in c["outputs"]))
            self.assertTrue(all(cell["execution_count"] for cell in cells), path.stem)


if __name__ == "__main__":
    unittest.main()
