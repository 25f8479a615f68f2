"""bounded.py SECONDS MEGABYTES COMMAND...: runs COMMAND, which may take no longer and
keep no more in memory. Returns 1 if it does, or fails.
"""
import resource
import subprocess
import sys

seconds, megabytes, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
result = subprocess.run(command, timeout=seconds)
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
if most > megabytes:
    print(f"{most} MB of memory", file=sys.stderr)
sys.exit(result.returncode != 0 or most > megabytes)
