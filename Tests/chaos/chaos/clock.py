"""The one clock of a history, and waiting for something that can be looked at."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

Seen = TypeVar("Seen")

POLL_SECONDS = 0.01


class Failure(Exception):
    """The scenario cannot go on."""


class Skipped(Exception):
    """The machine does not allow this scenario; the text names the missing part."""


def now() -> float:
    return time.monotonic()


def of_daemon(text: str | None) -> float | None:
    """A time of the daemon's, RFC 3339, on our clock."""
    if text is None:
        return None
    return datetime.fromisoformat(text).timestamp() - time.time() + time.monotonic()


def wait_until(look: Callable[[], Seen | None], what: str, seconds: float) -> Seen:
    """Looks again and again until there is something to see (anything true), and returns it."""
    ends = now() + seconds
    while True:
        if seen := look():
            return seen
        if now() > ends:
            raise Failure(f"waited {seconds:.0f} s in vain until {what}")
        time.sleep(POLL_SECONDS)
