"""Endpoints that answer as HTTP has it, with every kind of status."""

import time
from email.utils import formatdate

from chaos.behaviours import (
    TAKES, Behaviour, Expected, after, begins, delivered, exhausted, fails, first, rejected, retried, says, takes)
from chaos.history import Meaning
from chaos.http1 import Exchange, answer
from chaos.zoo import Act

DAY = 24 * 60 * 60.0
TAKEN = (200, 201, 202, 203, 204, 205, 206, 226, 299)
REDIRECTS = (300, 301, 302, 303, 304, 305, 307, 308)
REFUSALS = (400, 402, 404, 405, 406, 407, 409, 411, 412, 413, 414, 415, 418, 422, 423, 428, 431, 451, 499)
FAILURES = (401, 403, 421, 500, 501, 502, 503, 504, 507, 511, 599, 600, 999)


def redirects(status: int, trap: str) -> Act:
    return fails(status, f"Location: {trap}")


def puts_off(status: int, retry_after: str | None, seconds: float) -> Act:
    """Back-pressure for the first attempt; the next one is taken."""
    fields = [] if retry_after is None else [f"Retry-After: {retry_after}"]
    return first(says(answer(status, *fields), Meaning.LATER, seconds), TAKES)


def dated(offset: float, seconds: float, status: int = 429) -> Act:
    """`Retry-After` as a date so many seconds from now."""

    async def act(exchange: Exchange) -> Meaning:
        if exchange.seen > 0:
            return await TAKES(exchange)
        exchange.attempt.retry_after = seconds
        await exchange.finish(answer(status, f"Retry-After: {http_date(offset)}"))
        return Meaning.LATER

    return act


def http_date(offset: float) -> str:
    return formatdate(time.time() + offset, usegmt=True)


def table(trap: str) -> list[Behaviour]:
    """All of them; no request may reach `trap`."""
    found = [Behaviour(f"status-{each}", f"answers {each}", takes(status=each), delivered(each)) for each in TAKEN]
    found += [
        Behaviour(f"status-{each}", f"answers {each} with a Location", redirects(each, trap), exhausted(each))
        for each in REDIRECTS]
    found += [
        Behaviour(f"status-{each}", f"answers {each}", says(answer(each), Meaning.REJECTED), rejected(each))
        for each in REFUSALS]
    found += [Behaviour(f"status-{each}", f"answers {each}", fails(each), exhausted(each)) for each in FAILURES]
    return found + back_pressure() + interim() + habits(trap)


def back_pressure() -> list[Behaviour]:
    """No `Retry-After`, or none that means something, is 5 s; a wait that it asks for is kept, up to a day."""
    cases: list[tuple[str, int, str | None, float]] = [
        ("408", 408, None, 5), ("425", 425, None, 5), ("429", 429, None, 5),
        ("429-seconds", 429, "2", 2), ("408-seconds", 408, "1", 1), ("425-seconds", 425, "1", 1),
        ("429-zero", 429, "0", 5), ("429-garbage", 429, "soon, I hope", 5), ("429-negative", 429, "-3", 5),
        ("429-fraction", 429, "1.5", 5), ("429-empty", 429, "", 5),
    ]
    found = [
        Behaviour(f"put-off-{name}", f"answers {status} first, Retry-After {value!r}", puts_off(status, value, seconds),
                  retried(status))
        for name, status, value, seconds in cases]
    huge = "99999999999999999999"
    found += [
        Behaviour("put-off-429-date", "answers 429 first, Retry-After a date in 3 s", dated(3, 2), retried(429)),
        Behaviour("put-off-429-past", "answers 429 first, Retry-After a date gone by", dated(-60, 5), retried(429)),
        Behaviour("put-off-429-huge", "answers 429, Retry-After for ages: a day it is",
                  says(answer(429, f"Retry-After: {huge}"), Meaning.LATER, DAY),
                  Expected("waiting", attempts=1, status=429, waits=DAY - 60)),
        Behaviour("failed-503-seconds", "answers 503 first, Retry-After 3",
                  first(fails(503, "Retry-After: 3", retry_after=3), TAKES), retried(503)),
        Behaviour("failed-503-zero", "answers 503 first, Retry-After 0", first(fails(503, "Retry-After: 0"), TAKES),
                  retried(503)),
        Behaviour("failed-503-day", "answers 503, Retry-After two days: a day it is",
                  says(answer(503, "Retry-After: 172800"), Meaning.FAILED, DAY),
                  Expected("waiting", attempts=1, status=503, waits=DAY - 60)),
        Behaviour("failed-500-seconds", "answers 500 first, Retry-After 2",
                  first(fails(500, "Retry-After: 2", retry_after=2), TAKES), retried(500)),
    ]
    return found


