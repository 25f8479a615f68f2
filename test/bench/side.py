"""Two processes of a benchmark: `Side` starts one of the sides that are compared and
sends it lines; the other end answers each line with a line of JSON (`serve`).

The constructor of Side returns when the first line has arrived, which says that the
side is ready. Needs only Python's own modules.
"""
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time


class Failed(Exception):
    """The reason why a side cannot take part."""


class Side:
    """A process that answers each line with a line of JSON."""

    def __init__(self, name, command, deadline, environment=None, folder=None):
        self.name = name
        self.deadline = deadline
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            cwd=folder,
        )
        self.rest = b""
        try:
            self.ready = self.answer()
        except Failed:
            self.close()
            raise

    def why(self):
        self.errors.seek(0)
        lines = [line for line in self.errors.read().splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {self.process.poll()}"

    def answer(self):
        while b"\n" not in self.rest:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed(f"{self.name}: no answer within its time")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                self.process.wait()
                raise Failed(f"{self.name}: {self.why()}")
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        found = json.loads(line)
        if "error" in found:
            raise Failed(f"{self.name}: {found['error']}")
        return found

    def ask(self, question):
        try:
            self.process.stdin.write(f"{question}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() reports why.
        return self.answer()

    def peak_bytes(self):
        """The largest resident memory of the process so far; 0 if it has ended."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()


def say(answer):
    print(json.dumps(answer), flush=True)


def serve(commands):
    for line in sys.stdin:
        name, *arguments = line.split()
        try:
            say(commands[name](*map(int, arguments)))
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})
