"""The kinds of noise that a tenant can make with ordinary keys, or with none: the table of the scenario `neighbour`.

A new kind is a row of KINDS and a function that prepares it: registers its material with the noisy tenant's key, and
returns what the noise then does until it is told to stop.
"""

import json
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from chaos.noise import Act, Talk, Tenant, flood, says
from chaos.shares import DEAD_ENDPOINT

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
# Rows of a full run, which a scale divides.
HOSTILE_SESSIONS, SESSIONS, ROWS, WAITING = 1_000, 50_000, 20_000, 100_000
PREDICATE_BYTES, SUBJECT_LETTERS = 15_900, 4_096
IDLE_SOURCES, IDLE_EACH = ("127.0.0.3", "127.0.0.4"), 1_024
NOTIFICATIONS = "/v1/applications/{}/notifications"
ACCEPTED = frozenset({"200", "201", "202", "204"})
# Turned away, which is the daemon's good right, and closed connections.
REFUSED = frozenset({"429", "503", "408", "413", "closed", "ECONNRESET", "EPIPE"})


@dataclass(frozen=True)
class Kind:
    """A kind of noise."""

    name: str
    does: str
    prepare: Callable[[Tenant], Act]
    # Requests that must have been answered or be under way after a phase of a full run; fewer are no noise.
    least: int
    # Outcomes of its requests that are no fault of the scenario's.
    fits: frozenset[str] = ACCEPTED | REFUSED
    # A request of the quiet tenant that is served from the same quota: a row of `shares.SHARES`.
    share: str | None = None
    # Kinds of one group work on one application.
    group: str = ""
    # The work goes on after the noise has ended, unless its application is deleted.
    outlasts: bool = False
    # The quiet tenant is known to notice it; docs/CHAOS.md has the figures.
    is_open: bool = False
    # Part of the short form.
    is_short: bool = False
    # The longest p99 of the quiet tenant, as a multiple of that of the quiet phase.
    times: float = 3.0
    # A program in Python that is a rule of the application, in a process of its own.
    rule: str = ""

    @property
    def application(self) -> str:
        return f"com.example.Noisy.{(self.group or self.name).replace(' ', '-')}"


# Predicates


def hostile(scale_of: int, seed: int = 5) -> tuple[str, list[str]]:
    """A subject, and predicates all of whose pieces occur in it in the wrong order: an index cannot rule any out."""
    random = Random(seed)
    subject = "".join(random.choice("abcdefgh") for _ in range(SUBJECT_LETTERS))
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for place in range(SUBJECT_LETTERS - 3):
        piece = subject[place:place + 4]
        first.setdefault(piece, place)
        last[piece] = place
    pieces = sorted(first)

    def predicate() -> str:
        parts: list[str] = []
        size = 0
        while size < PREDICATE_BYTES:
            early, late = random.choice(pieces), random.choice(pieces)
            if last[late] < first[early]:
                parts.append(f"SELF LIKE[cd] '*{early}*{late}*'")
                size += len(parts[-1]) + 4
        return " OR ".join(parts)

    return subject, [predicate() for _ in range(scale_of)]


def predicates(tenant: Tenant, most: int, request: Callable[[str], bytes], connections: int) -> Act:
    tenant.put_application(manifest={"supportsMultipleScenes": True})
    subject, found = hostile(tenant.count(most, 20))
    if tenant.call("GET", f"/v1/applications/{{}}/sessions/s{len(found) - 1}")[0] == 404:
        tenant.tally.details["registered"] = tenant.put_sessions([
            {"id": f"s{number}", "endpoint": DEAD_ENDPOINT,
             "activationConditions": {"canActivateForTargetContentIdentifierPredicate": text}}
            for number, text in enumerate(found)])
    return flood(tenant, connections, says(request(subject)))


def hostile_accepts(tenant: Tenant) -> Act:
    return predicates(tenant, HOSTILE_SESSIONS, lambda subject: tenant.request("POST", NOTIFICATIONS, json.dumps(
        {"aps": {}, "notification-content-id": subject}).encode()), 1)


def hostile_explains(tenant: Tenant) -> Act:
    return predicates(tenant, HOSTILE_SESSIONS, lambda subject: tenant.request(
        "POST", "/v1/applications/{}/explain", json.dumps({"aps": {}, "notification-content-id": subject}).encode()), 1)


