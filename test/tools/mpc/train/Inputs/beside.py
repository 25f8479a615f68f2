"""usage: beside.py COMMAND... - fails if the command burns more than three times
its CPU time when a busy process runs on every CPU beside it.

Wall-clock time says little if tests share a machine, but CPU time does: threads that
spin while waiting for a thread that another process keeps from running burn a time
slice for each of its turns.
"""
import os
import subprocess
import sys


def cpu_seconds(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed: {process.returncode}")
    return usage.ru_utime + usage.ru_stime


alone = min(cpu_seconds(sys.argv[1:]) for _ in range(2))
loops = [
    subprocess.Popen([sys.executable, "-c", "while True: pass"])
    for _ in os.sched_getaffinity(0)
]
try:
    beside = min(cpu_seconds(sys.argv[1:]) for _ in range(2))
finally:
    for loop in loops:
        loop.kill()
print(f"CPU seconds: {alone:.2f} alone, {beside:.2f} beside {len(loops)} busy processes")
sys.exit(beside > 3 * alone)
