#!/usr/bin/env python3
"""The life of two windows of a photo gallery: gallery.py [--server URL] [--key KEY]

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
        self.application = f"{server.rstrip('/')}/v1/applications/com.example.Gallery.{secrets.token_hex(4)}"
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
        self.numbers: dict[str, Any] = {}  # The epoch and the sequence of the last step of each window.
        self.activities: dict[str, Any] = {}  # The answers of windows to scene.stateRestorationActivity.
        self.arrived: dict[str, Queue[Any]] = {}
        self.seen: set[str] = set()
        self.lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status, answer = receiver.take(self.path, self.headers, body)
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

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

    def take(self, path: str, headers: Any, body: bytes) -> "tuple[int, bytes]":
        """The status and the body of the answer to a webhook."""
        event = json.loads(body)
        name = "delegate" if path == "/delegate" else event["data"]["session"]["id"]
        with self.lock:
            queue = self.arrived.setdefault(name, Queue())
            if not self.is_genuine(headers, body):
                queue.put(Broken(f"every webhook to {name} has a valid signature; found: {headers.items()}"))
                return 401, b""
            # A webhook may come twice, with one id. A step may come again, with a number that is not greater.
            number = event["data"].get("epoch", 0), event["data"].get("sequence", 0)
            is_old = number != (0, 0) and number <= self.numbers.get(name, (0, 0)) and "payload" not in event["data"]
            if headers["webhook-id"] not in self.seen and not is_old:
                self.seen.add(headers["webhook-id"])
                self.numbers[name] = max(number, self.numbers.get(name, number))
                queue.put(event)
            activity = self.activities.get(name) if event["type"] == "scene.stateRestorationActivity" else None
        return 200, json.dumps({"session": {"stateRestorationActivity": activity}} if activity else {}).encode()

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


def sends(client: Client, receiver: Receiver, photo: int, window: str, kind: str, tier: str) -> Any:
    """Sends a notification about a photo, which that window must get, by that tier of the decision."""
    payload = {"aps": {"alert": f"New comment on photo {photo}"}, "notification-content-id": f"photo/{photo}"}
    decision = client.call(202, "POST", "/notifications?device=tablet", payload)["decision"]
    found = (decision["session"], decision["tier"])
    require(found == (window, tier), f"photo {photo} goes to {window} by the tier {tier}", decision)
    print(f"  photo {photo} → {window}; {decision['reason']}")
    data = receiver.expect(window, kind)
    require(data["payload"] == payload, "the payload arrives unchanged", data)
    return data


def story(client: Client, receiver: Receiver) -> None:
    detail = "com.example.gallery.openDetail"
    activity = {"activityType": detail, "targetContentIdentifier": "photo/7", "userInfo": {"zoom": 2}}

    print("The application is registered. It has two kinds of windows: a gallery, and an inspector of one photo.")
    kind = {"role": "windowApplication", "endpoint": receiver.endpoint("/windows")}
    kinds = [kind | {"name": "Gallery"}, kind | {"name": "Inspector", "activityTypes": [detail]}]
    manifest = {"supportsMultipleScenes": True, "userActivityTypes": [detail], "sceneConfigurations": kinds}
    client.call(201, "PUT", "", {"manifest": manifest, "delegate": receiver.endpoint("/delegate")})

    print("The window main connects and comes to the foreground. routerd sends it each step of UIKit's life cycle.")
    client.call(201, "PUT", "/sessions/main", {"configuration": "Gallery", "device": "tablet"})
    client.call(200, "PATCH", "/sessions/main", {"activationState": "foregroundInactive"})
    client.call(200, "PATCH", "/sessions/main", {"activationState": "foregroundActive"})
    for step in ("scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"):
        receiver.expect("main", step)

    print("A person opens photo 7. The window inspector registers for it, and an activation brings it forward.")
    client.call(201, "PUT", "/sessions/inspector", {
        "configuration": "Inspector", "device": "tablet",
        "activationConditions": {"allowing": ["photo/7"], "preferring": ["photo/7"]}})
    asked = {"device": "tablet", "userActivity": activity, "options": {"requestingSession": "main"}}
    brought = client.call(200, "POST", "/activations", asked)
    require(brought["id"] == "inspector", "the activation finds the window that prefers photo 7", brought)
    data = receiver.expect("inspector", "scene.willConnect")
    require(data["connectionOptions"]["userActivities"] == [activity], "the window is given the activity", data)
    for step in ("scene.willEnterForeground", "scene.didBecomeActive"):
        receiver.expect("inspector", step)

    print("A notification goes to the window that prefers its content, or else to the best window that can show it.")
    sends(client, receiver, 7, "inspector", "scene.notification", "prefers")
    sends(client, receiver, 8, "main", "scene.notification", "can")

    print("The inspector goes to the background, where it reports its activity, and disconnects. Its session stays.")
    receiver.activities["inspector"] = activity
    client.call(200, "PATCH", "/sessions/inspector", {"activationState": "background"})
    client.call(200, "POST", "/sessions/inspector/disconnect")
    for step in ("willResignActive", "stateRestorationActivity", "didEnterBackground", "didDisconnect"):
        receiver.expect("inspector", f"scene.{step}")

    print("The next notification about photo 7 tells the inspector to connect, and restores its activity.")
    data = sends(client, receiver, 7, "inspector", "scene.willConnect", "prefers")
    restored = data["connectionOptions"].get("stateRestorationActivity")
    require(restored == activity, "the window gets back the activity that it has reported", data)
    session = client.call(200, "PATCH", "/sessions/inspector", {"activationState": "foregroundInactive"})
    require(session["epoch"] == data["epoch"] == 2, "this is the session's second connection", session)
    receiver.expect("inspector", "scene.willEnterForeground")

    print("The inspector is discarded. The delegate is told of it, and photo 7 goes to main.")
    client.call(204, "DELETE", "/sessions/inspector")
    for step in ("scene.didEnterBackground", "scene.didDisconnect"):
        receiver.expect("inspector", step)
    data = receiver.expect("delegate", "application.didDiscardSceneSessions")
    require([session["id"] for session in data["sessions"]] == ["inspector"], "the delegate is told which one", data)
    sends(client, receiver, 7, "main", "scene.notification", "can")


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
        print(f"gallery: {error}", file=sys.stderr)
        return 1
    print("gallery: everything is as promised")
    return 0


if __name__ == "__main__":
    sys.exit(main())
