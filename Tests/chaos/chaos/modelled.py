"""kill -9 while clients change everything that there is to change; after each restart a model has the possible states.

Each client has an application of its own, with a few sessions, and one request under way at a time. `model.py` has the
possible states; here are the requests, the daemon's state as its API shows it, and the secrets that sign.
"""

import base64
import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from urllib.parse import urlencode

from chaos import clock
from chaos.behaviours import TAKES
from chaos.client import API, Answer, Body, content_of
from chaos.daemon import Daemon
from chaos.history import Attempt, Meaning
from chaos.http1 import Request as Webhook
from chaos.ledger import is_signed
from chaos.model import Model, Observation, Request, Seen, SeenReplay
from chaos.options import Options, Result, Stage
from chaos.schedule import Strike, strikes

CLIENTS = 4
SHORT_KILLS = 8
PAUSE_SECONDS = 0.004
# In which an outcome is committed, and in which a webhook arrives that was signed before.
COMMIT_SECONDS, SIGNED_BEFORE_SECONDS = 5.0, 2.0
SETTLE_SECONDS, TEST_SECONDS, AWAIT_SECONDS, DELETION_SECONDS = 60.0, 10.0, 60.0, 30.0
# A strike that comes so soon does not wait for the comparisons.
EARLY_SECONDS = 0.1
# Codes of a 503 that says that nothing has been done.
REFUSALS = {"recovering", "overloaded", "shutting-down"}
PROMPT, DEAD = ("one", "two"), "dead"
# Nothing listens there.
DEAD_URL = "http://127.0.0.1:9/"
# How often each verb is chosen, of those that make sense.
WEIGHTS = {
    "accept": 30, "accept keyed": 20, "repeat": 6, "cancel": 10, "replay": 8, "replay all": 2, "rotate": 6,
    "put session": 5, "delete session": 4, "put application": 2, "delete application": 1}
# Of a replay of all cancelled notifications; slow enough for some to be under way at a kill.
REPLAYS_PER_SECOND = 40


def secret(number: int) -> bytes:
    return f"secret {number} of the model, 32 bytes".encode()[:32].ljust(32, b".")


def secret_text(number: int) -> str:
    return "whsec_" + base64.b64encode(secret(number)).decode()


class Secrets:
    """Which secrets may sign for a lane, and when. Of one client; the witness reads it from another thread."""

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[int, float, float]]] = {}
        # By which secret a test was signed last.
        self.tested: dict[str, int] = {}
        self.findings: list[str] = []

    def begin(self, session: str, number: int, now: float) -> None:
        """The secret is on its way to the daemon: it may sign from now on."""
        self._spans.setdefault(session, []).append((number, now, float("inf")))

    def settle(self, session: str, number: int, now: float) -> None:
        """The daemon has this secret and no other one."""
        self._spans[session] = [
            (each, since, min(until, float("inf") if each == number else now))
            for each, since, until in self._spans.get(session, [])]

    def signer(self, session: str, webhook: Webhook) -> int | None:
        spans = list(self._spans.get(session, []))
        return next((number for number, _, _ in reversed(spans)
                     if is_signed(webhook.headers, webhook.body, secret(number))), None)

    def may_sign(self, session: str, number: int, now: float) -> bool:
        return any(each == number and since <= now and now - SIGNED_BEFORE_SECONDS <= until
                   for each, since, until in list(self._spans.get(session, [])))

    def witness(self, session: str, attempt: Attempt, webhook: Webhook) -> None:
        """Judges the signature of a webhook."""
        number = self.signer(session, webhook)
        if b'"type":"scene.test"' in webhook.body:
            if number is not None:
                self.tested[session] = number
            return
        if number is None:
            self.findings.append(f"{attempt.key} arrived at {session} without a signature of any of its secrets")
        elif not self.may_sign(session, number, attempt.began_at):
            self.findings.append(f"{attempt.key} arrived at {session}, signed with secret {number}, which had ended")


