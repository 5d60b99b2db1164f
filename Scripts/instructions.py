#!/usr/bin/env python3
"""Counts what one decision takes with valgrind, where nothing depends on the machine; prints a table in Markdown.

  instructions.py --counter PATH [--sizes 1000,100000,1000000] [--mixes mixed,uikit] [--subjects 10000]

Counted are instructions, the loop over the subjects included, and data that misses a last cache of 2 MiB. Reading a million
sessions takes valgrind some minutes.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# The function that is counted, each time from nothing.
FUNCTION = "decideAll"
# As many bytes as a core of a large machine has for itself, sixteen places for each line, lines of 64 bytes.
CACHE = "2097152,16,64"
SECONDS = 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counter", required=True)
    parser.add_argument("--sizes", default="1000,100000,1000000")
    parser.add_argument("--mixes", default="mixed,uikit")
    parser.add_argument("--subjects", type=int, default=10_000)
    arguments = parser.parse_args()
    print("| workload | sessions | instructions | × those of the first size | misses |")
    print("|---|---|---|---|---|", flush=True)
    for mix in arguments.mixes.split(","):
        first = None
        for size in arguments.sizes.split(","):
            with tempfile.TemporaryDirectory() as directory:
                instructions, misses = count(arguments.counter, mix, size, arguments.subjects, Path(directory))
            first = first or instructions
            print(f"| {mix} | {int(size):,} | {instructions:,.0f} | {instructions / first:.2f} | {misses:.1f} |", flush=True)


def count(counter: str, mix: str, size: str, subjects: int, directory: Path) -> tuple[float, float]:
    """The cost of one decision when each subject is decided for the second time."""
    generator = Path(__file__).with_name("workload.py")
    subprocess.run(
        [sys.executable, generator, "--n", size, "--mix", mix, "--out", directory, "--subjects", str(subjects)],
        check=True)
    # Valgrind 3.19 does not read DWARF 5.
    program = directory / "counter"
    subprocess.run(["strip", "-g", "-o", program, counter], check=True)
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.split()
    function = next(symbol for symbol in symbols if FUNCTION in symbol)
    counted = directory / "counted"
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--cache-sim=yes", f"--LL={CACHE}", "--collect-atstart=no",
         f"--toggle-collect={function}", f"--zero-before={function}", f"--callgrind-out-file={counted}", program,
         directory / f"{mix}-{size}.sessions.jsonl", directory / f"{mix}-{size}.subjects.txt"],
        # Texts are hashed alike in every run, so that counts are the same too.
        env={**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}, capture_output=True, text=True, timeout=SECONDS)
    if run.returncode != 0:
        sys.exit(f"instructions: {mix} of {size} was not counted:\n{run.stderr[-2000:]}")
    # Numbers of nothing at the end of the line are left out.
    lines = dict(re.findall(r"^(events|summary): (.*)$", counted.read_text(), re.MULTILINE))
    counts = dict(zip(lines["events"].split(), map(int, lines["summary"].split())))
    return counts["Ir"] / subjects, (counts.get("DLmr", 0) + counts.get("DLmw", 0)) / subjects


if __name__ == "__main__":
    main()
