#!/usr/bin/env python3
"""A million sessions in one daemon: registers them over HTTP, routes among them while they change, and starts anew.

Usage: Scripts/million.py [--routerd .build/release/routerd] [--sessions 1000000] [--changes 10000]

The sessions are those of documents: each can show everything and prefers one document; one in a hundred documents is
open in several. Everything is on loopback and bounded. The figures come from the daemon's own `/v1/status`. The
exit status is 0 only if every session was there after the restart, every notification went where it belongs, and the
changes kept their pace.
"""
import argparse
import http.client
import json
import random
import tempfile
import threading
import time
from pathlib import Path

from measuring.servers import Server, call, server

APPLICATION = "/v1/applications/com.example.Gallery"
LINES = 4096
STATES = ["unattached", "background", "foregroundInactive", "foregroundActive"]
# As many as the status keeps planning times of.
NOTIFICATIONS = 4096
CHANGE_SECONDS = 10


def document(number: int) -> str:
    """The preference of a session, by its number: one document in a hundred is open in the session before as well."""
    return f"myapp://document/{number - 1 if number % 100 == 99 else number}"


def line(number: int, state: str) -> bytes:
    prefers = {"prefersToActivateForTargetContentIdentifierPredicate": f"SELF == '{document(number)}'"}
    return json.dumps({"id": f"s{number}", "activationState": state, "activationConditions": prefers}).encode()


class Client:
    """One connection that is kept."""

    def __init__(self, netloc: str) -> None:
        self.connection = http.client.HTTPConnection(netloc, timeout=120)

    def post(self, path: str, body: bytes) -> bytes:
        self.connection.request("POST", path, body)
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"POST {path}: {answer.status} {data[:500].decode()}")
        return data


def put(client: Client, numbers: list[int], state: str) -> None:
    body = b"\n".join(line(number, state) for number in numbers)
    answers = client.post(f"{APPLICATION}/sessions:batch", body)
    bad = [answer for answer in answers.splitlines() if b'"error"' in answer]
    if bad or answers.count(b"\n") != len(numbers):
        raise SystemExit(f"{len(bad)} of {len(numbers)} sessions were refused: {bad[:1]}")


def register(daemon: Server, receiver: str, sessions: int) -> float:
    endpoint = {"url": f"{receiver}/hook"}
    manifest = {"sceneConfigurations": [
        {"name": "Default Configuration", "role": "windowApplication", "endpoint": endpoint}]}
    call(daemon.netloc, "PUT", APPLICATION, json.dumps({"manifest": manifest}).encode())
    client = Client(daemon.netloc)
    start = time.monotonic()
    for first in range(0, sessions, LINES):
        put(client, list(range(first, min(first + LINES, sessions))), "background")
    return time.monotonic() - start


def route(daemon: Server, sessions: int, random_source: random.Random) -> dict:
    """Sends notifications about random documents; returns what the daemon says of their planning."""
    client = Client(daemon.netloc)
    for _ in range(NOTIFICATIONS):
        number = random_source.randrange(sessions)
        wanted = document(number)
        payload = json.dumps({"aps": {}, "notification-content-id": wanted}).encode()
        decision = json.loads(client.post(f"{APPLICATION}/notifications", payload))["decision"]
        if decision["tier"] != "prefers" or document(int(decision["session"][1:])) != wanted:
            raise SystemExit(f"{wanted} went to {decision}")
    return call(daemon.netloc, "GET", "/v1/status")["planning"]


def change(daemon: Server, sessions: int, rate: int, stop: threading.Event, done: list[float]) -> None:
    """Changes the states of random sessions, so many a second, until it is told to stop."""
    random_source = random.Random(3)
    client = Client(daemon.netloc)
    share = 500
    start = time.monotonic()
    count = 0
    while not stop.is_set():
        numbers = random_source.sample(range(sessions), min(share, sessions))
        put(client, numbers, random_source.choice(STATES))
        count += len(numbers)
        stop.wait(max(0.0, start + count / rate - time.monotonic()))
    done.append(count / (time.monotonic() - start))


def route_while_changing(daemon: Server, sessions: int, rate: int) -> tuple[dict, float]:
    stop, done = threading.Event(), []
    changer = threading.Thread(target=change, args=(daemon, sessions, rate, stop, done))
    changer.start()
    try:
        end = time.monotonic() + CHANGE_SECONDS
        planning = route(daemon, sessions, random.Random(2))
        while time.monotonic() < end:
            planning = route(daemon, sessions, random.Random(2))
    finally:
        stop.set()
        changer.join()
    return planning, done[0] if done else 0.0


def say(name: str, text: str) -> None:
    print(f"{name:<44} {text}", flush=True)


def planned(planning: dict) -> str:
    return (f"p50 {planning['nanosecondsP50']:,} ns, p99 {planning['nanosecondsP99']:,} ns, "
            f"p99.9 {planning['nanosecondsP999']:,} ns")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=10_000, help="changes of a state a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        serve = [options.routerd, "serve", "--listen", "127.0.0.1:0", "--database", str(folder / "million.sqlite")]
        receive = [options.routerd, "receive", "--json", "--listen", "127.0.0.1:0"]
        with server(receive, folder / "receiver.log") as receiver:
            with server(serve, folder / "first.log") as daemon:
                seconds = register(daemon, receiver.url, options.sessions)
                say("registered", f"{options.sessions:,} in {seconds:.1f} s, {options.sessions / seconds:,.0f} a second")
                say("resident", f"{daemon.resident_mib():,.0f} MiB")
                say("planning, nothing changes", planned(route(daemon, options.sessions, random.Random(1))))
                planning, rate = route_while_changing(daemon, options.sessions, options.changes)
                say(f"planning at {rate:,.0f} changes a second", planned(planning))
            start = time.monotonic()
            with server(serve, folder / "second.log") as daemon:
                say("started anew", f"{time.monotonic() - start:.1f} s")
                found = call(daemon.netloc, "GET", "/v1/status")["sessions"]
                say("sessions", f"{found:,}")
                say("planning after the restart", planned(route(daemon, options.sessions, random.Random(1))))
    if found != options.sessions:
        raise SystemExit(f"{options.sessions - found} sessions are missing")
    if rate < options.changes * 0.95:
        raise SystemExit(f"{rate:.0f} changes a second instead of {options.changes}")


if __name__ == "__main__":
    main()
