#!/usr/bin/env python3
"""Fails if a Markdown file of the tree links to a file or heading that does not exist, or
if docs/ or CONTRIBUTING.md names a path of the tree that does not exist. Needs no network:
links to other sites are not checked.

Usage: check_links.py REPO_ROOT [--links-only]. Prints one line per fault. --links-only
does not check paths, for the pages of the site, which are separate from the tree.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from pages import FENCE, PARTS, SPAN, blank, find_anchors, find_links, find_pages, line_of

# `passes/Plan/Storage.cpp`, `compiler/Import`; not a pattern or a placeholder.
PATH = re.compile(rf"(?:{'|'.join(PARTS)})/[\w./-]*\w")


def check_page(root, page, anchors_of, with_paths):
    text = (root / page).read_text()
    for line, target in find_links(text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        to = (root / page.parent / path).resolve() if path else (root / page).resolve()
        if not to.exists() or root not in (to, *to.parents):
            yield f"{page}:{line}: no such file: {target}"
        elif anchor and (to.suffix != ".md" or anchor not in anchors_of(to)):
            yield f"{page}:{line}: no such heading: {target}"
    if with_paths and (page.parts[0] == "docs" or page.name == "CONTRIBUTING.md"):
        for found in SPAN.finditer(FENCE.sub(blank, text)):
            named = found[2].strip().rstrip("/")
            if PATH.fullmatch(named) and not (root / named).exists():
                yield f"{page}:{line_of(text, found.start())}: no such path: {named}"


def main(root, with_paths):
    known = {}

    def anchors_of(path):
        if path not in known:
            known[path] = find_anchors(path.read_text())
        return known[path]

    pages = find_pages(root)
    faults = [fault for page in pages for fault in check_page(root, page, anchors_of, with_paths)]
    print("".join(fault + "\n" for fault in faults), end="")
    return bool(faults) or not pages


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), "--links-only" not in sys.argv))
