"""A stream of notifications that does not end when the daemon does."""

import http.client
import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from demo.api import API, APPLICATION


@dataclass
class Sent:
    """A notification of the stream, as its sender knows it."""

    number: int
    scene: str
    content_id: str
    apns_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    identifier: str | None = None
    status: int | None = None
    unanswered: int = 0

    @property
    def payload(self) -> bytes:
        body = {"aps": {"alert": f"Photo {self.number}", "target-content-id": self.content_id}, "number": self.number}
        return json.dumps(body).encode()


class Stream:
    """Several threads, each of which sends its share of the notifications one after the other.

    A sender without an answer cannot know whether the daemon has the notification. So the sender repeats it under the
    same apns-id until there is an answer, and only then goes on to the next.
    """

    # The wait between two notifications, so that even a fast daemon is killed in mid-stream.
    PACE_SECONDS = 0.004
    # The wait after a lost answer, or after one that asks to try again later.
    PAUSE_SECONDS = 0.02

    def __init__(self, api: API, notifications: list[Sent], threads: int) -> None:
        self._api = api
        self.notifications = notifications
        self.refusals: list[str] = []
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._send_share, args=(notifications[place::threads],), daemon=True)
            for place in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Makes each thread end after its present request."""
        self._stopped.set()

    def answered(self) -> list[Sent]:
        return [sent for sent in self.notifications if sent.status is not None]

    def reached(self, count: int) -> Callable[[], bool]:
        """A condition to wait for: `count` notifications are answered, or no thread is left to send them."""
        return lambda: len(self.answered()) >= count or not any(thread.is_alive() for thread in self._threads)

    def _send_share(self, share: list[Sent]) -> None:
        for sent in share:
            while sent.status is None and not self._stopped.is_set():
                self._send(sent)
            time.sleep(self.PACE_SECONDS)

    def _send(self, sent: Sent) -> None:
        path = f"/v1/applications/{APPLICATION}/notifications"
        try:
            answer = self._api.call("POST", path, sent.payload, apns_id=sent.apns_id)
        except (OSError, http.client.HTTPException, ValueError):
            sent.unanswered += 1
            time.sleep(self.PAUSE_SECONDS)
            return
        if answer.status in (200, 202):
            sent.identifier, sent.status = answer.body["id"], answer.status
            return
        self.refusals.append(f"{answer.status} {answer.body.get('code')}")
        if answer.status < 500:  # A repetition would be refused too.
            self.stop()
        time.sleep(self.PAUSE_SECONDS)
