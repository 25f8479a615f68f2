"""exits.py CODE COMMAND...: runs COMMAND; fails unless its exit status is CODE."""
import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
actual = subprocess.run(command).returncode
if actual != expected:
    sys.exit(f"exit status {actual} instead of {expected}: {' '.join(command)}")
