"""stop.py SIGNAL COMMAND...: sends SIGNAL to COMMAND once it has printed three
lines, and returns its exit status."""
import signal
import subprocess
import sys

name, command = sys.argv[1], sys.argv[2:]
process = subprocess.Popen(
    command,
    stdout=subprocess.PIPE,
    # Background jobs begin with SIGINT ignored.
    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
)
for _ in range(3):
    process.stdout.readline()
process.send_signal(getattr(signal, name))
process.communicate()
sys.exit(process.returncode)
