"""The command `mpc`."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn


def find_program() -> Path:
    """The program of mpc-compiler if that is installed, otherwise that of mpc-runtime, which
    cannot compile."""
    spec = importlib.util.find_spec("mpc_compiler")
    folder = Path(spec.origin).parent if spec and spec.origin else Path(__file__).parent
    return folder / "bin" / "mpc"


def main() -> NoReturn:
    program = str(find_program())
    os.execv(program, ["mpc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
