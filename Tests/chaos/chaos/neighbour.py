"""A noisy neighbour: one tenant makes every kind of noise that it can, and another one must not notice.

The quiet tenant sends at a steady rate, each notification at its planned time, and its times count from then on: time in
which a client waits for the daemon before it sends is part of them. It is measured without noise first, then beside each
kind of `noises.KINDS`, in one run on one database:

    quiet ──▶ noise begins ──▶ beside the noise ──▶ noise ends ──▶ as quick as before ──▶ the next kind …

The bound is a ratio of the two 99th percentiles. The quiet one counts as 10 ms at least: below that, the scheduler of a
busy machine makes the ratio.
"""

import http.client
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from chaos import clock
from chaos.behaviours import TAKES
from chaos.client import API, Body, Journal, entry_of
from chaos.crowd import balance
from chaos.daemon import Daemon
from chaos.files import need_files
from chaos.history import Books, History, Promises
from chaos.noises import KINDS, Kind, is_loud
from chaos.options import Options, Result, Stage
from chaos.shares import SHARED, SHARES, Share, put_application

QUIET, ARCHIVE = "com.example.Quiet", "com.example.Archive"
PER_SECOND, SENDERS, LANES = 40, 16, 8
# One in so many senders opens a connection for each request.
ANEW = 4
SECONDS, SHORT_SECONDS = 5.0, 3.0
WARM_UP_SECONDS, SHORT_WARM_UP_SECONDS = 1.0, 0.5
SHORT_ROUNDS = 3
# Material of a noise against that of a full run.
SHORT_SCALE = 0.05
# Notifications of a third tenant, which lists must pass over.
ARCHIVED = 200_000
MOST_TIMES, FLOOR_SECONDS = 3.0, 0.010
# A health check that takes longer has a supervisor end the daemon.
HEALTH_SECONDS = 1.0
RETRY_SECONDS = 0.1
# A notification that takes longer than this after its phase is given up by its client.
PATIENCE_SECONDS = 4.0
CALM_SECONDS = 12.0
PREPARE_SECONDS = 240.0
OUR_DESCRIPTORS = 8_192
SCHEDULE = [1.0] * 10


def key_of(name: str) -> str:
    return "rk_" + sha256(name.encode()).hexdigest()[:40]


@dataclass
class Phase:
    """The quiet tenant's times in a phase, and all that it was refused."""

    # Seconds from the planned time to the acknowledgement, and to the arrival at the receiver.
    accepts: list[float] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    # Answers other than an acceptance, requests without an answer, notifications that were never accepted.
    refusals: list[str] = field(default_factory=list)
    silences: int = 0
    given_up: int = 0
    # The longest health check; None if one failed.
    health: float | None = 0.0
    # Answers to what the quiet tenant asked for from a quota that both share.
    shares: list[str] = field(default_factory=list)

    @property
    def p99(self) -> float:
        return percentile(self.accepts, 0.99)


@dataclass
class Noise:
    """The work of a noise in a phase, by its own count."""

    sent: int
    open: int
    statuses: Counter[str]
    details: Body

    def __str__(self) -> str:
        answers = " ".join(f"{count}×{status}" for status, count in sorted(self.statuses.items()))
        details = "".join(f", {what} {value}" for what, value in self.details.items())
        return f"{self.sent} sent ({answers or 'no answer'}; {self.open} under way{details})"


def percentile(times: list[float], part: float) -> float:
    """The time that so large a part of them was within; infinite if there are none."""
    return sorted(times)[math.ceil(len(times) * part) - 1] if times else float("inf")


def most_seconds(quiet: Phase, times: float = MOST_TIMES) -> float:
    """The longest p99 that the quiet tenant may have beside a noise."""
    return times * max(quiet.p99, FLOOR_SECONDS)


