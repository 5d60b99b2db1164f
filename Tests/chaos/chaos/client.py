"""Clients of the daemon that write down every acknowledgement before they go on."""

import http.client
import json
import threading
import time
import uuid
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import urlencode

from chaos import clock
from chaos.daemon import Daemon
from chaos.history import Books, Entry, Submission
from chaos.ledger import SECRET_TEXT, Ledger

APPLICATION = "com.example.Chaos"
REQUEST_SECONDS = 30.0
# The daemon closes connections that are idle for longer than a minute or so.
IDLE_SECONDS = 20.0
# After no answer, or one that says to come again.
PAUSE_SECONDS = 0.02


Body = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    status: int
    body: Body


class API:
    """A connection to whichever daemon lives now. Not for several threads."""

    def __init__(self, daemon: Daemon, key: str | None = None, timeout: float = REQUEST_SECONDS) -> None:
        self._daemon = daemon
        self.fields = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._timeout = timeout
        self._address = ""
        self._used_at = 0.0
        self._connection: http.client.HTTPConnection | None = None

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        """Raises OSError, HTTPException or ValueError if there is no answer."""
        is_stale = self._address != self._daemon.address or clock.now() > self._used_at + IDLE_SECONDS
        self._used_at = clock.now()
        if self._connection is None or is_stale:
            self.close()
            self._address = self._daemon.address
            self._connection = self.connection()
        try:
            self._connection.request(method, path, body=body, headers=self.fields | (headers or {}))
            response = self._connection.getresponse()
            return Answer(response.status, json.loads(response.read() or b"{}"))
        except BaseException:
            self.close()
            raise

    def connection(self) -> http.client.HTTPConnection:
        """Another connection, which the caller closes."""
        return http.client.HTTPConnection(self._daemon.address, timeout=self._timeout)

    def must(self, method: str, path: str, body: object = None) -> Body:
        """A request that has to succeed."""
        answer = self.call(method, path, None if body is None else json.dumps(body).encode())
        if answer.status not in (200, 201, 202, 204):
            raise clock.Failure(f"{method} {path}: {answer.status} {answer.body}")
        return answer.body

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def put_application(self, name: str = APPLICATION, **delivery: object) -> None:
        # Every webhook is counted, and must be one that was submitted.
        self.must("PUT", f"/v1/applications/{name}", {"delivery": {"lifeCycleEvents": False, **delivery}})

    def put_session(self, lane: str, url: str, application: str = APPLICATION, content: str | None = None) -> None:
        """A session that shows exactly one content: its notifications can go nowhere else."""
        self.must("PUT", f"/v1/applications/{application}/sessions/{lane}", {
            "activationState": "background",
            "activationConditions": {
                "canActivateForTargetContentIdentifierPredicate": f"SELF == '{content_of(content or lane)}'"},
            "endpoint": {"url": url, "secret": SECRET_TEXT}})

    def notifications(self, application: str) -> list[Body]:
        found: list[Body] = []
        query = {"application": application, "limit": "1000"}
        while True:
            page = self.must("GET", f"/v1/notifications?{urlencode(query)}")
            found += page["notifications"]
            if page["cursor"] is None:
                return found
            query["cursor"] = page["cursor"]

    def books(self, *applications: str) -> Books:
        """The daemon's account of itself, when nothing is sent any more."""
        entries = [entry_of(each) for name in applications for each in self.notifications(name)]
        figures = self.must("GET", "/v1/status")["notifications"]
        accepted, unaccounted = figures.pop("accepted"), figures.pop("unaccounted")
        return Books(clock.now(), accepted, figures, unaccounted, entries)

    def answers(self, path: str) -> int:
        """The status of a GET; 0 if there is none."""
        try:
            return self.call("GET", path).status
        except (OSError, http.client.HTTPException, ValueError):
            return 0

    def unsettled(self) -> int:
        figures = self.must("GET", "/v1/status")["notifications"]
        return int(figures["waiting"]) + int(figures["held"])


def content_of(lane: str) -> str:
    return f"chaos://{lane}"


def entry_of(notification: Body) -> Entry:
    return Entry(
        id=notification["id"], webhook_id=notification["webhookId"], lane=notification["decision"]["session"],
        state=notification["state"], reason=notification["reason"],
        settled_at=clock.of_daemon(notification["settledAt"]),
        next_attempt_at=clock.of_daemon(notification["nextAttemptAt"]))


