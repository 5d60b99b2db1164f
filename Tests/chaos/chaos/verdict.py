"""The verdict on a history: nine kinds of findings, all of which have to be none. Pure.

    lost             acknowledged, but not in the books; delivered by the books, but never taken by a receiver; or given
                     up by the books, and neither its receiver nor its client has asked for that
    duplicate        taken, and sent again though no kill explains it; one key acknowledged or sent under two ids
    overlapped       two attempts of one notification at a time, or more in a lane than it may have
    early            tried again before the schedule or the receiver allowed it
    late             not tried when it was due
    disorder         a lane's notifications out of the order in which they were accepted
    after-settlement tried after its end
    stuck            not settled at the end, and nothing that it waits for
    unaccounted      the books do not balance; something arrived that was not sent, elsewhere, altered or unsigned
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chaos.history import Attempt, Books, Entry, History, Meaning, Submission
from chaos.slots import Slots

SETTLED = {"delivered", "expired", "deadLettered", "superseded", "cancelled"}
# How often a receiver refuses a message before that is believed.
REJECTIONS = 3
# The daemon's wait when a receiver asks to be left alone and does not say for how long.
GATE_SECONDS = 5.0
LONGEST_GATE_SECONDS = 24 * 60 * 60.0
# Up to that share of a wait is added at random.
JITTER = 0.2
# When a breaker opens, and for how long.
BREAKER_ROW, BREAKER_WINDOW, BREAKER_LEAST, BREAKER_RAMP = 5, 32, 20, 64
BREAKER_SECONDS, BREAKER_LONGEST_SECONDS = 5.0, 600.0


@dataclass(frozen=True)
class Finding:
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


def judge(history: History) -> list[Finding]:
    """All that is wrong with the history; nothing, if nothing is."""
    reading = Reading(history)
    return [Finding(kind, what) for kind, find in KINDS.items() for what in find(reading)]


class Reading:
    """The history, sorted as the questions need it."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.promises = history.promises
        self.attempts = sorted(history.attempts, key=lambda attempt: attempt.began_at)
        self.by_key: dict[str, list[Attempt]] = defaultdict(list)
        self.by_lane: dict[str, list[Attempt]] = defaultdict(list)
        for attempt in self.attempts:
            self.by_lane[attempt.lane].append(attempt)
            if attempt.key is not None:
                self.by_key[attempt.key].append(attempt)
        self.last = {(attempt.life, attempt.lane): attempt for attempt in self.attempts}
        self.submissions: dict[str, Submission] = {each.key: each for each in history.submissions}
        self.entries: dict[str, Entry] = {each.id: each for each in history.books.entries}

    def end(self, attempt: Attempt) -> float:
        """When it was over at the latest: no attempt outlives the process that makes it."""
        life = self.history.lives[attempt.life]
        ends = [attempt.answered_at or attempt.ended_at, life.ended_at]
        return min((each for each in ends if each is not None), default=float("inf"))

    def may_be_forgotten(self, attempt: Attempt) -> bool:
        """Whether the outcome may have been uncommitted when the daemon's life ended. An outcome that another attempt
        in its lane follows was committed: a lane goes on only then."""
        life = self.history.lives[attempt.life]
        is_last = self.last[attempt.life, attempt.lane] is attempt
        if life.ended_at is None or not (is_last or self.promises.max_in_flight > 1):
            return False
        if self.promises.disk_fails:
            return True
        return life.was_killed and self.end(attempt) >= life.ended_at - self.promises.commit_grace

    def entry(self, submission: Submission) -> Entry | None:
        return self.entries.get(submission.ids[0]) if submission.ids else None

    def repeats(self) -> Iterator[tuple[Attempt, Attempt]]:
        """Each two attempts of a notification that follow one another."""
        for attempts in self.by_key.values():
            yield from zip(attempts, attempts[1:])


