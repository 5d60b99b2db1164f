"""Waiting, limited in time and open to Ctrl-C, for conditions and for the reader of the demo."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


class Failure(Exception):
    """A reason why the demo cannot go on."""


class Interrupted(Exception):
    """A signal such as Ctrl-C asks the demo to end."""


class Patience:
    """The time limit of the whole demo."""

    POLL_SECONDS = 0.005
    # How long a pause lasts where standard input is no terminal.
    PAUSE_SECONDS = 5.0

    def __init__(self, seconds: float) -> None:
        self.ends = time.monotonic() + seconds
        self.seconds = seconds
        self.paused = 0.0
        self.interrupted = False

    def listen_for_signals(self) -> None:
        """Makes signals set a flag that the next wait looks at.

        So no child process is half started when the demo has to stop, and one place knows and ends all of them.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.interrupted = True

    def until(self, look: Callable[[], Seen | None], condition: str, seconds: float = 20) -> Seen:
        """Polls `look` until it returns a true value, and returns that."""
        ends = time.monotonic() + seconds
        while True:
            if self.interrupted:
                raise Interrupted
            if seen := look():
                return seen
            now = time.monotonic()
            if now > self.ends:
                raise Failure(f"the demo took more than {self.seconds:.0f} s, waiting until {condition}")
            if now > ends:
                raise Failure(f"waited {seconds:.0f} s in vain until {condition}")
            time.sleep(self.POLL_SECONDS)

    def pause(self, prompt: Callable[[str], None]) -> None:
        """Gives the reader time: until Enter at a terminal, otherwise for some seconds.

        A pause does not count against the time limit of the demo.
        """
        at_terminal = sys.stdin is not None and sys.stdin.isatty()
        prompt("Enter: next scene" if at_terminal else f"next scene in {self.PAUSE_SECONDS:.0f} s")
        began = time.monotonic()
        while at_terminal or time.monotonic() < began + self.PAUSE_SECONDS:
            if self.interrupted:
                raise Interrupted
            if not at_terminal:
                time.sleep(0.1)
            elif select.select([sys.stdin], [], [], 0.1)[0]:
                os.read(sys.stdin.fileno(), 4096)  # A terminal hands out a line at a time.
                break
        spent = time.monotonic() - began
        self.paused += spent
        self.ends += spent
