"""A crowd of endpoints of all tempers, the load that goes to them, and the history of it. For scenarios that strike the
daemon while it works."""

from random import Random

from chaos.behaviours import TAKES, after, fails, first, hangs, resets, says
from chaos.client import API, APPLICATION, Journal, Load, Target, settle
from chaos.daemon import Daemon
from chaos.history import History, Meaning, Promises
from chaos.http1 import Exchange, answer
from chaos.options import Stage
from chaos.zoo import Act

# Each failure waits a second, and there are more of them than a storm can use up.
SCHEDULE = [1.0] * 60
TIMEOUT_SECONDS = 15
SETTLE_SECONDS = 90.0
# Says that it is gone when the first notification comes; another session shows the same content.
LEAVING, HEIR = "leaving", "heir"


def wavering(seed: int, longest: float) -> Act:
    """Takes its time, another one for each request."""
    random = Random(seed)

    async def act(exchange: Exchange) -> Meaning:
        return await after(random.uniform(0.0, longest), TAKES)(exchange)

    return act


def tempers(seed: int) -> list[tuple[str, int, Act, Target]]:
    """Kinds of endpoints: their names, numbers and acts, and the share of the load that they can bear."""
    put_off = first(says(answer(429, "Retry-After: 1"), Meaning.LATER, 1.0), TAKES)
    return [
        ("prompt", 10, TAKES, Target("", 1.0, cap=16)),
        ("wavering", 6, wavering(seed, 0.08), Target("", 0.6, cap=12)),
        ("slow", 3, wavering(seed + 1, 0.4), Target("", 0.3, cap=6)),
        ("flapping", 2, first(fails(503), TAKES), Target("", 0.2, cap=3)),
        ("resetting", 1, first(resets(), says(answer(204, "Connection: close"), closes=True)), Target("", 0.2, cap=3)),
        ("put-off", 1, put_off, Target("", 0.2, cap=3)),
        ("hanging", 1, first(hangs, TAKES), Target("", 0.1, cap=2, most=3)),
        (LEAVING, 1, says(answer(410), Meaning.GONE), Target("", 0.2, cap=1_000, most=60)),
        ("refusing", 1, says(answer(400), Meaning.REJECTED), Target("", 0.1, cap=8, most=6)),
    ]


class Crowd:
    """The endpoints, known to a daemon that runs, and the clients."""

    def __init__(self, stage: Stage, daemon: Daemon, seed: int) -> None:
        self.stage, self.daemon, self.seed = stage, daemon, seed
        self.journal = Journal(stage.ledger)
        self.targets: list[Target] = []
        self._urls: dict[str, str] = {}
        for name, count, act, share in tempers(seed):
            for number in range(count):
                lane = f"{name}-{number}"
                self._urls[lane] = stage.zoo.house(lane, act)
                self.targets.append(Target(lane, share.weight, share.cap, share.most))
        self._heir = stage.zoo.house(HEIR, TAKES)
        self.register()
        self.load = Load(daemon, stage.ledger, self.journal, self.targets, seed)

    def register(self) -> None:
        """Makes application and sessions known, or known again."""
        api = API(self.daemon)
        api.put_application(timeoutSeconds=TIMEOUT_SECONDS, retrySchedule=[int(each) for each in SCHEDULE])
        for lane, url in self._urls.items():
            api.put_session(lane, url)
        # Of two that are alike, the older one is preferred.
        api.put_session(HEIR, self._heir, content=f"{LEAVING}-0")
        api.close()

    def open_attempts(self) -> int:
        """How many attempts the receivers see under way, of the last ones that came."""
        return sum(attempt.ended_at is None for attempt in self.stage.ledger.attempts[-64:])

    def attempts_under_way(self, since: float) -> int:
        """How many attempts the receivers have seen that were not over at that time, of the last ones that came."""
        recent = self.stage.ledger.attempts[-1024:]
        return sum(attempt.ended_at is None or attempt.ended_at > since for attempt in recent)

    def settle(self) -> None:
        """Ends the load and gives everything the time to settle."""
        self.load.stop()
        settle(self.daemon, SETTLE_SECONDS)

    def history(self, disk_fails: bool = False) -> History:
        api = API(self.daemon)
        books = api.books(APPLICATION)
        api.close()
        # The daemon is still there, but idle: the ledger is complete.
        return History(
            self.journal.submissions, list(self.stage.ledger.attempts), self.daemon.lives, books,
            Promises(SCHEDULE, disk_fails=disk_fails), heirs={f"{LEAVING}-0": HEIR})


def balance(history: History, taken: set[str]) -> list[str]:
    """The conservation of notifications, counted by the receivers themselves: what the books call delivered is what
    the receivers have. That accepted = delivered + dead + waiting is a part of the verdict."""
    books = history.books
    delivered = {each.id for each in books.entries if each.state == "delivered"}
    keys = {identifier: each.key for each in history.submissions for identifier in each.ids}
    told = {keys[each] for each in delivered if each in keys}
    faults = []
    if never := told - taken:
        faults.append(f"{len(never)} are delivered by the books and no receiver has them, such as {min(never)}")
    # A notification whose attempt a kill cut off may be called back before its retry, although it has arrived.
    recalled = {keys[each.id] for each in books.entries if each.state == "cancelled" and each.id in keys}
    if more := taken - told - recalled:
        faults.append(f"{len(more)} are with a receiver and not delivered by the books, such as {min(more)}")
    unknown = {each.key for each in history.submissions if not each.ids}
    if unknown:
        faults.append(f"{len(unknown)} were never acknowledged, though they were sent again and again")
    return faults