def lost(reading: Reading) -> Iterator[str]:
    for submission in reading.history.submissions:
        if not submission.ids:
            continue
        entry = reading.entry(submission)
        if entry is None:
            yield f"{submission.key} was acknowledged as {submission.ids[0]}, which the daemon does not know"
            continue
        seen = {attempt.meaning for attempt in reading.by_key[submission.key]}
        if entry.state == "delivered" and not seen & {Meaning.TAKEN, Meaning.UNCLEAR}:
            yield f"{submission.key} is delivered by the books, but no receiver has taken it"
        if entry.state == "cancelled" and not submission.is_recalled:
            yield f"{submission.key} is cancelled by the books, but no client has called it back"
        if entry.state in ("expired", "superseded"):
            yield f"{submission.key} is {entry.state} by the books, but no client here says until when its notification counts"
        if entry.state == "deadLettered" and not may_be_given_up(reading, submission):
            yield f"{submission.key} is dead-lettered ({entry.reason}), but its receiver has not refused it"


def may_be_given_up(reading: Reading, submission: Submission) -> bool:
    """Whether its receiver has refused it, or failed as often as the schedule allows, or does not see its attempts."""
    if submission.lane in reading.history.opaque:
        return True
    seen = Counter(attempt.meaning for attempt in reading.by_key[submission.key])
    failures = seen[Meaning.FAILED] + seen[Meaning.REJECTED] + seen[Meaning.UNCLEAR]
    return seen[Meaning.REJECTED] >= REJECTIONS or seen[Meaning.GONE] > 0 or failures > len(reading.promises.schedule)


def duplicate(reading: Reading) -> Iterator[str]:
    for submission in reading.history.submissions:
        if len(set(submission.ids)) > 1:
            yield f"{submission.key} was acknowledged as {' and '.join(sorted(set(submission.ids)))}"
    for key, attempts in reading.by_key.items():
        if len({attempt.webhook_id for attempt in attempts}) > 1:
            yield f"{key} arrived under more than one webhook-id"
    explained: dict[tuple[int, str], int] = defaultdict(int)
    for first, again in reading.repeats():
        if first.meaning is not Meaning.TAKEN:
            continue
        if again.life == first.life or not reading.may_be_forgotten(first):
            yield f"{first.key} was taken {again.began_at - reading.end(first):.3f} s before it was sent again"
            continue
        explained[first.life, first.lane] += 1
        if explained[first.life, first.lane] > reading.promises.max_in_flight:
            yield f"{first.key} is one repetition too many for what {first.lane} had in flight at a kill"


def repetitions_after_kills(history: History) -> int:
    """How often something taken was sent again by another life of the daemon."""
    return sum(
        first.meaning is Meaning.TAKEN and again.life != first.life for first, again in Reading(history).repeats())


def overlapped(reading: Reading) -> Iterator[str]:
    for first, again in reading.repeats():
        if again.began_at < reading.end(first):
            yield f"{first.key}: two attempts at once, {reading.end(first) - again.began_at:.3f} s long"
    for lane, attempts in reading.by_lane.items():
        ends: list[float] = []
        for attempt in attempts:
            while ends and ends[0] <= attempt.began_at:
                heapq.heappop(ends)
            if len(ends) >= reading.promises.max_in_flight:
                yield f"{lane} had more than {reading.promises.max_in_flight} in flight when {attempt.key} began"
            heapq.heappush(ends, reading.end(attempt))


def is_repeated_by_transport(first: Attempt, again: Attempt) -> bool:
    """Whether it is one attempt, made anew because a kept connection had ended before anything was answered."""
    return (first.is_kept and not first.has_answered and first.life == again.life
            and first.number is not None and first.number == again.number)


def waits(reading: Reading) -> Iterator[tuple[Attempt, Attempt, float, float]]:
    """Two attempts in a row with the least and the longest wait between them."""
    schedule = reading.promises.schedule
    for attempts in reading.by_key.values():
        failures, is_sure = 0, True
        for first, again in zip(attempts, attempts[1:]):
            if first.meaning in (Meaning.TAKEN, Meaning.GONE) or first.lane in reading.history.opaque:
                break
            if is_repeated_by_transport(first, again):
                yield first, again, 0.0, 0.0
                continue
            if first.life != again.life and reading.may_be_forgotten(first):
                # It may have left no record, and is then made again at once; which step comes next is unknown.
                is_sure = False
                yield first, again, 0.0, max(schedule, default=0.0)
                continue
            gate = min(first.retry_after or 0.0, LONGEST_GATE_SECONDS)
            if first.meaning is Meaning.LATER:
                wait = gate or GATE_SECONDS
                yield first, again, wait, wait
                continue
            failures += 1
            step = schedule[min(failures, len(schedule)) - 1] if schedule else 0.0
            least, longest = (step, step) if is_sure else (min(schedule, default=0.0), max(schedule, default=0.0))
            yield first, again, max(least, gate), max(longest, gate)


