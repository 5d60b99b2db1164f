#!/usr/bin/env python3
"""Runs the steps of `make test`, two at a time, and ends with a table of their seconds.

Usage: Scripts/test.py [STEP …]

A step starts as soon as the steps that it needs have passed and a slot is free; steps that need fixed ports enter network
namespaces. Its output goes to .build/test/STEP.log and is printed when the step ends. The first failure ends the others, but for
`make -k`. The lines of a failed step that say what failed are repeated below the table. With names of steps, those alone are run. Each
step is a target of the Makefile. ROUTERD_TEST_MINUTES=60 is the longest time of a step: a slow machine may raise it.
"""
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".build/test"
MINUTES = int(os.environ.get("ROUTERD_TEST_MINUTES", "60"))
SLOTS = 2
SECONDS_BETWEEN_LINES = 60
# The first word of make's flags holds those of one letter.
KEEPS_GOING = "k" in os.environ.get("MAKEFLAGS", "").partition(" ")[0]
FAILURE = re.compile(r"✘|\berror:|Fatal error")
MOST_FAILURES, LONGEST_LINE = 20, 300


@dataclass
class Step:
    name: str
    needs: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    seconds: float = 0
    status: int | None = None
    started: float = field(default=0)


# In the order of their starts: long ones first where there is a choice.
STEPS = [
    Step("build-tests"),
    Step("check"),
    Step("setup-checks"),
    Step("release", ("build-tests", "setup-checks")),
    Step("test-units", ("build-tests",)),
    Step("test-computing", ("build-tests",)),
    Step("test-transport", ("build-tests",)),
    Step("test-binary", ("release",)),
    Step("check-frames", ("release",)),
    Step("check-benchmarks", ("release",)),
    Step("check-pairs", ("release",)),
    Step("check-hostile", ("release",)),
    Step("check-readme", ("release",)),
    Step("check-console", ("release",)),
    Step("check-chaos", ("release",)),
    Step("check-clients", ("release",)),
    Step("check-sources", ("release",)),
    Step("check-scenes", ("release",)),
    Step("check-apns", ("release",)),
    Step("check-metrics", ("release",)),
    Step("check-packaging", ("release",)),
    # Others plan builds in the same folder.
    Step("check-example", ("test-units", "test-computing", "test-transport", "test-binary", "check-benchmarks")),
    Step("check-built", ("check-example", "check-readme")),
]


def table(steps: list[Step], started: float) -> None:
    print(f"\n{'step':<20} {'seconds':>8}")
    for step in steps:
        ending = "" if step.status == 0 else "  not run" if step.status is None else f"  failed ({step.status})"
        print(f"{step.name:<20} {step.seconds:>8.0f}{ending}")
    print(f"{'all, two at a time':<20} {time.monotonic() - started:>8.0f}")
    passed = sum(step.status == 0 for step in steps)
    failed = sum(step.status not in (0, None) for step in steps)
    print(f"{passed} passed, {failed} failed", flush=True)


def start(step: Step) -> None:
    print(f"{step.name}: starts", flush=True)
    step.started = time.monotonic()
    with (LOGS / f"{step.name}.log").open("wb") as log:
        # A session: a failure elsewhere ends the step with all that it has started.
        step.process = subprocess.Popen(
            ["make", "--no-print-directory", step.name], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True)


def end_of(step: Step) -> bool:
    """Whether the step has ended; past its time it is ended, with the stacks of its threads where gdb is at hand."""
    assert step.process is not None
    if step.process.poll() is None and time.monotonic() - step.started > MINUTES * 60:
        with (LOGS / f"{step.name}.log").open("ab") as log:
            log.write(f"\n{step.name}: not at its end after {MINUTES} minutes (ROUTERD_TEST_MINUTES)\n".encode())
        stop(step)
        step.status = 124
    elif step.process.poll() is not None:
        step.status = step.process.returncode
    step.seconds = time.monotonic() - step.started
    return step.status is not None


def stop(step: Step) -> None:
    assert step.process is not None
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(step.process.pid, number)
        except ProcessLookupError:
            break
        try:
            step.process.wait(20)
        except subprocess.TimeoutExpired:
            continue


def show(step: Step) -> None:
    text = re.sub(r"\x1b\[[0-9;]*m", "", (LOGS / f"{step.name}.log").read_text(errors="replace")).rstrip()
    # Of a passed run of tests the lines of single tests are left to the log.
    if step.status == 0:
        text = "\n".join(line for line in text.split("\n") if not re.match(r"[◇✔↳] (Test|Suite|Passing)|\[\d+/\d+\]", line))
    print(f"\n--- {step.name}: {'passed' if step.status == 0 else 'FAILED'} after {step.seconds:.0f} s\n{text}", flush=True)


def failures(step: Step) -> None:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", (LOGS / f"{step.name}.log").read_text(errors="replace")).split("\n")
    told = [line for line in lines if FAILURE.search(line)]
    print(f"\n{step.name} failed ({LOGS.relative_to(ROOT)}/{step.name}.log):")
    for line in told[:MOST_FAILURES] or lines[-MOST_FAILURES:]:
        print(line[:LONGEST_LINE], flush=True)


def main() -> int:
    names = sys.argv[1:]
    if unknown := set(names) - {step.name for step in STEPS}:
        print(f"test: no step {', '.join(sorted(unknown))}; the steps are: {', '.join(step.name for step in STEPS)}", file=sys.stderr)
        return 2
    steps = [step for step in STEPS if not names or step.name in names]
    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = shown = time.monotonic()
    running: list[Step] = []
    wake = threading.Event()
    try:
        while True:
            passed = {step.name for step in STEPS if step.status == 0 or step not in steps}
            waiting = [step for step in steps if step.process is None and passed.issuperset(step.needs)]
            for step in waiting[:SLOTS - len(running)]:
                start(step)
                running.append(step)
            if not running:
                break
            wake.wait(0.2)
            for step in [step for step in running if end_of(step)]:
                running.remove(step)
                show(step)
                if step.status != 0 and not KEEPS_GOING:
                    return 1
            if time.monotonic() - shown >= SECONDS_BETWEEN_LINES:
                shown = time.monotonic()
                print("running: " + ", ".join(f"{step.name} ({shown - step.started:.0f} s)" for step in running), flush=True)
    finally:
        for step in running:
            stop(step)
        table(steps, started)
        for step in steps:
            if step.status not in (0, None):
                failures(step)
    return int(any(step.status != 0 for step in steps))


if __name__ == "__main__":
    sys.exit(main())
