"""SIGTERM under load: attempts under way end, are committed, and are not made again."""

from collections.abc import Iterator

from chaos.crowd import Crowd, balance
from chaos.options import Options, Result
from chaos.schedule import strikes
from chaos.storm import await_strike
from chaos.verdict import repetitions_after_kills


def scenario(options: Options) -> Iterator[Result]:
    with options.stage() as stage:
        daemon = stage.daemon()
        daemon.start()
        crowd = Crowd(stage, daemon, options.seed)
        crowd.load.start()
        statuses = []
        for strike in strikes(options.seed, options.cycles):
            await_strike(crowd, strike)
            statuses.append(daemon.terminate())
            stage.zoo.bury()
            daemon.start()
        crowd.settle()
        history = crowd.history()
        faults = balance(history, stage.ledger.distinct_taken())
        faults += [f"it ended with {each} at SIGTERM number {place}" for place, each in enumerate(statuses) if each]
        yield Result("terminate", history, faults, {
            "times": options.cycles, "accepted": history.books.accepted,
            "delivered": history.books.by_state["delivered"], "repeated": repetitions_after_kills(history)})
