"""The targets of ARCHITECTURE.md, its drawing and its table, compared with those of Package.swift."""
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
# Parts of the system, which no package names.
SYSTEM = {"libcurl", "libc"}


class Target(NamedTuple):
    """Targets and packages that a target imports."""
    ours: frozenset[str]
    packages: frozenset[str]


def stated(page: str) -> dict[str, tuple[int, Target]]:
    """The rows of the table, with their lines: target, purpose, targets, packages."""
    rows: dict[str, tuple[int, Target]] = {}
    for number, line in enumerate(page.split("\n"), 1):
        if cells := re.fullmatch(r"\| `(\w+)` \| (?:[^|]*) \| ([^|]*) \| ([^|]*) \|", line):
            ours = frozenset(re.findall(r"`(\w+)`", cells[2]))
            packages = frozenset(cells[3].split(", ")) - {"–"} - SYSTEM
            rows[cells[1]] = number, Target(ours, packages)
    return rows


def declared() -> dict[str, Target]:
    """The targets of the package that are not for tests."""
    # A folder of its own: a build that runs meanwhile locks that of the project.
    with tempfile.TemporaryDirectory() as scratch:
        dump = subprocess.run(
            ["swift", "package", "--scratch-path", scratch, "dump-package"], cwd=ROOT, check=True, capture_output=True,
            text=True).stdout
    targets: dict[str, Target] = {}
    for target in json.loads(dump)["targets"]:
        if target["type"] == "test" or not (ROOT / "Sources" / target["name"]).is_dir():
            continue
        ours = {each["byName"][0] for each in target["dependencies"] if "byName" in each}
        packages = {each["product"][1] for each in target["dependencies"] if "product" in each}
        targets[target["name"]] = Target(frozenset(ours), frozenset(packages))
    return targets


def drawn(page: str) -> set[tuple[str, str]]:
    """The arrows of the drawing, of whose lines each is `A, B ─▶ C, D`."""
    arrows: set[tuple[str, str]] = set()
    for line in page.split("## The targets", 1)[1].split("```", 2)[1].strip().split("\n"):
        left, _, right = line.partition("─▶")
        arrows |= {(tail, head) for tail in re.findall(r"\w+", left) for head in re.findall(r"\w+", right)}
    return arrows


def reduced(targets: dict[str, Target]) -> set[tuple[str, str]]:
    """Imports that follow from no others."""
    def reached(name: str) -> set[str]:
        return set().union(*({each} | reached(each) for each in targets[name].ours))

    return {
        (name, each) for name, target in targets.items() for each in target.ours
        if not any(each in reached(other) for other in target.ours)}


def faults() -> Iterator[tuple[Path, int, str]]:
    page = PAGE.read_text()
    rows, targets = stated(page), declared()
    for name in sorted(targets.keys() | rows.keys()):
        number, row = rows.get(name, (1, None))
        if row is None:
            yield PAGE, number, f"the table lacks the target {name}"
        elif name not in targets:
            yield PAGE, number, f"the package has no target {name}"
        elif row != targets[name]:
            wanted = targets[name]
            for what, stated_names, names in (
                    ("targets", row.ours, wanted.ours), ("packages", row.packages, wanted.packages)):
                if stated_names != names:
                    yield PAGE, number, f"{name} imports the {what} {', '.join(sorted(names)) or '–'}"
    arrows, wanted = drawn(page), reduced(targets)
    for tail, head in sorted(arrows ^ wanted):
        yield PAGE, 1, f"the drawing {'lacks' if (tail, head) in wanted else 'has'} the arrow {tail} ─▶ {head}"
