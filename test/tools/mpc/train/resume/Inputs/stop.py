"""stop.py [--ignored] SIGNAL COMMAND...: sends SIGNAL to COMMAND once it has
printed three lines, and returns its exit status. With --ignored the command
starts with SIGNAL ignored, as under nohup, else with what signals do by
default."""
import signal
import subprocess
import sys

arguments = sys.argv[1:]
ignored = arguments[0] == "--ignored"
name, command = arguments[ignored], arguments[ignored + 1:]


# Background jobs begin with SIGINT ignored, those of nohup with SIGHUP.
def prepare():
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if ignored:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=prepare)
for _ in range(3):
    process.stdout.readline()
process.send_signal(getattr(signal, name))
process.communicate()
sys.exit(process.returncode)
