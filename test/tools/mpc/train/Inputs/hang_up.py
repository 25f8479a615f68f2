"""hang_up.py [--ignore] COMMAND...: reads three lines of what COMMAND prints and
closes the pipe; returns its exit status. --ignore: COMMAND ignores SIGPIPE."""
import signal
import subprocess
import sys

command = sys.argv[1:]
action = signal.SIG_DFL
if command[0] == "--ignore":
    action = signal.SIG_IGN
    command = command[1:]
process = subprocess.Popen(
    command,
    stdout=subprocess.PIPE,
    restore_signals=False,
    preexec_fn=lambda: signal.signal(signal.SIGPIPE, action),
)
for _ in range(3):
    process.stdout.readline()
process.stdout.close()
sys.exit(process.wait())
