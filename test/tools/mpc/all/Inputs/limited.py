"""limited.py BYTES COMMAND...: runs COMMAND, which may write no more than BYTES
to a file, and returns its exit status. 'full' for BYTES: stdout is a full disk.
"""
import resource
import signal
import subprocess
import sys

limit, command = sys.argv[1], sys.argv[2:]


def prepare():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if limit != "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))


stdout = open("/dev/full", "w") if limit == "full" else None
sys.exit(subprocess.run(command, stdout=stdout, preexec_fn=prepare).returncode)
