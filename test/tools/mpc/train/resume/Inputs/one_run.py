"""one_run.py FOLDER COMMAND...: COMMAND trains for ever with checkpoints in
FOLDER. Starts it three times at once: all except one must end with exit code 4
and name the one that runs. After kill -9 of that one the folder is free."""
import os
import subprocess
import sys
import time

folder, command = sys.argv[1], sys.argv[2:]


def start():
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def wait_until(is_true):
    for _ in range(3000):
        if is_true():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened for 30 s")


runs = [start() for _ in range(3)]
wait_until(lambda: sum(run.poll() is not None for run in runs) == 2)
(alive,) = [run for run in runs if run.poll() is None]
for run in runs:
    if run is not alive:
        message = run.stderr.read()
        assert run.returncode == 4, (run.returncode, message)
        assert f"'{folder}' is in use by another mpc train" in message, message

# Those that came at the same moment may have been too early for the name.
late = start()
message = late.communicate()[1]
assert late.returncode == 4, (late.returncode, message)
assert f"(process {alive.pid} on {os.uname().nodename})" in message, message

wait_until(lambda: any(name.startswith("step-") for name in os.listdir(folder)))
assert alive.poll() is None, alive.stderr.read()
alive.kill()
alive.communicate()