def hostile_batches(tenant: Tenant) -> Act:
    return predicates(tenant, HOSTILE_SESSIONS // 10, lambda subject: tenant.request(
        "POST", f"{NOTIFICATIONS}:batch",
        (json.dumps({"aps": {}, "notification-content-id": subject}) + "\n").encode() * 256), 1)


# Lists


def list_of(path: str, connections: int = 16, rows: int = 0, sessions: int = 0) -> Callable[[Tenant], Act]:
    """A GET on so many connections, of an application that has rows or sessions of its own."""

    def prepare(tenant: Tenant) -> Act:
        tenant.put_application(manifest={"supportsMultipleScenes": True})
        tenant.fill(tenant.count(rows) if rows else 0)
        last = f"/v1/applications/{{}}/sessions/s{tenant.count(sessions) - 1}"
        if sessions and tenant.call("GET", last)[0] == 404:
            tenant.put_sessions([
                {"id": f"s{number}", "device": f"d{number % 100}", "endpoint": DEAD_ENDPOINT,
                 "activationConditions": {"canActivateForTargetContentIdentifierPredicate": f"SELF == 'doc/{number}'"}}
                for number in range(tenant.count(sessions))])
        return flood(tenant, connections, says(tenant.request("GET", path)))

    return prepare


# Accepts


def small_accepts(tenant: Tenant) -> Act:
    tenant.put_application(manifest={"supportsMultipleScenes": True})
    return flood(tenant, 512, says(tenant.request("POST", NOTIFICATIONS, b'{"aps":{}}')))


def batches(tenant: Tenant) -> Act:
    tenant.put_application(manifest={"supportsMultipleScenes": True})
    return flood(tenant, 32, says(tenant.request("POST", f"{NOTIFICATIONS}:batch", b'{"aps":1}\n' * 20_000)))


# Streams and replays


def unread_streams(tenant: Tenant) -> Act:
    """Sixteen streams that nothing is read from, and accepts that they would have to show."""
    tenant.put_application(manifest={"supportsMultipleScenes": True})
    accepts = flood(tenant, 4, says(tenant.request("POST", NOTIFICATIONS, b'{"aps":{}}')))

    def act(stopping: threading.Event) -> None:
        streams = []
        for _ in range(16):
            stream = tenant.connect()
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            stream.sendall(tenant.request("GET", "/v1/stream"))
            # The first bytes are the status line; nothing else is read.
            if b" 200 " in stream.recv(16):
                streams.append(stream)
        if not streams:
            raise SystemExit("no stream was opened")
        tenant.tally.details["streams"] = len(streams)
        accepts(stopping)

    return act


def replays(tenant: Tenant) -> Act:
    """As many replays at 1,000 a second as the daemon grants, again and again, four requests at a time."""
    tenant.put_application(manifest={"supportsMultipleScenes": True})
    tenant.fill(tenant.count(ROWS, 1_000))
    body = json.dumps({"application": tenant.application, "perSecond": 1_000}).encode()
    return flood(tenant, 4, says(tenant.request("POST", "/v1/replays", body)))


def dry_runs(tenant: Tenant) -> Act:
    tenant.put_application(manifest={"supportsMultipleScenes": True})
    tenant.fill(tenant.count(ROWS, 1_000))
    body = json.dumps({"application": tenant.application, "since": "2000-01-01T00:00:00Z", "dryRun": True}).encode()
    return flood(tenant, 16, says(tenant.request("POST", "/v1/replays", body)))


# Passcodes

PERSONS = 80
GATED = {"supportsMultipleScenes": True, "sceneConfigurations": []}


def passcodes(tenant: Tenant) -> Act:
    """Eighty persons at a time choose a passcode, have their data reset, and choose another one."""
    tenant.put_application(manifest=GATED, gates={"passcode": {}})
    gate = "/v1/applications/{}/gate/"

    def person(number: int) -> Talk:
        name = f"p{number}"
        tenant.must("PUT", f"/v1/applications/{{}}/sessions/{name}", {
            "device": f"d{number}", "activationState": "foregroundActive", "endpoint": DEAD_ENDPOINT})
        term = tenant.must("POST", f"{gate}open", {"session": name})["term"]

        def ask(verb: str, **more: object) -> bytes:
            # Every step but the opening is one of the present term.
            fields = {"session": name} if verb == "open" else {"session": name, "term": term, **more}
            return tenant.request("POST", f"{gate}{verb}", json.dumps(fields).encode())

        def rounds() -> Iterator[bytes]:
            while True:
                yield ask("passcode/create", passcode="correct horse", confirmation="correct horse")
                if last[0] in (429, 503):
                    continue
                yield ask("reset")
                yield ask("succeed")
                yield ask("open")

        last: list[int | None] = [None]
        requests = rounds()

        def talk(status: int | None, body: bytes) -> bytes:
            nonlocal term
            last[0] = status
            if status in (200, 201):
                # A reset begins another term.
                term = json.loads(body)["term"]
            return next(requests)

        return talk

    return flood(tenant, PERSONS, person)


