"""Some endpoints hang: the others must not notice. One in a hundred, or more of them than attempts may run at once.

Rounds of two phases in turn, one with all endpoints well and one with some of them silent, under the same load. The
measure is the time from sending a notification to its arrival at a healthy endpoint, within each round; the machine's
other work falls on both phases alike, and the median of the rounds' ratios counts.

If more hang than attempts may run at once, such a phase has three parts, as the receivers see it:

    one attempt at each of those that hang ──▶ the backlog arrives ────────▶ the others do not notice any more
    as long as attempts have to take             a quarter of that             p99 < 2 times the baseline's
"""

import math
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from chaos import clock
from chaos.behaviours import TAKES
from chaos.client import API, APPLICATION, Journal, settle
from chaos.crowd import balance
from chaos.daemon import Daemon
from chaos.history import Attempt, History, Meaning, Promises
from chaos.http1 import Exchange
from chaos.options import Options, Result, Stage
from chaos.zoo import Act

SENDERS = 4
PER_SECOND = 160
# For what the machine takes to find them out, beside the time of the attempts.
LENIENCE_SECONDS = 1.0
# The backlog arrives within that part of the time in which it gathered.
DRAIN_PART = 0.25
# Without so many there is no telling what the slowest of a hundred took.
LEAST_LATER = 200
# How long after its phase a notification may arrive; one that does not counts as having arrived then.
PATIENCE_SECONDS = 10.0
SCHEDULE = [1.0] * 30


