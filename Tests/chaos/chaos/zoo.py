"""The zoo: endpoints on loopback, a port each, and their answers are in a table elsewhere."""

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from chaos import clock
from chaos.history import Meaning
from chaos.http1 import Exchange, Request, read_request
from chaos.ledger import Ledger

Act = Callable[[Exchange], Awaitable[Meaning]]
HEAD_BYTES = 1 << 20


class Zoo:
    """Runs its endpoints on a thread of its own, which is the only one that writes to the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.open_connections = 0
        # Requests at the trap, where none may come.
        self.trespassers: list[str] = []
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def house(self, lane: str, act: Act, tls: ssl.SSLContext | None = None, unread: bool = False) -> str:
        """Opens an endpoint and returns its URL. With `unread` it acts on the bare connection, before any request."""
        return str(self._do(self._house(lane, act, tls, unread)))

    async def _house(self, lane: str, act: Act, tls: ssl.SSLContext | None, unread: bool) -> str:
        url = ""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(lane, act, unread, url, reader, writer)

        server = await asyncio.start_server(
            serve, "127.0.0.1", 0, ssl=tls, limit=HEAD_BYTES, backlog=512,
            **({"ssl_handshake_timeout": 30.0} if tls else {}))
        self._servers.append(server)
        port = server.sockets[0].getsockname()[1]
        url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/{lane}"
        return url

    async def _serve(
        self, lane: str, act: Act, unread: bool, url: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self.open_connections += 1
        try:
            goes_on, is_kept = True, False
            while goes_on:
                request = None if unread else await read_request(reader)
                if request is None and not unread:
                    break
                goes_on = await self._exchange(lane, act, url, request, is_kept, reader, writer)
                is_kept = True
        except (OSError, ssl.SSLError):
            pass
        except asyncio.CancelledError:
            # The zoo closes; asyncio would print a stack for each connection that is still open.
            pass
        finally:
            self.open_connections -= 1
            writer.close()

    async def _exchange(
        self, lane: str, act: Act, url: str, request: Request | None, is_kept: bool, reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter
    ) -> bool:
        attempt = self.ledger.begin(lane, request)
        attempt.is_kept = is_kept
        seen = self.ledger.count(lane, attempt.key) - 1
        exchange = Exchange(reader, writer, attempt, seen, url)
        meaning = Meaning.UNCLEAR
        try:
            meaning = await act(exchange)
        except OSError:
            exchange.goes_on = False
        finally:
            self.ledger.end(attempt, meaning)
        return exchange.goes_on

    def trap(self) -> str:
        """An endpoint that no request may reach."""

        async def act(exchange: Exchange) -> Meaning:
            self.trespassers.append(exchange.at)
            exchange.reset()
            return Meaning.UNCLEAR

        return self.house("trap", act, unread=True)

    def bury(self) -> None:
        """After the daemon's death: waits until all that it had begun is over and in the ledger."""

        def is_quiet() -> bool:
            # A turn of the loop takes in what the kernel had already accepted.
            self._do(asyncio.sleep(0.01))
            return self.open_connections == 0

        clock.wait_until(lambda: is_quiet() and is_quiet(), "a dead daemon's connections are gone", 30)

    def close(self) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)