def interim() -> list[Behaviour]:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    go_on = b"HTTP/1.1 100 Continue\r\n\r\n"
    switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
    return [
        Behaviour("interim-100", "sends 100 without a request for it, then 204", says(go_on + answer(204)),
                  delivered(204)),
        Behaviour("interim-103", "sends early hints, then 200", says(hints + answer(200)), delivered(200)),
        Behaviour("interim-many", "sends fifty interim answers, then 204", says(hints * 50 + answer(204)),
                  delivered(204)),
        Behaviour("interim-endless", "sends interim answers only", says(hints * 4000, Meaning.FAILED, closes=True),
                  exhausted(error="garbled-response")),
        Behaviour("interim-101", "switches protocols unasked", says(switched, Meaning.FAILED, closes=True),
                  exhausted(101)),
        Behaviour("interim-101-open", "the same, and says nothing more", begins(switched, closes=False),
                  exhausted(101)),
    ]


def habits(trap: str) -> list[Behaviour]:
    """Answers that say more than their status."""
    json_type = "Content-Type: application/json"
    elsewhere = f'Alt-Svc: h2="{trap.removeprefix("http://").split("/")[0]}"; ma=3600'
    return [
        Behaviour("delay", "takes it after half a second", after(0.5, TAKES), delivered(204)),
        Behaviour("flapping", "fails each notification once, then takes it", first(fails(503), TAKES), retried(503)),
        Behaviour("flapping-refusal", "refuses each notification once, then takes it",
                  first(says(answer(400), Meaning.REJECTED), TAKES), retried(400)),
        Behaviour("json", "answers JSON", takes(json_type, status=200, body=b'{"ok": true}'), delivered(200)),
        Behaviour("json-bad", "calls something JSON that is none", takes(json_type, status=200, body=b'{"ok": tr'),
                  delivered(200)),
        Behaviour("json-session", "answers a change to its session that is not allowed",
                  takes(json_type, status=200, body=b'{"session": {"activationState": "impossible"}}'), delivered(200)),
        Behaviour("bytes", "answers bytes that are no text", takes(status=200, body=bytes(range(256))), delivered(200)),
        Behaviour("alt-svc", "offers another place for the next time", takes(elsewhere), delivered(204)),
        Behaviour("refresh", "asks to go elsewhere by Refresh", takes(f"Refresh: 0; url={trap}"), delivered(204)),
        Behaviour("content-location", "takes it, with a Location", takes(f"Location: {trap}", status=201),
                  delivered(201)),
        Behaviour("cookies", "sets a hundred cookies", takes(*(f"Set-Cookie: c{n}=1" for n in range(100))),
                  delivered(204)),
        Behaviour("authenticate", "wants another kind of authentication",
                  fails(401, "WWW-Authenticate: Negotiate, NTLM", 'WWW-Authenticate: Basic realm="x"'),
                  exhausted(401)),
        Behaviour("strict-transport", "wants TLS from now on", takes("Strict-Transport-Security: max-age=9999"),
                  delivered(204)),
        Behaviour("gone", "answers 410: the next best session gets it", says(answer(410), Meaning.GONE),
                  Expected("delivered", attempts=2, status=410)),
    ]
