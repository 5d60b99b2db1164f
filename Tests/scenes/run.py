#!/usr/bin/env python3
"""Runs the programs of Examples/windows-and-gates and the requests of docs/SCENES.md against a daemon.

Usage: Tests/scenes/run.py [--routerd .build/release/routerd]

Each program runs to its end against a daemon. Then it runs through a proxy that changes one request, such as the secret
of an endpoint, and must end with status 1 and a message about the promise that does not hold any more. A daemon with API
keys is used with a key. The requests of the document run in their order, and each answer and each webhook must be the one
that the document shows. Ports are chosen by the system.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "Examples/windows-and-gates"
MAXIMUM_LINES = 220
SECONDS = 120
sys.path.insert(0, str(ROOT / "Tests/support_py"))

from daemon import Daemon  # noqa: E402
from document import Document  # noqa: E402
from receiver import Receiver  # noqa: E402
from walkthrough import Failure, Shell, require  # noqa: E402


class Change(NamedTuple):
    """A change to the requests of an example, and the promise that it breaks."""

    example: str
    pattern: bytes
    replacement: bytes
    promise: str


CHANGES = [
    Change("gallery", rb"whsec_[^\"]+", b"whsec_" + b"A" * 32, "every webhook to main has a valid signature"),
    Change("gallery", rb"New comment on photo 8", b"Another comment", "the payload arrives unchanged"),
    Change("gallery", rb'"preferring": \["photo/7"\]', b'"preferring": []', "/activations is answered 200"),
    Change("onboarding", rb"whsec_[^\"]+", b"whsec_" + b"A" * 32, "every webhook to left has a valid signature"),
    Change("onboarding", rb'"step": "password"', b'"step": "another"', "the others are told the step"),
    Change("onboarding", rb'"onboarding": {[^}]*}', b'"onboarding": null', "left is sent scene.hideApplicationScreen"),
]


class ChangingProxy:
    """Passes requests on to the daemon, with one change to their bodies."""

    def __init__(self, daemon: Daemon, change: Change) -> None:
        class Handler(BaseHTTPRequestHandler):
            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                changed = re.sub(change.pattern, change.replacement, body)
                answer = daemon.call(self.command, self.path, changed or None)
                self.send_response(answer.status)
                self.send_header("content-length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = pass_on  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "ChangingProxy":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def run(example: str, address: str, *options: str) -> "subprocess.CompletedProcess[str]":
    program = EXAMPLES / f"{example}.py"
    return subprocess.run(
        [sys.executable, program, "--server", f"http://{address}", *options], capture_output=True, text=True,
        timeout=SECONDS, check=False)


def check_examples(daemon: Daemon) -> int:
    passed = 0
    for example in ("gallery", "onboarding"):
        lines = len((EXAMPLES / f"{example}.py").read_text().splitlines())
        require(lines <= MAXIMUM_LINES, f"{example}.py has at most {MAXIMUM_LINES} lines: it has {lines}")
        done = run(example, daemon.listen)
        is_done = done.returncode == 0 and done.stdout.endswith(f"{example}: everything is as promised\n")
        require(is_done, f"{example}.py ends with {done.returncode}:\n{done.stdout}{done.stderr}")
        print(f"scenes: {example}.py holds", flush=True)
        passed += 1
    applications = daemon.call("GET", "/v1/applications").json["applications"]
    require(applications == [], f"the examples delete their applications: {applications}")
    return passed


def check_changes(daemon: Daemon) -> int:
    for change in CHANGES:
        with ChangingProxy(daemon, change) as proxy:
            done = run(change.example, proxy.address, "--seconds", "3")
        is_found = done.returncode == 1 and change.promise in done.stderr
        require(is_found, f"{change.example}.py finds that not: {change.promise}:\n{done.stdout}{done.stderr}")
        print(f"scenes: {change.example}.py fails when a promise is broken: {change.promise}", flush=True)
    return len(CHANGES)


def check_key(routerd: Path, folder: Path) -> int:
    made = subprocess.run(
        [routerd, "keys", "new", "--name", "example", "--scope", "admin"], capture_output=True, text=True,
        check=False)
    found = re.search(r": (rk_\S+)\n\n(.*)", made.stdout, re.S)
    require(found is not None, f"a key is made: {made.stdout}{made.stderr}")
    assert found is not None
    configuration = folder / "keys.yaml"
    configuration.write_text(f"{found[2]}egress:\n  grants:\n    - network: 127.0.0.0/8\n")
    with Daemon(routerd, folder, listen="127.0.0.1:0", config=configuration) as daemon:
        refused = run("gallery", daemon.listen)
        require(refused.returncode == 1 and "key-missing" in refused.stderr, f"a key is asked for: {refused.stderr}")
        done = run("gallery", daemon.listen, "--key", found[1])
        require(done.returncode == 0, f"gallery.py goes on with a key:\n{done.stdout}{done.stderr}")
    print("scenes: gallery.py holds with an API key", flush=True)
    return 1


def check_gate(routerd: Path, folder: Path) -> int:
    """The session that follows after a reset, and the screen of a scene that connects at the closed and the open gate."""
    with Receiver(port=0) as receiver, Daemon(routerd, folder, listen="127.0.0.1:0") as daemon:
        path = "/v1/applications/com.example.Gate"
        endpoint = {"url": f"http://127.0.0.1:{receiver.server.server_port}/", "secret": "whsec_" + "A" * 32}

        def call(method: str, place: str, body: Any = None) -> Any:
            answer = daemon.call(method, path + place, body)
            require(answer.status < 300, f"{method} {place} is answered: {answer.status} {answer.body!r}")
            return answer.json

        def told() -> "list[Any]":
            """The data of each webhook that told the right window to connect."""
            return [hook.envelope["data"] for hook in receiver.webhooks if hook.envelope["type"] == "scene.willConnect"]

        def connect() -> Any:
            """The data that the right window is told when it connects again."""
            call("POST", "/sessions/right/disconnect")
            count = len(told())
            call("PATCH", "/sessions/right", {"activationState": "background"})
            with receiver.arrived:
                receiver.arrived.wait_for(lambda: len(told()) > count, SECONDS)
            require(len(told()) == count + 1, f"right is told to connect once: {told()}")
            return told()[-1]

        call("PUT", "", {"gates": {"onboarding": {"configured": True}}})
        for name, state in ("left", "foregroundActive"), ("right", "foregroundInactive"):
            call("PUT", f"/sessions/{name}", {
                "device": "till", "activationState": state, "endpoint": endpoint, "userInfo": {"cart": name}})
        call("POST", "/gate/open", {"session": "left"})
        closed = connect()
        require(closed["applicationScreen"] == "screenshot", f"a scene at the closed gate is covered: {closed}")
        require("userInfo" not in closed["session"], f"it is told nothing of the person: {closed}")
        call("POST", "/gate/succeed", {"session": "left", "term": 1})
        opened = connect()
        require(opened["applicationScreen"] == "app", f"a scene at the open gate shows the application: {opened}")
        require(opened["session"].get("userInfo") == {"cart": "right"}, f"it gets its data there: {opened}")
        call("POST", "/gate/reset", {"device": "till"})
        call("PATCH", "/sessions/left", {"activationState": "background"})
        gate = call("POST", "/gate/succeed", {"session": "left", "term": 2})
        follower = (gate["state"], gate["responsible"], gate["term"])
        require(follower == ("onboarding", "right", 3), f"right follows after the reset: {gate}")
    print("scenes: a session follows after a reset, and a scene that connects learns its screen", flush=True)
    return 1


def check_document(routerd: Path, folder: Path) -> int:
    shell = Shell(folder, dict(os.environ))
    with Receiver(port=0) as receiver, Daemon(routerd, folder, listen="127.0.0.1:0") as daemon:
        return Document(ROOT / "docs/SCENES.md", daemon, receiver, shell).walk()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--routerd", type=Path, default=ROOT / ".build/release/routerd", help="the binary")
    given = parser.parse_args()
    for tool in ("bash", "curl", "jq", "openssl"):
        if shutil.which(tool) is None:
            print(f"scenes: {tool} is missing", file=sys.stderr)
            return 1
    routerd, passed = given.routerd.resolve(), 0
    try:
        with tempfile.TemporaryDirectory(prefix="scenes-") as name:
            folders = [Path(name) / part for part in ("examples", "key", "gate", "document")]
            for folder in folders:
                folder.mkdir()
            with Daemon(routerd, folders[0], listen="127.0.0.1:0") as daemon:
                passed += check_examples(daemon)
                passed += check_changes(daemon)
            passed += check_key(routerd, folders[1])
            passed += check_gate(routerd, folders[2])
            passed += check_document(routerd, folders[3])
    except Failure as failure:
        print(f"scenes: does not hold: {failure}", file=sys.stderr)
        return 1
    print(f"scenes: {passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
