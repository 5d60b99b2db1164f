"""Finds sentences that hide their subject, in the comments of Swift files and in Markdown; `tidy.py` counts them for each folder.

The budget of a folder is in prose-budget.json: the most that it may have. It only falls.
"""
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

BUDGET = Path(__file__).with_name("prose-budget.json")
# A clause in place of a noun, a pronoun in place of a role, `what is` in place of a thing.
HIDING = re.compile(
    r"^(?:What|Who|Whoever|Whose|Those|Nobody|Somebody|One that|One who)\b"
    r"|\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever|[Ee]verybody)\b"
    r"|\b[Ww]hat (?:is|was|has|had|are|were|may|can|it|they|comes|goes|waits)\b")
SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*])")
DRAWING = re.compile(r"[─│▶◀▲▼└┌┐┘├┤].*")
FEWEST_WORDS = 4


def paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file with their first lines: comments on lines of their own, or Markdown without its code."""
    if path.suffix == ".md":
        yield 1, re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        return
    first, comment = 0, []
    for number, line in enumerate([*path.read_text().split("\n"), ""], 1):
        if found := re.match(r"\s*///?!? ?(.*)", line):
            first = first or number
            comment.append(DRAWING.sub("", found[1]))
        elif comment:
            yield first, "\n".join(comment)
            first, comment = 0, []


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
