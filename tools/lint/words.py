"""Prose that reads like a translation: comments that begin with "Of", which hides their
subject, and phrases that have a plain form."""
import re

# Phrases and what to write instead. There may be a line break between the words.
PHRASES = {
    "be it": "whether, or",
    "aloud": "report, or note",
    "comes of it": "name the result",
    "in any case": "always",
    "is about no": "matches no",
    "means nothing to": "requires, or has no effect with",
    "say otherwise": "use OPTION to change it",
    "says otherwise": "use OPTION to change it",
    "said otherwise": "unless stated otherwise",
    "what that leaves": "name it",
    "which is said": "a note says so",
    ", of which": "whose, or a new sentence",
}
FOLDERS = ("compiler", "docs", "kernels", "passes", "python", "runtime", "test", "tools")
PROSE = {".md", ".test"}
CODE = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".td", ".def", ".fbs", ".py", ".sh",
        ".cmake", ".in", ".js", ".html", ".css", ".mlir", ".onnxtxt", ".txt"}
SELF = ("tools/lint/words.py", "test/tools/lint/words.test")
OF = re.compile(r"(?://+!?<?|#|/?\*|<!--)[ \t]+Of\b")
OF_PROSE = re.compile(r"(?:^|\n\n)Of\b")
GAP = r"\s+(?:(?://+!?<?|#|\*)\s+)?"


def pattern(phrase):
    words = GAP.join(map(re.escape, phrase.split()))
    return re.compile(("" if phrase.startswith(",") else r"\b") + words + r"\b")


PATTERNS = {pattern(phrase): (phrase, plain) for phrase, plain in PHRASES.items()}


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_text(name, text, is_prose):
    """In prose, where comments have no prefix, looks for paragraphs that begin with "Of"."""
    for match in OF.finditer(text):
        yield f"{name}:{line_of(text, match.start())}: a comment begins with 'Of': name its subject"
    for match in OF_PROSE.finditer(text) if is_prose else ():
        yield f"{name}:{line_of(text, match.end())}: a paragraph begins with 'Of': name its subject"
    for matcher, (phrase, plain) in PATTERNS.items():
        for match in matcher.finditer(text):
            yield f"{name}:{line_of(text, match.start())}: says '{phrase}'; better: {plain}"


def check_words(root):
    paths = [p for folder in FOLDERS for p in (root / folder).rglob("*")] + list(root.glob("*.md"))
    for path in sorted(paths):
        name = path.relative_to(root).as_posix()
        if path.is_file() and path.suffix in PROSE | CODE and name not in SELF:
            yield from check_text(name, path.read_text(errors="replace"), path.suffix in PROSE)
