#!/usr/bin/env python3
"""Prints "N passed, N failed" for the results of ctest, GoogleTest and lit.

Usage: count_tests.py FOLDER. The folder contains ctest.xml, lit.xml and, for each
GoogleTest program that finished, gtest/PROGRAM.xml. sanitized/ has the results of
the builds with sanitizers: ctest.xml and gtest/ if programs of that build ran, and
importer/importer.xml if the importer's test ran; at least one of them must have.
levels/LEVEL/ is for runs with fewer CPU instructions; a folder parts/ in any of them
has the results of programs of which only a part ran. deep-sweep.xml is the result
of random deep graphs, if they ran. Names the tests that failed; exits with 1 if
any did or if there are no results.
"""
import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def outcome_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    # ctest reports a missing program only as not run.
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
        # The program that should have written the file did not finish.
        yield f"{path.name}: {error}", "failed"
        return
    for case in root.iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name')}"
        yield name.strip("."), outcome_of(case)


def read_ctest(folder):
    if (folder / "parts").exists():
        yield from read_ctest(folder / "parts")
    for name, outcome in read_cases(folder / "ctest.xml"):
        program = name.rsplit(".", 1)[-1]
        cases = list(read_cases(folder / "gtest" / f"{program}.xml"))
        whole = (folder / "gtest" / f"{program}.xml").exists()
        if whole and (outcome == "passed" or ("failed" in dict(cases).values())):
            yield from cases
        else:
            yield name, outcome


def read_sanitized(folder):
    # tools/test.sh makes a folder for each of the two that it runs.
    programs, importer = folder / "gtest", folder / "importer"
    if programs.exists():
        yield from read_ctest(folder)
    if importer.exists():
        yield from read_cases(importer / "importer.xml")
    if not programs.exists() and not importer.exists():
        yield "nothing ran", "failed"


def collect(folder):
    yield from read_ctest(folder)
    yield from read_cases(folder / "lit.xml")
    if (folder / "deep-sweep.jsonl").exists():
        yield from read_cases(folder / "deep-sweep.xml")
    for name, outcome in read_sanitized(folder / "sanitized"):
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
