"""Finds sentences that hide their subject, in comments, string literals and Markdown; `tidy.py` counts them for each folder.

The budget of a folder is in prose-budget.json: the most that it may have. It only falls.
"""
import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

BUDGET = Path(__file__).with_name("prose-budget.json")
# Clauses in place of nouns, pronouns in place of roles.
HIDING = re.compile(
    r"^(?:What|Who|Whoever|Whatever|Whose|Those|Nobody|Somebody|Anyone|One that|One who)\b"
    r"|\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever|[Ee]verybody)\b"
    r"|\b[Ww]hat (?:is|was|has|had|are|were|may|can|it|they|comes|goes|waits)\b")
SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*])")
DRAWING = re.compile(r"[─│▶◀▲▼└┌┐┘├┤].*")
SLASHES, HASH = re.compile(r"\s*///?!? ?(.*)"), re.compile(r"\s*#+!? ?(.*)")
# Comments come first, so that a quotation mark within one opens nothing.
SWIFT_LITERAL = re.compile(
    r'''//[^\n]*|"""\n(?P<lines>.*?)"""|"(?P<line>(?:\\.|[^"\\\n])*)"''', re.DOTALL)
SENTENCE = re.compile(r"[A-Z]\S* ")
FEWEST_WORDS = 4


def paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file with their first lines: comments on lines of their own, sentences in string literals, Markdown
    without its code, and the targets' help in a Makefile."""
    text = path.read_text()
    if path.suffix == ".md":
        yield 1, re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    elif path.suffix == ".swift":
        yield from comments(text, SLASHES)
        yield from swift_literals(text)
    else:
        yield from comments(text, HASH)
        if path.suffix == ".py":
            yield from python_literals(text)
        else:
            for found in re.finditer(r"(?m)^[^#\s].*?[ \t]##? (.*)$", text):
                yield text.count("\n", 0, found.start()) + 1, found[1]


def comments(text: str, mark: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    first, comment = 0, []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if found := mark.match(line):
            first = first or number
            comment.append(DRAWING.sub("", found[1]))
        elif comment:
            yield first, "\n".join(comment)
            first, comment = 0, []


def swift_literals(text: str) -> Iterator[tuple[int, str]]:
    for found in SWIFT_LITERAL.finditer(text):
        literal = found["lines"] or found["line"] or ""
        if SENTENCE.match(literal.strip()):
            yield text.count("\n", 0, found.start()) + 1, literal.replace("\\\n", " ")


def python_literals(text: str) -> Iterator[tuple[int, str]]:
    """Literals that stand beside each other are one, and so is a literal with values in braces."""
    tree = ast.parse(text)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            literal = "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            literal = node.value
        else:
            continue
        if SENTENCE.match(literal.strip()):
            yield node.lineno, literal


def hidden_subjects(path: Path) -> Iterator[tuple[int, str]]:
    """The sentences of a file that hide their subject, with the lines that their paragraphs begin in."""
    for first, paragraph in paragraphs(path):
        for sentence in SENTENCE_END.split(" ".join(paragraph.split())):
            sentence = sentence.lstrip("*-|# ")
            if len(sentence.split()) >= FEWEST_WORDS and HIDING.search(sentence):
                yield first, sentence


def folder(name: Path) -> str:
    """The folder that a file counts for: a target or a folder of its sources, a group of documents, or the root."""
    depth = 3 if name.parts[0] == "Sources" else 2
    return "/".join(name.parts[:-1][:depth]) or "."


def counts(root: Path, paths: list[Path]) -> Counter[str]:
    found: Counter[str] = Counter()
    for path in paths:
        found[folder(path.relative_to(root))] += sum(1 for _ in hidden_subjects(path))
    return found


def read_budget() -> Counter[str]:
    return Counter(json.loads(BUDGET.read_text()))


def write_budget(found: Counter[str]) -> None:
    BUDGET.write_text(json.dumps({name: found[name] for name in sorted(found) if found[name]}, indent=2) + "\n")
