"""Markdown files of the tree: which there are, their links and their anchors."""
import os
import re

PARTS = ("compiler", "docs", "kernels", "passes", "runtime", "test", "tools")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.M | re.S)
SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")


def find_pages(root):
    """All Markdown files, as paths from `root`, in order."""
    pages = [path.relative_to(root) for path in root.glob("*.md")]
    for part in (*PARTS, "reference"):  # The last one is of the site.
        for folder, folders, names in os.walk(root / part):
            folders[:] = [f for f in folders if f[0] != "." and f != "__pycache__" and f != "Inputs"]
            pages += [type(root)(folder, name).relative_to(root) for name in names if name.endswith(".md")]
    return sorted(pages)


def blank(found):
    """As many lines and characters, none of which means anything."""
    return re.sub(r"[^\n]", "_", found[0])


def prose(text):
    """The text without code: what may hold links."""
    return SPAN.sub(blank, FENCE.sub(blank, text))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def find_links(text):
    """(line, target) of each link."""
    return [(line_of(text, found.start()), found[2]) for found in LINK.finditer(prose(text))]


def find_anchors(text):
    """Anchors of headings, as GitHub and the site make them."""
    anchors, seen = set(), {}
    for found in re.finditer(r"^#{1,6} +(.*?)\s*#*$", FENCE.sub(blank, text), re.M):
        title = LINK.sub(r"\1", found[1])
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        anchors.add(f"{anchor}-{count}" if count else anchor)
    return anchors
