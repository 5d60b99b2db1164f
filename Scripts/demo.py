#!/usr/bin/env python3
"""Shows what routerd does, on loopback, in half a minute: the photo gallery of Examples/gallery with real processes.

Usage: Scripts/demo.py [--routerd .build/release/routerd]

Each step checks what it claims. The exit status is 0 only if all of it happened; otherwise the end names what did not
and shows the last lines of the daemon's log.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from demo.api import API, APPLICATION
from demo.gallery import Example, Gallery
from demo.patience import Failure, Patience
from demo.processes import Arrival, Child, Daemon, Receiver
from demo.report import Report
from demo.stream import Sent, Stream

ROOT = Path(__file__).resolve().parent.parent
LIMIT_SECONDS = 90
STREAM = 300
THREADS = 4
# The scene whose receiver is frozen before each kill, so that the daemon surely has work under way when it dies.
FROZEN_AT_KILLS = ["inspector-1", "gallery"]


@dataclass(frozen=True)
class World:
    """All that the steps have to do with."""

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

    def arrivals(self, scene: str, payload: bytes) -> list[Arrival]:
        """What came to a scene with this payload."""
        return [arrival for arrival in self.receivers[scene].arrivals() if arrival.carries(payload)]

    def arrived_anywhere(self) -> int:
        return sum(len(receiver.arrivals()) for receiver in self.receivers.values())

    def wait_until_settled(self, identifier: str) -> dict:
        """The notification once it is settled, whatever it came to."""

        def look() -> dict | None:
            notification = self.api.notification(identifier)
            return notification if notification["settledAt"] else None

        try:
            return self.patience.until(look, f"{identifier} is settled")
        except Failure as failure:
            if self.patience.interrupted:
                raise
            outcomes = [outcome(attempt) for attempt in self.api.notification(identifier)["attempts"]]
            raise Failure(f"{failure}; its attempts: {', '.join(outcomes) or 'none'}") from failure


def main() -> int:
    arguments = parse_arguments()
    report = Report()
    patience = Patience(LIMIT_SECONDS)
    patience.listen_for_signals()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="routerd-demo-") as folder:
        world = make_world(arguments.routerd, Path(folder), patience, report)
        try:
            report.title(f"routerd: one notification, the one right receiver ({version(arguments.routerd)})")
            for step in STEPS:
                step(world)
        except Failure as failure:
            report.broken(str(failure))
        except Exception as error:  # such as a field that the daemon's answer does not have
            traceback.print_exc()
            report.broken(f"the demo could not follow: {error!r}")
        finally:
            for child in world.children:
                child.thaw()  # The daemon waits for what is under way to a frozen receiver.
            for child in world.children:
                child.stop()
        summarise(world, time.monotonic() - began)
    return 1 if report.failed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Shows what routerd does, and checks it.")
    parser.add_argument("--routerd", type=Path, default=ROOT / ".build/release/routerd", help="the binary")
    arguments = parser.parse_args()
    arguments.routerd = arguments.routerd.resolve()
    if not (arguments.routerd.is_file() and os.access(arguments.routerd, os.X_OK)):
        parser.error(f"{arguments.routerd} is not a program; build it, or name another one with --routerd")
    return arguments


def make_world(binary: Path, folder: Path, patience: Patience, report: Report) -> World:
    gallery = Gallery(ROOT / "Examples/gallery")
    daemon = Daemon(binary, folder, patience)
    receivers = {scene: Receiver(scene, binary, folder, patience) for scene in gallery.scenes}
    return World(binary, gallery, daemon, receivers, API(lambda: daemon.address), patience, report)


def version(binary: Path) -> str:
    return subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=20).stdout.strip()


# The steps


def register(world: World) -> None:
    """Daemon and receivers run; application and scenes are known to the daemon."""
    report = world.report
    report.heading("A gallery and its inspectors")
    for child in world.children:
        child.start()
    report.line(f"daemon at {world.daemon.address}, an empty database, one receiver for each scene")
    world.api.put_application(world.gallery.application)
    rows = []
    for scene, receiver in world.receivers.items():
        body = world.gallery.session(scene, receiver.address, receiver.secret)
        session = world.api.put_session(scene, body).body
        can, prefers, _ = session["activationConditions"].values()
        rows.append([scene, session["activationState"], can, prefers, f"→ {receiver.address}"])
    report.table(["scene", "state", "can", "prefers", "receiver"], rows)
    listed = [session["id"] for session in world.api.sessions()]
    report.check("all are registered", listed == world.gallery.scenes, str(listed))
    shown = json.dumps(world.api.sessions())
    told = [scene for scene, receiver in world.receivers.items() if receiver.secret in shown]
    report.check("each has a secret of its own, which is never shown again", not told, ", ".join(told))


def route(world: World) -> None:
    """Every payload of the gallery goes to one scene."""
    report = world.report
    report.heading(f"{len(world.gallery.examples)} pushes, one receiver each")
    before = world.arrived_anywhere()
    rows, astray, altered, unsigned = [], [], [], []
    for example in world.gallery.examples:
        answer = world.api.send(example.payload).body
        decision = answer["decision"]
        notification = world.wait_until_settled(answer["id"])
        arrivals = world.arrivals(decision["session"], example.payload)
        reason = decision["reason"].removeprefix(decision["tier"] + ": ")
        rows.append([example.name, example.content_id or "–", f"→ {decision['session']}", decision["tier"], reason])
        if not went_as_expected(example, decision, notification, arrivals):
            astray.append(f"{example.name} ({notification['state']}, {decision['tier']} {decision['session']})")
        if len(arrivals) != 1:
            altered.append(example.name)
        if any(arrival.signature != "valid" for arrival in arrivals):
            unsigned.append(example.name)
    report.table(["payload", "content id", "scene", "tier", "because"], rows)
    report.check("each went where Examples/gallery says", not astray, ", ".join(astray))
    came = world.arrived_anywhere() - before
    sent = len(rows)
    report.check(f"{sent} were sent and {sent} came in: nobody else got one", came == sent, f"{came} came in")
    odd = len(world.gallery.example("odd-spacing.json").payload)
    report.check(
        f"each arrived byte for byte, the {odd} bytes of odd-spacing.json too", not altered, ", ".join(altered))
    report.check("each signature was found valid by its receiver", not unsigned, ", ".join(unsigned))


def went_as_expected(example: Example, decision: dict, notification: dict, arrivals: list[Arrival]) -> bool:
    """Whether decision, settlement and webhook are all those of the example."""
    return (
        (decision["session"], decision["tier"]) == (example.scene, example.tier)
        and notification["state"] == "delivered"
        and all(arrival.type == example.type for arrival in arrivals)
        and all(arrival.data["targetContentIdentifier"] == example.content_id for arrival in arrivals)
    )


def connect(world: World) -> None:
    """An unattached scene is told to connect; a connected one just gets the notification."""
    report = world.report
    report.heading("A window that was not open")
    example = world.gallery.example("localized.json")
    first = world.arrivals(example.scene, example.payload)[-1]
    activity = first.data.get("connectionOptions", {}).get("stateRestorationActivity")
    report.line(f"{example.name} → {example.scene}, unattached → {first.type}")
    expected = json.loads(world.gallery.session(example.scene, "", ""))["stateRestorationActivity"]
    report.check(
        f"it is told to connect, with what it showed before: {expected['userInfo']['photo']}",
        first.type == "scene.willConnect" and activity == expected, f"{first.type} with {activity}")
    state = world.api.patch_session(example.scene, {"activationState": "foregroundInactive"}).body["activationState"]
    world.wait_until_settled(world.api.send(example.payload).body["id"])
    second = world.arrivals(example.scene, example.payload)[-1]
    report.line(f"{example.name} → {example.scene}, now {state} → {second.type}")
    report.check("connected, it gets the notification as such", second.type == "scene.notification", second.type)


def explain(world: World) -> None:
    """The command line shows every candidate, and nothing is sent."""
    report = world.report
    report.heading("Why? routerd explain")
    example = world.gallery.example("both-ids.json")
    before = len(world.api.notifications())
    command = ["explain", "--server", f"http://{world.daemon.address}", "--application", APPLICATION]
    report.line(f"$ routerd explain --server … --application {APPLICATION} {example.path.relative_to(ROOT)}")
    done = subprocess.run(
        [world.binary, *command, example.path], capture_output=True, text=True, encoding="utf-8", timeout=20)
    lines = (done.stdout + done.stderr).splitlines()
    for line in lines:
        report.line(line)
    told = lines[0] if lines else "nothing"
    named = told.startswith(f"→ {example.scene}  because {example.tier}: ") and len(lines) > 2
    report.check(f"it names {example.scene} and the others that came into question", named, told)
    report.check("nothing was sent", len(world.api.notifications()) == before)


def deduplicate(world: World) -> None:
    """The same apns-id twice is one notification."""
    report = world.report
    report.heading("The same apns-id twice")
    example = world.gallery.example("alert-string.json")
    apns_id = str(uuid.uuid4())
    before = len(world.arrivals(example.scene, example.payload))
    first = world.api.send(example.payload, apns_id=apns_id)
    again = world.api.send(example.payload, apns_id=apns_id)
    for answer in (first, again):
        duplicate = ", duplicate" if answer.body.get("duplicate") else ""
        report.line(f"apns-id {apns_id} → {answer.status} {answer.body['id']}{duplicate}")
    same = again.status == 200 and again.body["id"] == first.body["id"] and again.body.get("duplicate") is True
    report.check("the second is answered as the first", (first.status, same) == (202, True), str(again))
    # A lane keeps its order: when a later one has arrived, no copy of an earlier one can still be on its way.
    later = world.api.send(world.gallery.example("mutable.json").payload)
    world.wait_until_settled(later.body["id"])
    count = len(world.arrivals(example.scene, example.payload)) - before
    report.check("it was delivered once", count == 1, f"{count} arrived")


def fail_and_recover(world: World) -> None:
    """A receiver is gone for a while: its lane tries again, the others do not notice."""
    report = world.report
    report.heading("A receiver goes away and comes back")
    example = world.gallery.example("alert-dictionary.json")
    next_one = world.gallery.example("odd-spacing.json")
    receiver = world.receivers[example.scene]
    before = len(receiver.arrivals())
    receiver.stop()
    report.line(f"{example.scene} is stopped; two notifications for it, then one for the gallery")
    waiting = [world.api.send(one.payload).body["id"] for one in (example, next_one)]
    elsewhere = world.wait_until_settled(world.api.send(world.gallery.example("background.json").payload).body["id"])
    states = [world.api.notification(identifier)["state"] for identifier in waiting]
    report.check(
        "the gallery has its own at once, the two wait",
        elsewhere["state"] == "delivered" and all(state in ("waiting", "inFlight") for state in states), str(states))

    def failed_twice() -> bool:
        return len(world.api.notification(waiting[0])["attempts"]) >= 2

    world.patience.until(failed_twice, "the first retry has failed too")
    receiver.start()
    report.line(f"{example.scene} is started again at {receiver.address}")
    settled = [world.wait_until_settled(identifier) for identifier in waiting]
    show_attempts(report, settled)
    attempts = settled[0]["attempts"]
    outcomes = [outcome(attempt) for attempt in attempts]
    schedule = json.loads(world.gallery.application)["delivery"]["retrySchedule"]
    early = [gap for gap, least in zip(gaps(attempts), schedule) if gap < least]
    report.check(
        f"failed attempts are repeated after {', '.join(map(str, schedule[:3]))}, … s or a little more",
        outcomes[-1] == "answered 204" and len(outcomes) >= 3 and not early, f"{outcomes}, too early after {early} s")
    fresh = receiver.arrivals()[before:]
    in_order = len(fresh) == 2 and fresh[0].carries(example.payload) and fresh[1].carries(next_one.payload)
    delivered = all(notification["state"] == "delivered" for notification in settled)
    report.check("both arrived, once and in order", in_order and delivered, f"{len(fresh)} arrived")


def show_attempts(report: Report, notifications: list[dict]) -> None:
    began = datetime.fromisoformat(notifications[0]["receivedAt"])
    rows = []
    for place, notification in enumerate(notifications, start=1):
        for attempt in notification["attempts"]:
            after = (datetime.fromisoformat(attempt["startedAt"]) - began).total_seconds()
            rows.append([place, attempt["number"], f"{after:.1f} s", outcome(attempt)])
    report.table(["notification", "attempt", "after", "outcome"], rows, right=[0, 1, 2])


def outcome(attempt: dict) -> str:
    """What came of an attempt, in a few words."""
    error = attempt.get("error")
    return f"{error['kind']} (libcurl {error['curlCode']})" if error else f"answered {attempt['status']}"


def gaps(attempts: list[dict]) -> list[float]:
    """The seconds from each attempt to the next."""
    times = [datetime.fromisoformat(attempt["startedAt"]) for attempt in attempts]
    return [(later - earlier).total_seconds() for earlier, later in zip(times, times[1:])]


def survive_kills(world: World) -> None:
    """SIGKILL in the midst of a stream, twice: nothing that was answered is lost."""
    report = world.report
    report.heading(f"kill -9, twice, in a stream of {STREAM} from {THREADS} threads")
    scenes = list(world.receivers)
    contents = {scene: world.gallery.content_id(scene) for scene in scenes}
    plan = [Sent(number, scenes[number // THREADS % len(scenes)], "") for number in range(STREAM)]
    for sent in plan:
        sent.content_id = contents[sent.scene]
    offsets = {scene: len(receiver.arrivals()) for scene, receiver in world.receivers.items()}

    def arrivals() -> dict[str, list[Arrival]]:
        return {scene: world.receivers[scene].arrivals()[offsets[scene]:] for scene in scenes}

    stream = Stream(world.api, plan, THREADS)
    stream.start()
    try:
        rows = [kill(world, stream, arrivals, place) for place in range(len(FROZEN_AT_KILLS))]
        report.table(["kill", "answered", "arrived", "yet to arrive", "up again after", "frozen"], rows, range(5))
        struck = all(row[1] < STREAM and row[3] > 0 for row in rows)
        report.check("each kill came mid-stream, with answered notifications yet to arrive", struck)
        world.patience.until(stream.reached(STREAM), "the whole stream is answered")
    finally:
        stream.stop()
    world.patience.until(lambda: not unsettled(world), "all notifications are settled")
    account(world, stream, arrivals(), kills=len(FROZEN_AT_KILLS))


def kill(world: World, stream: Stream, arrivals: Callable[[], dict[str, list[Arrival]]], place: int) -> list:
    """Kills the daemon once the stream is well under way, and starts it again on its database."""
    frozen = world.receivers[FROZEN_AT_KILLS[place]]
    under_way = STREAM * (place + 1) // (len(FROZEN_AT_KILLS) + 1)
    world.patience.until(stream.reached(under_way), "the stream is under way")
    frozen.freeze()
    world.patience.until(stream.reached(len(stream.answered()) + STREAM // 10), "the stream has gone on a little")
    world.daemon.kill()
    answered = {sent.number for sent in stream.answered()}
    arrived = {arrival.data["payload"]["number"] for list_ in arrivals().values() for arrival in list_}
    frozen.thaw()
    began = time.monotonic()
    world.daemon.start()
    took = f"{time.monotonic() - began:.2f} s"
    return [place + 1, len(answered), len(arrived), len(answered - arrived), took, frozen.name]


def unsettled(world: World) -> list[dict]:
    return [entry for entry in world.api.notifications() if entry["settledAt"] is None]


def account(world: World, stream: Stream, arrivals: dict[str, list[Arrival]], kills: int) -> None:
    """The books: what was answered against what arrived, scene by scene."""
    report = world.report
    figures = {scene: account_scene(world, stream, scene, came) for scene, came in arrivals.items()}
    totals = Counter()
    for row in figures.values():
        totals.update(row)
    rows = [
        [scene, row["answered"], row["arrived"], row["lost"], row["again"], "broken" if row["disorderly"] else "kept"]
        for scene, row in [*figures.items(), ("all", totals)]
    ]
    report.table(["scene", "answered", "arrived", "lost", "arrived again", "order"], rows, range(1, 5))
    unanswered = sum(sent.unanswered for sent in stream.notifications)
    known = sum(sent.status == 200 for sent in stream.notifications)
    report.aside(f"{unanswered} requests went unanswered and were repeated under their apns-id; "
                 f"{known} of them had been committed all the same")
    report.check(f"all {STREAM} were answered in the end", totals["answered"] == STREAM, str(stream.refusals[:3]))
    report.check("nothing was lost", totals["lost"] == 0 and totals["arrived"] == STREAM, f"lost: {totals['lost']}")
    books = {entry["id"]: entry["state"] for entry in world.api.notifications()}
    states = Counter(books.get(sent.identifier, "unknown") for sent in stream.answered())
    report.check(
        "by the daemon's own books, too, each was delivered", states == {"delivered": STREAM}, str(dict(states)))
    # A scene has one delivery in flight; that one may arrive again, for its outcome may not have been committed.
    most = max(row["again"] for row in figures.values())
    report.check(
        "arrived again: at most one for each scene and kill, under the webhook-id of the first time",
        most <= kills and totals["renamed"] == 0, f"{most} for a scene, {totals['renamed']} under another webhook-id")
    report.check("each scene got its own in the order of acceptance", not totals["disorderly"])
    report.check("every signature was valid", totals["unsigned"] == 0, f"{totals['unsigned']} were not")


def account_scene(world: World, stream: Stream, scene: str, came: list[Arrival]) -> dict[str, int]:
    """One scene's figures, and whether first arrivals follow the daemon's order of acceptance."""
    numbers = [arrival.data["payload"]["number"] for arrival in came]
    first_arrivals = list(dict.fromkeys(numbers))
    answered = {sent.identifier: sent.number for sent in stream.answered() if sent.scene == scene}
    accepted = [entry["id"] for entry in world.api.notifications(session=scene)]
    in_order = [answered[identifier] for identifier in accepted if identifier in answered]
    ids = {(number, arrival.webhook_id) for number, arrival in zip(numbers, came)}
    return {
        "answered": len(answered),
        "arrived": len(first_arrivals),
        "lost": len(set(answered.values()) - set(first_arrivals)),
        "again": len(numbers) - len(first_arrivals),
        "renamed": len(ids) - len(first_arrivals),
        "unsigned": sum(arrival.signature != "valid" for arrival in came),
        "disorderly": int(first_arrivals != in_order),
    }


STEPS: list[Callable[[World], None]] = [
    register, route, connect, explain, deduplicate, fail_and_recover, survive_kills,
]


def summarise(world: World, seconds: float) -> None:
    report = world.report
    checks = report.passed + len(report.failed)
    if not report.failed:
        report.title(f"All {checks} checks hold ({seconds:.1f} s).")
        return
    report.title(f"{len(report.failed)} of {checks} checks do not hold ({seconds:.1f} s):")
    for claim in report.failed:
        report.line(f"✗ {claim}")
    report.title("The last lines of the daemon's log:")
    for line in world.daemon.log_tail():
        report.line(line)


if __name__ == "__main__":
    sys.exit(main())
