#!/usr/bin/env python3
"""Checks that Scripts/frames.py finds a planted fault of the compiler, and none in the binary.

Usage: Tests/frames/run.py --routerd PATH
"""
import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def frames(binary: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "Scripts/frames.py", binary], capture_output=True, text=True, check=False)


def main() -> int:
    arguments = argparse.ArgumentParser(description="Looks for async functions with too small a context.")
    arguments.add_argument("--routerd", type=Path, required=True, help="the binary, not stripped")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="routerd-frames-") as folder:
        planted = Path(folder) / "planted"
        subprocess.run([
            os.environ.get("SWIFTC", "swiftc"), "-O", "-parse-as-library", "-o", planted, Path(__file__).with_name("planted.swift"),
        ], check=True)
        found = frames(planted)
    if found.returncode != 1 and platform.machine() == "x86_64":
        print(f"frames: no finding in the planted program: {found.stdout}{found.stderr}\n"
              "A toolchain without swiftlang/swift#91639 needs neither this check nor the ban of vectors in Scripts/tidy.py.", file=sys.stderr)
        return 1
    print(f"planted: {found.stdout.splitlines()[0] if found.stdout else ''}")
    found = frames(given.routerd)
    print(found.stdout + found.stderr, end="")
    return found.returncode


if __name__ == "__main__":
    sys.exit(main())
