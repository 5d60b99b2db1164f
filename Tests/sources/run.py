#!/usr/bin/env python3
"""Sends webhooks of other systems to the real daemon, and checks that they arrive.

Usage: Tests/sources/run.py [--routerd .build/release/routerd] [page] [github] [cloudevents] [standardwebhooks] [reports]

| part | sends |
|---|---|
| page | every marked shell block of docs/SOURCES.md, in order, and expects the answer that the page promises |
| github | every example payload of GitHub in Tests/PluginsTests/Fixtures/github, and a tampered copy of each |
| cloudevents | CloudEvents made by the Python SDK of the CNCF, structured, binary and batched |
| standardwebhooks | webhooks that the reference library of Standard Webhooks has signed |
| reports | requests of public bug reports against other receivers, with the right answers |

The libraries come from PyPI and are installed in a virtual environment, .build/sources-venv, in which this script
starts itself again. The daemon, the receiver and all requests are in a network namespace of their own, where the
page's ports are free and no other address can be reached.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".build/sources-venv"
LIBRARIES = ["cloudevents==2.2.0", "standardwebhooks==1.1.0"]
PARTS = ["page", "github", "cloudevents", "standardwebhooks", "reports"]

sys.path.insert(0, str(ROOT / "Tests/support_py"))


def enter_environment() -> None:
    """Starts this script again in the virtual environment, which is made for these versions of the libraries."""
    python, note = ENVIRONMENT / "bin/python", ENVIRONMENT / "libraries"
    if ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix):
        return
    if not note.exists() or note.read_text().split() != LIBRARIES or not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *LIBRARIES], check=True)
        note.write_text("\n".join(LIBRARIES))
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--routerd", type=Path, default=ROOT / ".build/release/routerd", help="the binary")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all of them unless told")
    given = parser.parse_args()
    if unknown := [part for part in given.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; the parts are: {', '.join(PARTS)}")
    for tool in ("bash", "curl", "openssl"):
        if shutil.which(tool) is None:
            print(f"sources: {tool} is missing", file=sys.stderr)
            return 1
    enter_environment()
    # Imported once the libraries are there.
    from sources import cloudevents, github, page, reports, standardwebhooks
    from sources.stage import Stage
    from walkthrough import Failure, enter_namespace

    checks = {
        "page": page.check, "github": github.check, "cloudevents": cloudevents.check,
        "standardwebhooks": standardwebhooks.check, "reports": reports.check}
    enter_namespace("sources", "the ports 8080 and 9000 of loopback")
    passed = 0
    try:
        for part in given.parts or PARTS:
            with tempfile.TemporaryDirectory(prefix="sources-") as folder, \
                    Stage(given.routerd.resolve(), Path(folder)) as stage:
                passed += checks[part](stage)
    except Failure as failure:
        print(f"sources: does not hold: {failure}", file=sys.stderr)
        return 1
    print(f"sources: {passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
