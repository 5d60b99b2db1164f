"""An endpoint's behaviour and its required outcome: the words in which the zoo's tables are written."""

import asyncio
import ssl
from dataclasses import dataclass
from enum import Enum

from chaos.history import Meaning
from chaos.http1 import Exchange, answer
from chaos.zoo import Act


@dataclass(frozen=True)
class Expected:
    """The state that the daemon must report in the end. None: any value."""

    state: str
    reason: str | None = None
    attempts: int | None = None
    # Of the first attempt: the status, or the kind of error.
    status: int | None = None
    error: str | None = None
    # How long the notification still has to wait at the end, at least.
    waits: float | None = None

    def __str__(self) -> str:
        first = self.status or self.error
        parts = [self.state, self.reason, self.attempts and f"in {self.attempts}", first and f"{first} at first"]
        return ", ".join(str(part) for part in parts if part)


class Place(Enum):
    """Where a behaviour lives."""

    PLAIN = "plain"
    # The act sees the connection before any request is read.
    CONNECTION = "connection"
    # No listener accepts connections there.
    UNHEARD = "no listener"
    # The listener's queue is full.
    FULL = "full"
    # A name that no resolver would ever be asked for.
    NO_NAME = "no name"


@dataclass(frozen=True)
class Behaviour:
    name: str
    does: str
    act: Act
    expected: Expected
    place: Place = Place.PLAIN
    # The name of a certificate: the endpoint is https.
    certificate: str | None = None
    # The scheme of the URL, where the endpoint speaks another.
    scheme: str | None = None
    # Whether the daemon runs into its time limit, so that the limit should be short.
    is_slow: bool = False
    # Whether the daemon is known not to deal with it yet; docs/CHAOS.md says why.
    is_open: bool = False


def delivered(status: int) -> Expected:
    return Expected("delivered", attempts=1, status=status)


def retried(status: int) -> Expected:
    """The second attempt is taken; the first one got this status."""
    return Expected("delivered", attempts=2, status=status)


def exhausted(status: int | None = None, error: str | None = None) -> Expected:
    """One attempt and three repetitions: the schedule of the zoo."""
    return Expected("deadLettered", "retries-exhausted", 4, status, error)


def inherited(status: int | None = None, error: str | None = None) -> Expected:
    """The same, and then another session takes it."""
    return Expected("delivered", None, 5, status, error)


def rejected(status: int) -> Expected:
    return Expected("deadLettered", "rejected-by-receiver", 3, status)


# Acts


def says(data: bytes, meaning: Meaning = Meaning.TAKEN, retry_after: float | None = None, closes: bool = False) -> Act:
    """Answers with these bytes and keeps the connection, or closes it."""

    async def act(exchange: Exchange) -> Meaning:
        exchange.attempt.retry_after = retry_after
        await exchange.finish(data)
        if closes:
            exchange.close()
        return meaning

    return act


def takes(*fields: str, status: int = 204, body: bytes = b"") -> Act:
    return says(answer(status, *fields, body=body))


def fails(status: int | str, *fields: str, retry_after: float | None = None) -> Act:
    return says(answer(status, *fields), Meaning.FAILED, retry_after)


def begins(data: bytes, closes: bool = True) -> Act:
    """A part of an answer, then the end of the connection, or silence."""

    async def act(exchange: Exchange) -> Meaning:
        await exchange.send(data)
        if closes:
            exchange.close()
        else:
            await exchange.hang()
        return Meaning.FAILED

    return act


def resets(after: bytes = b"") -> Act:
    async def act(exchange: Exchange) -> Meaning:
        await exchange.send(after)
        if after:
            # The bytes have to arrive before the reset overtakes them.
            await asyncio.sleep(0.05)
        exchange.reset()
        return Meaning.FAILED

    return act


async def hangs(exchange: Exchange) -> Meaning:
    await exchange.hang()
    return Meaning.FAILED


def after(seconds: float, act: Act) -> Act:
    """The same, but later."""

    async def later(exchange: Exchange) -> Meaning:
        if await exchange.is_left(seconds):
            exchange.goes_on = False
            return Meaning.FAILED
        return await act(exchange)

    return later


def first(act: Act, then: Act) -> Act:
    """One thing for the first attempt of a notification, another for those that follow."""

    async def choose(exchange: Exchange) -> Meaning:
        return await (act if exchange.seen == 0 else then)(exchange)

    return choose


def drips(data: bytes, pause: float, meaning: Meaning) -> Act:
    async def act(exchange: Exchange) -> Meaning:
        await exchange.drip(data, pause)
        exchange.close()
        return meaning

    return act


def pours(head: bytes, more: bytes, meaning: Meaning, limit: int = 64 << 20) -> Act:
    """Sends without end, until the other side has had enough."""

    async def act(exchange: Exchange) -> Meaning:
        exchange.close()
        sent = 0
        try:
            await exchange.finish(head)
            while sent < limit:
                await exchange.send(more)
                sent += len(more)
        except (OSError, ssl.SSLError):
            return meaning
        await exchange.hang()
        return Meaning.UNCLEAR

    return act


TAKES = takes()
