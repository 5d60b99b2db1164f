"""Endpoints whose answers are broken, endless, or odd in a way that the standard allows."""

import asyncio
import gzip

from chaos.behaviours import (
    TAKES, Behaviour, Expected, after, begins, delivered, drips, exhausted, first, hangs, pours, resets, retried, says,
    takes)
from chaos.history import Meaning
from chaos.http1 import Exchange, answer
from chaos.zoo import Act

CHUNKED = "Transfer-Encoding: chunked"
OK = b"HTTP/1.1 200 OK\r\n"
BAD, GOOD = Meaning.FAILED, Meaning.TAKEN


def broken(data: bytes) -> Act:
    return says(data, BAD, closes=True)


def then_says(extra: bytes, after: float) -> Act:
    """Fails, and a while later answers a request that was never made."""

    async def act(exchange: Exchange) -> Meaning:
        await exchange.finish(answer(503))
        await asyncio.sleep(after)
        await exchange.send(extra)
        return Meaning.FAILED

    return act


def taken_after(error: str) -> Expected:
    """The second attempt is taken."""
    return Expected("delivered", attempts=2, error=error)


def unless_kept(act: Act, otherwise: Act = TAKES) -> Act:
    """Takes the first request of a connection; on a second one, something else."""

    async def choose(exchange: Exchange) -> Meaning:
        return await (act if exchange.attempt.is_kept else otherwise)(exchange)

    return choose


def pieces(*parts: bytes, pause: float = 0.05) -> Act:
    """A good answer that arrives in pieces."""

    async def act(exchange: Exchange) -> Meaning:
        for part in parts[:-1]:
            await exchange.send(part)
            await asyncio.sleep(pause)
        await exchange.finish(parts[-1])
        exchange.close()
        return GOOD

    return act


async def half_closes(exchange: Exchange) -> Meaning:
    await exchange.finish(answer(200, "Connection: close", body=b"bye"))
    await exchange.half_close()
    return GOOD


def table() -> list[Behaviour]:
    return lengths() + chunks() + lines() + endless() + slow() + ends()


def lengths() -> list[Behaviour]:
    lost, garbled = exhausted(error="connection-lost"), exhausted(error="garbled-response")
    none = b"HTTP/1.1 200 OK\r\n\r\n"
    return [
        Behaviour("length-short", "sends more than it said",
                  says(answer(200, body=b"0123456789", length=4), closes=True),
                  delivered(200)),
        Behaviour("length-long", "sends less than it said, and closes", broken(answer(200, body=b"0123", length=10)),
                  lost),
        Behaviour("length-long-silent", "sends less than it said, and stays",
                  begins(answer(200, body=b"0123", length=10), closes=False), exhausted(error="timed-out"),
                  is_slow=True),
        Behaviour("length-negative", "says a negative length", broken(answer(200, length=-5)), garbled),
        Behaviour("length-garbage", "says a length that is none", broken(answer(200, length="ten")), garbled),
        Behaviour("length-huge", "says a length that no machine counts to",
                  says(answer(200, length="9" * 40, body=b"x"), closes=True), delivered(200)),
        Behaviour("length-none", "sends a body until it closes", says(none + b"until the end", closes=True),
                  delivered(200)),
        Behaviour("length-none-open", "sends no length and never closes: the FIN is missing",
                  begins(none + b"until the end", closes=False), exhausted(error="timed-out"), is_slow=True),
        Behaviour("length-204", "sends a body with 204", says(answer(204, length=5, body=b"hello"), closes=True),
                  delivered(204)),
        Behaviour("length-and-chunks", "says a length and sends chunks",
                  says(answer(200, CHUNKED, length=3, body=b"5\r\nhello\r\n0\r\n\r\n"), closes=True), delivered(200)),
    ]


