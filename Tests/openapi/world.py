"""The resources of a daemon under test, and for each operation a request that it takes.

An operation that uses its resource up, or deletes it, has one of its own in each request.
"""
import base64
import http.client
import itertools
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

SHARED = "com.example.shared"
# Resources that several operations need, so that none changes or deletes them.
KEPT = {SHARED, "closed", "refusing", "window", "stream", "events"}
DEVICE = "tablet"
ISSUER = "https://id.example"
PREFERS = "prefersToActivateForTargetContentIdentifierPredicate"


@dataclass
class Request:
    """The parts of a request; a body of None is none."""

    path: dict = field(default_factory=dict)
    query: dict = field(default_factory=dict)
    headers: dict = field(default_factory=dict)
    body: object = None
    media_type: str = "application/json"


def coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class World:
    def __init__(self, address: str, key: str, receiver: str) -> None:
        self.address = address
        self.key = key
        self.receiver = receiver
        self.numbers = itertools.count(1)
        self.signer = ec.generate_private_key(ec.SECP256R1())

    def call(self, method: str, path: str, body: object = None, expected: bool = True) -> dict:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        request.add_header("authorization", f"Bearer {self.key}")
        try:
            text = urllib.request.urlopen(request, timeout=30).read()
        except urllib.error.HTTPError as refusal:
            text = refusal.read()
            if expected:
                raise AssertionError(f"{method} {path} {body}: {refusal.code} {text.decode()}") from None
        return json.loads(text) if text else {}

    def fresh(self, name: str) -> str:
        return f"{name}-{next(self.numbers)}"

    # Resources.

    def build(self) -> None:
        """The application that operations without an effect on each other share."""
        self.application(SHARED)
        for name, path in [("closed", "/bad"), ("refusing", "/refused")]:
            self.session(SHARED, name, {"url": self.receiver + path}, prefers=name)
        self.session(SHARED, "window", {"url": f"{self.receiver}/good"}, prefers="window")
        self.session(SHARED, "stream", {"stream": True}, prefers="stream")
        self.call("PUT", "/v1/sources/events", self.source())
        self.delivered = self.settled("window", "delivered")
        self.dead = self.settled("refusing", "deadLettered")

    def application(self, name: str, **gates: object) -> str:
        endpoint = {"url": f"{self.receiver}/good"}
        self.call("PUT", f"/v1/applications/{name}", {
            "displayName": name, "delegate": endpoint, "routing": {"broadcasts": True},
            "delivery": {"retrySchedule": [3600], "statuses": {"400": "deadLetter"}},
            "manifest": {"supportsMultipleScenes": True, "sceneConfigurations": [{"name": "Standard", "endpoint": endpoint}]},
            **({"gates": gates} if gates else {})})
        return name

    def session(self, application: str, name: str, endpoint: dict, prefers: str = "nothing") -> str:
        self.call("PUT", f"/v1/applications/{application}/sessions/{name}", {
            "device": DEVICE, "activationState": "foregroundActive", "endpoint": endpoint,
            "activationConditions": {PREFERS: f"SELF == '{prefers}'"}})
        return name

    def window(self) -> dict:
        return {"application": SHARED, "session": self.session(SHARED, self.fresh("window"), {"url": f"{self.receiver}/good"})}

    def source(self) -> dict:
        return {"kind": "cloudevents", "application": SHARED, "contentId": "{subject}", "secrets": []}

    def post(self, content: str) -> str:
        return self.call("POST", f"/v1/applications/{SHARED}/notifications", {"notification-content-id": content})["id"]

    def settled(self, content: str, state: str) -> str:
        notification = self.post(content)
        end = time.monotonic() + 30
        while (found := self.call("GET", f"/v1/notifications/{notification}")["state"]) != state:
            assert time.monotonic() < end, f"{content} is {found}, and not {state}"
            time.sleep(0.01)
        return notification

    def delivery(self) -> dict:
        """A delivery that has come to the consumer of a stream."""
        session = self.session(SHARED, self.fresh("stream"), {"stream": True}, prefers=(content := self.fresh("content")))
        self.post(content)
        deliveries = self.call("GET", f"/v1/applications/{SHARED}/sessions/{session}/deliveries?waitSeconds=30")["deliveries"]
        # Events of the session's life cycle may come first.
        return {"application": SHARED, "session": session, "delivery": deliveries[0]["id"]}

    def replay(self) -> str:
        """A replay; those under way are ended first, because a daemon has few at a time."""
        for replay in self.call("GET", "/v1/replays?limit=1000")["replays"]:
            if replay["state"] == "running":
                self.call("POST", f"/v1/replays/{replay['id']}/cancel", expected=False)
        return self.call("POST", "/v1/replays", {"state": "deadLettered", "perSecond": 1})["id"]

    # Gates.

    def gate(self, *, passcode: bool = False, opened: bool = True) -> "Gate":
        gates = {"passcode": self.policy()} if passcode else {"onboarding": {}}
        name = self.application(self.fresh("com.example.gate"), **gates)
        self.session(name, "till", {"url": f"{self.receiver}/good"})
        gate = Gate(self, name)
        if opened:
            gate.step("open", {"session": "till"})
        return gate

    def chosen(self) -> "Gate":
        """A gate whose passcode is chosen and which is open."""
        gate = self.gate(passcode=True)
        gate.step("passcode/create", gate.choice(self))
        gate.step("succeed", gate.report())
        return gate

    def locked(self) -> "Gate":
        gate = self.chosen()
        gate.step("lock", {"session": "till"})
        return gate

    def policy(self) -> dict:
        point = self.signer.public_key().public_numbers()
        key = {"kty": "EC", "crv": "P-256", "kid": "ec", "use": "sig", "x": coded(point.x.to_bytes(32)),
               "y": coded(point.y.to_bytes(32))}
        return {"minLength": 4, "retryLimit": 100, "lockTimeoutSeconds": 0, "issuers": [
            {"issuer": ISSUER, "audience": "till", "jwks": {"keys": [key]}, "anySubject": True}]}

    def public_key(self) -> str:
        point = self.signer.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        return base64.b64encode(point).decode()

    def signature(self, text: str) -> bytes:
        return self.signer.sign(text.encode(), ec.ECDSA(hashes.SHA256()))

    def token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": "till", "sub": "cashier", "nonce": nonce, "iat": now, "exp": now + 300}
        signed = ".".join(coded(json.dumps(part).encode()) for part in ({"alg": "ES256", "kid": "ec"}, claims))
        halves = decode_dss_signature(self.signature(signed))
        return f"{signed}.{coded(b''.join(half.to_bytes(32) for half in halves))}"


