"""Waiting: always for something that can be looked at, never longer than allowed, and never deaf to Ctrl-C."""

import signal
import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


class Failure(Exception):
    """The demo cannot go on."""


class Patience:
    """The time that the whole demo has."""

    POLL_SECONDS = 0.005

    def __init__(self, seconds: float) -> None:
        self.ends = time.monotonic() + seconds
        self.seconds = seconds
        self.interrupted = False

    def listen_for_signals(self) -> None:
        """A signal is only noted, and the next wait ends the demo: so no child process is ever half started when the
        demo has to stop, and all of them are known to the one place that ends them."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.interrupted = True

    def until(self, look: Callable[[], Seen | None], what: str, seconds: float = 20) -> Seen:
        """Looks again and again until there is something to see (anything true), and returns it."""
        ends = time.monotonic() + seconds
        while True:
            if self.interrupted:
                raise Failure("interrupted")
            if seen := look():
                return seen
            now = time.monotonic()
            if now > self.ends:
                raise Failure(f"the demo took more than {self.seconds:.0f} s, waiting until {what}")
            if now > ends:
                raise Failure(f"waited {seconds:.0f} s in vain until {what}")
            time.sleep(self.POLL_SECONDS)
