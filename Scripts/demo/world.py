"""The processes of one run of the demo, and the questions that its scenes ask of them."""

from dataclasses import dataclass
from pathlib import Path

from demo.api import API
from demo.gallery import Gallery
from demo.patience import Failure, Patience
from demo.processes import Arrival, Child, Daemon, Receiver
from demo.report import Report


@dataclass(frozen=True)
class World:
    """Gallery, processes, client and report, shared by all scenes of the demo."""

    binary: Path
    gallery: Gallery
    daemon: Daemon
    receivers: dict[str, Receiver]
    api: API
    patience: Patience
    report: Report

    @property
    def children(self) -> list[Child]:
        return [self.daemon, *self.receivers.values()]

    def end(self) -> None:
        """Ends the daemon and every receiver, frozen ones too."""
        for child in self.children:
            child.thaw()  # The daemon waits for its attempts at a frozen receiver.
        for child in self.children:
            child.stop()

    def arrivals(self, scene: str, payload: bytes) -> list[Arrival]:
        """Webhooks that brought this payload to this scene."""
        return [arrival for arrival in self.receivers[scene].arrivals() if arrival.carries(payload)]

    def arrived_anywhere(self) -> int:
        return sum(len(receiver.arrivals()) for receiver in self.receivers.values())

    def wait_until_settled(self, identifier: str) -> dict:
        """The notification in its final state, delivered or not."""

        def look() -> dict | None:
            notification = self.api.notification(identifier)
            return notification if notification["settledAt"] else None

        try:
            return self.patience.until(look, f"{identifier} is settled")
        except Failure as failure:
            outcomes = [outcome(attempt) for attempt in self.api.notification(identifier)["attempts"]]
            raise Failure(f"{failure}; its attempts: {', '.join(outcomes) or 'none'}") from failure

    def unsettled(self) -> list[dict]:
        return [entry for entry in self.api.notifications() if entry["settledAt"] is None]


def outcome(attempt: dict) -> str:
    """The result of an attempt in a few words."""
    error = attempt.get("error")
    return f"{error['kind']} (libcurl {error['curlCode']})" if error else f"answered {attempt['status']}"
