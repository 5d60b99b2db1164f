"""Noise that one tenant makes: many connections that send as fast as the daemon answers, from a process of its own.

The process is not that of the clients and receivers whose times are measured, and it yields the processor to them: a
measured delay is the daemon's, not that of Python's threads. The two processes talk in lines:

    scenario ──{"kind", "address", "application", …}──▶ noise prepares, and begins
             ◀──{"ready": …}────────────────────────────
             ──go────▶ counts from here     ──stop────▶ ends
             ◀──{"sent", "open", "statuses", "details"}─
"""

import errno
import http.client
import json
import os
import select
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# The address that the noisy tenant connects from, and how long a refused connection rests before its next request.
SOURCE = "127.0.0.2"
PAUSE_SECONDS = 0.02
PREPARE_SECONDS = 120.0
READ_BYTES = 1 << 18


@dataclass
class Tally:
    """Requests, answers and refusals of a noise since its counting began. Written by one thread, read by another."""

    sent: int = 0
    # Requests that wait for their answer now.
    open: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    details: dict[str, Any] = field(default_factory=dict)

    def restart(self) -> None:
        self.sent = 0
        self.statuses = Counter()


# The next request after an answer's status and body (None and nothing before the first one); None to pause.
Talk = Callable[[int | None, bytes], bytes | None]
# A noise that was prepared: goes on until the event is set.
Act = Callable[[threading.Event], None]


class Tenant:
    """The noisy tenant: its application, its key, and where the daemon listens."""

    def __init__(self, address: str, application: str, key: str, scale: float = 1.0) -> None:
        host, _, port = address.rpartition(":")
        self.host, self.port = host, int(port)
        self.application, self.key, self.scale = application, key, scale
        self.tally = Tally()
        # Set when the phase begins for which requests are counted.
        self.counting = threading.Event()
        # Set when the noise is as loud as it gets.
        self.is_loud = threading.Event()

    def count(self, full: int, least: int = 1) -> int:
        """That part of a number which the scale of this run asks for."""
        return max(least, int(full * self.scale))

    def request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """A request of this tenant's as bytes; `{}` in its path is the application."""
        lines = [f"{method} {path.replace('{}', self.application)} HTTP/1.1", f"Host: {self.host}:{self.port}",
                 f"Authorization: Bearer {self.key}"]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + (body or b"")

    def connect(self, source: str = SOURCE) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=10, source_address=(source, 0))

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """One request of the preparation, and its answer."""
        connection = http.client.HTTPConnection(
            self.host, self.port, timeout=PREPARE_SECONDS, source_address=(SOURCE, 0))
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(
            method, path.replace("{}", self.application), body=data, headers={"Authorization": f"Bearer {self.key}"})
        response = connection.getresponse()
        status, text = response.status, response.read()
        connection.close()
        try:
            return status, json.loads(text) if text else None
        except ValueError:
            return status, text

    def must(self, method: str, path: str, body: object = None) -> Any:
        status, answer = self.call(method, path, body)
        if status not in (200, 201, 202, 204):
            raise RuntimeError(f"{method} {path}: {status} {answer}")
        return answer

    def put_application(self, **fields: object) -> None:
        delivery = {"lifeCycleEvents": False, "retrySchedule": [3600]}
        self.must("PUT", "/v1/applications/{}", {"delivery": delivery, **fields})

    def put_sessions(self, sessions: list[dict[str, Any]]) -> Counter[str]:
        """Registers sessions in batches; how many lines got which status."""
        statuses: Counter[str] = Counter()
        for place in range(0, len(sessions), 2_000):
            lines = "".join(json.dumps(each) + "\n" for each in sessions[place:place + 2_000]).encode()
            answer = self.must("POST", "/v1/applications/{}/sessions:batch", lines)
            for line in answer.splitlines() if isinstance(answer, bytes) else []:
                said = json.loads(line)
                statuses[str(said["status"])] += 1
        return statuses

    def fill(self, count: int, line: bytes = b'{"aps":{}}') -> None:
        """Has so many notifications accepted, in batches."""
        for place in range(0, count, 20_000):
            body = (line + b"\n") * min(20_000, count - place)
            self.must("POST", "/v1/applications/{}/notifications:batch", body)


