#!/usr/bin/env python3
"""Runs a command and fails unless its exit code is the expected one.

Usage: exits.py CODE COMMAND... (in tests: %exits 3 mpc-translate ...). For the
shell of lit, which knows `not` but not $?.
"""
import subprocess
import sys


def main(wanted, command):
    code = subprocess.run(command).returncode
    if code == wanted:
        return 0
    print(f"exits.py: wanted exit code {wanted}, got {code}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
