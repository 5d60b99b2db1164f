"""strace stands between the daemon and the kernel: the nth call of a kind kills it, or fails.

Each point is a daemon of its own with a database of its own. A killed one is started again, without strace, and the
work goes on; one whose calls failed is killed at the end, so that what its disk has is compared with what it said.
"""

import http.client
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chaos import clock
from chaos.behaviours import TAKES, fails, first
from chaos.client import API, APPLICATION, Journal, Load, Target, settle
from chaos.crowd import balance
from chaos.daemon import Daemon
from chaos.history import History, Promises
from chaos.options import Options, Result, Stage, need

SCHEDULE = [1.0] * 30
# Lanes and how many notifications each gets.
LANES, EACH = 4, 8
FAILING_CALLS = 3
# A disk that takes its time, from the nth call on.
DELAY_MICROSECONDS = 100_000
# No two runs make the same number of calls; the last ones are not surely reached.
REACHED = 0.7
# With so many points each fault has to strike.
SURE_POINTS = 3


@dataclass(frozen=True)
class Fault:
    """The fault at a system call. fdatasync and pwrite64 are the database's, writev answers clients, sendto sends
    webhooks, write rings the bells between threads."""

    call: str
    what: str

    @property
    def is_error(self) -> bool:
        return self.what not in ("KILL", "DELAY")

    @property
    def hurts_disk(self) -> bool:
        return self.is_error and self.call in ("fdatasync", "pwrite64")

    def wrapper(self, nth: int, trace: Path) -> list[str]:
        match self.what:
            case "KILL": how = f"signal=KILL:when={nth}"
            case "DELAY": how = f"delay_enter={DELAY_MICROSECONDS}:when={nth}+"
            case _: how = f"error={self.what}:when={nth}..{nth + FAILING_CALLS - 1}"
        return [*strace(trace), "-e", f"trace={self.call}", "-e", f"inject={self.call}:{how}"]


def strace(output: Path) -> list[str]:
    return ["strace", "-f", "-qq", "-o", str(output)]


FAULTS = (
    Fault("fdatasync", "KILL"), Fault("pwrite64", "KILL"), Fault("writev", "KILL"), Fault("sendto", "KILL"),
    Fault("write", "KILL"), Fault("fdatasync", "EIO"), Fault("fdatasync", "ENOSPC"), Fault("pwrite64", "EIO"),
    Fault("pwrite64", "ENOSPC"), Fault("sendto", "EIO"), Fault("writev", "EIO"), Fault("fdatasync", "DELAY"),
)


def scenario(options: Options) -> Iterator[Result]:
    need("strace")
    if not may_trace():
        raise clock.Skipped("strace may not trace here (ptrace is not permitted)")
    counts = {fault.call: 0 for fault in FAULTS}
    with options.stage() as stage:
        counts = count_calls(stage, list(counts))
    random, struck, tried = Random(options.seed), Counter(), 0
    for fault in FAULTS:
        for nth in points(random, int(REACHED * counts[fault.call]), options.points):
            with options.stage() as stage:
                result = strike(stage, fault, nth, options.seed)
                tried += 1
                struck[fault] += result.figures["struck"] == "yes"
                yield result
    # With few points some may come too late in a run that is shorter than the quiet one.
    expected = [fault for fault in FAULTS if options.points >= SURE_POINTS]
    told = [f"{fault.call} {fault.what} has never struck" for fault in expected if struck[fault] == 0]
    if struck.total() == 0:
        told.append("no point was ever reached: nothing is proved")
    yield Result("all points", None, told, {"points": tried, "struck": struck.total()})


def may_trace() -> bool:
    return subprocess.run([*strace(Path("/dev/null")), "true"], capture_output=True, timeout=30).returncode == 0


def points(random: Random, calls: int, count: int) -> list[int]:
    """Spread over all calls of a quiet run, at random within equal shares."""
    share = max(1.0, calls / count)
    return sorted({1 + int(min(calls - 1, (place + random.random()) * share)) for place in range(min(count, calls))})


