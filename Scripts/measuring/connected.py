"""Thousands of receivers that connect out, in a few processes that cost little: each has an open stream of its own."""

import os
import select
import socket
import time
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

from measuring.farm import READ_BYTES, Count, value
from measuring.load import APPLICATION
from measuring.servers import Server

STREAMS_OF_A_PROCESS = 5000
# Connections for acknowledgements: each answers one after the other.
ACKNOWLEDGING = 32
HEADS_SECONDS = 60


class Streams:
    """The streams of one process: notes each delivery, and acknowledges it at once."""

    def __init__(self, pipe: Connection, netloc: str, first: int, streams: int) -> None:
        self._pipe, self._netloc = pipe, netloc
        self._address = (urlsplit(f"//{netloc}").hostname, urlsplit(f"//{netloc}").port)
        self._epoll = select.epoll()
        self._streams: dict[int, tuple[socket.socket, int]] = {}
        self._begun: dict[int, bytes] = {}
        self._acknowledging = {each.fileno(): each for each in (self._connect() for _ in range(ACKNOWLEDGING))}
        self._turns = list(self._acknowledging.values())
        self._ids: set[bytes] = set()
        self._count, self._acknowledged, self._refused = Count(lanes=[0] * streams), 0, 0
        for descriptor in self._acknowledging:
            self._epoll.register(descriptor, select.EPOLLIN)
        for lane in range(streams):
            stream = self._connect()
            path = f"{APPLICATION}/sessions/stream-{first + lane}/deliveries"
            stream.send(f"GET {path} HTTP/1.1\r\nhost: {netloc}\r\naccept: text/event-stream\r\n\r\n".encode())
            self._streams[stream.fileno()] = stream, lane
            self._epoll.register(stream, select.EPOLLIN)
        self._first = first
        self._wait_for_heads(streams)
        self._epoll.register(pipe, select.EPOLLIN)
        pipe.send("open")

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self._address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _wait_for_heads(self, streams: int) -> None:
        """Until each stream has its status line."""
        seen: set[int] = set()
        deadline = time.monotonic() + HEADS_SECONDS
        while len(seen) < streams:
            if time.monotonic() > deadline:
                raise SystemExit(f"{len(seen)} of {streams} streams are open")
            for descriptor, _ in self._epoll.poll(1):
                data = self._streams[descriptor][0].recv(READ_BYTES)
                if descriptor not in seen and not data.startswith(b"HTTP/1.1 200"):
                    raise SystemExit(f"a stream is refused: {data[:500]!r}")
                seen.add(descriptor)

    def run(self) -> None:
        while True:
            for descriptor, _ in self._epoll.poll():
                if descriptor in self._streams:
                    self._read(descriptor)
                elif descriptor in self._acknowledging:
                    self._read_answers(descriptor)
                else:
                    self._obey()

    def _read(self, descriptor: int) -> None:
        stream, lane = self._streams[descriptor]
        data = stream.recv(READ_BYTES)
        if not data:
            del self._streams[descriptor]
            self._epoll.unregister(descriptor)
            stream.close()
            return
        events = (self._begun.pop(descriptor, b"") + data).split(b"\n\n")
        if rest := events.pop().lstrip(b"\r\n"):
            self._begun[descriptor] = rest
        for event in events:
            if b"event: delivery" in event:
                self._note(lane, event)

    def _note(self, lane: int, event: bytes) -> None:
        now, count = time.monotonic_ns(), self._count
        identifier = value(event, b'"id":"', b'"')
        count.received += 1
        count.lanes[lane] += 1
        self._ids.add(identifier)
        if due := value(event, b'"at":', b","):
            count.times.append((now - int(due)) / 1e6)
        path = f"{APPLICATION}/sessions/stream-{self._first + lane}/deliveries/{identifier.decode()}/ack"
        connection = self._turns[count.received % ACKNOWLEDGING]
        connection.send(f"POST {path} HTTP/1.1\r\nhost: {self._netloc}\r\ncontent-length: 0\r\n\r\n".encode())

    def _read_answers(self, descriptor: int) -> None:
        answers = self._acknowledging[descriptor].recv(READ_BYTES)
        self._acknowledged += answers.count(b"HTTP/1.1 204")
        self._refused += answers.count(b"HTTP/1.1 4")

    def _obey(self) -> None:
        self._pipe.recv()
        used = os.times()
        # An acknowledgement that was refused shows as one that is missing.
        self._count.open, self._count.held = len(self._streams), self._refused
        self._count.distinct, self._count.processor_seconds = len(self._ids), used.user + used.system
        self._pipe.send(self._count)
        self._count.times = []


def receive(pipe: Connection, netloc: str, first: int, streams: int) -> None:
    Streams(pipe, netloc, first, streams).run()


class Receivers:
    """All of them. A context: the processes end with it."""

    def __init__(self, daemon: Server, streams: int) -> None:
        self._processes: list[Process] = []
        self._pipes: list[Connection] = []
        for first in range(0, streams, STREAMS_OF_A_PROCESS):
            ours, theirs = Pipe()
            share = min(STREAMS_OF_A_PROCESS, streams - first)
            process = Process(target=receive, args=(theirs, daemon.netloc, first, share), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)
        for pipe in self._pipes:
            pipe.recv()

    def __enter__(self) -> "Receivers":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
            process.join()

    def count(self) -> Count:
        whole = Count()
        for pipe in self._pipes:
            pipe.send("count")
            for name, figure in vars(pipe.recv()).items():
                setattr(whole, name, getattr(whole, name) + figure)
        return whole
