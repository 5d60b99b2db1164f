"""Endpoints that are odd below HTTP: in TCP, TLS and names."""

import asyncio

from chaos.behaviours import (
    TAKES, Behaviour, Place, after, begins, delivered, exhausted, hangs, inherited, resets, says, takes)
from chaos.history import Meaning
from chaos.http1 import Exchange, answer
from chaos.zoo import Act

# A label of a name may have 63 bytes. No resolver sends a longer one anywhere: the look-up fails on this machine.
IMPOSSIBLE_NAME = "a" * 64 + ".invalid"
ALERT = bytes([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])


def table(trap: str) -> list[Behaviour]:
    return bare() + unreachable() + encrypted(trap)


def reads_then(act: Act) -> Act:
    """Takes in what the other side says first, of any kind."""

    async def reading(exchange: Exchange) -> Meaning:
        await exchange.reader.read(65536)
        return await act(exchange)

    return reading


async def closes(exchange: Exchange) -> Meaning:
    exchange.close()
    return Meaning.FAILED


async def leaves_open(exchange: Exchange) -> Meaning:
    """Ends TLS by the end of the connection alone, without saying so."""
    await exchange.finish(answer(200, body=b"bye"))
    await asyncio.sleep(0.05)
    exchange.goes_on = False
    exchange.writer.transport.abort()
    return Meaning.TAKEN


def bare() -> list[Behaviour]:
    """Behaviours before a request is read."""
    lost = exhausted(error="connection-lost")
    return [
        Behaviour("reset-at-once", "accepts and resets", resets(), exhausted(), Place.CONNECTION),
        Behaviour("close-at-once", "accepts and closes", closes, lost, Place.CONNECTION),
        Behaviour("hang-at-once", "accepts and reads nothing", hangs, exhausted(error="timed-out"), Place.CONNECTION,
                  is_slow=True),
        Behaviour("answer-at-once", "refuses before it has read anything",
                  begins(answer(503, "Connection: close")), exhausted(), Place.CONNECTION),
    ]


def unreachable() -> list[Behaviour]:
    """Addresses without a listener."""
    return [
        Behaviour("refused", "has no listener", hangs, exhausted(error="connect-failed"), Place.UNHEARD),
        Behaviour("backlog", "never accepts, and its queue is full", hangs, exhausted(error="connect-failed"),
                  Place.FULL, is_slow=True),
        Behaviour("backlog-inherited", "the same, and another session may have it", hangs,
                  inherited(error="connect-failed"), Place.FULL, is_slow=True),
        Behaviour("hang-inherited", "accepts and reads nothing, and another session might have it", hangs,
                  exhausted(error="timed-out"), Place.CONNECTION, is_slow=True),
        Behaviour("no-name", "has a name that is not found", hangs, exhausted(error="name-not-resolved"),
                  Place.NO_NAME),
    ]


def encrypted(trap: str) -> list[Behaviour]:
    refused = exhausted(error="tls-failed")
    return [
        Behaviour("tls", "shows a good certificate", TAKES, delivered(204), certificate="good"),
        Behaviour("tls-slow", "takes it after half a second, over TLS", after(0.5, TAKES), delivered(204),
                  certificate="good"),
        Behaviour("tls-close", "answers over TLS and closes",
                  says(answer(200, "Connection: close", body=b"x"), closes=True),
                  delivered(200), certificate="good"),
        Behaviour("tls-abort", "answers over TLS and does not say goodbye", leaves_open, delivered(200),
                  certificate="good"),
        Behaviour("tls-reset", "resets over TLS", resets(), exhausted(error="connection-lost"), certificate="good"),
        Behaviour("tls-redirect", "sends from TLS to no TLS",
                  says(answer(301, f"Location: {trap}"), Meaning.FAILED), exhausted(301), certificate="good"),
        Behaviour("tls-self-signed", "shows a certificate of its own", TAKES, refused, certificate="self-signed"),
        Behaviour("tls-expired", "shows a certificate of yesterday", TAKES, refused, certificate="expired"),
        Behaviour("tls-wrong-name", "shows the certificate of another", TAKES, refused, certificate="wrong-name"),
        Behaviour("tls-client", "wants a certificate of the daemon's", TAKES, exhausted(), certificate="client"),
        Behaviour("tls-not", "speaks no TLS where TLS is expected", reads_then(begins(answer(200))), refused,
                  Place.CONNECTION, scheme="https"),
        Behaviour("tls-alert", "refuses the handshake", reads_then(begins(ALERT)), refused, Place.CONNECTION,
                  scheme="https"),
        Behaviour("tls-handshake-reset", "resets in the midst of the handshake", reads_then(resets()), exhausted(),
                  Place.CONNECTION, scheme="https"),
        Behaviour("tls-handshake-close", "closes in the midst of the handshake", reads_then(closes), exhausted(),
                  Place.CONNECTION, scheme="https"),
        Behaviour("tls-handshake-hang", "never ends the handshake", reads_then(hangs), exhausted(error="connect-failed"),
                  Place.CONNECTION, scheme="https", is_slow=True),
        Behaviour("tls-unasked", "speaks TLS where none is expected", takes(), exhausted(), certificate="good",
                  scheme="http"),
    ]
