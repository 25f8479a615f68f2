#!/usr/bin/env python3
"""Collects the pages of the site: the Markdown files of the tree, and the reference of
dialects, interfaces and passes from mlir-tblgen. Sphinx turns them into HTML (tools/docs.sh).

Usage: build_site.py REPO_ROOT BUILD_FOLDER OUT. OUT, which must not exist, gets the
pages, index.md and conf.py; the table of options comes from BUILD_FOLDER, if it is built.
"""
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from pages import LINK, find_pages

LLVM = pathlib.Path("/usr/lib/llvm-22")
OPTIONS = "tools/mpc/share/doc/mpc/OPTIONS.md"  # In the build folder.

# Sections of the index. Pages that are in none of them go to "Folders".
SECTIONS = {
    "Overview": ["README", "docs/walkthrough", "docs/glossary", "CHANGELOG", "CONTRIBUTING"],
    "Guide": [f"docs/guide/{name}" for name in (
        "install", "models", "training", "precision", "diagnosis", "gpu", "c-api", "python", "command-line", "performance", "limits")],
    "Tutorials": [f"docs/tutorials/{name}" for name in (
        "add-an-op", "add-an-option", "add-an-optimizer", "add-a-hyper-parameter", "add-a-format", "add-a-device")],
    "Formats": ["docs/format/package", "docs/format/checkpoint", "docs/format/report"],
    "Rationale": ["docs/rationale/train", "docs/rationale/amp", "docs/rationale/exec"],
    "Reference": ["compiler/Import/OPS", "compiler/Import/TRAINING"],
}

CODE_OR_LINK = re.compile(rf"^ *```.*?^ *```|(?P<link>{LINK.pattern})|`+[^`]+`+", re.M | re.S)

CONF = """\
project = "mpc"
extensions = ["myst_parser"]
myst_heading_anchors = 6
html_theme = "furo"
html_title = "mpc"
html_copy_source = False
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]
"""


def tblgen(root, *arguments):
    command = [LLVM / "bin/mlir-tblgen", "-I", root, "-I", LLVM / "include", *arguments]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.sub(r"^<!--.*?-->\n+", "", text).replace("[TOC]\n", "")


def write_reference(root, out):
    """Writes pages about everything declared in TableGen; returns their names."""
    pages = {}
    for dialect in ("train", "amp", "exec"):
        name = dialect.capitalize()
        source = root / f"compiler/Dialect/{name}/IR/{name}Ops.td"
        pages[f"{dialect}-dialect"] = tblgen(root, "-gen-dialect-doc", f"-dialect={dialect}", source)
    interfaces = [root / "compiler/Dialect" / name for name in ("Train/IR/TrainInterfaces.td", "Amp/IR/AmpInterfaces.td")]
    pages["interfaces"] = "# Interfaces of ops\n\n" + "".join(
        re.sub(r"^# .*\n", "", tblgen(root, "-gen-op-interface-docs", source), flags=re.M) for source in interfaces)
    for source in sorted(root.glob("passes/*/Passes.td")):
        stage = source.parent.name
        # The generated headings start at the third level.
        text = re.sub(r"^#(#+ )", r"\1", tblgen(root, "-gen-pass-doc", source), flags=re.M)
        pages[f"passes-{stage.lower()}"] = f"# Passes: {stage}\n\n{text}"
    folder = out / "reference"
    folder.mkdir()
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(plain_fences(text))
    return [f"reference/{name}" for name in pages]


def plain_fences(text):
    """Removes the language of MLIR code, which Pygments does not support."""
    return re.sub(r"^( *```)(mlir|tablegen)\b", r"\1text", text, flags=re.M)


def keep_links_to_pages(root, page, text):
    """Replaces links to files and folders that are not pages of the site by their text."""

    def replace(found):
        path = found[2].partition("#")[0]
        to = (root / page.parent / path).resolve()
        if not path or re.match(r"[a-z]+:", path) or to.suffix == ".md":
            return found[0]
        return found[1]

    # Code is left unchanged.
    return CODE_OR_LINK.sub(lambda found: replace(LINK.match(found[0])) if found["link"] else found[0], text)


def toctree(title, names):
    return f"```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n\n" + "".join(f"{name}\n" for name in names) + "```\n\n"


def main(root, build, out):
    out.mkdir(parents=True)
    folders = []
    for page in find_pages(root):
        (out / page).parent.mkdir(parents=True, exist_ok=True)
        (out / page).write_text(plain_fences(keep_links_to_pages(root, page, (root / page).read_text())))
        folders.append(page.with_suffix("").as_posix())
    sections = {title: list(names) for title, names in SECTIONS.items()}
    sections["Reference"] += write_reference(root, out)
    if (build / OPTIONS).exists():
        shutil.copy(build / OPTIONS, out / "reference/options.md")
        sections["Reference"].append("reference/options")
    listed = {name for names in sections.values() for name in names}
    missing = [name for name in listed if not (out / f"{name}.md").exists()]
    if missing:
        raise SystemExit(f"build_site: error: no page {missing[0]}")
    sections["Folders"] = [name for name in folders if name not in listed]
    (out / "index.md").write_text("# mpc\n\n" + "".join(toctree(*section) for section in sections.items()))
    (out / "conf.py").write_text(CONF)


if __name__ == "__main__":
    main(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:]))