# Below HTTP


def slow_bodies(tenant: Tenant) -> Act:
    """Bodies that come to their last byte and then drip: as much of the memory for bodies as one tenant gets."""
    tenant.put_application(manifest={"supportsMultipleScenes": True})

    def begin(size: int, path: str) -> socket.socket:
        made = tenant.connect()
        tenant.tally.sent += 1
        made.sendall(tenant.request("POST", path)[:-2] + b"Transfer-Encoding: chunked\r\n\r\n")
        try:
            while size > 0:
                count = min(size, 65_536)
                made.sendall(b"%x\r\n%s\r\n" % (count, b" " * count))
                size -= count
        except OSError:
            tenant.tally.statuses["closed"] += 1
        return made

    def answered(each: socket.socket) -> bool:
        poll = select.poll()
        poll.register(each, select.POLLIN)
        return bool(poll.poll(0))

    def act(stopping: threading.Event) -> None:
        bodies = [begin(62 << 20, f"{NOTIFICATIONS}:batch") for _ in range(tenant.count(3))]
        bodies += [begin(255 << 10, NOTIFICATIONS) for _ in range(tenant.count(300, 50))]
        tenant.tally.open = len(bodies)
        tenant.is_loud.set()
        while not stopping.wait(0.05):
            for each in [each for each in bodies if answered(each)]:
                take_status(tenant, each)
                bodies.remove(each)
            for size in (64 << 10, 4_096, 256, 32, 8, 4, 2, 1):
                if len(bodies) < 600:
                    bodies.append(begin(size, NOTIFICATIONS))
            tenant.tally.open = len(bodies)

    return act


def take_status(tenant: Tenant, each: socket.socket) -> None:
    try:
        head = each.recv(65_536)[9:12].decode()
    except OSError:
        head = ""
    tenant.tally.statuses[head or "closed"] += 1
    each.close()


def idle_connections(tenant: Tenant) -> Act:
    """All connections of two addresses, without a word and without a key; those that are closed are made again."""

    def act(stopping: threading.Event) -> None:
        held: dict[str, list[socket.socket]] = {source: [] for source in IDLE_SOURCES}
        poll = select.poll()
        by_descriptor: dict[int, tuple[str, socket.socket]] = {}
        while not stopping.wait(0.05):
            for source, connections in held.items():
                while len(connections) < IDLE_EACH:
                    try:
                        made = tenant.connect(source)
                    except OSError:
                        break
                    tenant.tally.sent += 1
                    connections.append(made)
                    poll.register(made, select.POLLIN)
                    by_descriptor[made.fileno()] = (source, made)
            for descriptor, _ in poll.poll(0):
                source, made = by_descriptor.pop(descriptor)
                poll.unregister(descriptor)
                take_status(tenant, made)
                held[source].remove(made)
            tenant.tally.open = sum(map(len, held.values()))
            tenant.is_loud.set()

    return act


def deletion(tenant: Tenant) -> Act:
    """Deletes an application in which many notifications wait."""
    tenant.put_application(manifest={"supportsMultipleScenes": True})
    tenant.put_sessions([{"id": "dead", "activationState": "background", "endpoint": DEAD_ENDPOINT}])
    tenant.fill(tenant.count(WAITING))

    def act(stopping: threading.Event) -> None:
        tenant.is_loud.set()
        tenant.counting.wait()
        stopping.wait(0.5)
        tenant.tally.sent += 1
        tenant.tally.open += 1
        began = time.monotonic()
        status, _ = tenant.call("DELETE", "/v1/applications/{}")
        tenant.tally.open -= 1
        tenant.tally.statuses[str(status)] += 1
        tenant.tally.details["seconds"] = round(time.monotonic() - began, 3)
        stopping.wait()

    return act


# A rule in a process of its own

