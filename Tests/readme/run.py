#!/usr/bin/env python3
"""Runs the commands of README.md and of pages in docs in order, in fresh folders, and checks the promise of each.

Usage: Tests/readme/run.py [--routerd .build/release/routerd] [--direct] [readme] [guide] [pages] [built]

| part | runs |
|---|---|
| readme | every shell block of README.md from "Five minutes" on |
| guide | every shell block of the tutorial in docs/GUIDE.md, with the receivers of Examples/receivers |
| pages | every shell block of the pages in `walks.pages`, but for those that say why they are not played |
| built | `make run` in a pseudo-terminal, which must compile nothing; only on demand |

Every block follows a comment such as `<!-- check: seven -->`, which names the check of its outcome in `walks`. The daemon
of README.md is the one that `make run` starts, in a pseudo-terminal; with `--direct` it is the binary itself. Each part
runs in a network namespace of its own, where the ports are free and no other address can be reached.
"""
import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Tests/support_py"))

from terminal import Terminal, end_children_at_termination  # noqa: E402
from walks.front import FrontPage, check_installed  # noqa: E402
from walks.guide import Guide  # noqa: E402
from walks.pages import PAGES  # noqa: E402
from walkthrough import Failure, enter_namespace, require  # noqa: E402

PARTS = ["readme", "guide", "pages"]
# Seconds in which `make run` builds the missing parts.
BUILD_SECONDS = 20 * 60


def variables() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ROUTERD_", "MAKE", "MFLAGS"))}
    return kept | {"TERM": "xterm", "NO_COLOR": "1"}


def readme(routerd: Path, folder: Path, is_direct: bool) -> int:
    check_installed(routerd, folder / "installed")
    (folder / ".build/debug").mkdir(parents=True)
    (folder / ".build/debug/routerd").symlink_to(routerd)
    command = [str(routerd), "serve", "--config", str(ROOT / "routerd.yaml")] if is_direct else ["make", "run"]
    page = FrontPage(folder, variables() | {"ROUTERD_DATABASE": str(folder / "routerd.sqlite")}, command)
    try:
        page.start(BUILD_SECONDS)
        return page.walk("README.md")
    finally:
        page.stop()


def with_command(routerd: Path, folder: Path) -> dict[str, str]:
    """The variables of a shell that has the binary as `routerd`."""
    (folder / "bin").mkdir()
    (folder / "bin/routerd").symlink_to(routerd)
    return variables() | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}


def guide(routerd: Path, folder: Path, _: bool) -> int:
    (folder / "Examples").symlink_to(ROOT / "Examples")
    walk = Guide(folder, with_command(routerd, folder))
    try:
        return walk.walk("docs/GUIDE.md")
    finally:
        walk.stop()


def pages(routerd: Path, folder: Path, _: bool) -> int:
    passed = 0
    for document, page in PAGES.items():
        place = folder / Path(document).stem
        place.mkdir()
        walk = page(place, with_command(routerd, place))
        try:
            passed += walk.walk(document)
        finally:
            walk.stop()
    return passed


def built(_: Path, folder: Path, __: bool) -> int:
    """The build that `make test` has made is the one that `make run` starts in a terminal."""
    daemon = Terminal(["make", "run"], ROOT, variables() | {"ROUTERD_DATABASE": str(folder / "routerd.sqlite")})
    try:
        daemon.wait_for("listening on http://127.0.0.1:8080", seconds=BUILD_SECONDS)
    finally:
        daemon.stop()
    compiled = [line for line in (ROOT / ".build/build.log").read_text().splitlines() if "Compiling" in line]
    require(compiled == [], f"`make run` after the tests compiles nothing: {compiled[:3]}")
    return 1


def main() -> int:
    parts = {"readme": readme, "guide": guide, "pages": pages, "built": built}
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--routerd", type=Path, default=ROOT / ".build/release/routerd", help="the binary")
    parser.add_argument("--direct", action="store_true", help="start the binary itself, and not by `make run`")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(parts)}; {', '.join(PARTS)} unless told")
    given = parser.parse_args()
    if unknown := [part for part in given.parts if part not in parts]:
        parser.error(f"there is no part {unknown[0]}; the parts are: {', '.join(parts)}")
    for tool in ("bash", "curl", "jq", "make", "node", "openssl"):
        if shutil.which(tool) is None:
            print(f"readme: {tool} is missing", file=sys.stderr)
            return 1
    end_children_at_termination()
    enter_namespace("readme", "the ports 8080 and 9000 of loopback")
    passed = 0
    try:
        for part in given.parts or PARTS:
            with tempfile.TemporaryDirectory(prefix="readme-") as folder:
                passed += parts[part](given.routerd.resolve(), Path(folder), given.direct)
    except Failure as failure:
        print(f"readme: does not hold: {failure}", file=sys.stderr)
        return 1
    print(f"readme: {passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
