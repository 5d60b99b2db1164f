"""Thousands of endpoints, each at an address and a port of loopback of its own, in a few processes that cost little."""

import json
import os
import select
import socket
import time
from dataclasses import dataclass, field
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection

ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
ENDPOINTS_OF_A_PROCESS = 2500
READ_BYTES = 65_536
BACKLOG = 16


@dataclass
class Count:
    """Arrivals at a process since the last reading; `lanes` are all notifications of each endpoint."""

    open: int = 0
    held: int = 0
    received: int = 0
    distinct: int = 0
    processor_seconds: float = 0.0
    lanes: list[int] = field(default_factory=list)
    # From when each was due to its arrival, in milliseconds.
    times: list[float] = field(default_factory=list)


class Endpoints:
    """The endpoints of one process: reads each request, and answers, at once or when it is told."""

    def __init__(self, pipe: Connection, network: int, endpoints: int) -> None:
        self._pipe = pipe
        self._epoll = select.epoll()
        self._listeners: dict[int, tuple[socket.socket, int]] = {}
        self._connections: dict[int, tuple[socket.socket, int]] = {}
        self._begun: dict[int, bytes] = {}
        self._is_holding = False
        self._held: list[socket.socket] = []
        self._ids: set[bytes] = set()
        self._count = Count(lanes=[0] * endpoints)
        urls = []
        for lane in range(endpoints):
            listener = socket.create_server((f"127.{network}.{lane >> 8}.{lane & 255}", 0), backlog=BACKLOG)
            listener.setblocking(False)
            self._listeners[listener.fileno()] = listener, lane
            self._epoll.register(listener, select.EPOLLIN)
            host, port = listener.getsockname()
            urls.append(f"http://{host}:{port}/hook")
        self._epoll.register(pipe, select.EPOLLIN)
        pipe.send(urls)

    def run(self) -> None:
        while True:
            for descriptor, _ in self._epoll.poll():
                if descriptor in self._connections:
                    self._read(descriptor)
                elif descriptor in self._listeners:
                    self._accept(descriptor)
                else:
                    self._obey()

    def _accept(self, descriptor: int) -> None:
        listener, lane = self._listeners[descriptor]
        connection, _ = listener.accept()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections[connection.fileno()] = connection, lane
        self._epoll.register(connection, select.EPOLLIN)

    def _read(self, descriptor: int) -> None:
        connection, lane = self._connections[descriptor]
        try:
            data = connection.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            del self._connections[descriptor]
            self._begun.pop(descriptor, None)
            if connection in self._held:
                self._held.remove(connection)
            connection.close()
            return
        data = self._begun.pop(descriptor, b"") + data
        head, separator, body = data.partition(b"\r\n\r\n")
        fields = head.lower()
        if not separator or len(body) < int(value(fields, b"\r\ncontent-length: ", b"\r") or 0):
            self._begun[descriptor] = data
            return
        self._note(lane, value(fields, b"\r\nwebhook-id: ", b"\r"), body)
        if self._is_holding:
            self._held.append(connection)
        else:
            connection.send(ANSWER)

    def _note(self, lane: int, identifier: bytes, body: bytes) -> None:
        now, count = time.monotonic_ns(), self._count
        count.received += 1
        count.lanes[lane] += 1
        self._ids.add(identifier)
        if due := value(body, b'"at":', b","):
            count.times.append((now - int(due)) / 1e6)

    def _obey(self) -> None:
        order = self._pipe.recv()
        if order == "hold":
            self._is_holding = True
        elif order == "go":
            self._is_holding = False
            for each in self._held:
                each.send(ANSWER)
            self._held = []
        elif order == "count":
            used = os.times()
            self._count.open, self._count.held = len(self._connections), len(self._held)
            self._count.distinct, self._count.processor_seconds = len(self._ids), used.user + used.system
            self._pipe.send(json.dumps(vars(self._count)))
            self._count.times = []


def value(data: bytes, name: bytes, end: bytes) -> bytes:
    """The value behind the name; nothing if it is not there."""
    return data.partition(name)[2].partition(end)[0]


def serve(pipe: Connection, network: int, endpoints: int) -> None:
    Endpoints(pipe, network, endpoints).run()


class Farm:
    """All of them. A context: the processes end with it."""

    def __init__(self, endpoints: int) -> None:
        self._processes: list[Process] = []
        self._pipes: list[Connection] = []
        self.urls: list[str] = []
        for first in range(0, endpoints, ENDPOINTS_OF_A_PROCESS):
            ours, theirs = Pipe()
            share = min(ENDPOINTS_OF_A_PROCESS, endpoints - first)
            process = Process(target=serve, args=(theirs, len(self._pipes) + 1, share), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)
            self.urls += ours.recv()

    def __enter__(self) -> "Farm":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
            process.join()

    def tell(self, order: str) -> None:
        """`hold` keeps answers back, `go` gives them."""
        for pipe in self._pipes:
            pipe.send(order)

    def count(self) -> Count:
        self.tell("count")
        whole = Count()
        for pipe in self._pipes:
            part = Count(**json.loads(pipe.recv()))
            for name, figure in vars(part).items():
                setattr(whole, name, getattr(whole, name) + figure)
        return whole