class Journal:
    """Submissions by client, and their acknowledgements. For several threads: each submission belongs to one of them."""

    def __init__(self, ledger: Ledger) -> None:
        self.submissions: list[Submission] = []
        self.refusals: list[str] = []
        # Keys of requests that were not answered.
        self.silences: list[str] = []
        self._ledger = ledger

    def open(self, lane: str, key: str, extra: str = "") -> Submission:
        payload = {"aps": {"alert": "chaos", "target-content-id": content_of(lane)}, "key": key, "extra": extra}
        self._ledger.payloads[key] = json.dumps(payload).encode()
        submission = Submission(key, lane, clock.now())
        self.submissions.append(submission)
        return submission

    def submit(self, api: API, submission: Submission, application: str = APPLICATION) -> bool:
        """Sends it once; whether it is acknowledged. No answer leaves open what the daemon has made of it."""
        path = f"/v1/applications/{application}/notifications"
        apns_id = str(uuid.uuid5(uuid.NAMESPACE_URL, submission.key))
        try:
            answer = api.call("POST", path, self._ledger.payloads[submission.key], {"apns-id": apns_id})
        except (OSError, http.client.HTTPException, ValueError):
            self.silences.append(submission.key)
            return False
        if answer.status not in (200, 202):
            self.refusals.append(f"{answer.status} {answer.body.get('code')}")
            return False
        submission.ids.append(answer.body["id"])
        if submission.acked_at is None:
            submission.acked_at = clock.now()
        return True

    def cancel(self, api: API, submission: Submission) -> bool:
        """Calls it back; true if the daemon says that it will not be sent any more."""
        submission.is_recalled = True
        try:
            answer = api.call("POST", f"/v1/notifications/{submission.ids[0]}/cancel", b"")
        except (OSError, http.client.HTTPException, ValueError):
            return False
        # A notification under way, or settled, is not recalled.
        if answer.status != 200 or answer.body["state"] != "cancelled":
            return False
        submission.cancelled_at = clock.now()
        return True


@dataclass
class Target:
    """A lane that load goes to."""

    lane: str
    weight: float = 1.0
    # How many may be on their way at once; above it the load goes elsewhere.
    cap: int = 16
    # How many are sent in all.
    most: int = 1_000_000
    sent: int = 0
    cancelled: int = 0


class Load:
    """Threads that send until they are told to stop, each notification until it is acknowledged."""

    # The inverse share of acknowledged notifications that are sent again: they have to be recognised.
    REPEATS = 25
    # The inverse share that is called back.
    CANCELS = 40

    def __init__(
        self, daemon: Daemon, ledger: Ledger, journal: Journal, targets: list[Target], seed: int,
        threads: int = 6, pace: float = 0.003, prefix: str = "n"
    ) -> None:
        self._daemon, self._ledger, self._journal = daemon, ledger, journal
        self._targets = targets
        self._pace = pace
        self._prefix = prefix
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._abandon = threading.Event()
        self._taken_before = dict(ledger.taken)
        self._threads = [
            threading.Thread(target=self._run, args=(place, Random(seed * 1000 + place)), daemon=True)
            for place in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def is_done(self) -> bool:
        """Whether all that was to be sent is acknowledged."""
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self, seconds: float = 30.0) -> None:
        """Nothing new is sent; requests under way may still be acknowledged until then."""
        self._stopping.set()
        ends = clock.now() + seconds
        for thread in self._threads:
            thread.join(max(0.0, ends - clock.now()))
        self._abandon.set()
        for thread in self._threads:
            thread.join()

    def _choose(self, random: Random) -> tuple[Target, str] | None:
        """A lane that can take one more, and its key."""
        with self._lock:
            open_targets = [
                each for each in self._targets
                if each.sent < each.most and each.sent - each.cancelled - self._taken(each.lane) < each.cap]
            if not open_targets:
                return None
            target = random.choices(open_targets, [each.weight for each in open_targets])[0]
            target.sent += 1
            return target, f"{self._prefix}-{target.lane}-{target.sent}"

    def _taken(self, lane: str) -> int:
        return self._ledger.taken[lane] - self._taken_before.get(lane, 0)

    def _run(self, place: int, random: Random) -> None:
        api = API(self._daemon)
        while not self._stopping.is_set() and any(each.sent < each.most for each in self._targets):
            chosen = self._choose(random)
            if chosen is not None:
                target, key = chosen
                submission = self._journal.open(target.lane, key, extra="x" * random.randrange(400))
                self._insist(api, submission)
                if random.randrange(self.REPEATS) == 0:
                    self._journal.submit(api, submission)
                if random.randrange(self.CANCELS) == 0 and submission.ids and self._journal.cancel(api, submission):
                    with self._lock:
                        target.cancelled += 1
            time.sleep(self._pace * random.uniform(0.5, 1.5))
        api.close()

    def _insist(self, api: API, submission: Submission) -> None:
        while not self._journal.submit(api, submission):
            if self._abandon.is_set():
                return
            time.sleep(PAUSE_SECONDS)


def settle(daemon: Daemon, seconds: float, allowed: int = 0) -> None:
    """Waits until no more than so many notifications are unsettled. The verdict judges the rest."""
    api, ends = API(daemon), clock.now() + seconds
    while clock.now() < ends:
        if api.unsettled() <= allowed:
            break
        time.sleep(0.1)
    api.close()
