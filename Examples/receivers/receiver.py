#!/usr/bin/env python3
"""Receives webhooks, verifies signatures, drops duplicates: WEBHOOK_SECRETS="whsec_… [whsec_…]" receiver.py 9000"""
import base64
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

TOLERANCE_SECONDS, MAXIMUM_BODY, REMEMBERED = 300, 1024 * 1024, 10_000
KEYS = [base64.b64decode(text.removeprefix("whsec_")) for text in os.environ["WEBHOOK_SECRETS"].split()]
assert KEYS and min(map(len, KEYS)) >= 24, "WEBHOOK_SECRETS must hold secrets, whsec_…"
handled: dict[str, None] = {}  # Ids of handled webhooks, oldest first; a real service keeps them in its database.
lock = Lock()


def is_genuine(identifier: str, timestamp: str, signatures: str, body: bytes) -> bool:
    fresh = timestamp.isascii() and timestamp.isdigit() and abs(time.time() - int(timestamp)) <= TOLERANCE_SECONDS
    signed = f"{identifier}.{timestamp}.".encode() + body
    expected = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in KEYS]
    return fresh and any(hmac.compare_digest(ours, s) for ours in expected for s in signatures.encode().split())


def handle(event: dict) -> None:
    """The work. An exception is answered 500, and routerd tries again later."""
    print(event["type"], event["data"].get("targetContentIdentifier"), event["data"].get("payload"), flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 30

    def do_POST(self) -> None:
        self.send_response(self.take())
        self.end_headers()

    def take(self) -> int:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAXIMUM_BODY:
            return 413
        identifier, stamp, signatures = (self.headers.get(f"webhook-{n}", "") for n in ("id", "timestamp", "signature"))
        body = self.rfile.read(int(length))
        if not is_genuine(identifier, stamp, signatures, body):
            return 401
        with lock:
            try:
                if identifier not in handled:
                    handle(json.loads(body))
                    handled[identifier] = None  # After the work, so that the next attempt repeats a failed one.
            except Exception as error:
                print(f"{identifier}: {error!r}", file=sys.stderr)
                return 500
            if len(handled) > REMEMBERED:
                del handled[next(iter(handled))]
            return 200


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
