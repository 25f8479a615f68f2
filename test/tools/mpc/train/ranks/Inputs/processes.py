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

    ranks = {}
    for pid, (_, name) in parents.items():
        if name != "mpc" or not is_below(pid):
            continue
        try:
            with open(f"/proc/{pid}/environ") as file:
                found = re.search(r"(?:OMPI_COMM_WORLD|PMI)_RANK=(\d+)", file.read())
        except OSError:
            continue  # It has ended.
        if found:
            ranks[pid] = int(found.group(1))
    return sorted(ranks, key=ranks.get)
