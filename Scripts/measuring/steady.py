"""Notifications at a steady rate, to receivers that each have a content of their own."""

import http.client
import threading
import time

from measuring.load import APPLICATION
from measuring.servers import Server

LINES = 1000
CLIENTS = 24
TEXT = "a word or two " * 60


def payload(lane: int, due: int = 0) -> bytes:
    at = f'"at":{due},' if due else ""
    return f'{{{at}"notification-content-id":"lane://{lane}","aps":{{"alert":"{TEXT}"}}}}'.encode()


def say(name: str, text: str) -> None:
    print(f"{name:<44} {text}", flush=True)


def percentiles(times: list[float]) -> str:
    times = sorted(times)
    shown = [f"p{name} {times[min(len(times) - 1, int(len(times) * float(name) / 100))]:.1f}"
             for name in ("50", "99", "99.9")]
    return f"{', '.join(shown)}, most {times[-1]:.1f} ms"


def post_lines(daemon: Server, path: str, lines: list[bytes], good: bytes) -> None:
    connection = http.client.HTTPConnection(daemon.netloc, timeout=60)
    for first in range(0, len(lines), LINES):
        chunk = lines[first:first + LINES]
        connection.request("POST", f"{APPLICATION}/{path}", b"\n".join(chunk))
        answer = connection.getresponse().read()
        if answer.count(good) != len(chunk):
            raise SystemExit(f"{path}: {answer[:500].decode()}")
    connection.close()


class Sender(threading.Thread):
    """Every CLIENTS-th notification, on a connection of its own, each when it is due."""

    def __init__(self, daemon: Server, lanes: list[int], start: float, rate: float, place: int) -> None:
        super().__init__()
        self._daemon, self._lanes, self._start, self._rate, self._place = daemon, lanes, start, rate, place
        self.times: list[float] = []
        self.refused = 0

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._daemon.netloc, timeout=60)
        for number in range(self._place, len(self._lanes), CLIENTS):
            due = self._start + number / self._rate
            time.sleep(max(0.0, due - time.monotonic()))
            connection.request(
                "POST", f"{APPLICATION}/notifications", payload(self._lanes[number], int(due * 1e9)))
            answer = connection.getresponse()
            answer.read()
            self.times.append((time.monotonic() - due) * 1e3)
            self.refused += answer.status != 202
        connection.close()


def send_steadily(daemon: Server, lanes: list[int], rate: float) -> list[Sender]:
    """Sends a notification to each of the lanes, in turn; returns the senders when all have been answered."""
    start = time.monotonic() + 0.2
    senders = [Sender(daemon, lanes, start, rate, place) for place in range(CLIENTS)]
    for each in senders:
        each.start()
    for each in senders:
        each.join()
    return senders
