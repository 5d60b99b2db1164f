"""The history of a run, as clients, receivers and the fault schedule saw it. Values only; the verdict is made of nothing else.

All times are seconds of one monotonic clock: clients, receivers and faults live in one process.
"""

from dataclasses import dataclass, field
from enum import Enum


class Meaning(Enum):
    """The meaning of a receiver's answer."""

    TAKEN = "taken"
    FAILED = "failed"
    # The message is refused: tried three times in all.
    REJECTED = "rejected"
    # Back-pressure: to be tried again, but not before its time, and at no cost.
    LATER = "later"
    GONE = "gone"
    # The receiver cannot know what the sender made of it.
    UNCLEAR = "unclear"


@dataclass
class Submission:
    """A notification as its client knows it. The client repeats it under its key until it is acknowledged."""

    key: str
    lane: str
    submitted_at: float
    acked_at: float | None = None
    # Under which each acknowledgement came; two different ones are a fault.
    ids: list[str] = field(default_factory=list)
    # Whether its client has asked to call it back, whatever was answered; and when it was told that it is.
    is_recalled: bool = False
    cancelled_at: float | None = None


@dataclass
class Attempt:
    """A request that a receiver saw begin. Without a key it ended before the receiver had read it."""

    lane: str
    began_at: float
    # In which life of the daemon.
    life: int
    key: str | None = None
    webhook_id: str | None = None
    number: int | None = None
    # Whether the payload came byte for byte, and the signature fits.
    is_intact: bool = True
    is_signed: bool = True
    # Whether the connection had served another request before, and whether a single byte was answered: a request on a
    # kept connection that ends without one is sent again at once, as part of the same attempt.
    is_kept: bool = False
    has_answered: bool = False
    meaning: Meaning = Meaning.UNCLEAR
    retry_after: float | None = None
    # Right before the last byte of the answer was written, if it was.
    answered_at: float | None = None
    # When the exchange was over for the receiver.
    ended_at: float | None = None


@dataclass
class Life:
    """The daemon from one start to its end."""

    ready_at: float
    ended_at: float | None = None
    # SIGKILL or an equal end: outcomes that were not committed are forgotten.
    was_killed: bool = False


@dataclass
class Entry:
    """A notification in the daemon's own books."""

    id: str
    webhook_id: str
    lane: str | None
    state: str
    reason: str | None = None
    settled_at: float | None = None
    next_attempt_at: float | None = None


@dataclass
class Books:
    """The daemon's final account of itself."""

    looked_at: float
    accepted: int
    by_state: dict[str, int]
    unaccounted: int
    entries: list[Entry]


@dataclass
class Promises:
    """The daemon's settings, and how exactly they are checked."""

    # Waits after the first, second, … failure, in seconds.
    schedule: list[float]
    max_in_flight: int = 1
    # How much later than due an attempt may come on a machine that has other things to do.
    slack: float = 10.0
    # Clocks are read at both ends, and the daemon counts in milliseconds.
    tolerance: float = 0.02
    # How long after the answer an outcome may be uncommitted when the daemon is killed.
    commit_grace: float = 5.0
    # The disk failed on purpose: outcomes may stay uncommitted for as long as a life lasts.
    disk_fails: bool = False
    # How many attempts may run at once, in all and at endpoints that are slow; None if no attempt waits for that.
    slots: int | None = None
    slow_slots: int | None = None


@dataclass
class History:
    """All of it."""

    submissions: list[Submission]
    attempts: list[Attempt]
    lives: list[Life]
    books: Books
    promises: Promises
    # Lanes whose receivers do not see all attempts, such as one without a listener.
    opaque: set[str] = field(default_factory=set)
    # Lanes in which something may still wait at the end, for its time has not come.
    patient: set[str] = field(default_factory=set)
    # Where else a lane's notifications may go when its receiver says that it is gone.
    heirs: dict[str, str] = field(default_factory=dict)
