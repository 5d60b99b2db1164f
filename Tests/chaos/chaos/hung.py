"""Some endpoints hang: the others must not notice. One in a hundred, or more of them than attempts may run at once.

Rounds of two phases in turn, one with all endpoints well and one with some of them silent, under the same load. What is
compared is the time from sending a notification to its arrival at a healthy endpoint, within each round; the machine's
other work falls on both phases alike, and the median of the rounds' ratios counts.
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
from chaos.history import History, Meaning, Promises
from chaos.http1 import Exchange
from chaos.options import Options, Result, Stage
from chaos.zoo import Act

SENDERS = 4
PER_SECOND = 160
# How long after its phase a notification may arrive; one that does not counts as having arrived then.
PATIENCE_SECONDS = 10.0
SCHEDULE = [1.0] * 30


@dataclass(frozen=True)
class Shape:
    """How many endpoints there are and how many of them hang, and what may come of it."""

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
    # The same of what was sent when each of those that hang has been found out.
    most_later: float

    @property
    def found_out_after(self) -> float:
        """When an attempt at each of those that hang has run out of time, if no more can be made at once than there are
        slots; at once if there are slots left. And a moment for what has waited."""
        return math.ceil(self.hung / self.slots) * self.timeout_seconds + 1.0 if self.hung > self.slots else 0.0


# The default slots.
ONE_IN_A_HUNDRED = Shape("hung", 200, 2, 256, 30, 6.0, 2.0, 2.0)
# As 1 % of many thousands would be for the default slots. What runs at once is for all, so that some wait is in order.
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
    p50: float
    p99: float
    # Of what was sent when those that hang were found out.
    later_p99: float
    count: int


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
        later_ratio = statistics.median(hung.later_p99 / well.later_p99 for well, hung in rounds)
        history = History(
            journal.submissions, list(stage.ledger.attempts), daemon.lives, api.books(APPLICATION), Promises(SCHEDULE))
        api.close()
        faults = balance(history, stage.ledger.distinct_taken())
        if ratio >= shape.most:
            faults.append(f"p99 of the healthy ones is {ratio:.2f} times what it is without hung ones")
        if later_ratio >= shape.most_later:
            faults.append(f"when the hung ones have been found out, p99 of the healthy ones is still {later_ratio:.2f} times")
        yield Result(shape.name, history, faults, {
            "endpoints": shape.endpoints, "of them hung": shape.hung, "slots": shape.slots, "rounds": options.rounds,
            "times the baseline's p99 (median)": f"{ratio:.2f}",
            "each round": " ".join(f"{each:.2f}" for each in ratios),
            f"the same, {shape.found_out_after:.0f} s later": f"{later_ratio:.2f}",
            "ms p99 well": f"{1000 * statistics.median(well.p99 for well, _ in rounds):.1f}",
            "ms p99 hung": f"{1000 * statistics.median(hung.p99 for _, hung in rounds):.1f}",
            "ms p99 hung, later": f"{1000 * statistics.median(hung.later_p99 for _, hung in rounds):.1f}",
            "ms p50 well": f"{1000 * statistics.median(well.p50 for well, _ in rounds):.1f}",
            "ms p50 hung": f"{1000 * statistics.median(hung.p50 for _, hung in rounds):.1f}",
            "samples a phase": min(phase.count for pair in rounds for phase in pair)})


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
    latencies = [
        (submission.submitted_at - began, found.get(key, now) - submission.submitted_at)
        for key, submission in wanted.items()]
    times = [latency for _, latency in latencies]
    later = [latency for at, latency in latencies if at >= shape.found_out_after]
    return Phase(share(times, 0.5), share(times, 0.99), share(later, 0.99), len(times))


def share(times: list[float], part: float) -> float:
    """The time that so large a part of them was within. Nothing was when nothing came."""
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] if times else PATIENCE_SECONDS


def send(
    daemon: Daemon, journal: Journal, shape: Shape, prefix: str, random: Random, ends: float, began: float
) -> None:
    """A share of the load; each notification has its time, whatever became of those before."""
    api, count = API(daemon), 0
    interval = SENDERS / PER_SECOND
    while (due := began + (count + random.random()) * interval) < ends:
        time.sleep(max(0.0, due - clock.now()))
        count += 1
        submission = journal.open(f"endpoint-{random.randrange(shape.endpoints)}", f"{prefix}-{count}")
        while not journal.submit(api, submission):
            time.sleep(0.02)
    api.close()