class Connection:
    """One connection of a flood: writes a request, reads its answer, and asks its talk for the next one."""

    def __init__(self, tenant: Tenant, talk: Talk, epoll: select.epoll) -> None:
        self._tenant, self._talk, self._epoll = tenant, talk, epoll
        self.socket: socket.socket | None = None
        self.resumes_at = 0.0
        self._out, self._in = memoryview(b""), bytearray()
        # The last answer was read as a whole, or there was none.
        self._status: int | None = None
        self._body = b""
        self._is_waiting = False

    def begin(self, now: float) -> int | None:
        """Sends the next request when its time has come; the descriptor of a new connection."""
        request = self._talk(self._status, self._body)
        if request is None:
            self.resumes_at = now + PAUSE_SECONDS
            return None
        opened = None
        if self.socket is None:
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            made.setblocking(False)
            made.bind((SOURCE, 0))
            code = made.connect_ex((self._tenant.host, self._tenant.port))
            if code not in (0, errno.EINPROGRESS):
                made.close()
                self._tenant.tally.statuses["no connection"] += 1
                self.resumes_at = now + PAUSE_SECONDS
                return None
            self.socket, opened = made, made.fileno()
        self.resumes_at = float("inf")
        self._out, self._in, self._is_waiting = memoryview(request), bytearray(), True
        self._tenant.tally.sent += 1
        self._tenant.tally.open += 1
        events = select.EPOLLIN | select.EPOLLOUT
        if opened is not None:
            self._epoll.register(opened, events)
        else:
            self._epoll.modify(self.socket.fileno(), events)
        return opened

    def on(self, events: int, now: float) -> int | None:
        """Goes on with what the kernel is ready for; the descriptor of a connection that ended."""
        if self.socket is None:
            return None
        try:
            if events & select.EPOLLOUT and self._out:
                self._out = self._out[self.socket.send(self._out):]
            if events & select.EPOLLOUT and not self._out:
                self._epoll.modify(self.socket.fileno(), select.EPOLLIN)
            if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                data = self.socket.recv(READ_BYTES)
                if not data:
                    return self._end("closed", now)
                self._in += data
                if answer := whole_answer(self._in):
                    self._take(answer, now)
        except BlockingIOError:
            pass
        except OSError as error:
            return self._end(errno.errorcode.get(error.errno or 0, "error"), now)
        return None

    def _take(self, answer: tuple[int, bytes], now: float) -> None:
        self._status, self._body = answer
        self._tenant.tally.statuses[str(self._status)] += 1
        self._tenant.tally.open -= 1
        self._is_waiting = False
        self.resumes_at = now + PAUSE_SECONDS if self._status in (429, 503) else now

    def _end(self, how: str, now: float) -> int | None:
        descriptor = self.socket.fileno() if self.socket else None
        if self._is_waiting:
            self._tenant.tally.statuses[how] += 1
            self._tenant.tally.open -= 1
            self._is_waiting = False
        self.close()
        self.resumes_at = now + PAUSE_SECONDS
        return descriptor

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


def whole_answer(data: bytearray) -> tuple[int, bytes] | None:
    """Status and body if the answer has come as a whole. Chunks are left in the body."""
    while (end := data.find(b"\r\n\r\n")) >= 0:
        head = bytes(data[:end]).lower()
        status = int(head[9:12])
        if status < 200:
            del data[:end + 4]
            continue
        if b"\r\ntransfer-encoding: chunked" in head:
            is_whole = data.endswith(b"\r\n0\r\n\r\n") or data[end + 4:] == b"0\r\n\r\n"
            return (status, bytes(data[end + 4:])) if is_whole else None
        _, _, rest = head.partition(b"\r\ncontent-length:")
        length = int(rest.partition(b"\r\n")[0] or b"0")
        return (status, bytes(data[end + 4:])) if len(data) >= end + 4 + length else None
    return None


def flood(tenant: Tenant, connections: int, talk: Callable[[int], Talk]) -> Act:
    """So many connections at once, each with a talk of its own."""

    def act(stopping: threading.Event) -> None:
        epoll = select.epoll()
        all_of_them = [Connection(tenant, talk(number), epoll) for number in range(connections)]
        by_descriptor: dict[int, Connection] = {}
        tenant.is_loud.set()
        while not stopping.is_set():
            now = time.monotonic()
            for each in all_of_them:
                if each.resumes_at <= now and (opened := each.begin(now)) is not None:
                    by_descriptor[opened] = each
            for descriptor, events in epoll.poll(PAUSE_SECONDS / 2):
                if (ended := by_descriptor[descriptor].on(events, now)) is not None:
                    del by_descriptor[ended]
        for each in all_of_them:
            each.close()
        epoll.close()

    return act


def says(request: bytes) -> Callable[[int], Talk]:
    """The same request again and again, on each connection."""
    return lambda _: lambda status, body: request


def main() -> None:
    """The process of a noise: see above."""
    from chaos.noises import kind

    told = json.loads(sys.stdin.readline())
    os.nice(10)
    try:
        # Sessions of processes share the processor among them before processes do.
        with open("/proc/self/autogroup", "w") as file:
            file.write("10")
    except OSError:
        pass
    tenant = Tenant(told["address"], told["application"], told["key"], told["scale"])
    act = kind(told["kind"]).prepare(tenant)
    stopping = threading.Event()
    thread = threading.Thread(target=act, args=(stopping,), daemon=True)
    thread.start()
    tenant.is_loud.wait(PREPARE_SECONDS)
    time.sleep(told["warmUp"])
    print(json.dumps({"ready": tenant.tally.details}), flush=True)
    for line in sys.stdin:
        if line.strip() == "stop":
            break
        tenant.tally.restart()
        tenant.counting.set()
    tally = tenant.tally
    if not thread.is_alive():
        tally.details["ended"] = "the noise ended by itself"
    print(json.dumps({"sent": tally.sent, "open": tally.open, "statuses": tally.statuses, "details": tally.details}),
          flush=True)
    stopping.set()
    # Connections end with the process, even while their threads wait.
    os._exit(0)


if __name__ == "__main__":
    main()
