"""A daemon with the application of docs/SOURCES.md, and the receiver of its session."""
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from daemon import Answer, Daemon
from receiver import Receiver, Webhook
from walkthrough import require

APPLICATION = "com.example.Gallery"
RECEIVER = "http://127.0.0.1:9000/main"


class Stage:
    """The processes of one part of the test; each part has new ones."""

    def __init__(self, routerd: Path, folder: Path) -> None:
        self.folder = folder
        self.daemon = Daemon(routerd, folder)
        self.receiver = Receiver()
        self.exits = ExitStack()

    def __enter__(self) -> "Stage":
        self.exits.enter_context(self.receiver)
        self.exits.enter_context(self.daemon)
        return self

    def __exit__(self, *_: object) -> None:
        self.exits.close()

    def put_session(self) -> None:
        """The application and the session that takes everything."""
        application = f"/v1/applications/{APPLICATION}"
        self.daemon.put(application, {"displayName": "Gallery"})
        self.daemon.put(
            f"{application}/sessions/main", {"activationState": "foregroundActive", "endpoint": {"url": RECEIVER}})

    def put_source(self, name: str, kind: str, secret: str, **fields: Any) -> None:
        body = {"kind": kind, "application": APPLICATION, "secrets": [secret], **fields}
        self.daemon.put(f"/v1/sources/{name}", body)

    def arrives(self, name: str, answer: Answer, content_id: str) -> Webhook:
        """The webhook of a request that must have been accepted as one notification."""
        require(answer.status == 202, f"{name} is accepted: {answer.status} {answer.body.decode(errors='replace')}")
        webhook = self.receiver.take(1)[0]
        require(webhook.content_id == content_id, f"{name} arrives as {content_id}, not as {webhook.content_id}")
        return webhook

    def is_repetition(self, name: str, answer: Answer) -> None:
        marks = [entry.get("duplicate") for entry in answer.json["notifications"]] if answer.status == 200 else []
        require(marks != [] and all(marks), f"{name} is a repetition: {answer.status} {answer.body.decode()}")

    def is_refused(self, name: str, answer: Answer, status: int, code: str) -> None:
        refusal = answer.json.get("code") if answer.status >= 400 else None
        require((answer.status, refusal) == (status, code), f"{name} is answered {status} {code}: {answer}")

    def nothing_else(self, accepted: int) -> None:
        """So many notifications were accepted in all, and no webhook is left over."""
        count = self.daemon.notifications()
        require(count == accepted, f"{accepted} notifications are accepted, not {count}")
        require(not self.receiver.webhooks, f"no other webhook arrives: {self.receiver.webhooks}")