class KeptAlive(World):
    """Makes its resources over one connection."""

    connection: http.client.HTTPConnection | None = None

    def call(self, method: str, path: str, body: object = None, expected: bool = True) -> dict:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self.connection = self.connection or http.client.HTTPConnection(self.address.removeprefix("http://"), timeout=30)
        self.connection.request(method, path, data, {"authorization": f"Bearer {self.key}"})
        answer = self.connection.getresponse()
        text = answer.read()
        if expected and answer.status >= 400:
            raise AssertionError(f"{method} {path} {body}: {answer.status} {text.decode()}")
        return json.loads(text) if text else {}


class Gate:
    """The gate of an application of its own, at which the session `till` is responsible."""

    def __init__(self, world: World, application: str) -> None:
        self.world = world
        self.path = {"application": application}
        self.address = f"/v1/applications/{application}/gate"

    def step(self, name: str, body: dict) -> dict:
        return self.world.call("POST", f"{self.address}/{name}", body)

    def report(self, **fields: object) -> dict:
        """A body in the term of the gate."""
        term = self.world.call("GET", f"{self.address}?device={DEVICE}")["term"]
        return {"session": "till", "term": term, **fields}

    def choice(self, world: World) -> dict:
        return self.report(passcode="1234", confirmation="1234", deviceKey=world.public_key())

    def challenge(self, **fields: object) -> str:
        return self.step("passcode/challenge", self.report(**fields))["challenge"]


