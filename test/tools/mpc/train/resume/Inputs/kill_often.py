"""kill_often.py COMMAND...: COMMAND trains with --resume. Kills it (SIGKILL) 20
times, at moments that differ, and then lets it come to its end."""
import random
import subprocess
import sys

moments = random.Random(7)
killed = 0
for _ in range(20):
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    try:
        process.wait(timeout=moments.uniform(0.02, 0.15))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        killed += 1
    else:
        assert process.returncode == 0, process.returncode
        break  # A fast machine is done.
assert killed >= 5, killed
sys.exit(subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode)
