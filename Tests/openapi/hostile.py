#!/usr/bin/env python3
"""Plays every operation of /openapi.json hostile, and checks that another tenant does not notice.

Usage: Tests/openapi/hostile.py [--routerd PATH] [--whole] [--only REGEX]

Tenant A sends the accepted requests of `world.py` and their worst forms: the largest page, the largest list of ids, the largest
body, bodies that drip, many connections. Meanwhile tenant B has a notification accepted every 20 ms, one after the other, and
health checks run. The bounds, by operation: the p99 of B is at most three times that of the quiet phase, which counts as 10 ms
at least; a health check takes at most 1 s; the memory of the daemon grows by what the operation declares (`x-bounds`) for the
requests under way, and a constant; no answer is a 5xx but 503. A form beyond a bound is played three times for a second, each after
a quiet second, and the medians count. Without --whole each operation has its first form for a moment, and the p99 has no bound: other
steps of `make test` have the processors too.

A is a process of its own with a lower priority: `hostile.py --noise`.
"""
import argparse
import base64
import http.client
import json
import math
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from surroundings import KEY, ROOT, configuration, digest, enter_environment, receive, temporary_folder

QUIET, CROWDED, GATED = "com.example.quiet", "com.example.crowded", "com.example.gated"
# Applications of A, each with a key of its own.
TENANTS = (CROWDED, GATED, "com.example.shared")
PAUSE_SECONDS, HEALTH_PAUSE_SECONDS = 0.02, 0.05
QUIET_SECONDS = 3.0
SECONDS, AGAIN_SECONDS, WHOLE_SECONDS = 0.3, 1.0, 3.0
ROUNDS = 3
MOST_TIMES, FLOOR_SECONDS, HEALTH_SECONDS = 3.0, 0.010, 1.0
CONNECTIONS, MANY, DRIPPING = 8, 64, 32
# Memory that no request accounts for: stored rows, the heap of the threads.
FREE_BYTES, BODY_TIMES, ANSWER_TIMES, HELD_BYTES = 96 << 20, 4, 3, 256 << 20
IDS, PAGE = 1_000, 1_000
# The answer of an endless stream in memory.
ENDLESS_BYTES = 1 << 20
LARGEST_BATCH = 4 << 20
PATIENCE_SECONDS = 30


@dataclass
class Form:
    """A form of an operation: the requests that A repeats, in turn, on so many connections."""

    name: str
    requests: list[bytes]
    connections: int = CONNECTIONS
    # A body that drips has no end: the requests are heads alone.
    drips: bool = False


@dataclass
class Phase:
    """The times of B in seconds, the longest health check, and what B was refused."""

    accepts: list[float] = field(default_factory=list)
    health: float = 0
    refusals: list[str] = field(default_factory=list)
    grown: int = 0
    noise: dict = field(default_factory=dict)

    def part(self, share: float) -> float:
        return sorted(self.accepts)[math.ceil(len(self.accepts) * share) - 1] if self.accepts else math.inf


