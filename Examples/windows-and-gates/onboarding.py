#!/usr/bin/env python3
"""Three windows at the gate of a till: onboarding.py [--server URL] [--key KEY]

Needs a running routerd, Python 3.9 or later, and nothing else. Each webhook's signature is verified. Where an answer or
a webhook is not as promised, the program says so and ends with status 1.
"""
import argparse
import base64
import hmac
import json
import os
import secrets
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any

TOLERANCE_SECONDS = 300  # The largest difference between a webhook's timestamp and this clock.


class Broken(Exception):
    """A promise that did not hold."""


def require(holds: bool, promise: str, found: Any) -> None:
    if not holds:
        raise Broken(f"{promise}; found: {found}")


class Client:
    """Requests about an application of this run's own."""

    def __init__(self, server: str, key: str) -> None:
        self.application = f"{server.rstrip('/')}/v1/applications/com.example.Onboarding.{secrets.token_hex(4)}"
        self.headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})

    def call(self, status: int, method: str, path: str, body: Any = None) -> Any:
        """The answer to a request, which must have that status."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.application + path, content, self.headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            found, text = error.code, error.read().decode()
        except OSError as error:
            raise Broken(f"{method} {self.application}{path} is answered; found: {error}") from None
        require(found == status, f"{method} {self.application}{path} is answered {status}", f"{found} {text}")
        return json.loads(text) if text else None


class Receiver:
    """The endpoint of the windows, at /windows, and of the application's delegate, at /delegate."""

    def __init__(self, seconds: float) -> None:
        self.key, self.seconds = secrets.token_bytes(32), seconds
        self.arrived: dict[str, Queue[Any]] = {}
        self.seen: set[str] = set()
        self.lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(receiver.take(self.path, self.headers, body))
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def endpoint(self, path: str) -> Any:
        secret = "whsec_" + base64.b64encode(self.key).decode()
        return {"url": f"http://127.0.0.1:{self.server.server_port}{path}", "secret": secret}

    def is_genuine(self, headers: Any, body: bytes) -> bool:
        """Whether the body is signed with this receiver's key, as Standard Webhooks defines it, and recent."""
        stamp = headers.get("webhook-timestamp", "")
        signed = f"{headers.get('webhook-id')}.{stamp}.".encode() + body
        expected = b"v1," + base64.b64encode(hmac.digest(self.key, signed, "sha256"))
        is_recent = stamp.isdecimal() and abs(time.time() - int(stamp)) <= TOLERANCE_SECONDS
        signatures = headers.get("webhook-signature", "").encode().split()
        return is_recent and any(hmac.compare_digest(expected, signature) for signature in signatures)

    def take(self, path: str, headers: Any, body: bytes) -> int:
        """The status of the answer to a webhook."""
        event = json.loads(body)
        name = "delegate" if path == "/delegate" else event["data"]["session"]["id"]
        with self.lock:
            queue = self.arrived.setdefault(name, Queue())
            if not self.is_genuine(headers, body):
                queue.put(Broken(f"every webhook to {name} has a valid signature; found: {headers.items()}"))
                return 401
            if headers["webhook-id"] not in self.seen:  # A webhook may come twice: each id is handled once.
                self.seen.add(headers["webhook-id"])
                queue.put(event)
            return 204

    def expect(self, name: str, kind: str) -> Any:
        """The data of the next webhook to a window or to the delegate, which must have that type."""
        with self.lock:
            queue = self.arrived.setdefault(name, Queue())
        try:
            event = queue.get(timeout=self.seconds)
        except Empty:
            raise Broken(f"{name} is sent {kind} within {self.seconds:g} s; found: nothing") from None
        if isinstance(event, Broken):
            raise event
        require(event["type"] == kind, f"the next webhook to {name} is {kind}", event)
        print(f"    {name:<10} {kind}", flush=True)
        return event["data"]


def opened_by(receiver: Receiver, name: str, others: "list[str]", term: int) -> None:
    """A session has become responsible: it and the delegate are told, and the others hide the application."""
    for told in (name, "delegate"):
        gate = receiver.expect(told, "application.onboardingSceneDidChange")["gate"]
        require((gate["responsible"], gate["term"]) == (name, term), f"{name} is responsible, in the term {term}", gate)
    for other in others:
        receiver.expect(other, "scene.hideApplicationScreen")


