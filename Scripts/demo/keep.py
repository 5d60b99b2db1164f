"""The end of the demo: commands to try next, and the gallery left running for them."""

import os
import shlex
import time
from pathlib import Path

from demo.api import APPLICATION
from demo.patience import Failure
from demo.report import Report
from demo.world import World

PLAIN_BODY = '{"aps": {"alert": "Hello", "target-content-id": "gallery://photo/8"}}'


def shown(path: Path) -> str:
    """The path as a shell in the present folder needs it."""
    return shlex.quote(os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path))


def suggest(report: Report, demo: list[str], root: Path) -> None:
    """Ends a run that kept no process: ways to go on."""
    report.title("Try next:")
    report.terms([
        (" ".join([*demo, "--slow"]), "the same with pauses, to read along"),
        (" ".join([*demo, "--keep"]), "leaves the gallery running, for commands of yours"),
        ("make run" if root == Path.cwd() else f"make -C {shown(root)} run",
         "the daemon alone; README.md goes on from there"),
        (shown(root / "Examples/windows/README.md"),
         "tabs of a browser, a phone and an agent, without a URL: a notification shows up in the right one"),
    ])


def keep(world: World) -> None:
    """Leaves all processes running and prints webhooks as they come in, until Ctrl-C."""
    counts = {scene: len(receiver.arrivals()) for scene, receiver in world.receivers.items()}
    show_commands(world)
    while not world.patience.interrupted:
        for child in world.children:
            if child.has_ended():
                raise Failure(f"the process {child.name} ended by itself ({child.ending()})")
        fresh = []
        for scene, receiver in world.receivers.items():
            came = receiver.arrivals()[counts[scene]:]
            counts[scene] += len(came)
            fresh += [(scene, arrival) for arrival in came]
        for scene, arrival in sorted(fresh, key=lambda pair: pair[1].accepted_at):
            words = [f"→ {scene}", arrival.type, arrival.data.get("targetContentIdentifier")]
            world.report.line("  ".join([*filter(None, words), f"signature {arrival.signature}"]))
        time.sleep(0.1)


def show_commands(world: World) -> None:
    report = world.report
    routerd, address = shown(world.binary), f"http://{world.daemon.address}"
    payloads = {example.name: shown(example.path) for example in world.gallery.examples}
    report.title(f"The gallery stays up, with the daemon at {address}.")
    report.say("Commands to try in another terminal, each by itself:")
    report.line("")
    report.command(["cd", shlex.quote(str(Path.cwd()))])

    def offer(comment: str, words: list[str]) -> None:
        report.line("")
        report.aside(f"# {comment}")
        report.command(words)

    def client(verb: str) -> list[str]:
        return [f"{routerd} {verb}", f"--server {address}", f"--application {APPLICATION}"]

    offer("The four scenes and their states.", client("sessions"))
    offer("The scene that would get this push, and the reason. Nothing is sent.",
          [*client("explain"), payloads["both-ids.json"]])
    offer("Send a push. The webhook shows up in this terminal.", [*client("send"), payloads["alert-dictionary.json"]])
    offer("Send one with curl: no scene prefers photo 8, so the gallery gets it.",
          ["curl -sS", f"{address}/v1/applications/{APPLICATION}/notifications", f"-d {shlex.quote(PLAIN_BODY)}"])
    offer("The daemon's own counts; the address opens in a browser too.",
          ["curl -sS", f"{address}/v1/status", "|", "python3 -m json.tool"])
    report.title("Ctrl-C here ends the daemon and all receivers. Webhooks that come in:")
