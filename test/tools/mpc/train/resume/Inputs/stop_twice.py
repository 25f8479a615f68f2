"""stop_twice.py COMMAND...: presses Ctrl-C twice during a step of COMMAND, the
second time when the first has been noticed. COMMAND must end at once, by the
signal. If a step ends in between, the test is repeated."""
import signal
import subprocess
import sys

for _ in range(10):
    process = subprocess.Popen(
        sys.argv[1:],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Background jobs begin with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    notes = b""
    while b"Ctrl-C again stops at once" not in notes:
        line = process.stderr.readline()
        assert line, notes
        notes += line
    process.send_signal(signal.SIGINT)
    notes += process.communicate()[1]
    if process.returncode == -signal.SIGINT:
        assert b"is written" not in notes, notes
        sys.exit(0)
    assert process.returncode == 75, (process.returncode, notes)
sys.exit("the second Ctrl-C never came within a step")