def story(client: Client, receiver: Receiver) -> None:
    def report(status: int, verb: str, session: str, term: int, **more: Any) -> Any:
        return client.call(status, "POST", f"/gate/{verb}", {"session": session, "term": term, **more})

    print("The application is registered with a gate. Three windows of a till connect, and hide the application.")
    kind = {"name": "Till", "role": "windowApplication", "endpoint": receiver.endpoint("/windows")}
    client.call(201, "PUT", "", {
        "manifest": {"supportsMultipleScenes": True, "sceneConfigurations": [kind]},
        "delegate": receiver.endpoint("/delegate"), "gates": {"onboarding": {"configured": True}}})
    for name, state in ("left", "foregroundActive"), ("middle", "foregroundInactive"), ("right", "background"):
        session = {"device": "till", "activationState": state, "userInfo": {"cart": name}}
        client.call(201, "PUT", f"/sessions/{name}", session)
        receiver.expect(name, "scene.hideApplicationScreen")

    print("The left window opens the gate and becomes responsible for onboarding. The others wait.")
    gate = client.call(200, "POST", "/gate/open", {"session": "left"})
    require((gate["state"], gate["term"]) == ("onboarding", 1), "onboarding begins, in the term 1", gate)
    opened_by(receiver, "left", ["middle", "right"], 1)

    print("Notifications that come meanwhile are held, and no window gets them.")
    for alert in ("Table 4 has ordered", "Table 9 would like to pay"):
        held = client.call(202, "POST", "/notifications?device=till", {"aps": {"alert": alert}})
        require(held["state"] == "held", "a notification at a closed gate is held", held)
        print(f"  held: {alert}")

    print("The left window reports its progress to the others. A report of another window is refused.")
    step = {"operationId": "sign-in", "step": "password", "currentStepNumber": 1, "totalNumberOfSteps": 2}
    report(200, "progress", "left", 1, **step)
    for name in ("middle", "right"):
        progress = receiver.expect(name, "scene.showProgressScreen")["gate"]["progress"]
        require(progress["step"] == "password", "the others are told the step", progress)
    refused = report(409, "progress", "middle", 1, **step)
    require(refused["code"] == "not-responsible", "only the responsible session reports", refused)
    print(f"  refused: {refused['detail']}")

    print("The left window is closed. The middle one takes over in the next term, and begins again.")
    client.call(200, "POST", "/sessions/left/disconnect")
    for event in ("willResignActive", "stateRestorationActivity", "didEnterBackground", "didDisconnect"):
        receiver.expect("left", f"scene.{event}")
    opened_by(receiver, "middle", ["right"], 2)
    refused = report(409, "succeed", "middle", 1)
    require((refused["code"], refused["currentTerm"]) == ("stale-term", 2), "a former term is refused", refused)
    print(f"  refused: {refused['detail']}")

    print("Onboarding succeeds. The windows show the application; then the notifications are sent, in their order.")
    gate = report(200, "succeed", "middle", 2, onboardingId="cashier-12")
    told = receiver.expect("delegate", "application.onboardingSceneDidChange")["gate"]
    require(gate["state"] == told["state"] == "opened", "the gate is open, and the delegate is told so", [gate, told])
    for name in ("middle", "right"):
        receiver.expect(name, "scene.showApplicationScreen")
    for alert in ("Table 4 has ordered", "Table 9 would like to pay"):
        payload = receiver.expect("middle", "scene.notification")["payload"]
        require(payload["aps"]["alert"] == alert, f"the next one is: {alert}", payload)
        print(f"  released: {alert}")

    print("The cashier leaves for the day. A reset deletes the data of the person, and the gate is closed again.")
    gate = report(200, "reset", "middle", 2)
    require((gate["state"], gate["onboardingId"]) == ("resetting", None), "the person is not known any more", gate)
    opened_by(receiver, "middle", ["right"], 3)
    gate = report(200, "succeed", "middle", 3)
    require((gate["state"], gate["responsible"]) == ("notOpened", None), "the gate is closed after the reset", gate)
    for name in ("left", "middle", "right"):
        session = client.call(200, "GET", f"/sessions/{name}")
        require("userInfo" not in session, f"no answer shows data of {name} at the closed gate", session)
        require(session["applicationScreen"] == "onboarding", f"{name} may onboard the next person", session)

    print("The next cashier opens the gate, and finds nothing of the former one.")
    client.call(200, "POST", "/gate/open", {"session": "middle"})
    report(200, "succeed", "middle", 4)
    data = {name: client.call(200, "GET", f"/sessions/{name}")["userInfo"] for name in ("left", "middle", "right")}
    require(data == {"left": {}, "middle": {}, "right": {}}, "the reset has deleted the data of the windows", data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--server", default="http://127.0.0.1:8080", help="the address of routerd")
    parser.add_argument("--key", default=os.environ.get("ROUTERD_KEY", ""), help="an API key of the scope admin")
    parser.add_argument("--seconds", type=float, default=30, help="the longest wait for a webhook")
    given = parser.parse_args()
    client = Client(given.server, given.key)
    try:
        story(client, Receiver(given.seconds))
        client.call(204, "DELETE", "")
    except Broken as error:
        print(f"onboarding: {error}", file=sys.stderr)
        return 1
    print("onboarding: everything is as promised")
    return 0


if __name__ == "__main__":
    sys.exit(main())