def count_calls(stage: Stage, calls: list[str]) -> dict[str, int]:
    """How often each system call is made when nothing goes wrong, by the thread that makes it most: strace counts for
    each thread alone."""
    tally = stage.folder / "tally"
    daemon = stage.daemon()
    daemon.start([*strace(tally), "-e", f"trace={','.join(calls)}"])
    work(stage, daemon, seed=0)
    daemon.kill()
    found = Counter(re.findall(r"^(\d+) +(\w+)\(", tally.read_text(errors="replace"), re.MULTILINE))
    return {call: max([2, *(count for (_, name), count in found.items() if name == call)]) for call in calls}


def strike(stage: Stage, fault: Fault, nth: int, seed: int) -> Result:
    daemon, trace = stage.daemon(), stage.folder / "trace"
    daemon.start(fault.wrapper(nth, trace))
    journal = work(stage, daemon, seed)
    said = trace.read_text(errors="replace")
    is_struck = len(daemon.lives) > 1 or "(INJECTED)" in said or "(DELAYED)" in said
    if len(daemon.lives) == 1 or fault.is_error:
        # The remaining injections of strace must not hit the requests that read the state.
        daemon.kill()
        revive(stage, daemon)
        settle(daemon, 30)
    api = API(daemon)
    history = History(
        journal.submissions, list(stage.ledger.attempts), daemon.lives, api.books(APPLICATION),
        Promises(SCHEDULE, disk_fails=fault.hurts_disk))
    api.close()
    faults = balance(history, stage.ledger.distinct_taken())
    return Result(f"{fault.call} {fault.what} at {nth}", history, faults, {
        "struck": "yes" if is_struck else "no", "lives": len(daemon.lives), "accepted": history.books.accepted,
        "attempts": len(history.attempts), "refused for a while": len(journal.refusals)})


def work(stage: Stage, daemon: Daemon, seed: int) -> Journal:
    """Registers everything and sends everything, over as many lives as it takes."""
    urls = {f"lane-{place}": "" for place in range(LANES)}
    for place, lane in enumerate(urls):
        urls[lane] = stage.zoo.house(lane, first(fails(503), TAKES) if place == 0 else TAKES)
    revive(stage, daemon)
    clock.wait_until(lambda: is_registered(stage, daemon, urls), "everything is registered", 60)
    journal = Journal(stage.ledger)
    targets = [Target(lane, most=1 if place == 0 else EACH) for place, lane in enumerate(urls)]
    load = Load(daemon, stage.ledger, journal, targets, seed, threads=4)
    load.start()

    def is_done() -> bool:
        revive(stage, daemon)
        return load.is_done()

    clock.wait_until(is_done, "everything is acknowledged", 60)
    load.stop()
    clock.wait_until(lambda: is_settled(stage, daemon), "everything is settled", 60)
    return journal


def revive(stage: Stage, daemon: Daemon) -> None:
    """If it was killed, starts it again, without strace."""
    if not daemon.is_running():
        daemon.kill()
        stage.zoo.bury()
        if not daemon.start():
            raise clock.Failure("the daemon does not start on the database that it left behind")


def is_registered(stage: Stage, daemon: Daemon, urls: dict[str, str]) -> bool:
    revive(stage, daemon)
    api = API(daemon)
    try:
        api.put_application(timeoutSeconds=15, retrySchedule=[int(each) for each in SCHEDULE])
        for lane, url in urls.items():
            api.put_session(lane, url)
        return True
    except (OSError, ValueError, clock.Failure, http.client.HTTPException):
        return False
    finally:
        api.close()


def is_settled(stage: Stage, daemon: Daemon) -> bool:
    revive(stage, daemon)
    time.sleep(0.1)
    api = API(daemon)
    try:
        return api.unsettled() == 0
    except (OSError, ValueError, clock.Failure, http.client.HTTPException):
        return False
    finally:
        api.close()
