"""The command line: which scenarios run, with which seed, and their output."""

import argparse
import http.client
import json
import os
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from chaos import (
    clock, deletion, disk, files, hung, lookups, menagerie, modelled, neighbour, powercut, raw, storm, sweep, terminate)
from chaos.options import Options, Result
from chaos.verdict import KINDS, judge

ROOT = Path(__file__).resolve().parents[3]
SHOWN = 40

Scenario = Callable[[Options], Iterator[Result]]
SCENARIOS: dict[str, tuple[Scenario, str]] = {
    "zoo": (menagerie.scenario, "every behaviour of an endpoint, and what the daemon must make of it"),
    "storm": (storm.scenario, "kill -9 under load, again and again"),
    "model": (modelled.scenario, "kill -9 while everything is changed; a model has the possible states"),
    "deletion": (deletion.scenario, "kill -9 while a large application is deleted, step by step"),
    "terminate": (terminate.scenario, "SIGTERM under load"),
    "hung": (hung.one_in_a_hundred, "1 % of the endpoints hang; the others must not notice"),
    "starved": (hung.more_than_slots, "more endpoints hang than attempts may run at once"),
    "names": (lookups.scenario, "the name server is silent; endpoints with known names must not notice (needs root)"),
    "raw": (raw.scenario, "bytes that servers are known to read in different ways, and the answers to them"),
    "neighbour": (neighbour.scenario, "one tenant makes every kind of noise; another one must not notice"),
    "sweep": (sweep.scenario, "kill, EIO, ENOSPC and delay at the nth system call (needs strace)"),
    "powercut": (powercut.scenario, "the file system goes away with all unflushed bytes (needs root)"),
    "disk": (disk.scenario, "the disk is full, and has room again (needs root)"),
    "files": (files.scenario, "all connections are taken, then all file descriptors"),
}


def main() -> int:
    options, names = parse()
    # A signal unwinds the stack, so that no process and no mount stays behind.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    passed = [run(name, options) for name in names]
    return 0 if all(passed) else 1


def parse() -> tuple[Options, list[str]]:
    told = "\n".join(f"  {name:10} {what}" for name, (_, what) in SCENARIOS.items())
    parser = argparse.ArgumentParser(
        description=f"Breaks things around a daemon and judges what came of it.\n\nscenarios:\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="all of them by default")
    parser.add_argument("--routerd", type=Path, default=ROOT / ".build/release/routerd", help="the binary")
    parser.add_argument("--seed", type=int, help="replays the schedule of a run that printed it")
    parser.add_argument("--seconds", type=float, help="of a phase of hung, starved, names and neighbour")
    parser.add_argument("--kills", type=int, default=50, help="of storm and model")
    parser.add_argument("--cycles", type=int, default=5, help="of terminate, deletion, powercut, disk and files")
    parser.add_argument("--rounds", type=int, default=5, help="of hung, starved and names")
    parser.add_argument("--points", type=int, default=12, help="of the sweep, for each fault")
    parser.add_argument("--only", help="of zoo and neighbour, the rows with this in their names")
    parser.add_argument("--without-open", action="store_true", help="leave out scenarios that are known to fail")
    parser.add_argument("--short", action="store_true", help="the short forms of neighbour, model and deletion")
    parser.add_argument("--keep", type=Path, help="a folder for the histories of failures")
    parser.add_argument("--list", action="store_true", help="print the zoo's table, and run nothing")
    arguments = parser.parse_args()
    if arguments.list:
        for each in menagerie.behaviours("http://127.0.0.1/trap"):
            print(f"{each.name:24} {each.does:64} {each.expected}")
        sys.exit()
    if unknown := set(arguments.scenarios) - set(SCENARIOS):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    binary = arguments.routerd.resolve()
    if not (binary.is_file() and os.access(binary, os.X_OK)):
        parser.error(f"{arguments.routerd} is not a program; build it, or name another one with --routerd")
    seed = secrets.randbelow(1_000_000) if arguments.seed is None else arguments.seed
    options = Options(
        binary, seed, arguments.seconds, arguments.kills, arguments.cycles, arguments.rounds, arguments.points,
        arguments.only, arguments.keep, arguments.without_open, arguments.short)
    return options, arguments.scenarios or list(SCENARIOS)


def run(name: str, options: Options) -> bool:
    """Runs a scenario and prints its verdict; whether all is well."""
    began, totals, faults, known = time.monotonic(), Counter({kind: 0 for kind in KINDS}), 0, 0
    print(f"{name}: {SCENARIOS[name][1]}; seed {options.seed}", flush=True)
    try:
        for result in SCENARIOS[name][0](options):
            found = judge(result.history) if result.history else []
            totals.update(finding.kind for finding in found)
            told = [str(finding) for finding in found] + result.faults + [f"known: {each}" for each in result.known]
            faults += len(result.faults)
            known += len(result.known)
            figures = ", ".join(f"{what} {value}" for what, value in result.figures.items())
            print(f"  {result.label}: {figures}{'' if told else ' ✓'}", flush=True)
            if told:
                show(told, result, options)
    except clock.Skipped as reason:
        print(f"{name}: SKIPPED: {reason}", flush=True)
        return True
    except (clock.Failure, OSError, http.client.HTTPException) as failure:
        print(f"  ✗ {failure!r}\n" + "\n".join(f"    | {line}" for line in options.log_tail), flush=True)
        faults += 1
    verdict = ", ".join(f"{count} {kind}" for kind, count in totals.items())
    is_well = not (faults or known or sum(totals.values()))
    print(f"{name}: {'passed' if is_well else 'FAILED'} in {time.monotonic() - began:.0f} s: {verdict}"
          + (f", {faults} other faults" if faults else "")
          + (f", {known} known and open (docs/CHAOS.md)" if known else ""), flush=True)
    if not is_well:
        print(f"again: python3 Tests/chaos/run.py {name} --seed {options.seed} --routerd {options.binary}", flush=True)
    return is_well


def show(told: list[str], result: Result, options: Options) -> None:
    for line in told[:SHOWN]:
        print(f"    ✗ {line}")
    if len(told) > SHOWN:
        print(f"    … and {len(told) - SHOWN} more")
    for line in options.log_tail:
        print(f"    | {line}")
    if options.keep is not None and result.history is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        with (options.keep / f"{result.label.replace(' ', '-').replace('/', '-')}.jsonl").open("w") as file:
            for name in ("submissions", "attempts", "lives"):
                for each in getattr(result.history, name):
                    file.write(json.dumps({"of": name, **vars(each)}, default=str) + "\n")
            for entry in result.history.books.entries:
                file.write(json.dumps({"of": "books", **vars(entry)}) + "\n")