class Client:
    """One application: its requests, one after another, and its model."""

    def __init__(self, stage: Stage, daemon: Daemon, seed: int, place: int) -> None:
        self.stage, self.daemon, self.place = stage, daemon, place
        self.application = f"com.example.Model-{place}"
        self.random = Random(f"{seed} {place}")
        self.model = Model(frozenset({DEAD}))
        self.secrets = Secrets()
        self.urls = {name: stage.zoo.house(self.lane(name), TAKES) for name in PROMPT} | {DEAD: DEAD_URL}
        self.requests: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        # Notifications that replays of all cancelled ones have sent.
        self.replayed = 0
        self._api = API(daemon)
        self._made = 0
        # Requests that may be repeated under their key.
        self._keyed: list[Request] = []

    def lane(self, session: str) -> str:
        return f"{self.place}-{session}"

    def number(self) -> int:
        self._made += 1
        return self._made

    # Requests

    def choose(self) -> Request:
        """The next request; most of them have something to work on."""
        world = self.model.world
        verb = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        session = self.random.choice([*PROMPT, DEAD])
        if not world.is_there and self.random.random() < 0.5:
            return Request("put application")
        if session not in world.sessions and world.is_there and self.random.random() < 0.3:
            return Request("put session", session, secret=self.number())
        match verb:
            case "accept" | "accept keyed":
                payload = f"{self.lane(session)}-{self.number()}"
                key = f"key-{payload}" if verb == "accept keyed" else ""
                request = Request("accept", session, payload, key)
                if key:
                    self._keyed.append(request)
                return request
            case "repeat" if self._keyed:
                return self.random.choice(self._keyed[-20:])
            case "cancel" if world.notifications:
                # The latest ones may not have ended yet.
                identifier = self.random.choice(list(world.notifications)[-6:])
                return Request(verb, world.notifications[identifier].session, notification=identifier)
            case "replay" if latest := [
                    name for name, each in list(world.notifications.items())[-40:] if "cancelled" not in each.states]:
                identifier = self.random.choice(latest)
                key = f"replay-{self.application}-{self.number()}"
                return Request(verb, world.notifications[identifier].session, key=key, notification=identifier)
            case "replay all":
                return Request(verb, key=f"all-{self.application}-{self.number()}")
            case "rotate":
                return Request(verb, self.random.choice(PROMPT), secret=self.number())
            case "put session":
                return Request(verb, session, secret=self.number())
            case "delete session":
                return Request(verb, session)
            case "put application" | "delete application":
                return Request(verb)
        return Request("accept", session, f"{self.lane(session)}-{self.number()}")

    def step(self) -> bool:
        """Makes one request; whether it was answered."""
        request = self.choose()
        self.requests[request.verb] += 1
        self.model.begin(request)
        if request.secret:
            self.secrets.begin(request.session, request.secret, clock.now())
        try:
            answer = self.send(request)
        except (OSError, http.client.HTTPException, ValueError):
            self.unanswered[request.verb] += 1
            return False
        body = answer.body
        if answer.status == 503 and body.get("code") in REFUSALS:
            self.model.refuse()
            return True
        self.model.answer(
            request, answer.status, body.get("id", ""), body.get("state", ""), body.get("matched", 0))
        if request.secret and answer.status in (200, 201):
            self.secrets.settle(request.session, request.secret, clock.now())
        return True

    def send(self, request: Request) -> Answer:
        application = f"/v1/applications/{self.application}"
        session = f"{application}/sessions/{request.session}"
        headers = {"Idempotency-Key": request.key} if request.key else {}
        match request.verb:
            case "accept":
                return self._api.call("POST", f"{application}/notifications", self.payload(request), headers)
            case "replay":
                return self._api.call("POST", f"/v1/notifications/{request.notification}/replay", b"", headers)
            case "replay all":
                body = {"application": self.application, "state": "cancelled", "perSecond": REPLAYS_PER_SECOND}
                return self._api.call("POST", "/v1/replays", json.dumps(body).encode(), headers)
            case "cancel":
                return self._api.call("POST", f"/v1/notifications/{request.notification}/cancel", b"")
            case "rotate":
                body = {"secret": secret_text(request.secret), "overlapSeconds": 0}
                return self._api.call("POST", f"{session}/endpoint/rotate-secret", json.dumps(body).encode())
            case "put session":
                return self._api.call("PUT", session, json.dumps({
                    "activationState": "background",
                    "activationConditions": {
                        "canActivateForTargetContentIdentifierPredicate":
                            f"SELF == '{content_of(self.lane(request.session))}'"},
                    "endpoint": {"url": self.urls[request.session], "secret": secret_text(request.secret)}}).encode())
            case "delete session":
                return self._api.call("DELETE", session)
            case "put application":
                delivery = {"lifeCycleEvents": False, "retrySchedule": [3600], "timeoutSeconds": 15}
                return self._api.call("PUT", application, json.dumps({"delivery": delivery}).encode())
            case "delete application":
                answer = self._api.call("DELETE", application)
                self.is_there()
                return answer
        raise ValueError(request.verb)

    def payload(self, request: Request) -> bytes:
        body = json.dumps({"aps": {"target-content-id": content_of(self.lane(request.session))}, "key": request.payload})
        return self.stage.ledger.payloads.setdefault(request.payload, body.encode())

    # Comparing

    def compare(self, is_final: bool = False) -> None:
        """Looks at all that the daemon shows of the application, and has the model judge it."""
        seen = self.observe()
        self.replayed = sum(each.replayed for each in seen.replays.values())
        self.model.compare(seen, is_final)
        for session, number in seen.signs.items():
            self.secrets.settle(session, number, clock.now())

    def observe(self) -> Observation:
        application = f"/v1/applications/{self.application}"
        is_there = self.is_there()
        sessions: frozenset[str] = frozenset()
        if is_there:
            listed = self._api.must("GET", f"{application}/sessions")["sessions"]
            sessions = frozenset(each["id"] for each in listed)
        replays = {
            each["id"]: SeenReplay(each["matched"], each["replayed"], each["skipped"], each["state"] != "running")
            for each in self.replays()}
        known, notifications = self.model.world.notifications, {}
        for each in self._api.notifications(self.application):
            identifier = each["id"]
            if identifier in known:
                payload = known[identifier].payload
            else:
                payload = self._api.must("GET", f"/v1/notifications/{identifier}")["payload"]["key"]
            notifications[identifier] = Seen(each["state"], payload, each["replayOf"])
        signs = {name: number for name in PROMPT if name in sessions and (number := self.test(name)) is not None}
        return Observation(is_there, sessions, signs, notifications, replays)

    def is_there(self) -> bool:
        """Whether there is such an application; one that is being deleted is waited for."""
        path = f"/v1/applications/{self.application}"
        clock.wait_until(
            lambda: "deleting" not in self._api.call("GET", path).body, "the deletion is complete", DELETION_SECONDS)
        return self._api.call("GET", path).status == 200

    def replays(self) -> list[Body]:
        found: list[Body] = []
        query = {"limit": "1000"}
        while True:
            page = self._api.must("GET", f"/v1/replays?{urlencode(query)}")
            found += [each for each in page["replays"] if each["filter"].get("application") == self.application]
            if page["cursor"] is None:
                return found
            query["cursor"] = page["cursor"]

    def test(self, session: str) -> int | None:
        """The number of the secret that signs for a session."""
        self.secrets.tested.pop(session, None)
        path = f"/v1/applications/{self.application}/sessions/{session}/test"
        clock.wait_until(
            lambda: self._api.call("POST", path, b"").status == 200, f"{self.lane(session)} is tested", TEST_SECONDS)
        number = self.secrets.tested.get(session)
        if number is None:
            self.secrets.findings.append(f"a test of {session} was not signed with any of its secrets")
        return number

    def is_settled(self) -> bool:
        return not any(each["state"] == "running" for each in self.replays()) and not any(
            each["state"] not in ("delivered", "deadLettered", "cancelled")
            and each["targetContentIdentifier"] != content_of(self.lane(DEAD))
            for each in self._api.notifications(self.application))

    def findings(self, daemon: Daemon) -> list[str]:
        taken = [*deliveries(self.model, self.own_attempts(), daemon)]
        return [f"{self.application}: {each}" for each in (*self.model.findings, *self.secrets.findings, *taken)]

    def own_attempts(self) -> list[Attempt]:
        lanes = {self.lane(name) for name in PROMPT}
        return [each for each in self.stage.ledger.attempts if each.lane in lanes and each.key is not None]


