"""A webhook, whole: a receiver in plain Python, the check of its signature, and notes on each part."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Notes of at most Report.NOTE_WIDTH columns, by lower-case header name.
HEADER_NOTES = {
    "content-type": "the body below",
    "webhook-id": "the same if repeated",
    "webhook-timestamp": "time of this attempt",
    "webhook-attempt": "number of this attempt",
    "webhook-signature": "HMAC-SHA256 with secret",
}
# Notes by the path of the field in the body.
BODY_NOTES = {
    ("type",): "kind of webhook",
    ("timestamp",): "time of acceptance",
    ("data", "application"): "owner of the scenes",
    ("data", "session"): "the scene chosen",
    ("data", "session", "activationState"): "its last known state",
    ("data", "targetContentIdentifier"): "the content id",
    ("data", "decision", "tier"): "condition that chose it",
    ("data", "decision", "rerouteOf"): "set after a fail-over",
    ("data", "payload"): "the push, byte for byte",
}

Noted = tuple[str, str]


@dataclass(frozen=True)
class Webhook:
    """A request as it came over the connection."""

    request_line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    def is_signed_with(self, secret: str) -> bool:
        """The check that Standard Webhooks asks of every receiver, but for the age of the timestamp."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signed = f"{self.header('webhook-id')}.{self.header('webhook-timestamp')}.".encode() + self.body
        digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return any(hmac.compare_digest(f"v1,{digest}", one) for one in self.header("webhook-signature").split())

    def noted(self) -> Iterator[Noted]:
        """Headers and indented body, each line with a note on its use, or with none."""
        yield self.request_line, "the path of the endpoint"
        for name, value in self.headers:
            yield f"{name}: {value}", HEADER_NOTES.get(name.lower(), "")
        yield "", ""
        yield from _noted(json.loads(self.body), "", (), "")


def _noted(value: object, name: str, path: tuple[str, ...], comma: str) -> Iterator[Noted]:
    indent = "  " * len(path)
    label = f"{json.dumps(name)}: " if path else ""
    note = BODY_NOTES.get(path, "")
    if not isinstance(value, dict) or not value:
        yield f"{indent}{label}{json.dumps(value, ensure_ascii=False)}{comma}", note
        return
    yield f"{indent}{label}{{", note
    last = list(value)[-1]
    for key, inner in value.items():
        yield from _noted(inner, key, (*path, key), "" if key == last else ",")
    yield f"{indent}}}{comma}", ""


class Listener:
    """A receiver that keeps each request as it is and answers 204; use it in a `with` statement."""

    def __init__(self) -> None:
        self.webhooks: list[Webhook] = []
        webhooks = self.webhooks

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # noqa: N802, the name that http.server calls
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                webhooks.append(Webhook(self.requestline, self.headers.items(), body))
                self.send_response(204)
                self.send_header("connection", "close")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Keeps the standard log lines out of the demo."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Listener":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
