"""Finds the processes that a launcher has started."""

import os
import re


def ranks_of(process):
    """The processes that a launcher has started, in the order of their ranks."""
    parents = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                name, rest = re.match(r"\d+ \((.*)\) (.*)", file.read(), re.S).groups()
            parents[int(entry)] = (int(rest.split()[1]), name)
        except OSError:
            continue  # It has ended.

    def is_below(pid):
        while pid in parents:
            if pid == process.pid:
                return True
            pid = parents[pid][0]
        return False

    def rank_of(pid):
        with open(f"/proc/{pid}/environ") as file:
            return int(re.search(r"(?:OMPI_COMM_WORLD|PMI)_RANK=(\d+)", file.read()).group(1))

    return sorted((pid for pid in parents if parents[pid][1] == "mpc" and is_below(pid)), key=rank_of)