def deliveries(model: Model, attempts: list[Attempt], daemon: Daemon) -> Iterator[str]:
    """Whether the receivers have what the daemon calls delivered, once for each notification and each kill."""
    by_webhook: dict[str, list[Attempt]] = {}
    # A lane goes on when an outcome is committed: of a life, the last outcome of a lane alone may be forgotten.
    last = {(each.life, each.lane): each for each in attempts}
    for attempt in attempts:
        by_webhook.setdefault(attempt.webhook_id or "", []).append(attempt)
        if not attempt.is_intact:
            yield f"{attempt.key} arrived with another payload"
    for identifier, known in model.world.notifications.items():
        # The webhook has the notification's id with a prefix of its own.
        mine = by_webhook.pop(identifier.replace("ntf_", "dlv_"), [])
        taken = [each for each in mine if each.meaning is Meaning.TAKEN]
        if known.states == {"delivered"} and not taken:
            yield f"{known.payload} is delivered by the books, but no receiver has taken it"
        for first, again in zip(taken, taken[1:]):
            ended_at = daemon.lives[first.life].ended_at
            is_recent = ended_at is not None and (first.ended_at or ended_at) > ended_at - COMMIT_SECONDS
            if first.life == again.life or not is_recent or last[first.life, first.lane] is not first:
                yield f"{known.payload} was taken twice"
    for webhook, mine in by_webhook.items():
        yield f"{mine[0].key} arrived as {webhook}, which the daemon does not know"