def chunks() -> list[Behaviour]:
    lost = exhausted(error="connection-lost")

    def chunked(body: bytes) -> bytes:
        return OK + CHUNKED.encode() + b"\r\n\r\n" + body

    return [
        Behaviour("chunks", "sends its body in chunks", says(chunked(b"5\r\nhello\r\n0\r\n\r\n")), delivered(200)),
        Behaviour("chunks-trailers", "sends trailers after the chunks",
                  says(chunked(b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-End: yes\r\n\r\n")), delivered(200)),
        Behaviour("chunks-extensions", "sends chunks with extensions",
                  says(chunked(b"5;a=b;c\r\nhello\r\n0;end\r\n\r\n")), delivered(200)),
        Behaviour("chunks-slow", "sends one chunk after another",
                  pieces(chunked(b"1\r\na\r\n"), b"1\r\nb\r\n", b"1\r\nc\r\n", b"0\r\n\r\n"), delivered(200)),
        Behaviour("chunks-bad", "sends a chunk's size that is none", broken(chunked(b"zz\r\nhello\r\n")), lost),
        Behaviour("chunks-long", "sends a chunk longer than it said", broken(chunked(b"2\r\nhello\r\n0\r\n\r\n")),
                  lost),
        Behaviour("chunks-overflow", "sends a chunk's size that no machine counts to",
                  broken(chunked(b"fffffffffffffffffff\r\nx\r\n")), lost),
        Behaviour("chunks-cut", "closes in the midst of a chunk", broken(chunked(b"5\r\nhe")), lost),
        Behaviour("chunks-unended", "closes before the last chunk", broken(chunked(b"5\r\nhello\r\n")), lost),
        Behaviour("chunks-endless", "never sends the last chunk", begins(chunked(b"5\r\nhello\r\n"), closes=False),
                  exhausted(error="timed-out"), is_slow=True),
    ]


def lines() -> list[Behaviour]:
    garbled = exhausted(error="garbled-response")
    return [
        Behaviour("http-0.9", "answers without a status line", broken(b"<html>thanks</html>\n"), garbled),
        Behaviour("http-1.0", "answers in HTTP/1.0", says(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", closes=True),
                  delivered(200)),
        Behaviour("http-1.0-close", "answers in HTTP/1.0 until it closes",
                  says(b"HTTP/1.0 200 OK\r\n\r\nbye", closes=True),
                  delivered(200)),
        Behaviour("http-9.9", "answers in a version that there is not", broken(b"HTTP/9.9 200 OK\r\n\r\n"), garbled),
        Behaviour("garbage", "answers noise", broken(bytes((n * 37 + 11) % 256 for n in range(4096))), garbled),
        Behaviour("ssh", "answers in another protocol", broken(b"SSH-2.0-OpenSSH_9.2\r\n"), garbled),
        Behaviour("no-reason", "answers without a reason", says(b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"),
                  delivered(200)),
        Behaviour("long-reason", "gives its reason at length",
                  says(b"HTTP/1.1 200 " + b"because " * 1000 + b"\r\nContent-Length: 0\r\n\r\n"), delivered(200)),
        Behaviour("status-short", "answers with a status of two digits", broken(b"HTTP/1.1 20 OK\r\n\r\n"), garbled),
        Behaviour("status-text", "answers with a status in words", broken(b"HTTP/1.1 two hundred\r\n\r\n"), garbled),
        Behaviour("bare-lf", "ends lines with LF alone", says(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
                  delivered(200)),
        Behaviour("folded", "folds a header", takes("X-Long: one\r\n two\r\n three", status=200), delivered(200)),
        Behaviour("no-colon", "sends a header without a colon", broken(answer(200, "Nonsense")), garbled),
        Behaviour("nul-header", "sends a header with a NUL", broken(OK + b"X-Nul: a\0b\r\nContent-Length: 0\r\n\r\n"),
                  garbled),
        Behaviour("latin-header", "sends a header that is not UTF-8", takes("X-Name: J\xfcrgen", status=200),
                  delivered(200)),
        Behaviour("pipelined", "sends a second answer without a request",
                  says(answer(204) + answer(500), closes=True), delivered(204)),
        Behaviour("pipelined-kept", "answers twice at once, and no second request: the second answer counts for nothing",
                  unless_kept(begins(b""), says(answer(204) + answer(200))), delivered(204)),
        Behaviour("pipelined-idle", "fails, and says 200 without a request: that counts for nothing",
                  first(unless_kept(begins(b""), then_says(answer(200), after=0.3)),
                        unless_kept(begins(b""), says(answer(204), closes=True))),
                  retried(503)),
        Behaviour("extra-bytes", "sends some bytes after the answer", says(answer(204) + b"and more", closes=True),
                  delivered(204)),
    ]


def endless() -> list[Behaviour]:
    garbled = exhausted(error="garbled-response")
    head = OK + b"Content-Type: text/plain\r\n"
    zeros = b"0" * 65536
    return [
        Behaviour("endless-headers", "sends headers without end", pours(OK, b"X-More: and more\r\n" * 1000, BAD),
                  garbled),
        Behaviour("huge-header", "sends one header of a mebibyte",
                  broken(OK + b"X-Big: " + b"a" * (1 << 20) + b"\r\n\r\n"),
                  exhausted()),
        Behaviour("big-header", "sends one header of 60 KiB", takes("X-Big: " + "a" * 60 * 1024, status=200),
                  delivered(200)),
        Behaviour("endless-body", "sends a body without end", pours(head + b"\r\n", zeros, GOOD), delivered(200)),
        Behaviour("endless-chunks", "sends chunks without end",
                  pours(head + CHUNKED.encode() + b"\r\n\r\n", b"10000\r\n" + zeros + b"\r\n", GOOD), delivered(200)),
        Behaviour("endless-refusal", "refuses with a body without end",
                  pours(b"HTTP/1.1 500 No\r\n\r\n", zeros, BAD), exhausted(500)),
        Behaviour("big-body", "answers 8 MiB", says(answer(200, body=b"z" * (8 << 20)), closes=True), delivered(200)),
        Behaviour("gzip", "answers compressed", takes("Content-Encoding: gzip", status=200, body=gzip.compress(b"ok")),
                  delivered(200)),
        Behaviour("gzip-bomb", "answers 10 KB that would be 10 MB",
                  takes("Content-Encoding: gzip", status=200, body=gzip.compress(bytes(10_000_000))), delivered(200)),
        Behaviour("gzip-bad", "calls something compressed that is not",
                  takes("Content-Encoding: gzip", status=200, body=b"plain"), delivered(200)),
    ]


def slow() -> list[Behaviour]:
    late = exhausted(error="timed-out")
    hello = answer(200, body=b"hello")
    return [
        Behaviour("hang", "reads the request and says nothing", hangs, late, is_slow=True),
        Behaviour("hang-head", "stops in the midst of the headers", begins(OK + b"Content-", closes=False), late,
                  is_slow=True),
        Behaviour("hang-body", "stops in the midst of the body",
                  begins(answer(200, body=b"he", length=5), closes=False),
                  late, is_slow=True),
        Behaviour("hang-once", "says nothing at first, then takes it", first(hangs, TAKES),
                  taken_after("timed-out"), is_slow=True),
        Behaviour("drip-head", "sends its headers a byte in 0.3 s", drips(hello, 0.3, BAD), late, is_slow=True),
        Behaviour("drip-body", "sends its body a byte in 0.5 s", head_then_drip(b"slowly slowly", 0.5, BAD), late,
                  is_slow=True),
        Behaviour("drip-fast", "sends all byte by byte, but fast", drips(hello, 0.002, GOOD), delivered(200)),
        Behaviour("too-late", "takes it when the time is over", after(4.0, TAKES), late, is_slow=True),
        Behaviour("interim-hang", "sends 100 and then nothing", begins(b"HTTP/1.1 100 Continue\r\n\r\n", closes=False),
                  late, is_slow=True),
    ]


def head_then_drip(body: bytes, pause: float, meaning: Meaning) -> Act:
    async def act(exchange: Exchange) -> Meaning:
        await exchange.send(answer(200, length=len(body)))
        await exchange.drip(body, pause)
        exchange.close()
        return meaning

    return act


def ends() -> list[Behaviour]:
    lost = exhausted(error="connection-lost")
    half = answer(200, body=b"he", length=5)
    return [
        Behaviour("close-unanswered", "reads the request and closes", begins(b""), lost),
        Behaviour("close-head", "closes in the midst of the headers", begins(OK + b"Content-"), lost),
        Behaviour("close-after-status", "closes after the status line", begins(OK), lost),
        Behaviour("reset-unanswered", "reads the request and resets", resets(), lost),
        Behaviour("reset-head", "resets in the midst of the headers", resets(OK + b"Content-"), lost),
        Behaviour("reset-body", "resets in the midst of the body", resets(half), lost),
        Behaviour("reset-once", "resets at first, then takes it and closes",
                  first(resets(), says(answer(204, "Connection: close"), closes=True)), taken_after("connection-lost")),
        Behaviour("reset-kept", "resets a connection that is kept, without an answer; a new one is part of the attempt",
                  unless_kept(resets()), delivered(204)),
        Behaviour("close-kept", "closes a connection that is kept, without an answer", unless_kept(begins(b"")),
                  delivered(204)),
        Behaviour("half-close", "closes its direction only", half_closes, delivered(200)),
        Behaviour("keep-then-close", "says keep-alive and closes",
                  says(answer(204, "Connection: keep-alive"), closes=True),
                  delivered(204)),
        Behaviour("close-not-closed", "says close and stays", takes("Connection: close"), delivered(204)),
        Behaviour("pieces", "answers in pieces",
                  pieces(b"HT", b"TP/1.1 2", b"00 OK\r", b"\nContent-Length: 2\r\n\r", b"\no", b"k"),
                  delivered(200)),
    ]
