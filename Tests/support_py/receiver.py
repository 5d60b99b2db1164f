"""A receiver of webhooks in this process: it takes everything and remembers it byte for byte."""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from walkthrough import Failure

SECONDS = 60


class Webhook(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def envelope(self) -> Any:
        return json.loads(self.body)

    @property
    def content_id(self) -> str | None:
        """The content id in the standard envelope."""
        return self.envelope["data"].get("targetContentIdentifier")

    @property
    def payload(self) -> bytes:
        """The payload's bytes: the last member of `data`, which is the last member of the envelope."""
        return self.body.partition(b'"payload":')[2][:-2]


class Receiver:
    def __init__(self, port: int = 9000) -> None:
        self.webhooks: list[Webhook] = []
        self.arrived = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # noqa: N802
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with receiver.arrived:
                    receiver.webhooks.append(Webhook(self.path, headers, body))
                    receiver.arrived.notify_all()
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True

    def __enter__(self) -> "Receiver":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def wait_for(self, count: int, seconds: float = SECONDS) -> list[Webhook]:
        """The first so many webhooks, once they are there."""
        end = time.monotonic() + seconds
        with self.arrived:
            while len(self.webhooks) < count:
                if not self.arrived.wait(max(end - time.monotonic(), 0)):
                    raise Failure(f"{len(self.webhooks)} of {count} webhooks arrived within {seconds} s")
            return self.webhooks[:count]

    def take(self, count: int) -> list[Webhook]:
        """The next so many webhooks, which are forgotten."""
        taken = self.wait_for(count)
        with self.arrived:
            del self.webhooks[:count]
        return taken
