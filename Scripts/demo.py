#!/usr/bin/env python3
"""Shows routerd at work on loopback, in half a minute: the photo gallery of Examples/gallery with real processes.

Usage: Scripts/demo.py [--routerd .build/release/routerd] [--slow] [--keep] [--port 8080]

Each scene checks its claims. The exit status is 0 only if all of them hold, and 1 otherwise; then the end repeats the
claims that do not hold and shows the last lines of the daemon's log. The exit status is 2 if the demo cannot start.
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
from datetime import datetime
from pathlib import Path

from demo.api import API, APPLICATION
from demo.gallery import Example, Gallery
from demo.keep import keep, shown, suggest
from demo.patience import Failure, Interrupted, Patience
from demo.processes import Arrival, Daemon, Receiver, why_unusable
from demo.report import Report
from demo.stream import Sent, Stream
from demo.webhook import Listener
from demo.world import World, outcome

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / ".build/release/routerd"
LIMIT_SECONDS = 90
STREAM = 300
THREADS = 4
# The scene whose receiver is frozen before each kill, so that the daemon surely has work under way when it dies.
FROZEN_AT_KILLS = ["inspector-1", "gallery"]
TERMS = [
    ("scene", "a place that can show content, such as a window or a device"),
    ("content id", "the name of a push's subject, such as gallery://photo/7"),
    ("can", "condition of a scene: it is able to show this content id"),
    ("prefers", "stronger condition: the scene is meant for this content id"),
    ("tier", "the condition that chose the scene; prefers goes before can"),
]


def main() -> int:
    arguments = parse_arguments()
    report = Report()
    patience = Patience(LIMIT_SECONDS)
    patience.listen_for_signals()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="routerd-demo-") as folder:
        world = make_world(arguments, Path(folder), patience, report)
        try:
            report.title(f"routerd: one notification, the one right receiver ({arguments.version})")
            following(world, lambda: play(world, arguments.slow))
            kept = arguments.keep and not report.failed
            if kept:
                summarise(world, time.monotonic() - began - patience.paused)
                following(world, lambda: keep(world))
        except Interrupted:
            report.title(f"Stopped by a signal such as Ctrl-C. Until then {report.passed} checks held, "
                         f"{len(report.failed)} did not.")
            return 1
        finally:
            world.end()
        if report.failed or not kept:
            summarise(world, time.monotonic() - began - patience.paused)
    if not report.failed and kept:
        report.title("Stopped: the daemon and all receivers have ended, and their files are gone.")
    elif not report.failed:
        suggest(report, [shown(Path(__file__).resolve()), *other_binary(arguments.routerd)], ROOT)
    return 1 if report.failed else 0


def play(world: World, slowly: bool) -> None:
    for step in STEPS:
        if slowly and step is not STEPS[0]:
            world.patience.pause(world.report.prompt)
        step(world)


def following(world: World, part: Callable[[], None]) -> None:
    """Plays a part of the demo; a failure in it becomes a failed check."""
    try:
        part()
    except (BrokenPipeError, Interrupted):
        raise
    except Failure as failure:
        world.report.broken(str(failure))
    except Exception as error:  # such as a field that the daemon's answer does not have
        traceback.print_exc()
        world.report.broken(f"the demo could not follow: {error!r}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Shows routerd at work, and checks each claim.")
    parser.add_argument(
        "--routerd", type=Path, default=BINARY, metavar="PATH", help="the routerd binary")
    parser.add_argument(
        "--slow", action="store_true",
        help=f"pause after each scene: until Enter, or {Patience.PAUSE_SECONDS:.0f} s without a terminal")
    parser.add_argument(
        "--keep", action="store_true", help="leave the gallery running at the end, with commands to try, until Ctrl-C")
    parser.add_argument("--port", type=int, default=0, help="the daemon's port on 127.0.0.1; any free one if left out")
    arguments = parser.parse_args()
    if not 0 <= arguments.port <= 65535:
        parser.error(f"--port {arguments.port}: a port is a number from 1 to 65535")
    arguments.routerd = Path(os.path.abspath(arguments.routerd))  # With its links: they make the shorter path.
    try:
        arguments.version = version(arguments.routerd)
        if arguments.port and (reason := why_unusable(f"127.0.0.1:{arguments.port}")):
            raise Failure(f"The daemon cannot listen at 127.0.0.1:{arguments.port}: {reason}. Choose another "
                          "--port, or leave --port out for a free one.")
    except Failure as failure:
        print(f"demo: {failure}", file=sys.stderr)
        sys.exit(2)
    return arguments


def other_binary(binary: Path) -> list[str]:
    """The option that names the binary, if it is not the default one."""
    return [] if binary == BINARY else ["--routerd", shown(binary)]


def version(binary: Path) -> str:
    """The version that the binary prints; a Failure if it is missing or does not run."""
    remedy = "Build it with `make release`, or name another one with --routerd PATH."
    if not binary.exists():
        raise Failure(f"There is no routerd binary at {shown(binary)}. {remedy}")
    if not (binary.is_file() and os.access(binary, os.X_OK)):
        raise Failure(f"{shown(binary)} is not an executable file. {remedy}")
    try:
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, errors="replace", timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else "no answer to --version in 20 s"
        raise Failure(f"{shown(binary)} does not run: {reason}. {remedy}") from error
    if done.returncode:
        raise Failure(f"{shown(binary)} --version ended with exit status {done.returncode}. {remedy}")
    return done.stdout.partition("\n")[0]


def make_world(arguments: argparse.Namespace, folder: Path, patience: Patience, report: Report) -> World:
    binary, gallery = arguments.routerd, Gallery(ROOT / "Examples/gallery")
    daemon = Daemon(binary, folder, patience, arguments.port)
    receivers = {scene: Receiver(scene, binary, folder, patience) for scene in gallery.scenes}
    return World(binary, gallery, daemon, receivers, API(lambda: daemon.address), patience, report)


# The scenes of the demo


def register(world: World) -> None:
    """Starts the processes and registers application and scenes."""
    report = world.report
    report.heading("A gallery and its inspectors")
    for child in world.children:
        child.start()
    report.terms(TERMS)
    report.line("")
    report.say(f"The daemon listens at {world.daemon.address} with an empty database. Each scene has a receiver, a "
               "process that webhooks are sent to.")
    world.api.put_application(world.gallery.application)
    rows = []
    for scene, receiver in world.receivers.items():
        body = world.gallery.session(scene, receiver.address, receiver.secret)
        session = world.api.put_session(scene, body).body
        can, prefers, _ = session["activationConditions"].values()
        rows.append([scene, session["activationState"], can, "the same" if prefers == can else prefers])
    report.table(["scene", "state", "can", "prefers"], rows)
    report.aside("TRUEPREDICATE holds for every content id, FALSEPREDICATE for none; SELF is the content id.")
    listed = [session["id"] for session in world.api.sessions()]
    report.check(f"all {len(rows)} scenes are registered", listed == world.gallery.scenes, str(listed))
    shown = json.dumps(world.api.sessions())
    told = [scene for scene, receiver in world.receivers.items() if receiver.secret in shown]
    report.check("each scene has a secret of its own, which is never shown again", not told, ", ".join(told))


def route(world: World) -> None:
    """Every payload of the gallery goes to one scene."""
    report = world.report
    report.heading(f"{len(world.gallery.examples)} pushes, one receiver each")
    before = world.arrived_anywhere()
    conditions = {session["id"]: session["activationConditions"] for session in world.api.sessions()}
    rows, astray, unexplained, altered, unsigned = [], [], [], [], []
    for example in world.gallery.examples:
        answer = world.api.send(example.payload).body
        decision = answer["decision"]
        notification = world.wait_until_settled(answer["id"])
        arrivals = world.arrivals(decision["session"], example.payload)
        name = example.name.removesuffix(".json")
        rows.append([name, example.content_id or "–", f"→ {decision['session']}", decision["tier"]])
        if not went_as_expected(example, decision, notification, arrivals):
            astray.append(f"{example.name} ({notification['state']}, {decision['tier']} {decision['session']})")
        if not names_reason(example, decision["reason"], conditions[example.scene]):
            unexplained.append(f"{example.name}: {decision['reason']}")
        if len(arrivals) != 1:
            altered.append(example.name)
        if any(arrival.signature != "valid" for arrival in arrivals):
            unsigned.append(example.name)
    report.table(["payload", "content id", "scene", "tier"], rows)
    report.check("each push went to the scene that Examples/gallery names", not astray, ", ".join(astray))
    report.check(
        "each answer gives its reason, such as the condition that holds", not unexplained, ", ".join(unexplained))
    came = world.arrived_anywhere() - before
    sent = len(rows)
    report.check(f"{sent} were sent and {sent} came in: no other scene got a copy", came == sent, f"{came} came in")
    odd = len(world.gallery.example("odd-spacing.json").payload)
    report.check(
        f"each arrived byte for byte, the {odd} bytes of odd-spacing.json too", not altered, ", ".join(altered))
    report.check("each signature was found valid by its receiver", not unsigned, ", ".join(unsigned))


def names_reason(example: Example, reason: str, conditions: dict) -> bool:
    """Whether a decision's reason quotes the scene's condition that holds."""
    if example.content_id is None:
        return reason.startswith("no content id")
    names = {"can": "canActivateForTargetContentIdentifierPredicate",
             "prefers": "prefersToActivateForTargetContentIdentifierPredicate"}
    return reason == f"{example.tier}: {conditions[names[example.tier]]}"


def went_as_expected(example: Example, decision: dict, notification: dict, arrivals: list[Arrival]) -> bool:
    """Whether decision, final state and webhook are those of the example."""
    return (
        (decision["session"], decision["tier"]) == (example.scene, example.tier)
        and notification["state"] == "delivered"
        and all(arrival.type == example.type for arrival in arrivals)
        and all(arrival.data["targetContentIdentifier"] == example.content_id for arrival in arrivals)
    )


def look_closely(world: World) -> None:
    """A webhook with all of its headers and its body, taken and checked by a receiver in plain Python."""
    report = world.report
    report.heading("A webhook, whole")
    example = world.gallery.example("alert-string.json")
    receiver = world.receivers[example.scene]
    report.say(f"For one push, the endpoint of {example.scene} is a few lines of Python in place of its receiver. The "
               "body is indented here.")
    with Listener() as listener:
        world.api.patch_session(example.scene, endpoint_at(listener.address, example.scene))
        notification = world.wait_until_settled(world.api.send(example.payload).body["id"])
        world.api.patch_session(example.scene, endpoint_at(receiver.address, example.scene))
    webhook = listener.webhooks[0] if listener.webhooks else None
    if webhook is None:
        raise Failure(f"the Python server got no webhook; the notification is {notification['state']}")
    report.line("")
    report.noted(webhook.noted())
    report.line("")
    report.check(
        "it came once, and the daemon counts it as delivered",
        len(listener.webhooks) == 1 and notification["state"] == "delivered",
        f"{len(listener.webhooks)} came, {notification['state']}")
    report.check(
        f"the {len(example.payload)} bytes of the push are in the body as they were sent",
        b'"payload":' + example.payload in webhook.body)
    report.check(
        "Python's hmac over id, timestamp and body gives the same signature",
        webhook.is_signed_with(receiver.secret), webhook.header("webhook-signature"))


def endpoint_at(address: str, scene: str) -> dict:
    """The change of a session that moves its endpoint; the session keeps its secret."""
    return {"endpoint": {"url": f"http://{address}/{scene}"}}


def connect(world: World) -> None:
    """An unattached scene is told to connect; a connected one just gets the notification."""
    report = world.report
    report.heading("A window that was not open")
    example = world.gallery.example("localized.json")
    first = world.arrivals(example.scene, example.payload)[-1]
    activity = first.data.get("connectionOptions", {}).get("stateRestorationActivity")
    report.say(f"The state of {example.scene} is unattached: its window is closed, and its conditions still count.")
    report.line(f"{example.name} → {example.scene}, unattached → {first.type}")
    expected = json.loads(world.gallery.session(example.scene, "", ""))["stateRestorationActivity"]
    report.check(
        f"the scene is told to connect, and to restore {expected['userInfo']['photo']}",
        first.type == "scene.willConnect" and activity == expected, f"{first.type} with {activity}")
    state = world.api.patch_session(example.scene, {"activationState": "foregroundInactive"}).body["activationState"]
    world.wait_until_settled(world.api.send(example.payload).body["id"])
    second = world.arrivals(example.scene, example.payload)[-1]
    report.line(f"{example.name} → {example.scene}, now {state} → {second.type}")
    report.check(
        "once it is connected, the scene gets the notification itself",
        second.type == "scene.notification", second.type)


def explain(world: World) -> None:
    """The command line shows every candidate and sends nothing."""
    report = world.report
    report.heading("Why? routerd explain")
    example = world.gallery.example("both-ids.json")
    before = len(world.api.notifications())
    command = ["explain", "--server", f"http://{world.daemon.address}", "--application", APPLICATION]
    report.command(
        ["routerd explain", "--server …", f"--application {APPLICATION}", str(example.path.relative_to(ROOT))], "$ ")
    done = subprocess.run(
        [world.binary, *command, example.path], capture_output=True, text=True, encoding="utf-8", timeout=20)
    lines = (done.stdout + done.stderr).splitlines()
    report.text_table(lines[:1], lines[1:], keep=["session", "tier", "reason"])
    told = lines[0] if lines else "nothing"
    named = told.startswith(f"→ {example.scene}  because {example.tier}: ") and len(lines) > 2
    report.check(f"the answer names {example.scene} and the other candidates", named, told)
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
    report.say("A sender that got no answer sends its push again, with the apns-id of the first time:")
    report.line(f"apns-id {apns_id}")
    for answer in (first, again):
        duplicate = ", duplicate" if answer.body.get("duplicate") else ""
        report.line(f"→ {answer.status} {answer.body['id']}{duplicate}")
    same = again.status == 200 and again.body["id"] == first.body["id"] and again.body.get("duplicate") is True
    report.check(
        "the second answer names the notification of the first", (first.status, same) == (202, True), str(again))
    # A lane keeps its order: once a later notification has arrived, no copy of an earlier one can be on its way.
    later = world.api.send(world.gallery.example("mutable.json").payload)
    world.wait_until_settled(later.body["id"])
    count = len(world.arrivals(example.scene, example.payload)) - before
    report.check("the notification was delivered once", count == 1, f"{count} arrived")


def fail_and_recover(world: World) -> None:
    """A receiver is away for a while: its lane tries again, the other lanes go on."""
    report = world.report
    report.heading("A receiver goes away and comes back")
    example = world.gallery.example("alert-dictionary.json")
    next_one = world.gallery.example("odd-spacing.json")
    receiver = world.receivers[example.scene]
    before = len(receiver.arrivals())
    receiver.stop()
    report.say(f"{example.scene}'s receiver is stopped; then two notifications for it are sent, and one for gallery.")
    waiting = [world.api.send(one.payload).body["id"] for one in (example, next_one)]
    elsewhere = world.wait_until_settled(world.api.send(world.gallery.example("background.json").payload).body["id"])
    states = [world.api.notification(identifier)["state"] for identifier in waiting]
    report.check(
        "gallery gets its notification at once, the other two wait",
        elsewhere["state"] == "delivered" and all(state in ("waiting", "inFlight") for state in states), str(states))

    def failed_twice() -> bool:
        return len(world.api.notification(waiting[0])["attempts"]) >= 2

    world.patience.until(failed_twice, "the first retry has failed too")
    receiver.start()
    report.say(f"{example.scene}'s receiver is started again at {receiver.address}.")
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


def gaps(attempts: list[dict]) -> list[float]:
    """The seconds from each attempt to the next."""
    times = [datetime.fromisoformat(attempt["startedAt"]) for attempt in attempts]
    return [(later - earlier).total_seconds() for earlier, later in zip(times, times[1:])]


def survive_kills(world: World) -> None:
    """SIGKILL in mid-stream, twice: no answered notification is lost."""
    report = world.report
    report.heading(f"kill -9, twice, in a stream of {STREAM} from {THREADS} threads")
    report.say("An answer means that the notification is on disk. So the daemon may die at any moment, and the next "
               "one on the same database delivers the rest.")
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
    world.patience.until(lambda: not world.unsettled(), "all notifications are settled")
    account(world, stream, arrivals(), kills=len(FROZEN_AT_KILLS))


def kill(world: World, stream: Stream, arrivals: Callable[[], dict[str, list[Arrival]]], place: int) -> list:
    """Kills the daemon in mid-stream and starts it again on its database."""
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


def account(world: World, stream: Stream, arrivals: dict[str, list[Arrival]], kills: int) -> None:
    """Compares answers with arrivals, scene by scene."""
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
    report.check(
        f"all {STREAM} requests were answered in the end", totals["answered"] == STREAM, str(stream.refusals[:3]))
    report.check(
        "no notification was lost", totals["lost"] == 0 and totals["arrived"] == STREAM, f"lost: {totals['lost']}")
    books = {entry["id"]: entry["state"] for entry in world.api.notifications()}
    states = Counter(books.get(sent.identifier, "unknown") for sent in stream.answered())
    report.check(
        "the daemon counts each of them as delivered", states == {"delivered": STREAM}, str(dict(states)))
    # A scene has one delivery in flight, which arrives again if its outcome was not committed before the kill.
    most = max(row["again"] for row in figures.values())
    report.check(
        "repeated: at most one for each scene and kill, under the same webhook-id",
        most <= kills and totals["renamed"] == 0, f"{most} for a scene, {totals['renamed']} under another webhook-id")
    report.check("each scene got its notifications in the order of acceptance", not totals["disorderly"])
    report.check("every signature was valid", totals["unsigned"] == 0, f"{totals['unsigned']} were not")


def account_scene(world: World, stream: Stream, scene: str, came: list[Arrival]) -> dict[str, int]:
    """The figures of a scene, and whether first arrivals follow the daemon's order of acceptance."""
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
    register, route, look_closely, connect, explain, deduplicate, fail_and_recover, survive_kills,
]


def summarise(world: World, seconds: float) -> None:
    report = world.report
    checks = report.passed + len(report.failed)
    if not report.failed:
        report.title(f"All {checks} checks hold ({seconds:.1f} s).")
        return
    report.title(f"{len(report.failed)} of {checks} checks do not hold ({seconds:.1f} s):")
    for claim in report.failed:
        report.say(f"✗ {claim}")
    report.title("The last lines of the daemon's log:")
    for line in world.daemon.log_tail():
        report.line(line)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # The reader of the output has gone; the processes have ended all the same.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