def early(reading: Reading) -> Iterator[str]:
    for first, again, least, _ in waits(reading):
        # Without an answer, the daemon may have given up at any time since it began.
        waited = again.began_at - min(first.answered_at or first.began_at, reading.end(first))
        if waited < least - reading.promises.tolerance:
            yield f"{first.key} was tried again after {waited:.3f} s; {least:g} s at least were due"


def respites(attempts: list[Attempt]) -> Iterator[float]:
    """For how long the endpoint may have been left alone before each attempt of a lane, because those before it failed.

    A breaker opens after five failures in a row, or when half of the last 32 attempts failed, and waits twice as long
    each time; until it has recovered, one failure is enough."""
    recent: list[bool] = []
    life, row, openings, answers, is_open = -1, 0, 0, 0, False
    for attempt in attempts:
        if attempt.life != life:
            # A new process knows nothing of it.
            life, row, openings, is_open, recent = attempt.life, 0, 0, False, []
        yield breaker_wait(openings) if is_open else 0.0
        # Doubtful cases count for the daemon.
        has_failed = attempt.meaning in (Meaning.FAILED, Meaning.UNCLEAR)
        recent = (recent + [has_failed])[-BREAKER_WINDOW:]
        if has_failed:
            row += 1
            is_too_much = len(recent) >= BREAKER_LEAST and sum(recent) * 2 >= len(recent)
            if openings or row >= BREAKER_ROW or is_too_much:
                openings, is_open = openings + 1, True
            continue
        row = 0
        if is_open:
            is_open, answers, recent = False, 0, []
        answers += 1
        if answers > BREAKER_RAMP:
            openings = 0


def breaker_wait(openings: int) -> float:
    return float(min(BREAKER_LONGEST_SECONDS, BREAKER_SECONDS * 2 ** min(openings - 1, 20)) * (1 + JITTER))


def late(reading: Reading) -> Iterator[str]:
    slack = reading.promises.slack
    slots = Slots(reading.promises, reading.attempts, reading.by_lane, reading.end)

    def is_late(attempt: Attempt, due: float) -> bool:
        waited = attempt.began_at - due
        return waited > slack and waited - slots.withheld(attempt, due) > slack

    respite = {
        id(attempt): wait for attempts in reading.by_lane.values() for attempt, wait in zip(attempts, respites(attempts))}
    for first, again, _, longest in waits(reading):
        wait = max(longest * (1 + JITTER), respite[id(again)])
        due = max(reading.end(first) + wait, reading.history.lives[again.life].ready_at)
        if is_late(again, due):
            yield f"{first.key} was tried again {again.began_at - due:.1f} s after it was due"
    for lane, attempts in reading.by_lane.items():
        if lane in reading.history.opaque:
            continue
        seen: set[str | None] = set()
        free_at = 0.0
        for attempt in attempts:
            submission = reading.submissions.get(attempt.key or "")
            if attempt.key not in seen and submission is not None and submission.acked_at is not None:
                due = max(submission.acked_at, free_at + respite[id(attempt)], reading.history.lives[attempt.life].ready_at)
                if submission.lane == lane and is_late(attempt, due):
                    yield f"{attempt.key} was first tried {attempt.began_at - due:.1f} s after its turn had come"
            seen.add(attempt.key)
            free_at = max(free_at, reading.end(attempt))