def together(phases: list[Phase]) -> Phase:
    """The phase with the median p99, and everything that was refused in any of them."""
    median = sorted(phases, key=lambda each: each.p99)[len(phases) // 2]
    health = [each.health for each in phases]
    return Phase(
        median.accepts, median.arrivals, [answer for each in phases for answer in each.refusals],
        sum(each.silences for each in phases), sum(each.given_up for each in phases),
        None if None in health else max(each for each in health if each is not None),
        [answer for each in phases for answer in each.shares])


def noticed(quiet: Phase, beside: Phase, times: float = MOST_TIMES) -> Iterator[str]:
    """Everything by which the quiet tenant noticed the noise. Pure."""
    most = most_seconds(quiet, times)
    if beside.p99 > most:
        yield (f"p99 of the accepts is {1000 * beside.p99:.0f} ms, more than {1000 * most:.0f} ms:"
               f" {beside.p99 / max(quiet.p99, FLOOR_SECONDS):.1f} times the quiet one")
    for answer, count in sorted(Counter(beside.refusals).items()):
        yield f"{count} accepts were refused: {answer}"
    if beside.silences:
        yield f"{beside.silences} accepts were not answered"
    if beside.given_up:
        yield f"{beside.given_up} notifications were not accepted within {PATIENCE_SECONDS:.0f} s after the phase"
    if beside.health is None:
        yield "a health check failed"
    elif beside.health > HEALTH_SECONDS:
        yield f"a health check took {beside.health:.1f} s"
    for answer, count in sorted(Counter(beside.shares).items()):
        if not answer.startswith("2"):
            yield f"its share was refused {count} times: {answer}"


def scenario(options: Options) -> Iterator[Result]:
    need_files(OUR_DESCRIPTORS)
    kinds = chosen(KINDS, options.only or "", options.is_short, options.without_open)
    with options.stage() as stage:
        neighbours = Neighbours(stage, options, kinds)
        quiet = neighbours.quiet()
        times = (f"ms p50 {1000 * percentile(quiet.accepts, 0.5):.1f} p99 {1000 * quiet.p99:.1f},"
                 f" arrivals p99 {1000 * percentile(quiet.arrivals, 0.99):.1f}")
        # The bounds hold without noise, or nothing is measured.
        yield Result("quiet", None, list(noticed(quiet, quiet)), {"accepts": len(quiet.accepts), "times": times})
        for kind in kinds:
            yield neighbours.beside(kind, quiet)
        yield neighbours.concluded()


def chosen(kinds: Sequence[Kind], only: str, is_short: bool, without_open: bool) -> list[Kind]:
    """The kinds of a run. Kinds of the short form hold in its size, whether they are open in full or not."""
    if only:
        return [each for each in kinds if only in each.name]
    if is_short:
        return [each for each in kinds if each.is_short]
    return [each for each in kinds if not (each.is_open and without_open)]


class Neighbours:
    """The daemon with its tenants: a quiet one, one for each kind of noise, and one with a long past."""

    def __init__(self, stage: Stage, options: Options, kinds: list[Kind]) -> None:
        self.stage = stage
        self.seconds = options.seconds or (SHORT_SECONDS if options.is_short else SECONDS)
        self.warm_up = SHORT_WARM_UP_SECONDS if options.is_short else WARM_UP_SECONDS
        self.scale = SHORT_SCALE if options.is_short else 1.0
        self.rounds = SHORT_ROUNDS if options.is_short else 1
        self.journal = Journal(stage.ledger)
        self.daemon = stage.daemon(*settings(kinds))
        self.daemon.start()
        self.root = API(self.daemon, key_of("root"), timeout=PREPARE_SECONDS)
        self.root.put_application(QUIET, retrySchedule=[int(each) for each in SCHEDULE])
        for lane in range(LANES):
            self.root.put_session(f"quiet-{lane}", stage.zoo.house(f"quiet-{lane}", TAKES), QUIET)
        self.root.put_application(ARCHIVE)
        self._fill(int(ARCHIVED * self.scale))
        put_application(self.root)
        self.shares = {name: make(self.root, self._for_shares) for name, make in SHARES.items()
                       if any(each.share == name for each in kinds)}
        # Most senders keep their connections from phase to phase.
        self.clients = [API(self.daemon, key_of("quiet"), timeout=PATIENCE_SECONDS) for _ in range(SENDERS)]
        self._count = 0

    @property
    def _for_shares(self) -> API:
        return API(self.daemon, key_of("share"), timeout=PATIENCE_SECONDS)

    def _fill(self, count: int) -> None:
        """Notifications of a tenant that has nothing to do with all this, each settled at once."""
        for place in range(0, count, 20_000):
            path = f"/v1/applications/{ARCHIVE}/notifications:batch"
            lines = b'{"aps":{},"target-content-id":"archive"}\n' * min(20_000, count - place)
            connection = http.client.HTTPConnection(self.daemon.address, timeout=PREPARE_SECONDS)
            connection.request("POST", path, lines, {"Authorization": f"Bearer {key_of('root')}"})
            if connection.getresponse().read().count(b'"ntf_') < lines.count(b"\n"):
                raise clock.Failure("the archive was not accepted")
            connection.close()

    def quiet(self) -> Phase:
        self.measure("warm-up", self.seconds / 3, None)
        return self.measure("quiet", 2 * self.seconds, None)

    def measure(self, name: str, seconds: float, share: Share | None) -> Phase:
        """One phase of the quiet tenant's load."""
        phase, began = Phase(), clock.now()
        refused, silent = len(self.journal.refusals), len(self.journal.silences)
        planned: dict[str, float] = {}
        health = threading.Thread(target=watch_health, args=(self.daemon, phase, began + seconds))
        asking = threading.Thread(target=ask, args=(share, phase, began + seconds))
        threads = [health, asking, *(
            threading.Thread(target=self._send, args=(name, place, began, seconds, phase, planned))
            for place in range(SENDERS))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        phase.refusals = self.journal.refusals[refused:]
        phase.silences = len(self.journal.silences) - silent
        ends = clock.now() + PATIENCE_SECONDS
        while len(arrived := self._arrivals(planned)) < len(planned) and clock.now() < ends:
            time.sleep(0.05)
        phase.arrivals = [arrived.get(key, clock.now()) - at for key, at in planned.items()]
        return phase

    def _arrivals(self, planned: dict[str, float]) -> dict[str | None, float]:
        return {each.key: each.began_at for each in reversed(self.stage.ledger.attempts) if each.key in planned}

    def _send(
        self, name: str, place: int, began: float, seconds: float, phase: Phase, planned: dict[str, float]
    ) -> None:
        """A sender's share of the plan; late ones follow as fast as they can."""
        api, gives_up = self.clients[place], began + seconds + PATIENCE_SECONDS
        number = place
        while (due := began + number / PER_SECOND) < began + seconds:
            time.sleep(max(0.0, due - clock.now()))
            key = f"{name.replace(' ', '-')}-{number}"
            if clock.now() > gives_up:
                phase.accepts.append(clock.now() - due)
                phase.given_up += 1
            else:
                submission = self.journal.open(f"quiet-{number % LANES}", key)
                while not self.journal.submit(api, submission, QUIET) and clock.now() < gives_up:
                    time.sleep(RETRY_SECONDS)
                phase.accepts.append(clock.now() - due)
                phase.given_up += submission.acked_at is None
                if submission.acked_at is not None:
                    planned[key] = due
            if place % ANEW == 0:
                api.close()
            number += SENDERS

    def beside(self, kind: Kind, quiet: Phase) -> Result:
        """The same load beside a noise, and the way back to quiet."""
        with Loudspeaker(self, kind) as loudspeaker:
            loudspeaker.begin()
            phase = self._phase_of(kind, quiet)
            noise = loudspeaker.stop()
        least = int(kind.least * self.seconds / SECONDS) if kind.least > 1 else 1
        faults = [*noticed(quiet, phase, kind.times), *is_loud(kind, least, noise.open, noise.statuses)]
        if kind.outlasts:
            self.root.must("DELETE", f"/v1/applications/{kind.application}")
        if (calmed := self._calm(quiet)) is None:
            faults.append(f"accepts are still slow {CALM_SECONDS:.0f} s after the noise; the daemon was killed")
            self.daemon.kill()
            self.stage.zoo.bury()
            self.daemon.start()
        return Result(kind.name, None, faults, {
            "times the quiet p99": f"{MOST_TIMES * phase.p99 / most_seconds(quiet):.1f}",
            "ms p50": f"{1000 * percentile(phase.accepts, 0.5):.1f}",
            "p99": f"{1000 * phase.p99:.1f}", "arrivals p99": f"{1000 * percentile(phase.arrivals, 0.99):.1f}",
            "healthz at most": "failed" if phase.health is None else f"{1000 * phase.health:.0f}",
            "s until calm": "never" if calmed is None else f"{calmed:.1f}", "noise": noise})

    def _phase_of(self, kind: Kind, quiet: Phase) -> Phase:
        """A phase; in the short form, whose phases are short, the median of three if the first one is too slow."""
        share = self.shares.get(kind.share or "")
        phases = [self.measure(kind.name, self.seconds, share)]
        while len(phases) < self.rounds and phases[0].p99 > most_seconds(quiet, kind.times):
            phases.append(self.measure(f"{kind.name}-{len(phases)}", self.seconds, share))
        return together(phases)

    def _calm(self, quiet: Phase) -> float | None:
        """The seconds until five accepts in a row are quick again; None if they never are."""
        began, row = clock.now(), 0
        api = API(self.daemon, key_of("quiet"), timeout=5.0)
        while clock.now() < began + CALM_SECONDS:
            self._count += 1
            submission, sent = self.journal.open("quiet-0", f"calm-{self._count}"), clock.now()
            while not self.journal.submit(api, submission, QUIET) and clock.now() < began + CALM_SECONDS:
                time.sleep(0.02)
            is_quick = submission.acked_at is not None and clock.now() - sent < most_seconds(quiet)
            row = row + 1 if is_quick else 0
            if row == 5:
                api.close()
                return clock.now() - began
        api.close()
        return None

    def concluded(self) -> Result:
        """The quiet tenant's notifications as a history, which the verdict judges like every other."""
        insist(self.daemon, self.journal)
        settle_of(self.root, QUIET)
        figures = self.root.must("GET", "/v1/status")["notifications"]
        entries = [entry_of(each) for each in self.root.notifications(QUIET)]
        books = Books(
            clock.now(), len(entries), dict(Counter(each.state for each in entries)), figures["unaccounted"], entries)
        history = History(
            self.journal.submissions, list(self.stage.ledger.attempts), self.daemon.lives, books, Promises(SCHEDULE))
        faults = balance(history, self.stage.ledger.distinct_taken())
        total = sum(count for state, count in figures.items() if state not in ("accepted", "unaccounted"))
        if figures["accepted"] != total:
            faults.append(f"of all tenants {figures['accepted']} were accepted, and {total} are in some state")
        return Result("the quiet tenant's notifications", history, faults, {
            "accepted": len(entries), "delivered": books.by_state.get("delivered", 0),
            "of all tenants": figures["accepted"]})


def insist(daemon: Daemon, journal: Journal) -> None:
    """Repeats every notification that was not acknowledged in its phase: unanswered is not lost."""
    api = API(daemon, key_of("quiet"))
    for submission in journal.submissions:
        if submission.acked_at is None:
            clock.wait_until(lambda: journal.submit(api, submission, QUIET), f"{submission.key} is accepted", 30)
    api.close()


def settle_of(api: API, application: str) -> None:
    """Waits until nothing of an application is on its way; a notification that stays is the verdict's."""
    ends = clock.now() + 30
    for state in ("waiting", "inFlight"):
        path = f"/v1/notifications?application={application}&state={state}&limit=1"
        while api.must("GET", path)["notifications"] and clock.now() < ends:
            time.sleep(0.1)


def watch_health(daemon: Daemon, phase: Phase, ends: float) -> None:
    """Asks as a supervisor does, each time on a connection of its own."""
    while clock.now() < ends:
        began = clock.now()
        api = API(daemon, timeout=PATIENCE_SECONDS)
        if api.answers("/healthz") != 200:
            phase.health = None
        elif phase.health is not None:
            phase.health = max(phase.health, clock.now() - began)
        api.close()
        time.sleep(0.1)


def ask(share: Share | None, phase: Phase, ends: float) -> None:
    """Asks for the quiet tenant's share every half second."""
    while share is not None and clock.now() < ends:
        try:
            phase.shares.append(share())
        except (OSError, http.client.HTTPException, ValueError) as error:
            phase.shares.append(f"no answer ({type(error).__name__})")
        time.sleep(0.5)


class Loudspeaker:
    """The process that makes a noise; it ends with its `with`, in any case."""

    def __init__(self, neighbours: Neighbours, kind: Kind) -> None:
        self._neighbours, self._kind = neighbours, kind
        self._log = (neighbours.stage.folder / f"noise-{kind.name.replace(' ', '-')}.log").open("wb")
        # Everything of it comes from here, in any working directory.
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "chaos.noise"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            env=environment, text=True, start_new_session=True)

    def __enter__(self) -> "Loudspeaker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()

    def begin(self) -> None:
        """Returns when the noise is under way."""
        each = self._neighbours
        self._tell({"kind": self._kind.name, "address": each.daemon.address, "application": self._kind.application,
                    "key": key_of(self._kind.application), "scale": each.scale, "warmUp": each.warm_up})
        self._answer()
        self._tell("go")

    def stop(self) -> Noise:
        self._tell("stop")
        told = self._answer()
        return Noise(told["sent"], told["open"], Counter(told["statuses"]), told["details"])

    def _tell(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((what if isinstance(what, str) else json.dumps(what)) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        late = threading.Timer(PREPARE_SECONDS, self._process.kill)
        late.start()
        line = self._process.stdout.readline()
        late.cancel()
        if not line:
            said = Path(self._log.name).read_text(errors="replace").strip().splitlines()[-1:]
            raise clock.Failure(f"the noise '{self._kind.name}' ended before its time: {' '.join(said)}")
        return json.loads(line)


def settings(kinds: list[Kind]) -> list[str]:
    """Keys of all tenants, and leave to send to this machine."""
    keys = [("root", "admin", None), ("quiet", "ingest", QUIET), ("share", "admin", SHARED)]
    keys += [(name, "admin", name) for name in sorted({each.application for each in kinds})]
    lines = ["egress:", "  grants:", "    - network: 127.0.0.0/8", "apiKeys:"]
    for name, scope, application in keys:
        lines += [f"  - name: {name}", f"    sha256: {sha256(key_of(name).encode()).hexdigest()}",
                  f"    scopes: [{scope}]"]
        lines += [f"    application: {application}"] if application else []
    rules = [{"id": "routerd.rule.process", "plugin": each.application.lower(), "applications": [each.application],
              "command": ["/usr/bin/python3", "-c", each.rule], "timeoutMilliseconds": 30_000} for each in kinds if each.rule]
    return lines + ([f"rules: {json.dumps(rules)}"] if rules else [])
