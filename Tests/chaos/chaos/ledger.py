"""The receivers' records: every attempt, when it began and ended, and its answer.

Written on the zoo's thread, read by others: lists only grow, and a reader copies them.
"""

import base64
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Callable, Mapping

from chaos import clock
from chaos.history import Attempt, Meaning
from chaos.http1 import Request

# All receivers share it: the check is that signatures fit, not which receiver has which secret.
SECRET = b"a secret of the zoo, 32 bytes ok"
SECRET_TEXT = "whsec_" + base64.b64encode(SECRET).decode()


class Ledger:
    """Attempts in the order in which they began."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        # Payloads by key, as the clients sent them.
        self.payloads: dict[str, bytes] = {}
        # Which life of the daemon it is now.
        self.life = 0
        # Sees each request that was read.
        self.witness: Callable[[Attempt, Request], None] | None = None
        self.taken: Counter[str] = Counter()
        self._taken_keys: set[str] = set()
        self._seen: Counter[tuple[str, str | None]] = Counter()

    def begin(self, lane: str, request: Request | None) -> Attempt:
        """A request that was read, or a connection of which nothing was."""
        attempt = Attempt(lane=lane, began_at=clock.now(), life=self.life)
        if request is not None:
            attempt.webhook_id = request.headers.get("webhook-id")
            attempt.number = int(request.headers.get("webhook-attempt", "0"))
            attempt.is_signed = is_signed(request.headers, request.body)
            attempt.key = key_of(request.body)
            payload = self.payloads.get(attempt.key or "")
            attempt.is_intact = payload is not None and b'"payload":' + payload in request.body
            if self.witness is not None:
                self.witness(attempt, request)
        self._seen[lane, attempt.key] += 1
        self.attempts.append(attempt)
        return attempt

    def end(self, attempt: Attempt, meaning: Meaning) -> None:
        attempt.meaning = meaning
        attempt.ended_at = clock.now()
        if meaning is Meaning.TAKEN and attempt.key is not None and attempt.key not in self._taken_keys:
            self._taken_keys.add(attempt.key)
            self.taken[attempt.lane] += 1

    def count(self, lane: str, key: str | None) -> int:
        """How many attempts there were of one notification."""
        return self._seen[lane, key]

    def distinct_taken(self) -> set[str]:
        """The keys that some receiver has taken."""
        return set(self._taken_keys)


def is_signed(headers: Mapping[str, str], body: bytes, secret: bytes = SECRET) -> bool:
    """Whether a signature of Standard Webhooks' version v1 fits."""
    signed = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, each) for each in headers.get("webhook-signature", "").split(" "))


def key_of(body: bytes) -> str | None:
    """The key that the client wrote into the payload."""
    try:
        return str(json.loads(body)["data"]["payload"]["key"])
    except (ValueError, KeyError, TypeError):
        return None
