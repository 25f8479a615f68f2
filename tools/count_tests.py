#!/usr/bin/env python3
"""Prints "N passed, N failed" over the results of ctest, GoogleTest and lit.

Usage: count_tests.py FOLDER. The folder holds ctest.xml, lit.xml and, for each
program of GoogleTest that came to its end, gtest/PROGRAM.xml; sanitized/ has
the same of the builds with sanitizers, and importer.xml in lit's place;
levels/LEVEL/ has it of what ran with fewer instructions; deep-sweep.xml is that
of random deep graphs, if they ran. Names what failed;
exits with 1 if anything did, or if there are no results.
"""
import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def outcome_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    # To ctest, a program that is not there has merely not run.
    if "Unable to find executable" in (skipped.get("message", "") if skipped is not None else ""):
        return "failed"
    status = case.get("status", "run")
    if skipped is not None or status in ("notrun", "disabled"):
        return "skipped"
    return "failed" if status == "fail" else "passed"


def read_cases(path):
    """Yields (name, outcome) for each test of a file in JUnit's format."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        # Whoever should have written it did not come to its end.
        yield f"{path.name}: {error}", "failed"
        return
    for case in root.iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name')}"
        yield name.strip("."), outcome_of(case)


def read_ctest(folder):
    for name, outcome in read_cases(folder / "ctest.xml"):
        program = name.rsplit(".", 1)[-1]
        cases = list(read_cases(folder / "gtest" / f"{program}.xml"))
        whole = (folder / "gtest" / f"{program}.xml").exists()
        if whole and (outcome == "passed" or ("failed" in dict(cases).values())):
            yield from cases
        else:
            yield name, outcome


def collect(folder):
    yield from read_ctest(folder)
    yield from read_cases(folder / "lit.xml")
    if (folder / "deep-sweep.jsonl").exists():
        yield from read_cases(folder / "deep-sweep.xml")
    sanitized = folder / "sanitized"
    for name, outcome in [*read_ctest(sanitized), *read_cases(sanitized / "importer.xml")]:
        yield f"{name} (sanitized)", outcome
    for level in sorted(folder.glob("levels/*")):
        for name, outcome in [*read_ctest(level), *read_cases(level / "lit.xml")]:
            yield f"{name} (with {level.name})", outcome


def main(folder):
    results = list(collect(folder))
    counts = collections.Counter(outcome for _, outcome in results)
    for name, outcome in results:
        if outcome == "failed":
            print(f"failed: {name}")
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    if counts["skipped"]:
        line += f", {counts['skipped']} skipped"
    print(line)
    return counts["failed"] > 0 or counts["passed"] == 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
