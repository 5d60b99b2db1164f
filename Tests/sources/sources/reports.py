"""Requests of public bug reports against other receivers of webhooks, with the answers that the senders' documents ask for."""
import base64
import hashlib
import hmac
import json
import socket
import time
from typing import Any

from sources.stage import APPLICATION, Stage
from walkthrough import require

SECRET = "correct horse battery staple"
FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}


def digest(content: bytes) -> bytes:
    return hmac.new(SECRET.encode(), content, hashlib.sha256).digest()


class Reports:
    def __init__(self, stage: Stage) -> None:
        self.stage, self.passed = stage, 0

    def post(self, source: str, body: bytes, headers: dict[str, str]) -> Any:
        return self.stage.daemon.call("POST", f"/v1/sources/{source}", body, headers)

    def expect(self, name: str, answer: Any, status: int, code: str | None = None) -> None:
        found = answer.json.get("code") if answer.status >= 400 else None
        require((answer.status, found) == (status, code), f"{name} is {status} {code}: {answer.status} {answer.body!r}")
        self.passed += 1

    def shopify(self) -> None:
        """Events of Shopify have their headers without X-; the id of a delivery is what tells a repetition."""
        self.stage.put_source("shop", "shopify", SECRET)
        body = b'{"id":1}'
        signature = base64.b64encode(digest(body)).decode()

        def headers(family: str, number: int) -> dict[str, str]:
            return JSON | {
                f"{family}topic": "shop/redact", f"{family}webhook-id": f"{family}{number}",
                f"{family}hmac-sha256": signature}

        for family in ("x-shopify-", "shopify-"):
            for number in (1, 2):
                self.expect(f"{family}{number}", self.post("shop", body, headers(family, number)), 202)
                self.expect(f"{family}{number} again", self.post("shop", body, headers(family, number)), 200)
            path = f"/v1/applications/{APPLICATION}/notifications"
            answer = self.stage.daemon.call("POST", path, body, headers(family, 3))
            self.expect(f"{family} as a push", answer, 415, "foreign-format")

    def github(self) -> None:
        """Two genuine events of one body, and a source that takes a body once."""
        body = b'{"action":"deploy","client_payload":{},"repository":{"full_name":"o/r"}}'
        for source, options, second in (("hub", {}, 202), ("strict", {"refuseRepeatedBodies": True}, 200)):
            self.stage.put_source(source, "github", SECRET, options=options)
            for number, status in ((1, 202), (2, second)):
                proof = {
                    "x-github-event": "repository_dispatch", "x-github-delivery": f"0000000{number}",
                    "x-hub-signature-256": "sha256=" + digest(body).hex()}
                self.expect(f"{source} {number}", self.post(source, body, JSON | proof), status)
        # An issue's title is no field of a form under any content type of the signed body.
        body = b'{"issue":{"title":"x&payload=%7B%22a%22%3A1%7D&y="}}'
        proof = {"x-hub-signature-256": "sha256=" + digest(body).hex()}
        self.expect("JSON as a form", self.post("hub", body, FORM | proof), 400, "form-not-encoded")

    def slack(self) -> None:
        self.stage.put_source("slack", "slack", SECRET)

        def proof(body: bytes) -> dict[str, str]:
            now = str(int(time.time()))
            return {
                "x-slack-request-timestamp": now,
                "x-slack-signature": "v0=" + digest(f"v0:{now}:".encode() + body).hex()}

        for body in (b"ssl_check=1&token=abc", b"ssl_check=1&command=%2Fdeploy"):
            answer = self.post("slack", body, FORM)
            self.expect("ssl_check", answer, 200)
            require(answer.body == b"", f"the check of the certificate has an empty answer: {answer.body!r}")
        self.expect("ssl_check=0", self.post("slack", b"ssl_check=0", FORM), 401, "signature-missing")
        text = "hi &command=%2Fdeploy&channel_id=CVICTIM&user_id=UBOSS&x="
        body = json.dumps({"type": "event_callback", "event_id": "E", "event": {"type": "message", "text": text}}).encode()
        self.expect("an event", self.post("slack", body, JSON | proof(body)), 202)
        self.expect("the event as a form", self.post("slack", body, FORM | proof(body)), 400, "form-not-encoded")

    def alerts(self) -> None:
        """An alert that fires again under its old startsAt; the last word is the last notice."""
        token = {"authorization": f"Bearer {SECRET.replace(' ', '-')}"}
        for kind, more in (("alertmanager", {"version": "4"}), ("grafana", {"version": "1", "orgId": 1})):
            self.stage.put_source(kind, kind, SECRET.replace(" ", "-"))
            for _ in range(2):
                for status, end in (("firing", "0001-01-01T00:00:00Z"), ("resolved", "2026-11-27T10:05:00Z")):
                    alert = {
                        "status": status, "labels": {"alertname": "Down"}, "annotations": {}, "fingerprint": "aa",
                        "startsAt": "2026-11-27T10:00:00Z", "endsAt": end}
                    body = json.dumps({**more, "groupKey": "{}", "status": status, "receiver": "r", "alerts": [alert]}).encode()
                    self.expect(f"{kind} {status}", self.post(kind, body, JSON | token), 202)
                    self.expect(f"{kind} {status} again", self.post(kind, body, JSON | token), 200)

    def cloud_events(self) -> None:
        token = "token-of-the-sender"
        self.stage.put_source("events", "cloudevents", token)
        proof = {"authorization": f"Bearer {token}"}
        for media, status, code in (
            ("application/json", 400, "json-duplicate-key"), ("application/vnd.x+json", 400, "json-duplicate-key"),
            ("text/plain", 202, None),
        ):
            binary = {"ce-specversion": "1.0", "ce-id": media, "ce-source": "/s", "ce-type": "t", "content-type": media}
            self.expect(f"data of {media}", self.post("events", b'{"a":1,"a":2}', proof | binary), status, code)
        structured = proof | {"content-type": "application/cloudevents+json"}
        for attributes, status, code in (
            ({"id": 5}, 400, "invalid-attribute-value"), ({"id": "5"}, 202, None), ({"id": "5"}, 200, None),
            ({"id": "6", "specversion": 1.0}, 400, "invalid-attribute-value"),
        ):
            event = {"specversion": "1.0", "source": "/s", "type": "t", **attributes}
            self.expect(f"{attributes}", self.post("events", json.dumps(event).encode(), structured), status, code)

    def times(self) -> None:
        for text, taken in (
            ("2099-02-30T00:00:00Z", False), ("2099-01-02T25:00:00Z", False), ("2099-01-02T03:04:05Zfoo", False),
            ("2099-01-02t03:04:05z", True),
        ):
            body = {"kind": "bearer", "application": APPLICATION, "secrets": [{"secret": "s3cret", "notAfter": text}]}
            answer = self.stage.daemon.call("PUT", "/v1/sources/dated", json.dumps(body).encode(), JSON)
            require((answer.status < 300) == taken, f"{text}: {answer.status} {answer.body!r}")
            self.passed += 1

    def edge(self) -> None:
        with socket.create_connection(("127.0.0.1", 8080)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\nHost: localhost\n\n")
            answer = connection.recv(4096)
            require(b"CR and LF" in answer, f"the refusal of a bare line feed says so: {answer!r}")
        with socket.create_connection(("127.0.0.1", 8080)) as connection:
            connection.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID:\r\n\r\n")
            require(connection.recv(15) == b"HTTP/1.1 200 OK", "an empty Last-Event-ID is as none")
        self.passed += 2

    def applications(self) -> None:
        path = "/v1/applications/com.example.Links"
        self.stage.daemon.put(path, {"manifest": {"userActivityTypes": ["open"]}})
        self.stage.daemon.put(f"{path}/sessions/main", {"endpoint": {"url": "http://127.0.0.1:9/"}})
        for kind, status, code in (
            ("NSUserActivityTypeBrowsingWeb", 202, None), ("com.apple.corespotlightitem", 202, None),
            ("other", 422, "unlisted-activity-type"),
        ):
            body = json.dumps({"userActivity": {"activityType": kind, "webpageURL": "https://a.example/x"}}).encode()
            self.expect(kind, self.stage.daemon.call("POST", f"{path}/events", body, JSON), status, code)


def check(stage: Stage) -> int:
    stage.put_session()
    reports = Reports(stage)
    for part in (
        reports.shopify, reports.github, reports.slack, reports.alerts, reports.cloud_events, reports.times, reports.edge,
        reports.applications,
    ):
        part()
    print(f"sources: reports: {reports.passed} answers hold")
    return reports.passed
