"""What the demo prints, and what of its claims has come true."""

import os
import sys
import unicodedata
from collections.abc import Sequence

INDENT = "   "


class Report:
    """Headings, tables and checks on standard output."""

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
        self._print(INDENT + text)

    def aside(self, text: str) -> None:
        self._print(INDENT + self._styled(text, "2"))

    def check(self, claim: str, holds: bool, instead: str = "") -> None:
        """Prints a claim with whether it holds; if not, with what is the case instead."""
        if holds:
            self.passed += 1
            self._print(f"{INDENT}{self._styled('✓', '32')} {claim}")
        else:
            told = f"{claim}: {instead}" if instead else claim
            self.failed.append(told)
            self._print(f"{INDENT}{self._styled('✗', '31')} {told}")

    def broken(self, reason: str) -> None:
        """The demo ends early."""
        self.failed.append(reason)
        self._print(f"{INDENT}{self._styled('✗', '31')} {reason}")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> None:
        """Columns as wide as they need to be; those in `right` are aligned to the right."""
        texts = [[str(cell) for cell in row] for row in rows]
        widths = [max(_width(row[place]) for row in [list(header), *texts]) for place in range(len(header))]

        def joined(row: Sequence[str]) -> str:
            cells = []
            for place, cell in enumerate(row):
                gap = " " * (widths[place] - _width(cell))
                cells.append(gap + cell if place in right else cell + gap)
            return "  ".join(cells).rstrip()

        self.aside(joined(header))
        for row in texts:
            self.line(joined(row))

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._coloured else text

    def _print(self, text: str) -> None:
        print(text, flush=True)


def _width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text)
