"""HTTP/1.1 by hand, as an endpoint that may do anything needs it: requests are read, answers are bytes."""

import asyncio
import socket
import struct
from dataclasses import dataclass

from chaos import clock
from chaos.history import Attempt

# How long an endpoint that does not answer waits for the other side to give up.
HANG_SECONDS = 90.0


@dataclass(frozen=True)
class Request:
    line: str
    headers: dict[str, str]
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None if there is none any more."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError):
        return None
    return Request(line, headers, body)


class Exchange:
    """One request on a connection, and the means to answer it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, attempt: Attempt, seen: int, at: str
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.attempt = attempt
        # How many attempts of this notification there were before.
        self.seen = seen
        # The base URL of this endpoint.
        self.at = at
        # Whether another request may follow on the connection.
        self.goes_on = True

    async def send(self, data: bytes) -> None:
        """Some bytes that are not the end of the answer."""
        self.attempt.has_answered = self.attempt.has_answered or data != b""
        self.writer.write(data)
        await self.writer.drain()

    async def finish(self, data: bytes) -> None:
        """The bytes with which the answer is complete."""
        self.attempt.answered_at = clock.now()
        await self.send(data)

    async def drip(self, data: bytes, pause: float) -> None:
        """A byte at a time, until all is sent or the other side has gone."""
        self.attempt.has_answered = True
        for byte in data[:-1]:
            self.writer.write(bytes([byte]))
            if await self.is_left(pause):
                return
        await self.finish(data[-1:])

    async def is_left(self, seconds: float) -> bool:
        """Waits; returns early, and true, when the other side closes the connection. Bytes that arrive meanwhile are lost."""
        try:
            async with asyncio.timeout(seconds):
                while await self.reader.read(65536):
                    pass
            return True
        except TimeoutError:
            return False
        except OSError:
            return True

    async def hang(self) -> None:
        """Says nothing until the other side gives up."""
        self.goes_on = False
        await self.is_left(HANG_SECONDS)

    def close(self) -> None:
        """Ends the connection after this answer: no more requests are read from it."""
        self.goes_on = False

    def reset(self) -> None:
        """RST instead of FIN."""
        self.goes_on = False
        reset(self.writer)

    async def half_close(self) -> None:
        """FIN in our direction only; the other one stays open until the daemon closes it."""
        self.goes_on = False
        if self.writer.can_write_eof():
            self.writer.write_eof()
        await self.is_left(2.0)


def reset(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def answer(status: int | str, *fields: str, body: bytes = b"", length: int | str | None = None) -> bytes:
    """A whole answer. `length` is what Content-Length claims; the truth if it is not given."""
    has_body = not str(status).startswith(("1", "204", "304"))
    if length is None and has_body:
        length = len(body)
    lines = [f"HTTP/1.1 {status} As Told", *fields]
    if length is not None and length != "":
        lines.append(f"Content-Length: {length}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