HOSTILE_RULE = """
import json, os, struct, sys

def read():
    head = sys.stdin.buffer.read(4)
    return json.loads(sys.stdin.buffer.read(struct.unpack(">I", head)[0])) if len(head) == 4 else sys.exit(0)

def write(message):
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(struct.pack(">I", len(body)) + body)
    sys.stdout.buffer.flush()

def compute():
    while True:
        held = bytearray(os.urandom(1 << 20)) * 4
        os.write(2, b"x" * 1000 + b"\\n")
        with open(str(os.getpid()), "wb") as file:
            file.write(held)

write({"type": "ready", "protocol": 1, "kind": "rule", "plugin": read()["plugin"], "version": "1.0.0"})
for _ in range(16):
    if os.fork() == 0:
        compute()
while True:
    question = read()
    for _ in range(200_000):
        pass
    write({"type": "verdicts", "id": question["id"], "verdicts": []})
"""


def plugin(tenant: Tenant) -> Act:
    """Accepts on 16 connections, each of which a rule is asked about that uses up all that it may."""
    tenant.put_application(manifest={"supportsMultipleScenes": True})
    tenant.put_sessions([{"id": f"s{number}", "activationState": "background", "endpoint": DEAD_ENDPOINT}
                         for number in range(64)])
    return flood(tenant, 16, says(tenant.request("POST", NOTIFICATIONS, b'{"aps":{}}')))


KINDS = (
    Kind("hostile accepts", "accepts that match nothing, by predicates that each have to be tried", hostile_accepts, 1,
         group="hostile"),
    Kind("hostile explains", "the same, explained", hostile_explains, 1, group="hostile"),
    Kind("hostile batches", "256 such accepts in a batch", hostile_batches, 1),
    Kind("lists since 2000", "all notifications since 2000 on 16 connections; there are none of its own",
         list_of("/v1/notifications?since=2000-01-01T00:00:00Z"), 50),
    Kind("lists of dead letters", "dead letters on 16 connections; there are none of its own",
         list_of("/v1/notifications?state=deadLettered"), 50),
    Kind("sessions on 4", "lists of one session of many on 4 connections",
         list_of("/v1/applications/{}/sessions?limit=1", 4, sessions=SESSIONS), 20, group="crowd"),
    Kind("sessions on 16", "the same on 16 connections",
         list_of("/v1/applications/{}/sessions?limit=1", 16, sessions=SESSIONS), 20, group="crowd"),
    Kind("pages", "pages of 1,000 notifications on 16 connections",
         list_of("/v1/notifications?limit=1000", rows=ROWS), 50),
    Kind("batches", "batches of 20,000 lines on 32 connections", batches, 16),
    Kind("small accepts", "accepts on 512 connections", small_accepts, 1_000, is_open=True),
    Kind("unread streams", "16 streams that nothing is read from, and accepts on 4 connections", unread_streams, 200,
         share="stream", is_short=True),
    Kind("replays", "16 replays at 1,000 a second", replays, 17, share="replay", outlasts=True),
    Kind("dry runs", "dry runs of replays on 16 connections", dry_runs, 50, is_short=True),
    Kind("lanes", "lists of lanes on 16 connections", list_of("/v1/lanes", sessions=SESSIONS), 50, group="crowd",
         is_short=True),
    Kind("devices", "lists of one device's sessions on 16 connections",
         list_of("/v1/applications/{}/sessions?device=d7", sessions=SESSIONS), 50, group="crowd"),
    Kind("passcodes", "80 persons at a time choose a passcode", passcodes, 80, share="passcode"),
    Kind("slow bodies", "some 300 bodies that come to their last byte", slow_bodies, 100),
    Kind("idle connections", "1,024 connections from each of two addresses, without a key", idle_connections, 1_500),
    Kind("deletion", "an application in which many notifications wait is deleted", deletion, 1),
    Kind("plugin", "accepts that a rule is asked about whose processes compute, allocate and write all the time", plugin, 10,
         is_short=True, times=2.0, rule=HOSTILE_RULE),
)


def kind(name: str) -> Kind:
    return next(each for each in KINDS if each.name == name)


def is_loud(of: Kind, least: int, open_now: int, statuses: Counter[str]) -> Iterator[str]:
    """Why this is not the noise that the row names; nothing if it is."""
    heard = open_now + sum(count for status, count in statuses.items() if status in of.fits)
    if heard < least:
        yield f"noise too quiet: {heard} of at least {least} requests were answered or are under way"
    for status, count in sorted(statuses.items()):
        if status not in of.fits:
            yield f"noise out of tune: {count} requests ended with {status}"
