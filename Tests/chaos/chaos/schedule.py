"""When and how the daemon is struck: a value made of a seed, so that a seed replays a run's faults."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Strike:
    """So long after the daemon listens, or as soon as so many attempts are open, whichever comes first."""

    after: float
    when_open: int


def strikes(seed: int, count: int, longest: float = 1.2, most_open: int = 12) -> list[Strike]:
    """Early ones and late ones, and now and then one that comes right after the start."""
    random = Random(seed)
    found = []
    for _ in range(count):
        after = random.uniform(0.0, 0.1) if random.random() < 0.15 else random.uniform(0.1, longest)
        # A count that is never reached leaves it to the time.
        when_open = random.randint(3, most_open) if random.random() < 0.5 else 1_000_000
        found.append(Strike(after, when_open))
    return found
