"""A client of the daemon's HTTP API."""

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from demo.patience import Failure

APPLICATION = "com.example.Gallery"


@dataclass(frozen=True)
class Answer:
    """Status and JSON body of an answer."""

    status: int
    body: dict


class API:
    """Requests to the daemon at its present address, which changes with a restart."""

    def __init__(self, address: Callable[[], str]) -> None:
        self._address = address

    def call(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Sends a request on a connection of its own; raises OSError or HTTPException if there is no answer."""
        connection = http.client.HTTPConnection(self._address(), timeout=10)
        try:
            fields = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body=body, headers=fields)
            response = connection.getresponse()
            return Answer(response.status, json.loads(response.read() or b"{}"))
        finally:
            connection.close()

    def must(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Sends a request, and raises Failure unless it succeeds."""
        try:
            answer = self.call(method, path, body, **headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Failure(f"{method} {path}: no answer ({error!r})") from error
        if answer.status not in (200, 201, 202):
            raise Failure(f"{method} {path}: {answer.status} {answer.body.get('detail', answer.body)}")
        return answer

    def put_application(self, body: bytes) -> Answer:
        return self.must("PUT", f"/v1/applications/{APPLICATION}", body)

    def put_session(self, scene: str, body: bytes) -> Answer:
        return self.must("PUT", f"/v1/applications/{APPLICATION}/sessions/{quote(scene)}", body)

    def sessions(self) -> list[dict]:
        return self.must("GET", f"/v1/applications/{APPLICATION}/sessions").body["sessions"]

    def patch_session(self, scene: str, change: dict) -> Answer:
        return self.must(
            "PATCH", f"/v1/applications/{APPLICATION}/sessions/{quote(scene)}", json.dumps(change).encode())

    def send(self, payload: bytes, **headers: str) -> Answer:
        return self.must("POST", f"/v1/applications/{APPLICATION}/notifications", payload, **headers)

    def notification(self, identifier: str) -> dict:
        return self.must("GET", f"/v1/notifications/{quote(identifier)}").body

    def notifications(self, **filters: str) -> list[dict]:
        """All notifications that match, in the order of acceptance."""
        found: list[dict] = []
        query = {"application": APPLICATION, "limit": "200", **filters}
        while True:
            page = self.must("GET", f"/v1/notifications?{urlencode(query)}").body
            found += page["notifications"]
            if page["cursor"] is None:
                return found[::-1]
            query["cursor"] = page["cursor"]
