"""Makes a tree of files with chosen sizes: plant_ceilings.py ROOT."""
import json
import pathlib
import sys

root = pathlib.Path(sys.argv[1])


def plant(name, lines=0):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x\n" * lines)


def fill(folder, count):
    for i in range(count):
        plant(f"{folder}/file{i}")


# The allowed maximum, plus files that do not count.
fill("compiler/full", 20)
for name in ("README.md", "CMakeLists.txt", ".clang-format", "deeper/file"):
    plant(f"compiler/full/{name}")
plant("compiler/long.cpp", 800)
plant("test/long.mlir", 300)
plant("test/harness.cpp", 800)
plant(f"tools/{'x' * 74}")
plant("tools/numbers.bin", 9000)
fill("build/anything", 30)

# Generated files count only as their list, whatever their size.
fill("test/goldens/made", 30)
plant("test/goldens/made/long.onnxtxt", 900)
made = [f"file{i}" for i in range(30)] + ["long.onnxtxt"]
(root / "test/goldens/made/MANIFEST.json").write_text(json.dumps({"files": dict.fromkeys(made)}))

# One more than allowed.
fill("compiler/crowded", 21)
plant("compiler/longer.cpp", 801)
plant("test/longer.mlir", 301)
plant("test/longer_test.cpp", 301)
plant(f"tools/{'y' * 75}")

# Within their exceptions, above them, below them, and without need of them.
fill("kernels/excepted", 25)
plant("kernels/grew.cpp", 901)
plant("kernels/shrank.cpp", 899)
plant("kernels/small.cpp", 100)
(root / "tools/lint").mkdir()
(root / "tools/lint/ceilings.txt").write_text(
    """\
# A comment.

files 25 kernels/excepted
lines 900 kernels/grew.cpp
lines 900 kernels/shrank.cpp
lines 900 kernels/small.cpp
lines 900 kernels/gone.cpp
lines many kernels/small.cpp
weight 9 kernels/small.cpp
files 26 kernels/excepted
"""
)
