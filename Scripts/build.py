#!/usr/bin/env python3
"""Runs `swift build` with quiet progress, and not at all where nothing has changed since the last build.

Usage: Scripts/build.py [ARGUMENTS OF swift build]

In a terminal a line shows the share of the build, elsewhere a new line every 20 seconds. The compiler always writes to a pipe and
never uses colours. Colour flags are part of SwiftPM's build description, so a build that differs in them compiles everything again;
this way `make run`, `make demo` and `make test` share one build wherever their output goes. SwiftPM passes the traits of a
dependency to the compiler in the order of a set: the seed of its hashes is fixed here, because another order is another command,
which compiles that dependency again. Diagnostics are printed when the build fails; the whole output is kept in build.log of the
scratch path.

SwiftPM needs half a minute to find out that nothing is left to do. A stamp of the last build, with the size and the modification
time of each input and of the products, makes that a look at files.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

BUILDS = Path(".build")
STAMPS = BUILDS / "stamps"
STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")
SECONDS_BETWEEN_LINES = 20
# Lines of a failed build that are progress and no diagnostics.
PROGRESS = re.compile(r"^(\[\d+/\d+\]|Building for |Fetching |Fetched |Creating working copy|Working copy of |Computing )")
# The steps of a first build, by whether it is optimised: SwiftPM finds them on the way.
STEPS_OF_A_FIRST_BUILD = {True: 950, False: 2700}
# Processor seconds of a step: of the modules that an optimised build compiles the longest, of another module, of a file.
SECONDS_OF_MODULES = {
    "RouterdApp": 150, "GRDB": 110, "Router": 100, "RouterdCommands": 60, "NIOPosix": 35, "PredicateEngine": 35, "RouterPlugin": 30}
SECONDS_OF_A_MODULE, SECONDS_OF_A_FILE = 5.0, 0.5


class Progress:
    """The share of a first build that is done, by the weight of its steps; it never falls, though SwiftPM finds steps on the way.

    Of a later build, whose size is not known, the steps are shown.
    """

    def __init__(self, is_optimised: bool, is_first: bool) -> None:
        self.in_terminal = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.started = self.shown = time.monotonic()
        self.is_optimised = is_optimised
        self.steps = STEPS_OF_A_FIRST_BUILD[is_optimised] if is_first else 0
        self.ahead = dict(SECONDS_OF_MODULES) if is_optimised else {}
        self.done = 0.0
        self.share = 0

    def step(self, number: int, total: int, text: str) -> None:
        if not self.steps:
            return self.show(f"[{number}/{total}] {text}")
        if "Compiling" in text:
            is_module = self.is_optimised and not text.endswith((".c", ".cc", ".S"))
            usual = SECONDS_OF_A_MODULE if is_module else SECONDS_OF_A_FILE
            self.done += self.ahead.pop(text.split()[1], usual)
        rest = (max(total, self.steps) - number) * SECONDS_OF_A_FILE + sum(self.ahead.values())
        self.share = max(self.share, min(99, int(100 * self.done / max(self.done + rest, 1))))
        self.show(f"{self.share} %: {text}")

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


class Stamp:
    """The inputs and products of a build with these arguments."""

    def __init__(self, arguments: list[str]) -> None:
        def value(option: str, otherwise: str) -> str:
            return arguments[arguments.index(option) + 1] if option in arguments else otherwise

        self.arguments = arguments
        self.package = Path(value("--package-path", "."))
        self.scratch = Path(value("--scratch-path", str(BUILDS)))
        self.product = self.scratch / value("-c", "debug") / value("--product", "routerdPackageTests.xctest")
        name = hashlib.sha256(json.dumps([arguments, os.environ.get("ROUTERD_BENCHMARKS", "")]).encode()).hexdigest()[:16]
        self.file = STAMPS / name

    def inputs(self) -> str:
        """A digest of the compiler, and of the name, size and modification time of each input."""
        digest = hashlib.sha256()
        folders = ["Sources", "Benchmarks", *(["Tests", "Fuzzing"] if "--build-tests" in self.arguments else [])]
        files = [path for folder in folders for path in sorted((self.package / folder).rglob("*")) if path.suffix != ".md"]
        compiler = shutil.which(os.environ.get("SWIFT", "swift"))
        for path in [self.package / "Package.swift", Path(compiler or "swift").resolve(), *files]:
            if path.is_file():
                found = path.stat()
                digest.update(f"{path} {found.st_size} {found.st_mtime_ns}\n".encode())
        return digest.hexdigest()

    def text(self, inputs: str) -> str:
        resolved = self.package / "Package.resolved"
        return f"{inputs} {self.product.stat().st_mtime_ns} {resolved.stat().st_mtime_ns if resolved.exists() else 0}"

    def is_current(self) -> bool:
        return self.product.exists() and self.file.exists() and self.file.read_text() == self.text(self.inputs())

    def write(self, inputs: str) -> None:
        """Keeps the inputs as they were before the build: a change during it makes another build."""
        STAMPS.mkdir(parents=True, exist_ok=True)
        self.file.write_text(self.text(inputs))


def main() -> int:
    arguments = sys.argv[1:]
    stamp = Stamp(arguments)
    if stamp.is_current():
        return 0
    log_file = stamp.scratch / "build.log"
    stamp.scratch.mkdir(parents=True, exist_ok=True)
    inputs = stamp.inputs()
    is_first = not stamp.product.exists()
    progress = Progress("release" in arguments, is_first)
    print("building for the first time, with all dependencies: about ten minutes on two cores, in which README.md can be read"
          if is_first else "building: SwiftPM compares files", file=sys.stderr, flush=True)
    lines: list[str] = []
    compiled = 0
    command = [os.environ.get("SWIFT", "swift"), "build", "--no-color-diagnostics", *arguments]
    with log_file.open("w") as log:
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
                progress.step(int(step[1]), int(step[2]), step[3])
            elif line.startswith(("Fetching", "Creating working copy", "Computing")):
                progress.show(line.rstrip())
        status = build.wait()
    progress.end()
    if status != 0:
        for line in lines:
            if not PROGRESS.match(line):
                print(line, file=sys.stderr)
        print(f"the build failed; all of its output is in {log_file}", file=sys.stderr)
        return status
    stamp.write(inputs)
    if compiled:
        print(f"built in {time.monotonic() - progress.started:.0f} s ({compiled} files compiled)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