NOTIFICATION = {"notification-content-id": "window", "aps": {"alert": "a"}}
EVENT = {"specversion": "1.0", "type": "a", "source": "/b", "id": "c", "subject": "window"}
RULES = {"rules": [{"name": "never", "when": "priority < 5", "then": "drop"}]}
CONDITIONS = {"preferring": ["other"]}
LINES = "application/x-ndjson"
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="


def shared(world: World) -> Request:
    return Request({"application": SHARED})


def gated(make, body=None, **fields: object):
    """A request at a gate that `make` makes; without `body` the gate's term and `fields` are the body."""

    def request(world: World) -> Request:
        gate = make(world)
        return Request(gate.path, body=body(world, gate) if body else gate.report(**fields))

    return request


def at(path=None, **parts: object):
    """A request with the parameters of the path that `path` makes, and with these parts."""
    return lambda world: Request(path(world) if path else {}, **parts)


def in_shared(**parts: object):
    return at(lambda _: {"application": SHARED}, **parts)


def in_window(**parts: object):
    return at(World.window, **parts)


def with_rule_behind_a_url(world: World) -> Request:
    """The rule is one of the configuration, which is in use again when those of a request are deleted."""
    world.call("DELETE", "/v1/rules")
    return Request({"plugin": "com.example.far"})


def put_session(world: World) -> Request:
    return Request({"application": SHARED, "session": world.fresh("put")}, body={
        "device": DEVICE, "endpoint": {"url": f"{world.receiver}/good", "secret": SECRET}})


def new_source(world: World) -> dict:
    world.call("PUT", f"/v1/sources/{(name := world.fresh('source'))}", world.source())
    return {"source": name}


def key_of_one(world: World) -> dict:
    """A key for an application of its own, which has a limited number of keys."""
    return {"scopes": ["read"], "application": world.fresh("com.example.keys")}


def new_key(world: World) -> dict:
    world.call("PUT", f"/v1/keys/{(name := world.fresh('key'))}", key_of_one(world))
    return {"key": name}


def signed_source(world: World) -> dict:
    name = world.fresh("signed")
    world.call("PUT", f"/v1/sources/{name}", {"kind": "github", "application": SHARED, "secrets": ["the-secret-of-the-sender"]})
    return {"source": name}


def acknowledge_all(world: World) -> Request:
    path = world.delivery()
    return Request(path, body={"ids": [path.pop("delivery")]})


def waiting_lane(world: World) -> Request:
    world.post("closed")
    return Request({"session": "closed"}, query={"application": SHARED})


def answer_of_device(world: World, gate: Gate) -> dict:
    challenge = gate.challenge()
    return gate.report(challenge=challenge, signature=base64.b64encode(world.signature(challenge)).decode())


def own_application(world: World) -> dict:
    return {"application": world.application(world.fresh("com.example.own"))}


