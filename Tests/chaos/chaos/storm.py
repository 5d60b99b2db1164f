"""kill -9 under load, again and again; then the receivers are counted."""

import time
from collections.abc import Iterator

from chaos import clock
from chaos.crowd import Crowd, balance
from chaos.options import Options, Result
from chaos.schedule import Strike, strikes
from chaos.verdict import repetitions_after_kills

# Attempts that ended so shortly before a kill may have ended without the daemon's having kept how.
COMMIT_SECONDS = 0.1


def scenario(options: Options) -> Iterator[Result]:
    with options.stage() as stage:
        daemon = stage.daemon()
        daemon.start()
        crowd = Crowd(stage, daemon, options.seed)
        crowd.load.start()
        recoveries, under_way = [], 0
        for strike in strikes(options.seed, options.kills):
            await_strike(crowd, strike)
            killed_at = clock.now()
            daemon.kill()
            under_way += crowd.attempts_under_way(killed_at - COMMIT_SECONDS)
            stage.zoo.bury()
            began = clock.now()
            daemon.start()
            recoveries.append(clock.now() - began)
        crowd.settle()
        history = crowd.history()
        again = repetitions_after_kills(history)
        faults = balance(history, stage.ledger.distinct_taken())
        if again > under_way:
            faults.append(f"{again} repetitions, but only {under_way} attempts in flight at the kills")
        states = history.books.by_state
        yield Result("storm", history, faults, {
            "kills": options.kills, "accepted": history.books.accepted, "delivered": states["delivered"],
            "dead-lettered": states["deadLettered"], "cancelled": states["cancelled"], "waiting": states["waiting"],
            "repeated": again, "in flight at the kills": under_way, "attempts": len(history.attempts),
            "s for the slowest start": f"{max(recoveries, default=0.0):.2f}"})


def await_strike(crowd: Crowd, strike: Strike) -> None:
    ends = clock.now() + strike.after
    while clock.now() < ends and crowd.open_attempts() < strike.when_open:
        time.sleep(0.002)
