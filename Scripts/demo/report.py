"""The output of the demo, in 80 columns, and the count of its checks."""

import os
import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

INDENT = "   "
WIDTH = 80


class Report:
    """Headings, tables and checks on standard output."""

    # Where notes begin, behind the lines that they explain.
    NOTE_COLUMN = 55
    NOTE_WIDTH = WIDTH - NOTE_COLUMN

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self._headings = 0
        self._coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]

    def heading(self, text: str) -> None:
        self._headings += 1
        self._print(f"\n{self._styled(f'{self._headings}  {text}', '1')}")

    def title(self, text: str) -> None:
        self._print(f"\n{self._styled(text, '1')}")

    def line(self, text: str) -> None:
        """A line as it is, however long."""
        self._print((INDENT + text).rstrip())

    def say(self, text: str) -> None:
        """A sentence, folded at the width of the page."""
        self._folded(text, INDENT, INDENT)

    def aside(self, text: str) -> None:
        self._folded(text, INDENT, INDENT, style="2")

    def prompt(self, text: str) -> None:
        self._print(f"\n{self._styled(f'[{text}]', '2')}")

    def terms(self, meanings: Sequence[tuple[str, str]]) -> None:
        """Words, each with its meaning."""
        widest = max(_width(term) for term, _ in meanings)
        for term, meaning in meanings:
            if widest > WIDTH // 2:
                self.line(self._styled(term, "1"))
                self._folded(meaning, INDENT + "  ", INDENT + "  ", taken=len(INDENT) + 2)
                continue
            gap = " " * (widest - _width(term) + 2)
            hanging = INDENT + " " * (widest + 2)
            self._folded(meaning, INDENT + self._styled(term, "1") + gap, hanging, taken=len(hanging))

    def noted(self, lines: Iterable[tuple[str, str]]) -> None:
        """Lines with notes in a column at the right; below the line if it reaches into that column."""
        for text, note in lines:
            room = self.NOTE_COLUMN - len(INDENT) - _width(text)
            if note and room < 2:
                self.line(text)
                text, room = "", self.NOTE_COLUMN - len(INDENT)
            self.line(f"{text}{' ' * room}{self._styled(note, '2')}" if note else text)

    def command(self, words: Sequence[str], prompt: str = "") -> None:
        """A shell command, folded so that it can be copied."""
        lines = [prompt + words[0]]
        for word in words[1:]:
            if _width(f"{INDENT}{lines[-1]} {word}") <= WIDTH - 2:
                lines[-1] += f" {word}"
            else:
                lines[-1] += " \\"
                lines.append(f"  {word}")
        for line in lines:
            self.line(line)

    def check(self, claim: str, holds: bool, instead: str = "") -> None:
        """Prints a claim, ticked if it holds; otherwise crossed, with the facts that contradict it."""
        if holds:
            self.passed += 1
            self._marked("✓", "32", claim)
        else:
            told = f"{claim}: {instead}" if instead else claim
            self.failed.append(told)
            self._marked("✗", "31", told)

    def broken(self, reason: str) -> None:
        """Counts the reason for which the demo ends early as a failed check."""
        self.failed.append(reason)
        self._marked("✗", "31", reason)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> None:
        """Columns as wide as their widest cell; those in `right` are aligned to the right."""
        texts = [[str(cell) for cell in row] for row in rows]
        widths = [max(_width(row[place]) for row in [list(header), *texts]) for place in range(len(header))]

        def joined(row: Sequence[str]) -> str:
            cells = []
            for place, cell in enumerate(row):
                gap = " " * (widths[place] - _width(cell))
                cells.append(gap + cell if place in right else cell + gap)
            return "  ".join(cells).rstrip()

        self.line(self._styled(joined(header), "2"))
        for row in texts:
            self.line(joined(row))

    def text_table(self, before: Sequence[str], lines: Sequence[str], keep: Sequence[str]) -> None:
        """The table of another program; if it is too wide for the page, only the columns named in `keep`."""
        for line in before:
            self.line(line)
        columns = [(found[0], found.start()) for found in re.finditer(r"\S+", lines[0] if lines else "")]
        names = [name for name, _ in columns]
        too_wide = any(_width(INDENT + line) > WIDTH for line in lines)
        if not too_wide or not all(name in names for name in keep):
            for line in lines:
                self.line(line)
            return
        ends = [start for _, start in columns[1:]] + [None]
        places = [slice(columns[at][1], ends[at]) for at in map(names.index, keep)]
        rows = [[line[place].strip() for place in places] for line in lines]
        self.table(rows[0], rows[1:])
        self.aside(f"(too wide for this page: {', '.join(name for name in names if name not in keep)})")

    def _marked(self, mark: str, style: str, text: str) -> None:
        self._folded(text, f"{INDENT}{self._styled(mark, style)} ", INDENT + "  ", taken=len(INDENT) + 2)

    def _folded(self, text: str, first: str, others: str, taken: int = len(INDENT), style: str = "") -> None:
        """Prints text in lines; `taken` is the width of `first`, which may hold escape sequences."""
        for place, line in enumerate(textwrap.wrap(text, WIDTH - taken, break_long_words=False,
                                                   break_on_hyphens=False) or [""]):
            self._print((others if place else first) + (self._styled(line, style) if style else line))

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._coloured and text else text

    def _print(self, text: str) -> None:
        print(text, flush=True)


def _width(text: str) -> int:
    """The number of terminal columns that the text takes."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text)
