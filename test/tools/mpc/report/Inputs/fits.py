#!/usr/bin/env python3
"""Checks that text has at most so many columns and lines."""
import sys

columns, most = int(sys.argv[1]), int(sys.argv[2])
lines = sys.stdin.read().splitlines()
assert lines and len(lines) <= most, len(lines)
for line in lines:
    assert len(line) <= columns, (len(line), line)