class Pause:
    """Lets the clients work, and holds them while the daemon is down."""

    def __init__(self) -> None:
        self.starts = 0
        self.is_over = threading.Event()
        self._condition = threading.Condition()
        self.faults: list[str] = []

    def started(self) -> None:
        with self._condition:
            self.starts += 1
            self._condition.notify_all()

    def run(self, client: Client) -> None:
        """A client's thread: requests, and a comparison after each start."""
        seen = 0
        try:
            while not self.is_over.is_set():
                is_new, seen = self.starts != seen, self.starts
                if not (self._compare(client) if is_new else client.step()):
                    self._await_start(seen)
                time.sleep(PAUSE_SECONDS)
        except clock.Failure as failure:
            self.faults.append(f"{client.application}: {failure}")

    def _compare(self, client: Client) -> bool:
        """Whether the daemon lived long enough to be compared; if not, that is done after its next start."""
        try:
            client.compare()
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return True

    def _await_start(self, seen: int) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self.starts != seen or self.is_over.is_set(), AWAIT_SECONDS)


def await_comparisons(clients: list[Client], before: list[int], pause: Pause) -> None:
    """Waits until every client has compared more often than before."""
    clock.wait_until(
        lambda: pause.faults or all(each.model.compared > count for each, count in zip(clients, before)),
        "all clients have compared", AWAIT_SECONDS)


def scenario(options: Options) -> Iterator[Result]:
    kills = SHORT_KILLS if options.is_short else options.kills
    with options.stage() as stage:
        daemon, pause = stage.daemon(), Pause()
        daemon.start()
        clients = [Client(stage, daemon, options.seed, place) for place in range(CLIENTS)]
        by_lane = {each.lane(name): (each.secrets, name) for each in clients for name in PROMPT}

        def witness(attempt: Attempt, webhook: Webhook) -> None:
            secrets, session = by_lane[attempt.lane]
            secrets.witness(session, attempt, webhook)

        stage.ledger.witness = witness
        threads = [threading.Thread(target=pause.run, args=(each,), daemon=True) for each in clients]
        for thread in threads:
            thread.start()
        times = strikes(options.seed, kills)
        for number, strike in enumerate(times):
            kill(stage, daemon, strike)
            daemon.start()
            compared = [each.model.compared for each in clients]
            pause.started()
            # An early strike comes while clients compare; before any other one they have the time.
            if number == len(times) - 1 or times[number + 1].after > EARLY_SECONDS:
                await_comparisons(clients, compared, pause)
            if pause.faults:
                break
        pause.is_over.set()
        pause.started()
        for thread in threads:
            thread.join()
        faults = list(pause.faults)
        if not faults:
            clock.wait_until(lambda: all(each.is_settled() for each in clients), "all has settled", SETTLE_SECONDS)
            for each in clients:
                each.compare(is_final=True)
        faults += [finding for each in clients for finding in each.findings(daemon)]
        yield Result("model", None, faults, figures(kills, clients, stage))


def kill(stage: Stage, daemon: Daemon, strike: Strike) -> None:
    time.sleep(strike.after)
    daemon.kill()
    stage.zoo.bury()


def figures(kills: int, clients: list[Client], stage: Stage) -> dict[str, object]:
    requests = sum((each.requests for each in clients), Counter())
    unanswered = sum((each.unanswered for each in clients), Counter())
    return {
        "kills": kills, "requests": sum(requests.values()),
        **{f"{verb}": f"{count} ({unanswered[verb]} unanswered)" for verb, count in sorted(requests.items())},
        "comparisons": sum(each.model.compared for each in clients),
        "carried out without an answer": sum(each.model.carried_out for each in clients),
        "not carried out": sum(each.model.not_carried_out for each in clients),
        "sent by replays of all": sum(each.replayed for each in clients), "webhooks": len(stage.ledger.attempts)}
