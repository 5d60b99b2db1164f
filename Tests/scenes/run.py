#!/usr/bin/env python3
"""Runs the programs of Examples/windows-and-gates and the requests of docs/SCENES.md against a daemon.

Usage: Tests/scenes/run.py [--routerd .build/debug/routerd]

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
from typing import NamedTuple

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


def check_document(routerd: Path, folder: Path) -> int:
    shell = Shell(folder, dict(os.environ))
    with Receiver(port=0) as receiver, Daemon(routerd, folder, listen="127.0.0.1:0") as daemon:
        return Document(ROOT / "docs/SCENES.md", daemon, receiver, shell).walk()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--routerd", type=Path, default=ROOT / ".build/debug/routerd", help="the binary")
    given = parser.parse_args()
    for tool in ("bash", "curl", "jq", "openssl"):
        if shutil.which(tool) is None:
            print(f"scenes: {tool} is missing", file=sys.stderr)
            return 1
    routerd, passed = given.routerd.resolve(), 0
    try:
        with tempfile.TemporaryDirectory(prefix="scenes-") as name:
            folders = [Path(name) / part for part in ("examples", "key", "document")]
            for folder in folders:
                folder.mkdir()
            with Daemon(routerd, folders[0], listen="127.0.0.1:0") as daemon:
                passed += check_examples(daemon)
                passed += check_changes(daemon)
            passed += check_key(routerd, folders[1])
            passed += check_document(routerd, folders[2])
    except Failure as failure:
        print(f"scenes: does not hold: {failure}", file=sys.stderr)
        return 1
    print(f"scenes: {passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