class Noise:
    """The process of A: takes a form a line, and answers with its tally when it is told to stop."""

    def __init__(self, address: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--noise", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, message: dict) -> dict:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError("the noise has ended")
        return json.loads(answer)

    def begin(self, form: Form) -> None:
        self.say({"requests": [base64.b64encode(each).decode() for each in form.requests], "drips": form.drips,
                  "connections": form.connections})

    def end(self) -> dict:
        return self.say({})

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def make_noise(address: str) -> None:
    """The work of the process of A."""
    from chaos.noise import Tenant, flood

    os.nice(10)
    for line in sys.stdin:
        told = json.loads(line)
        requests = [base64.b64decode(each) for each in told["requests"]]
        tenant, stopping = Tenant(address, "", ""), threading.Event()

        def talk(number: int) -> Callable[[int | None, bytes], bytes]:
            places = iter(range(number, 1 << 62))
            return lambda status, body: requests[next(places) % len(requests)]

        act = drip(tenant, requests, told["connections"]) if told["drips"] else flood(tenant, told["connections"], talk)
        thread = threading.Thread(target=act, args=(stopping,))
        thread.start()
        print("{}", flush=True)
        sys.stdin.readline()
        tally = {"sent": tenant.tally.sent, "open": tenant.tally.open, "statuses": tenant.tally.statuses}
        stopping.set()
        thread.join()
        print(json.dumps(tally), flush=True)


def drip(tenant: Any, heads: list[bytes], connections: int) -> Callable[[threading.Event], None]:
    """Connections whose bodies never end: a byte of each in each round."""
    def act(stopping: threading.Event) -> None:
        held: list[socket.socket] = []
        while not stopping.wait(0.05):
            while len(held) < connections:
                made = tenant.connect()
                made.sendall(heads[len(held) % len(heads)])
                tenant.tally.sent += 1
                held.append(made)
            for each in list(held):
                try:
                    each.sendall(b" ")
                    each.setblocking(False)
                    tenant.tally.statuses[each.recv(4096)[9:12].decode() or "closed"] += 1
                except BlockingIOError:
                    each.setblocking(True)
                    continue
                except OSError:
                    tenant.tally.statuses["closed"] += 1
                each.close()
                held.remove(each)
            tenant.tally.open = len(held)
        for each in held:
            each.close()

    return act


class Quiet:
    """Tenant B, the health checks and the memory of the daemon."""

    def __init__(self, address: str, process: int) -> None:
        self.address, self.process = address, process

    def resident(self) -> int:
        text = Path(f"/proc/{self.process}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE)[1]) << 10

    def measure(self, seconds: float) -> Phase:
        phase, before, end = Phase(), self.resident(), time.monotonic() + seconds
        threads = [
            threading.Thread(target=self._repeat, args=(end, PAUSE_SECONDS, lambda call: self._accept(call, phase), phase)),
            threading.Thread(target=self._repeat, args=(end, HEALTH_PAUSE_SECONDS, lambda call: self._check(call, phase), phase))]
        for thread in threads:
            thread.start()
        most = before
        while any(thread.is_alive() for thread in threads):
            most = max(most, self.resident())
            time.sleep(0.05)
        phase.grown = most - before
        return phase

    def _repeat(self, end: float, pause: float, work: Callable, phase: Phase) -> None:
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_SECONDS)

        def call(method: str, path: str, body: bytes | None = None) -> tuple[float, int]:
            began = time.monotonic()
            connection.request(method, path, body, {"authorization": f"Bearer {key_of(QUIET)}"})
            answer = connection.getresponse()
            answer.read()
            return time.monotonic() - began, answer.status

        while time.monotonic() < end:
            try:
                work(call)
            except (OSError, http.client.HTTPException) as fault:
                phase.refusals.append(repr(fault))
                connection.close()
            time.sleep(pause)
        connection.close()

    def _accept(self, call: Callable, phase: Phase) -> None:
        seconds, status = call("POST", f"/v1/applications/{QUIET}/notifications", b'{"aps":{}}')
        phase.accepts.append(seconds)
        if status != 202:
            phase.refusals.append(f"an accept was answered {status}")

    def _check(self, call: Callable, phase: Phase) -> None:
        seconds, status = call("GET", "/healthz")
        phase.health = max(phase.health, seconds)
        if status != 200:
            phase.refusals.append(f"a health check was answered {status}")


class Attacks:
    """The hostile forms of operations."""

    def __init__(self, world: Any, document: dict, request_for: Callable, is_whole: bool) -> None:
        self.world, self.request_for, self.is_whole = world, request_for, is_whole
        self.operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, item in document["paths"].items() for method, operation in item.items()}
        self.subject = ""

    def prepare(self) -> None:
        """Resources of A whose lists, decisions and signatures are large."""
        from chaos.noises import hostile

        for name, gates in ((CROWDED, {}), (GATED, {"onboarding": {}})):
            self.world.application(name, **gates)
        self.subject, predicates = hostile(self._count(1_000))
        self._fill("sessions", [
            {"id": f"s{number}", "activationState": "background", "endpoint": {"stream": True},
             "activationConditions": {"canActivateForTargetContentIdentifierPredicate": text}}
            for number, text in enumerate(predicates)])
        self._fill("notifications", [{"aps": {}}] * self._count(20_000))
        templates = {f"t{number}": "x://" + "y" * 4_000 for number in range(60)}
        for number in range(self._count(400)):
            self.world.call("PUT", f"/v1/sources/large{number}", {
                "kind": "bearer", "application": CROWDED, "secrets": ["the-secret"], "contentId": templates})
        self.world.call("PUT", "/v1/sources/signed", {
            "kind": "standard-webhooks", "application": CROWDED, "secrets": [public_key() for _ in range(10)]})
        self.world.call("PUT", "/v1/sources/filtering", {
            "kind": "cloudevents", "application": CROWDED, "contentId": "{subject}", "secrets": [],
            "filter": " OR ".join(f"data.t LIKE[cd] '*a{number}*b*'" for number in range(10))})
        for number in range(self._count(3_000)):
            self.world.call("PUT", f"/v1/applications/{GATED}/gate/configuration", {
                "device": f"d{number}", "configuration": {"a": "x" * 10_000}})

    def _count(self, whole: int) -> int:
        return whole if self.is_whole else whole // 10

    def _fill(self, noun: str, resources: list[dict]) -> None:
        """Makes resources of the crowded application by a batch."""
        connection = http.client.HTTPConnection(self.world.address.removeprefix("http://"), timeout=PATIENCE_SECONDS)
        lines = "".join(json.dumps(each) + "\n" for each in resources)
        connection.request("POST", f"/v1/applications/{CROWDED}/{noun}:batch", lines, {"authorization": f"Bearer {KEY}"})
        answer = connection.getresponse()
        said = [json.loads(line) for line in answer.read().splitlines()] if answer.status == 200 else []
        connection.close()
        if refused := [each for each in said if "error" in each] or len(said) < len(resources):
            raise AssertionError(f"{noun} of the crowded application: {answer.status} {refused}")

    def forms(self, name: str) -> Iterator[Form]:
        """The forms of an operation, the most costly one first."""
        operation = self.operations[name][2]
        made = self.request_for(self.world, name)
        yield from (Form(kind, [request]) for kind, request in self._worst(name))
        if name != "streamDeliveries" and any(each["name"] == "limit" for each in operation["parameters"]):
            yield Form("page", [self._bytes(name, replace(made, query={**made.query, "limit": PAGE}))])
        is_long = "requestBody" in operation
        if is_long:
            yield Form("body", [self._bytes(name, replace(made, body=largest_body(operation)))])
        yield Form("repeated", [self._bytes(name, made)])
        if is_long:
            yield Form("dripping body", [self._head(name, made, operation["x-bounds"]["bodyBytes"])], DRIPPING, True)
        yield Form("connections", [self._bytes(name, made)], MANY)

    def _worst(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Forms that need more than the document says."""
        from world import Request

        crowded, text = {"application": CROWDED}, "ab" * (60 << 10)

        def form(kind: str, path: dict, body: object = None, is_known: bool = True, **parts: object) -> tuple[str, bytes]:
            return kind, self._bytes(name, Request(path, body=body, **parts), is_known)

        if name == "listSessions":
            yield form("page", crowded, query={"limit": PAGE})
        if name == "listGates":
            yield form("page", {"application": GATED}, query={"limit": PAGE})
        if name in ("listSources", "listNotifications"):
            yield form("page", {}, query={"limit": PAGE, **crowded})
        if name == "explain":
            yield form("parts", crowded, {"aps": {}, "notification-content-id": self.subject},
                       query={"limit": PAGE, "parts": "true"})
        if name == "tryConditions":
            yield form("parts", {**crowded, "session": "s0"}, {
                "activationConditions": {"preferring": ["a"]}, "notification": {"contentId": self.subject}},
                query={"limit": PAGE, "last": PAGE, "parts": "true"})
        if name == "acknowledgeDeliveries":
            yield form("ids", {**crowded, "session": "s0"}, {"ids": [f"dlv_{number:026d}" for number in range(IDS)]})
        if name == "postNotificationBatch":
            yield form("lines", crowded, b'{"aps":1}\n' * self._count(20_000))
        if name == "postNotification":
            yield form("body", crowded, {"aps": {}, "text": 2 * text})
        if name == "postToSource":
            signatures = " ".join("v1a," + base64.b64encode(os.urandom(63) + b"\0").decode() for _ in range(16))
            yield form("signatures", {"source": "signed"}, {"type": 2 * text}, is_known=False, headers={
                "webhook-id": "a", "webhook-timestamp": str(int(time.time())), "webhook-signature": signatures})
            event = {"specversion": "1.0", "type": "a", "source": "/b", "id": "c", "subject": "d", "data": {"t": text}}
            yield form("filter", {"source": "filtering"}, event, media_type="application/cloudevents+json")

    def _bytes(self, name: str, made: Any, is_known: bool = True) -> bytes:
        body = made.body
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._head(name, made, None if body is None else len(data), is_known) + data

    def _head(self, name: str, made: Any, length: int | None, is_known: bool = True) -> bytes:
        method, path, _ = self.operations[name]
        for part, value in made.path.items():
            path = path.replace(f"{{{part}}}", urllib.parse.quote(str(value), safe=""))
        if made.query:
            path += "?" + urllib.parse.urlencode(made.query)
        headers = {"host": "localhost", **made.headers}
        if is_known:
            # Operations of the whole daemon, and those on applications of their own, are played with the operator's key.
            application = made.path.get("application") or made.query.get("application")
            headers["authorization"] = f"Bearer {key_of(application) if application in TENANTS else KEY}"
        if length is not None:
            headers |= {"content-type": made.media_type, "content-length": str(length)}
        return (f"{method} {path} HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in headers.items()) + "\r\n").encode()


def largest_body(operation: dict) -> bytes:
    """A body of the greatest size, which is read as a whole before it is refused."""
    bound = min(operation["x-bounds"]["bodyBytes"], LARGEST_BATCH)
    if "application/x-ndjson" in operation["requestBody"]["content"]:
        line = b'{"x":[0,0,0,0,0,0,0,0]}\n'
        return line * (bound // len(line))
    return b'{"x":[' + b"0," * (bound // 2 - 8) + b"0]}"


def public_key() -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return "whpk_" + base64.b64encode(Ed25519PrivateKey.generate().public_key().public_bytes_raw()).decode()


def key_of(application: str) -> str:
    return f"rk_of_{application}"


def most_memory(operation: dict, form: Form) -> int:
    """The bytes by which the daemon may grow while so many requests are under way."""
    bounds = operation["x-bounds"]
    answer = ENDLESS_BYTES if bounds["answerBytes"] is None else bounds["answerBytes"]
    bodies = BODY_TIMES * min(bounds["bodyBytes"] * form.connections, HELD_BYTES)
    return FREE_BYTES + bodies + ANSWER_TIMES * answer * form.connections


def faults(quiet: Phase, beside: Phase, operation: dict, form: Form, whole: bool) -> Iterator[str]:
    """Everything by which B, or an operator, noticed A."""
    if whole and (p99 := beside.part(0.99)) > (most := MOST_TIMES * max(quiet.part(0.99), FLOOR_SECONDS)):
        yield f"the p99 of the quiet tenant is {1000 * p99:.0f} ms, more than {1000 * most:.0f}"
    if beside.health > HEALTH_SECONDS:
        yield f"a health check took {beside.health:.1f} s"
    if beside.grown > (memory := most_memory(operation, form)):
        yield f"the memory grew by {beside.grown >> 20} MiB, more than {memory >> 20}"
    yield from sorted(set(beside.refusals))
    for status, count in beside.noise.get("statuses", {}).items():
        if status.startswith("5") and status != "503":
            yield f"{count} answers {status}"


def play(noise: Noise, quiet: Quiet, form: Form, seconds: float) -> Phase:
    noise.begin(form)
    phase = quiet.measure(seconds)
    phase.noise = noise.end()
    return phase


def median(phases: list[Phase]) -> Phase:
    """The phase with the median p99, and the longest health check, the memory and the refusals of all."""
    middle = sorted(phases, key=lambda phase: phase.part(0.99))[len(phases) // 2]
    return Phase(middle.accepts, max(phase.health for phase in phases), [text for phase in phases for text in phase.refusals],
                 max(phase.grown for phase in phases), middle.noise)


def row(name: str, form: Form, quiet: Phase, beside: Phase) -> str:
    noise = beside.noise
    statuses = " ".join(f"{count}×{status}" for status, count in sorted(noise["statuses"].items())) or f"{noise['open']} open"
    times = [f"{1000 * phase.part(share):.1f}" for phase in (quiet, beside) for share in (0.5, 0.99)]
    return (f"| {name}, {form.name} | {statuses} | {times[0]} / {times[1]} | {times[2]} / {times[3]} | {1000 * beside.health:.0f} |"
            f" {beside.grown >> 20} |")


def main() -> int:
    arguments = argparse.ArgumentParser(description="Plays every operation hostile beside a quiet tenant.")
    arguments.add_argument("--routerd", type=Path, default=os.environ.get("ROUTERD", ROOT / ".build/release/routerd"), help="the binary")
    arguments.add_argument("--whole", action="store_true", help="every form of each operation, for seconds")
    arguments.add_argument("--only", default="", help="a regular expression of the operations to play")
    arguments.add_argument("--noise", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    sys.path += [str(ROOT / "Tests/support_py"), str(ROOT / "Tests/chaos")]
    if given.noise:
        make_noise(given.noise)
        return 0
    enter_environment()
    from daemon import Daemon
    from world import KeptAlive, request_for

    receiver, found = receive(), []
    with temporary_folder("routerd-hostile-") as folder:
        file = Path(folder) / "routerd.yaml"
        settings = configuration(receiver)
        settings["apiKeys"] += [
            {"name": name, "sha256": digest(key_of(name)), "scopes": ["admin"], "application": name} for name in (QUIET, *TENANTS)]
        # Rules are asked before each decision: the receiver in Python would be what B waits for.
        del settings["rules"]
        file.write_text(json.dumps(settings))
        with Daemon(given.routerd.resolve(), Path(folder), "127.0.0.1:0", file) as daemon:
            assert daemon.process
            world = KeptAlive(f"http://{daemon.listen}", KEY, receiver)
            world.build()
            world.application(QUIET)
            attacks = Attacks(world, daemon.call("GET", "/openapi.json").json, request_for, given.whole)
            attacks.prepare()
            quiet, noise = Quiet(daemon.listen, daemon.process.pid), Noise(daemon.listen)
            try:
                quiet.measure(SECONDS)
                alone = quiet.measure(QUIET_SECONDS)
                print("| operation | requests of A | B alone, p50 / p99 ms | beside A, p50 / p99 ms | healthz at most, ms | RSS, MiB more |")
                print("|---|---|---|---|---|---|")
                for name in attacks.operations:
                    # Its accepted request needs a rule of the configuration.
                    if name == "enablePlugin" or not re.search(given.only, name):
                        continue
                    operation = attacks.operations[name][2]
                    for form in attacks.forms(name):
                        before, beside = alone, play(noise, quiet, form, WHOLE_SECONDS if given.whole else SECONDS)
                        if any(faults(before, beside, operation, form, given.whole)):
                            # Other programs may have the processors now.
                            phases = [(quiet.measure(AGAIN_SECONDS), play(noise, quiet, form, AGAIN_SECONDS)) for _ in range(ROUNDS)]
                            before, beside = (median(list(each)) for each in zip(*phases))
                        print(row(name, form, before, beside), flush=True)
                        found += [f"{name}, {form.name}: {fault}" for fault in faults(before, beside, operation, form, given.whole)]
                        if not given.whole:
                            break
                assert daemon.process.poll() is None, f"the daemon ended by {daemon.process.poll()}"
            finally:
                noise.close()
    print(*found, f"hostile: {len(found)} faults", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
