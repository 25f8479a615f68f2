"""The command `mpc`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn


def find_program() -> Path:
    """The program of mpc-compiler if that is installed, otherwise that of mpc-runtime, which
    cannot compile."""
    spec = importlib.util.find_spec("mpc_compiler")
    folder = Path(spec.origin).parent if spec and spec.origin else Path(__file__).parent
    return folder / "bin" / "mpc"


def run_command(*arguments: str, results: tuple[int, ...] = (0,)) -> str:
    """What a run of the command prints.

    Args:
        results: Exit statuses that are results; 1 is one only if something was printed.

    Raises:
        InvalidArgument: It refused its arguments, the model or the data.
        Error: It failed otherwise; the exception is the one of its exit status.
    """
    from mpc._errors import error_of_exit

    command = [str(find_program()), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode not in results or not result.stdout and result.returncode != 0:
        lines = [line for line in result.stderr.splitlines() if not line.startswith("see mpc ")]
        text = "\n".join(lines) or f"exit status {result.returncode}"
        raise error_of_exit(result.returncode, text)
    return result.stdout


def main() -> NoReturn:
    program = str(find_program())
    os.execv(program, ["mpc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