NEW_GATE = World.gate
# Operations that need no more than their path and the shared application are left out.
REQUESTS = {
    "putApplication": at(lambda world: {"application": world.fresh("com.example.put")}, body={"displayName": "a"}),
    "getApplication": in_shared(query={"device": DEVICE}),
    "deleteApplication": at(own_application),
    "rotateDelegateSecret": at(own_application),
    "rotateConfigurationSecret": at(lambda world: {**own_application(world), "configuration": "Standard"}),
    "putSessionBatch": in_shared(body=b'{"id":"of-a-batch"}\n', media_type=LINES),
    "refreshSessions": in_shared(body={"except": "window"}),
    "putSession": put_session,
    "patchSession": in_window(body={"userInfo": {"a": 1}}),
    "getSession": in_window(),
    "deleteSession": in_window(query={"dismissal": "standard"}),
    "activateSession": in_window(),
    "refreshSession": in_window(),
    "disconnectSession": in_window(),
    "testSession": in_window(),
    "getSessionApplication": in_window(),
    "postSessionToken": in_window(body={"lifetimeSeconds": 60, "device": DEVICE}),
    "rotateSessionSecret": in_window(),
    "postActivation": in_shared(body={"session": "window"}),
    "streamDeliveries": at(lambda world: {"application": SHARED, "session": "stream"}, query={"after": 0, "limit": 10}),
    "acknowledgeDelivery": at(World.delivery),
    "refuseDelivery": at(World.delivery, body={"retryAfterSeconds": 3600}),
    "acknowledgeDeliveries": acknowledge_all,
    "getGate": gated(NEW_GATE, lambda *_: None),
    "openGate": gated(lambda world: world.gate(opened=False), lambda *_: {"session": "till"}),
    "reportProgress": gated(NEW_GATE, operationId="a", step="b", currentStepNumber=1, totalNumberOfSteps=2),
    "succeedAtGate": gated(NEW_GATE),
    "failAtGate": gated(NEW_GATE, reason="late"),
    "resetGate": gated(NEW_GATE, lambda *_: {"device": DEVICE}),
    "configureGate": gated(NEW_GATE, lambda *_: {"device": DEVICE, "configuration": {"server": "a"}}),
    "lockGate": gated(World.chosen, lambda *_: {"session": "till"}),
    "getPasscode": gated(World.chosen, lambda *_: None),
    "checkPasscode": gated(lambda world: world.gate(passcode=True), lambda *_: {"passcode": "123"}),
    "createPasscode": gated(lambda world: world.gate(passcode=True), lambda world, gate: gate.choice(world)),
    "inputPasscode": gated(World.locked, passcode="1234"),
    "changePasscode": gated(World.chosen, passcode="1234", newPasscode="4321", confirmation="4321"),
    "challengeDevice": gated(World.locked),
    "answerChallenge": gated(World.locked, answer_of_device),
    "proveByToken": gated(World.locked, lambda world, gate: gate.report(token=world.token(gate.challenge(proof=True)))),
    "putDeviceKey": gated(World.chosen, passcode="1234", deviceKey=None),
    "postNotification": in_shared(body=NOTIFICATION),
    "postEvent": in_shared(body={"url": "window"}),
    "postNotificationBatch": in_shared(body=b'{"notification-content-id":"window"}\n', media_type=LINES),
    "explain": in_shared(body=NOTIFICATION, query={"parts": "true"}),
    "tryConditions": in_window(body={"activationConditions": CONDITIONS, "notification": {"contentId": "closed"}},
                               query={"last": 10, "parts": "true"}),
    "getNotification": at(lambda world: {"notification": world.delivered}),
    "explainNotification": at(lambda world: {"notification": world.delivered}, query={"parts": "true"}),
    "cancelNotification": at(lambda world: {"notification": world.post("closed")}),
    "replayNotification": at(lambda world: {"notification": world.dead}),
    "postReplay": at(body={"application": SHARED, "state": "deadLettered", "dryRun": True}),
    "getReplay": at(lambda world: {"replay": world.replay()}),
    "cancelReplay": at(lambda world: {"replay": world.replay()}),
    "putSource": lambda world: Request({"source": world.fresh("put")}, body=world.source()),
    "getSource": at(lambda _: {"source": "events"}),
    "deleteSource": at(new_source),
    "rotateSourceSecret": at(signed_source, body={"overlapSeconds": 600}),
    "testSource": at(lambda _: {"source": "events"}, body={
        "headers": {"content-type": "application/cloudevents+json"}, "body": json.dumps(EVENT)}),
    "postToSource": lambda world: Request(
        {"source": "events"}, body={**EVENT, "id": world.fresh("event")}, media_type="application/cloudevents+json"),
    "askSource": at(lambda _: {"source": "events"}, headers={"webhook-request-origin": "example.com"}),
    "apply": at(body={"kind": "Session", "application": SHARED, "id": "applied", "spec": {}}, query={"dryRun": "true"},
                media_type="application/yaml"),
    "enablePlugin": with_rule_behind_a_url,
    "putKey": lambda world: Request({"key": world.fresh("put")}, body=key_of_one(world)),
    "deleteKey": at(new_key),
    "putRules": at(body=RULES, media_type="application/yaml"),
    "evaluateRules": at(body={"application": SHARED, **RULES}),
    "compareRules": at(body=RULES, query={"last": 10}, media_type="application/yaml"),
    "resumeLane": waiting_lane,
    "getConsoleFile": at(lambda _: {"file": "app.js"}),
}


def request_for(world: World, operation: str) -> Request:
    return REQUESTS.get(operation, shared)(world)
