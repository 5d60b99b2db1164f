#!/usr/bin/env python3
"""Measures the decision alone on generated workloads and prints a table in Markdown; docs/PERFORMANCE.md explains.

  decisions.py --routerd PATH [--sizes 1,1000,100000] [--mixes mixed,uikit] [--subjects 10000] [--repeat 10] [--cold] [--verify]

With --cold there are as many subjects as sessions, each decided once: what one decision has brought into the cache is of no
use to the next.
With --verify every workload is first decided by brute force too, and a difference ends the run. Among a million sessions that
takes half a second a subject.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

MIXES = "exact,prefix,wild,contains,mixed,shared,true,uikit"
COLUMNS = (
    ("mean", "nsMean", "{:.0f}"), ("p50", "nsP50", "{:.0f}"), ("p99", "nsP99", "{:.0f}"),
    ("3 loads p50", "nsP50ThreeLoads", "{:.0f}"), ("p99", "nsP99ThreeLoads", "{:.0f}"),
    ("4 loads p50", "nsP50FourLoads", "{:.0f}"), ("p99", "nsP99FourLoads", "{:.0f}"),
    ("hash map", "hashLookupNs", "{:.0f}"), ("scan", "linearScanNs", "{:,.0f}"), ("build, s", "buildSeconds", "{:.3f}"),
    ("bytes a session", "bytesPerSession", "{:.0f}"), ("state change", "stateChangeNs", "{:.0f}"),
    ("16 together", "stateChangeTogetherNs", "{:.0f}"), ("remove, add", "replaceNs", "{:.0f}"),
    ("16 together", "replaceTogetherNs", "{:.0f}"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--routerd", required=True)
    parser.add_argument("--sizes", default="1,1000,10000,100000,1000000")
    parser.add_argument("--mixes", default=MIXES)
    parser.add_argument("--subjects", default="10000")
    parser.add_argument("--repeat", default="10")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--verify", action="store_true")
    arguments = parser.parse_args()
    print("| workload | sessions |", " | ".join(name for name, _, _ in COLUMNS), "|")
    print("|---" * (len(COLUMNS) + 2) + "|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for mix in arguments.mixes.split(","):
            for size in arguments.sizes.split(","):
                print(row(arguments, mix, size, Path(directory)), flush=True)


def row(arguments: argparse.Namespace, mix: str, size: str, directory: Path) -> str:
    generator = Path(__file__).with_name("workload.py")
    count, rounds = (size, "1") if arguments.cold else (arguments.subjects, arguments.repeat)
    subprocess.run(
        [sys.executable, generator, "--n", size, "--mix", mix, "--out", directory, "--subjects", count], check=True)
    sessions, subjects = (directory / f"{mix}-{size}.{end}" for end in ("sessions.jsonl", "subjects.txt"))
    files = ["--sessions", sessions, "--subjects", subjects]
    if arguments.verify:
        subprocess.run([arguments.routerd, "decide", *files, "--verify"], check=True, stdout=subprocess.DEVNULL)
    measured = json.loads(subprocess.run(
        [arguments.routerd, "bench", "decide", *files, "--repeat", rounds], check=True,
        capture_output=True).stdout)
    for file in (sessions, subjects):
        file.unlink()
    cells = [form.format(measured[field]) for _, field, form in COLUMNS]
    return f"| {mix} | {int(size):,} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
