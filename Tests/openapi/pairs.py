#!/usr/bin/env python3
"""Plays every ordered pair of operations of /openapi.json on one kept-alive connection, and compares each answer with the operation's own.

Usage: Tests/openapi/pairs.py --routerd PATH [--only REGEX] [--share N|all]

The requests are the accepted ones of `world.py`. A sequence in which each operation follows each other one exactly once is
played twice, after some sequences that have ended a daemon: with the body in the packet of the head, and with the body in a later
packet. A third of the pairs, another one each day, is played with a client that closes its connection before the answer of the
second operation; `--share all` plays all of these. The daemon stays alive, no answer is a 5xx, and status, media type and
members of an answer are those of the operation on a connection without other requests. The library `cryptography` comes from
PyPI into .build/pairs-venv.
"""
import argparse
import datetime
import http.client
import json
import re
import socket
import struct
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

from surroundings import KEY, ROOT, configuration, enter_environment, receive, temporary_folder

NOTIFICATION = {"notification-content-id": "window"}
# An answer without an end: only its head is read, and its connection is closed.
ENDLESS = {"stream"}
# Members that depend on the number of resources, of settled notifications, or on time.
VARIABLE = {"cursor"}
# Operations whose accepted request changes nothing: one request serves each repetition.
KEPT = {"getConsoleFile", "explain", "tryConditions", "testSource", "evaluateRules", "compareRules", "apply", "postReplay"}
# Operations with a rate for each application or the daemon, below the rate of this check: 429 is an answer too.
RATED = {"testSession", "checkPasscode"}
# The operation whose request needs the rules of the configuration.
OF_RULES = "enablePlugin"
SECONDS = 30
# A third of the pairs with a client that leaves keeps the check within three minutes; each day has another third.
SHARES = 3


def sequence(count: int) -> Iterator[int]:
    """Numbers in an order in which each is followed by each, itself included, exactly once; the first closes the circle."""
    for first in range(count):
        yield first
        for second in range(first + 1, count):
            yield first
            yield second
    yield 0