@dataclass(frozen=True)
class Shape:
    """How many endpoints there are and how many of them hang, and the bounds."""

    name: str
    endpoints: int
    hung: int
    # How many attempts may run at once.
    slots: int
    timeout_seconds: int
    # Of a phase.
    seconds: float
    # The highest ratio of the 99th percentiles.
    most: float
    # The same for notifications sent after the hanging endpoints were found out and the backlog has arrived.
    most_later: float

    @property
    def slow_slots(self) -> int:
        """How many attempts may run at once at endpoints that are known to hang."""
        return max(1, self.slots // 8)

    @property
    def seconds_to_find_out(self) -> float:
        """How long an attempt at each of those that hang takes, as many at once as there are slots; no time
        if there are slots left."""
        return math.ceil(self.hung / self.slots) * self.timeout_seconds if self.hung > self.slots else 0.0


# The default slots. Attempts run out of time within their phase, and are made again.
ONE_IN_A_HUNDRED = Shape("hung", 200, 2, 256, 2, 6.0, 2.0, 2.0)
# As 1 % of many thousands would be for the default slots. All endpoints share the slots, so that some wait is in order.
MORE_THAN_SLOTS = Shape("starved", 200, 16, 8, 5, 18.0, 10.0, 2.0)


class Gate:
    """While it is shut, its endpoints say nothing."""

    def __init__(self) -> None:
        self.is_shut = False

    def act(self) -> Act:
        async def waits(exchange: Exchange) -> Meaning:
            while self.is_shut:
                if await exchange.is_left(0.05):
                    exchange.goes_on = False
                    return Meaning.FAILED
            return await TAKES(exchange)

        return waits


@dataclass(frozen=True)
class Phase:
    # When each notification for a healthy endpoint was sent, since the phase began, and how long it took to arrive.
    samples: list[tuple[float, float]]
    # Seconds since it began: when each of those that hang had been tried in vain, and when all that was sent until then
    # had arrived. 0 if no attempt has to wait for either.
    found_out: float
    drained: float
    # Attempts at those that hang which were over before the phase was.
    given_up: int

    def times(self, since: float = 0.0) -> list[float]:
        """Latencies of the notifications sent from then on."""
        return [latency for at, latency in self.samples if at >= since]

    @property
    def p50(self) -> float:
        return share(self.times(), 0.5)

    @property
    def p99(self) -> float:
        return share(self.times(), 0.99)

    def p99_since(self, time: float) -> float:
        return share(self.times(time), 0.99)


def one_in_a_hundred(options: Options) -> Iterator[Result]:
    yield from scenario(options, ONE_IN_A_HUNDRED)


def more_than_slots(options: Options) -> Iterator[Result]:
    yield from scenario(options, MORE_THAN_SLOTS)


def scenario(options: Options, shape: Shape) -> Iterator[Result]:
    with options.stage() as stage:
        daemon, gate = stage.daemon("delivery:", f"  slots: {shape.slots}"), Gate()
        journal = Journal(stage.ledger)
        daemon.start()
        api = API(daemon)
        api.put_application(timeoutSeconds=shape.timeout_seconds, retrySchedule=[int(each) for each in SCHEDULE])
        for number in range(shape.endpoints):
            lane = f"endpoint-{number}"
            api.put_session(lane, stage.zoo.house(lane, gate.act() if number < shape.hung else TAKES))
        seconds = options.seconds or shape.seconds
        # Connections, caches and threads come to be in a phase that does not count.
        play(stage, shape, daemon, journal, "warm-up", options.seed, seconds / 2)
        rounds: list[tuple[Phase, Phase]] = []
        for number in range(options.rounds):
            found = {}
            # Which one comes first changes, so that what grows over time falls on both.
            for is_hung in (False, True) if number % 2 == 0 else (True, False):
                gate.is_shut = is_hung
                name = f"{'hung' if is_hung else 'well'}-{number}"
                found[is_hung] = play(stage, shape, daemon, journal, name, options.seed + number, seconds)
                gate.is_shut = False
                settle(daemon, 60)
            rounds.append((found[False], found[True]))
        ratios = [hung.p99 / well.p99 for well, hung in rounds]
        ratio = statistics.median(ratios)
        # From when on the others should not notice any more, and that part of the round without.
        later_ratio = statistics.median(
            hung.p99_since(hung.drained) / well.p99_since(shape.seconds_to_find_out) for well, hung in rounds)
        found_out = statistics.median(hung.found_out for _, hung in rounds)
        drain = statistics.median(hung.drained - hung.found_out for _, hung in rounds)
        history = History(
            journal.submissions, list(stage.ledger.attempts), daemon.lives, api.books(APPLICATION),
            Promises(SCHEDULE, slots=shape.slots, slow_slots=shape.slow_slots))
        api.close()
        faults = balance(history, stage.ledger.distinct_taken())
        if later_ratio >= shape.most_later:
            faults.append(
                f"when the hung ones have been found out, p99 of the healthy ones is still {later_ratio:.2f} times")
        if found_out > shape.seconds_to_find_out + LENIENCE_SECONDS:
            faults.append(f"it took {found_out:.1f} s to find out the hanging endpoints, not {shape.seconds_to_find_out:.1f} s")
        if drain > shape.seconds_to_find_out * DRAIN_PART:
            faults.append(f"the backlog of {found_out:.1f} s took {drain:.1f} s to arrive")
        if (later_count := min(len(hung.times(hung.drained)) for _, hung in rounds)) < LEAST_LATER:
            faults.append(f"only {later_count} were sent when the others were not to notice any more")
        given_up = min(hung.given_up for _, hung in rounds)
        if given_up < shape.hung:
            faults.append(f"only {given_up} attempts at the {shape.hung} that hang ran out of time within a phase")
        known: list[str] = []
        if ratio >= shape.most:
            # If nothing else is amiss, it is the time of one attempt at each of those that hang.
            is_floor = shape.seconds_to_find_out > 0 and not faults
            (known if is_floor else faults).append(
                f"p99 of the healthy ones is {ratio:.2f} times the value without hung ones")
        yield Result(shape.name, history, faults, {
            "endpoints": shape.endpoints, "of them hung": shape.hung, "slots": shape.slots, "rounds": options.rounds,
            "times the baseline's p99 (median)": f"{ratio:.2f}",
            "each round": " ".join(f"{each:.2f}" for each in ratios),
            "s to find them out": f"{found_out:.2f}", "s until the backlog has arrived": f"{drain:.2f}",
            "the same from then on": f"{later_ratio:.2f}",
            "ms p99 well": f"{1000 * statistics.median(well.p99 for well, _ in rounds):.1f}",
            "ms p99 hung": f"{1000 * statistics.median(hung.p99 for _, hung in rounds):.1f}",
            "ms p99 hung, later": f"{1000 * statistics.median(hung.p99_since(hung.drained) for _, hung in rounds):.1f}",
            "ms p50 well": f"{1000 * statistics.median(well.p50 for well, _ in rounds):.1f}",
            "ms p50 hung": f"{1000 * statistics.median(hung.p50 for _, hung in rounds):.1f}",
            "samples a phase": min(len(phase.samples) for pair in rounds for phase in pair),
            "of them later": later_count, "attempts that ran out of time in a phase, at least": given_up}, known)


def play(
    stage: Stage, shape: Shape, daemon: Daemon, journal: Journal, name: str, seed: int, seconds: float
) -> Phase:
    """One phase of load at a steady rate, and how long it took to arrive where all is well."""
    began, before = clock.now(), len(stage.ledger.attempts)
    threads = [
        threading.Thread(
            target=send,
            args=(daemon, journal, shape, f"{name}-{place}", Random(f"{seed} {place}"), began + seconds, began))
        for place in range(SENDERS)]
    for thread in threads:
        thread.start()
    knock(daemon, journal, shape, name)
    for thread in threads:
        thread.join()
    hung = {f"endpoint-{number}" for number in range(shape.hung)}
    sent = [each for each in journal.submissions if each.key.startswith(f"{name}-")]
    wanted = {each.key: each for each in sent if each.lane not in hung}

    def arrivals() -> dict[str | None, float]:
        return {
            attempt.key: attempt.began_at
            for attempt in reversed(stage.ledger.attempts[before:]) if attempt.key in wanted}

    ends = clock.now() + PATIENCE_SECONDS
    while len(found := arrivals()) < len(wanted) and clock.now() < ends:
        time.sleep(0.05)
    now = clock.now()
    samples = [
        (each.submitted_at - began, found.get(key, now) - each.submitted_at) for key, each in wanted.items()]
    attempts = stage.ledger.attempts[before:]
    given_up = sum(
        1 for each in attempts if each.lane in hung and each.ended_at is not None and each.ended_at < began + seconds)
    if not shape.seconds_to_find_out:
        return Phase(samples, 0.0, 0.0, given_up)
    found_out = found_out_at(attempts, hung, now) - began
    drained = max([found_out, *(at + latency for at, latency in samples if at <= found_out)])
    return Phase(samples, found_out, drained, given_up)


def found_out_at(attempts: list[Attempt], hung: set[str], now: float) -> float:
    """When one attempt at each of them was over; now, if that is still to come."""
    first: dict[str, float] = {}
    for attempt in attempts:
        if attempt.lane in hung:
            first.setdefault(attempt.lane, now if attempt.ended_at is None else attempt.ended_at)
    return max(first.values()) if first.keys() == hung else now


def share(times: list[float], part: float) -> float:
    """The time that so large a part of them was within. Nothing was when nothing came."""
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] if times else PATIENCE_SECONDS


def knock(daemon: Daemon, journal: Journal, shape: Shape, name: str) -> None:
    """Sends one to each of those that may hang: whether they do is found out from the beginning on."""
    api = API(daemon)
    for number in range(shape.hung):
        submission = journal.open(f"endpoint-{number}", f"{name}-knock-{number}")
        while not journal.submit(api, submission):
            time.sleep(0.02)
    api.close()


def send(
    daemon: Daemon, journal: Journal, shape: Shape, prefix: str, random: Random, ends: float, began: float
) -> None:
    """A share of the load; each notification has its time, independent of earlier ones."""
    api, count = API(daemon), 0
    interval = SENDERS / PER_SECOND
    while (due := began + (count + random.random()) * interval) < ends:
        time.sleep(max(0.0, due - clock.now()))
        count += 1
        submission = journal.open(f"endpoint-{random.randrange(shape.endpoints)}", f"{prefix}-{count}")
        while not journal.submit(api, submission):
            time.sleep(0.02)
    api.close()
