#!/usr/bin/env python3
"""Runs `swift build` with quiet progress: one line in a terminal, a line every 20 seconds elsewhere.

Usage: Scripts/build.py [ARGUMENTS OF swift build]

The compiler always writes to a pipe and never uses colours. Colour flags are part of SwiftPM's build description, so a
build that differs in them compiles everything again; this way `make run`, `make demo` and `make test` share one build
wherever their output goes. SwiftPM passes the traits of a dependency to the compiler in the order of a set: the seed of
its hashes is fixed here, because another order is another command, which compiles that dependency again. Diagnostics
are printed when the build fails; the whole output is kept in .build/build.log.
"""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

LOG = Path(".build/build.log")
STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")
SECONDS_BETWEEN_LINES = 20
# Lines of a failed build that are progress and no diagnostics.
PROGRESS = re.compile(r"^(\[\d+/\d+\]|Building for |Fetching |Fetched |Creating working copy|Working copy of |Computing )")


class Progress:
    """Shows the last step in place in a terminal, and from time to time elsewhere."""

    def __init__(self) -> None:
        self.in_terminal = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.started = self.shown = time.monotonic()

    def show(self, text: str) -> None:
        now = time.monotonic()
        if self.in_terminal:
            width = shutil.get_terminal_size().columns - 1
            print("\r\x1b[K" + text[:width], end="", file=sys.stderr, flush=True)
        elif now - self.shown >= SECONDS_BETWEEN_LINES:
            self.shown = now
            print(f"building: {text} ({now - self.started:.0f} s)", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.in_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def main() -> int:
    arguments = sys.argv[1:]
    LOG.parent.mkdir(exist_ok=True)
    progress = Progress()
    lines: list[str] = []
    compiled = 0
    command = [os.environ.get("SWIFT", "swift"), "build", "--no-color-diagnostics", *arguments]
    with LOG.open("w") as log:
        log.write(" ".join(command) + "\n")
        build = subprocess.Popen(
            command, env=os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1"}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", bufsize=1)
        assert build.stdout is not None
        for line in build.stdout:
            log.write(line)
            lines.append(line.rstrip("\n"))
            if step := STEP.match(line):
                compiled += "Compiling" in step[3]
                progress.show(line.rstrip())
            elif line.startswith(("Fetching", "Creating working copy", "Computing")):
                progress.show(line.rstrip())
        status = build.wait()
    progress.end()
    if status != 0:
        for line in lines:
            if not PROGRESS.match(line):
                print(line, file=sys.stderr)
        print(f"the build failed; all of its output is in {LOG}", file=sys.stderr)
    elif compiled:
        print(f"built in {time.monotonic() - progress.started:.0f} s ({compiled} files compiled)", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
