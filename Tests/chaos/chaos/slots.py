"""The use of slots: an attempt that is due waits as long as others have all that it could have had.

So many slots there are in all, and a few of them for endpoints that are slow (docs/DELIVERY.md, Slots and turns). Lanes
that wait for them take turns, so that of each other lane one attempt is a reason to wait, and the next one is none.
"""

from collections.abc import Callable, Iterator, Sequence

from chaos.history import Attempt, Promises

# An attempt of that many seconds makes an endpoint slow, and so many quicker ones in a row end it.
SLOW_SECONDS, QUICK_ANSWERS = 5.0, 3


def slow_ones(attempts: Sequence[Attempt], end: Callable[[Attempt], float]) -> Iterator[Attempt]:
    """The attempts of a lane that began while its endpoint was slow. Doubtful cases count for the daemon."""
    life, missing = -1, 0
    for attempt in attempts:
        if attempt.life != life:
            # A new process knows nothing of it.
            life, missing = attempt.life, 0
        if missing:
            yield attempt
        is_quick = attempt.answered_at is not None and end(attempt) - attempt.began_at < SLOW_SECONDS
        missing = max(0, missing - 1) if is_quick else QUICK_ANSWERS


class Slots:
    """The attempts of all lanes, in the order in which they began."""

    def __init__(
        self, promises: Promises, attempts: Sequence[Attempt], by_lane: dict[str, list[Attempt]],
        end: Callable[[Attempt], float]
    ) -> None:
        self._promises, self._attempts, self._end = promises, attempts, end
        self._slow = {id(each) for lane in by_lane.values() for each in slow_ones(lane, end)}

    def withheld(self, attempt: Attempt, since: float) -> float:
        """For how many seconds, from then until it began, the attempt could have no slot."""
        changes: list[tuple[float, int, int]] = []
        for start, ended, is_slow in self._taken(attempt, since):
            changes += [(start, 1, is_slow), (ended, -1, -is_slow)]
        all_slots, slow_slots = self._promises.slots, self._promises.slow_slots
        withheld, last, taken, slow = 0.0, since, 0, 0
        for at, change, slow_change in sorted(changes):
            is_full = all_slots is not None and taken >= all_slots
            is_full = is_full or id(attempt) in self._slow and slow_slots is not None and slow >= slow_slots
            withheld += at - last if is_full else 0.0
            last, taken, slow = at, taken + change, slow + slow_change
        return withheld

    def _taken(self, attempt: Attempt, since: float) -> Iterator[tuple[float, float, int]]:
        """The longest attempt of each lane meanwhile: its beginning, its end, and 1 if its endpoint was slow."""
        longest: dict[str, tuple[float, float, int]] = {}
        for other in self._attempts:
            if other.began_at >= attempt.began_at:
                break
            start, ended = max(other.began_at, since), min(self._end(other), attempt.began_at)
            known_start, known_end, _ = longest.get(other.lane, (0.0, 0.0, 0))
            if ended - start > known_end - known_start:
                longest[other.lane] = (start, ended, int(id(other) in self._slow))
        yield from longest.values()
