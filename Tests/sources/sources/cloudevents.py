"""CloudEvents that the Python SDK makes, in its present and in its former interface."""
import json
from typing import Any

from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from cloudevents.v1.http import CloudEvent as FormerEvent
from cloudevents.v1.http import to_binary, to_structured
from daemon import Answer
from sources.stage import Stage
from walkthrough import require

SECRET = "b3b5a0c1d2e3f40516273849"
PATH = "/v1/sources/cloudevents"
DATA = {"order": {"id": 42, "state": "paid"}, "note": "Zürich ≤ 10 €"}


def attributes(subject: str, **more: Any) -> dict[str, Any]:
    """Attributes of an event whose id and subject are one text."""
    return {"type": "com.example.order.paid", "source": "https://shop.example/orders", "subject": subject,
            "id": f"id of {subject}", "datacontenttype": "application/json", **more}


class Sender:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.passed = self.accepted = 0

    def send(self, headers: Any, body: bytes, path: str = PATH) -> Answer:
        fields = {"authorization": f"Bearer {SECRET}", **{str(name): str(value) for name, value in headers.items()}}
        return self.stage.daemon.call("POST", path, body, fields)

    def arrives(self, name: str, message: Any, subject: str, payload: bytes | None, path: str = PATH) -> None:
        """A message arrives, byte for byte, and is recognised when it comes again."""
        webhook = self.stage.arrives(name, self.send(message.headers, message.body, path), subject)
        if payload is not None:
            require(webhook.payload == payload, f"{name} arrives byte for byte: {webhook.payload!r}")
        self.stage.is_repetition(name, self.send(message.headers, message.body, path))
        self.accepted += 1
        self.passed += 2


def single(sender: Sender) -> None:
    """Structured and binary mode, with texts that a header must encode."""
    for subject in ("orders/42", "Größe/10 %", 'a "quoted" \\ text, and = more'):
        event = CloudEvent(attributes=attributes(f"{subject} structured"), data=DATA)
        message = http.to_structured_event(event)
        sender.arrives(f"structured {subject}", message, f"{subject} structured", message.body)
        event = CloudEvent(attributes=attributes(f"{subject} binary"), data=DATA)
        message = http.to_binary_event(event)
        sender.arrives(f"binary {subject}", message, f"{subject} binary", message.body)
    # Source and id are the key, in whatever mode the event comes again.
    event = CloudEvent(attributes=attributes("orders/42 binary"), data=DATA)
    message = http.to_structured_event(event)
    sender.stage.is_repetition("the same event in another mode", sender.send(message.headers, message.body))
    other = CloudEvent(attributes=attributes("orders/42 binary", source="https://shop.example/returns"), data=DATA)
    sender.arrives("the id at another source", http.to_binary_event(other), "orders/42 binary", None)
    sender.passed += 1


def former(sender: Sender) -> None:
    """The interface that the SDK had before its version 2."""
    class Message:
        def __init__(self, parts: tuple[Any, bytes]) -> None:
            self.headers, self.body = parts

    structured = FormerEvent(attributes("former structured"), DATA)
    message = Message(to_structured(structured))
    sender.arrives("structured, former interface", message, "former structured", message.body)
    message = Message(to_binary(FormerEvent(attributes("former binary"), DATA)))
    sender.arrives("binary, former interface", message, "former binary", message.body)


def batched(sender: Sender) -> None:
    """A batch of events that the SDK writes; it has no batches of its own."""
    subjects = ["batch/1", "batch/2", "batch/1", "orders/42 binary", "batch/3"]
    events = [JSONFormat().write(CloudEvent(attributes=attributes(subject), data=DATA)) for subject in subjects]
    body = b"[" + b" ,\n ".join(events) + b"]"
    headers = {"content-type": "application/cloudevents-batch+json; charset=utf-8"}
    answer = sender.send(headers, body)
    require(answer.status == 202, f"the batch is accepted: {answer.body.decode()}")
    marks = [entry.get("duplicate", False) for entry in answer.json["notifications"]]
    require(marks == [False, False, True, False], f"repetitions within and before the batch are recognised: {marks}")
    webhooks = sender.stage.receiver.take(3)
    require([webhook.content_id for webhook in webhooks] == ["batch/1", "batch/2", "batch/3"], "each event arrives")
    require([webhook.payload for webhook in webhooks] == [events[0], events[1], events[4]], "byte for byte")
    sender.stage.is_repetition("the batch", sender.send(headers, body))
    sender.accepted += 3
    sender.passed += 4


def templates(sender: Sender) -> None:
    """A template finds attributes and data alike in both modes."""
    path = "/v1/sources/templates"
    sender.stage.put_source(
        "templates", "cloudevents", SECRET,
        contentId="ce://{attribute.tenant}/{type}/{data.order.id|order.id}",
        filter="data.order.id == 42 OR order.id == 42")
    for number, write in enumerate((http.to_structured_event, http.to_binary_event)):
        event = CloudEvent(attributes=attributes(f"{number}", tenant="acme"), data=DATA)
        sender.arrives(write.__name__, write(event), "ce://acme/com.example.order.paid/42", None, path)
    event = CloudEvent(attributes=attributes("left out", tenant="acme"), data={"order": {"id": 43}})
    message = http.to_structured_event(event)
    require(sender.send(message.headers, message.body, path).status == 204, "the filter leaves an event out")
    sender.passed += 1


def refused(sender: Sender) -> None:
    event = CloudEvent(attributes=attributes("refused"), data=DATA)
    message = http.to_structured_event(event)
    answer = sender.send({**message.headers, "authorization": "Bearer another"}, message.body)
    sender.stage.is_refused("another token", answer, 401, "credentials-invalid")
    broken = json.loads(message.body)
    del broken["source"]
    answer = sender.send(message.headers, json.dumps(broken).encode())
    sender.stage.is_refused("an event without a source", answer, 400, "missing-attribute")
    sender.passed += 2


def check(stage: Stage) -> int:
    stage.put_session()
    stage.put_source("cloudevents", "cloudevents", SECRET)
    sender = Sender(stage)
    for part in (single, former, batched, templates, refused):
        part(sender)
    stage.nothing_else(sender.accepted)
    print(f"sources: cloudevents: {sender.accepted} events hold")
    return sender.passed