def disorder(reading: Reading) -> Iterator[str]:
    """Notifications acknowledged before another one was first sent come first in their lane: every attempt of
    the earlier one is before every attempt of the later one."""
    lanes: dict[str, list[Submission]] = defaultdict(list)
    for submission in reading.history.submissions:
        lanes[submission.lane].append(submission)
    for lane, submissions in lanes.items():
        if reading.promises.max_in_flight > 1 or lane in reading.history.heirs:
            continue
        acked = sorted((each for each in submissions if each.acked_at is not None), key=lambda each: each.acked_at or 0)
        place, latest, of = 0, float("-inf"), ""
        for submission in sorted(submissions, key=lambda each: each.submitted_at):
            while place < len(acked) and (acked[place].acked_at or 0) < submission.submitted_at:
                if attempts := reading.by_key[acked[place].key]:
                    latest, of = max((latest, of), (attempts[-1].began_at, acked[place].key))
                place += 1
            mine = reading.by_key[submission.key]
            if mine and mine[0].began_at < latest:
                yield f"{lane}: {submission.key} came before an attempt of {of}, which was accepted earlier"


def after_settlement(reading: Reading) -> Iterator[str]:
    for submission in reading.history.submissions:
        entry = reading.entry(submission)
        ends = [submission.cancelled_at, entry.settled_at if entry else None]
        end = min((each for each in ends if each is not None), default=None)
        attempts = reading.by_key[submission.key]
        if end is not None and attempts and attempts[-1].began_at > end + reading.promises.tolerance:
            yield f"{submission.key} was tried {attempts[-1].began_at - end:.3f} s after its end"


def stuck(reading: Reading) -> Iterator[str]:
    books = reading.history.books
    # A notification behind the first one of its lane waits as long as that.
    heads: dict[str | None, float] = defaultdict(float)
    for entry in books.entries:
        heads[entry.lane] = max(heads[entry.lane], entry.next_attempt_at or 0.0)
    for entry in books.entries:
        if entry.state in SETTLED:
            continue
        overdue = heads[entry.lane] < books.looked_at - reading.promises.slack
        if entry.lane not in reading.history.patient or overdue:
            yield f"{entry.id} in {entry.lane} is {entry.state}, and nothing stands in its way"


def unaccounted(reading: Reading) -> Iterator[str]:
    yield from unbalanced(reading.history.books)
    known = {identifier for each in reading.history.submissions for identifier in each.ids}
    strangers = [entry.id for entry in reading.history.books.entries if entry.id not in known]
    unanswered = sum(not each.ids for each in reading.history.submissions)
    if len(strangers) > unanswered:
        yield f"the books have {len(strangers)} that no client was told of, and {unanswered} went unanswered"
    webhook_ids = {entry.webhook_id for entry in reading.history.books.entries}
    for attempt in reading.attempts:
        if attempt.key is None:
            continue
        submission = reading.submissions.get(attempt.key)
        if submission is None or attempt.webhook_id not in webhook_ids:
            yield f"{attempt.key} arrived at {attempt.lane}, without a submission"
        elif attempt.lane not in (submission.lane, reading.history.heirs.get(submission.lane)):
            yield f"{attempt.key} arrived at {attempt.lane}, but is for {submission.lane}"
        if not attempt.is_intact:
            yield f"{attempt.key} arrived at {attempt.lane} with another payload"
        if not attempt.is_signed:
            yield f"{attempt.key} arrived at {attempt.lane} without a valid signature"


def unbalanced(books: Books) -> Iterator[str]:
    total = sum(books.by_state.values())
    if books.accepted != total or books.unaccounted != 0:
        yield f"{books.accepted} accepted, {total} in some state, {books.unaccounted} unaccounted by its own word"
    if len(books.entries) != books.accepted or len({entry.id for entry in books.entries}) != len(books.entries):
        yield f"{books.accepted} accepted, {len(books.entries)} listed"


KINDS: dict[str, Callable[[Reading], Iterator[str]]] = {
    "lost": lost,
    "duplicate": duplicate,
    "overlapped": overlapped,
    "early": early,
    "late": late,
    "disorder": disorder,
    "after-settlement": after_settlement,
    "stuck": stuck,
    "unaccounted": unaccounted,
}