class Connection:
    """A kept-alive connection that reads answers with a length or in chunks."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, head: bytes, body: bytes, *, apart: bool) -> None:
        if apart and body:
            self.socket.sendall(head)
            # The daemon has the head before the body is sent, as its answer to `expect` shows.
            line = self.socket.recv(4096)
            assert line.startswith(b"HTTP/1.1 100 "), line
            self.socket.sendall(body)
        else:
            self.socket.sendall(head + body)

    def answer(self, endless: bool) -> tuple[int, str, bytes]:
        response = http.client.HTTPResponse(self.socket)
        response.begin()
        body = b"" if endless else response.read()
        self.is_open = not endless and not response.will_close
        return response.status, response.headers.get_content_type() if response.headers["content-type"] else "", body

    def leave(self, reset: bool) -> None:
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Player:
    def __init__(self, port: int, world: object, document: dict, request_for: Callable) -> None:
        self.port, self.world, self.request_for = port, world, request_for
        self.operations = {
            operation["operationId"]: (method.upper(), path)
            for path, item in document["paths"].items() for method, operation in item.items()}
        self.kept: dict[str, tuple[bytes, bytes]] = {}
        self.alone: dict[str, tuple] = {}

    def request(self, name: str, apart: bool) -> tuple[bytes, bytes]:
        """The head and the body of a request that the operation takes."""
        if (name, apart) in self.kept:
            return self.kept[name, apart]
        made = self.request_for(self.world, name)
        method, path = self.operations[name]
        for part, value in made.path.items():
            path = path.replace(f"{{{part}}}", urllib.parse.quote(str(value), safe=""))
        if made.query:
            path += "?" + urllib.parse.urlencode(made.query)
        headers = {"host": f"127.0.0.1:{self.port}", "authorization": f"Bearer {KEY}", **made.headers}
        body = b""
        if made.body is not None:
            body = made.body if isinstance(made.body, bytes) else json.dumps(made.body).encode()
            headers |= {"content-type": made.media_type, "content-length": str(len(body))}
            if apart:
                headers["expect"] = "100-continue"
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in headers.items()) + "\r\n"
        # A daemon keeps few ended replays.
        if method == "GET" and name != "getReplay" or name in KEPT:
            self.kept[name, apart] = head.encode(), body
        return head.encode(), body

    def shape(self, answer: tuple[int, str, bytes]) -> tuple:
        status, media_type, body = answer
        members: object = ()
        if media_type == "application/json" and body:
            value = json.loads(body)
            members = tuple(sorted(value.keys() - VARIABLE)) if isinstance(value, dict) else type(value).__name__
        return status, media_type, members

    def play_alone(self) -> None:
        for name in self.operations:
            connection = Connection(self.port)
            connection.send(*self.request(name, False), apart=False)
            answer = connection.answer(name in ENDLESS)
            connection.leave(reset=False)
            if answer[0] // 100 not in (2, 3):
                raise AssertionError(f"{name} alone: {answer}")
            self.alone[name] = self.shape(answer)

    def compare(self, before: str, name: str, answer: tuple[int, str, bytes]) -> None:
        if answer[0] == 429 and name in RATED:
            return
        if (found := self.shape(answer)) != self.alone[name]:
            raise AssertionError(f"{name} after {before}: {found} {answer[2][:300]!r}, and alone {self.alone[name]}")

    def play_scenes(self) -> None:
        """Requests on one connection each that have ended a daemon, with the statuses of their answers."""
        application = "/v1/applications/com.example.shared"
        post, explain = ("POST", f"{application}/notifications", NOTIFICATION), ("POST", f"{application}/explain?parts=true", NOTIFICATION)
        lanes, held = ("GET", "/v1/lanes?limit=200", None), ("GET", "/v1/notifications?state=held&limit=100", None)
        trial = ("POST", f"{application}/sessions/window/trial?parts=true", {"activationConditions": {}})
        unknown = ("POST", f"{application}/sessions/none/trial?parts=true", {"activationConditions": {}})
        for scene in [(post, trial, trial, trial), (lanes, held, explain, trial, trial), (unknown,), (trial, trial, trial)]:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
            for request in scene:
                method, path, body = request
                connection.request(method, path, body and json.dumps(body), {"authorization": f"Bearer {KEY}"})
                answer = connection.getresponse()
                text = answer.read()
                assert answer.status == (404 if request == unknown else 202 if request == post else 200), f"{path}: {answer.status} {text!r}"
            connection.close()

    def play(self, apart: bool) -> int:
        names, connection, before, count = list(self.operations), None, "nothing", 0
        for number in sequence(len(names)):
            name = names[number]
            connection = connection or Connection(self.port)
            connection.send(*self.request(name, apart), apart=apart)
            self.compare(before, name, connection.answer(name in ENDLESS))
            if not connection.is_open:
                connection.leave(reset=False)
                connection = None
            before = name
            count += 1
        return count

    def play_leaving(self, share: int | None) -> int:
        """The client leaves before the answer to the second operation of each pair, or of a share of them."""
        names, count = [name for name in self.operations if name not in ENDLESS], 0
        for place, first in enumerate(names):
            for other, second in enumerate(self.operations):
                if share is not None and (place + other) % SHARES != share:
                    continue
                connection = Connection(self.port)
                connection.send(*self.request(first, False), apart=False)
                answer = connection.answer(False)
                if first == OF_RULES and answer[0] == 404 and b'"unknown-plugin"' in answer[2]:
                    # The client before has left `putRules`, which the daemon has done after this request's `deleteRules`.
                    connection.send(*self.request(first, False), apart=False)
                    answer = connection.answer(False)
                self.compare("nothing", first, answer)
                connection.send(*self.request(second, False), apart=False)
                connection.leave(reset=count % 2 == 0)
                count += 1
        return count


def main() -> int:
    arguments = argparse.ArgumentParser(description="Plays every ordered pair of operations on one connection.")
    arguments.add_argument("--routerd", type=Path, required=True, help="the binary")
    arguments.add_argument("--only", default="", help="a regular expression of the operations to play")
    arguments.add_argument("--share", help=f"the pairs with a client that leaves: 0 to {SHARES - 1}, or all; by default that of the day")
    given = arguments.parse_args()
    share = None if given.share == "all" else int(given.share or datetime.date.today().toordinal() % SHARES)
    enter_environment()
    sys.path.append(str(ROOT / "Tests/support_py"))
    from daemon import Daemon
    from world import KeptAlive, request_for

    receiver = receive()
    with temporary_folder("routerd-pairs-") as folder:
        file = Path(folder) / "routerd.yaml"
        file.write_text(json.dumps(configuration(receiver)))
        with Daemon(given.routerd.resolve(), Path(folder), "127.0.0.1:0", file) as daemon:
            port = int(daemon.listen.rpartition(":")[2])
            try:
                world = KeptAlive(f"http://{daemon.listen}", KEY, receiver)
                world.build()
                player = Player(port, world, daemon.call("GET", "/openapi.json").json, request_for)
                if given.only:
                    player.operations = {
                        name: place for name, place in player.operations.items() if re.search(given.only, name)}
                started = time.monotonic()
                player.play_scenes()
                player.play_alone()
                counts = []
                for part in (lambda: player.play(False), lambda: player.play(True), lambda: player.play_leaving(share)):
                    counts.append(part())
                    print(f"pairs: {counts[-1]} requests, {time.monotonic() - started:.0f} s", flush=True)
                assert daemon.call("GET", "/healthz").status == 200, "the daemon is not healthy"
            except (AssertionError, OSError, http.client.HTTPException) as fault:
                time.sleep(0.5)
                ended = daemon.process and daemon.process.poll()
                log = (Path(folder) / "daemon.log").read_text(errors="replace")
                print(f"pairs: {fault!r}", log[-2000:], "the daemon lives" if ended is None else f"the daemon ended by {ended}",
                      sep="\n", file=sys.stderr)
                return 1
    print(f"pairs: {len(player.operations)} operations, each after each; {sum(counts)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
