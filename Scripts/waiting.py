#!/usr/bin/env python3
"""A million waiting notifications in one daemon: their memory, and the time of a restart.

Usage: Scripts/waiting.py [--routerd .build/release/routerd] [--waiting 1000000] [--sessions 1000]

The sessions of the notifications have an endpoint where nothing listens. Everything is on loopback and bounded. The daemon is
killed before the restart. The exit status is 0 only if all notifications wait afterwards, too.
"""
import argparse
import http.client
import json
import tempfile
import time
from pathlib import Path

from measuring.servers import Server, call, server

APPLICATION = "/v1/applications/com.example.Gallery"
LINES = 10_000
READY_SECONDS = 120


def post(daemon: Server, path: str, lines: list[str]) -> None:
    connection = http.client.HTTPConnection(daemon.netloc, timeout=300)
    connection.request("POST", path, "\n".join(lines).encode())
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    if answer.status != 200 or b'"code"' in data:
        raise SystemExit(f"POST {path}: {answer.status} {data[:300].decode()}")


def fill(daemon: Server, waiting: int, sessions: int) -> None:
    endpoint = {"url": "http://127.0.0.1:9/", "secret": "whsec_" + "A" * 32}
    call(daemon.netloc, "PUT", APPLICATION, json.dumps({
        "manifest": {"supportsMultipleScenes": True},
        "delivery": {"lifeCycleEvents": False, "retrySchedule": [86400]}}).encode())
    made = [json.dumps({"id": f"window-{number}", "activationState": "background", "endpoint": endpoint,
                        "activationConditions": {
                            "canActivateForTargetContentIdentifierPredicate": f"SELF == 'myapp://photo/{number}'"}})
            for number in range(sessions)]
    post(daemon, f"{APPLICATION}/sessions:batch", made)
    for first in range(0, waiting, LINES):
        post(daemon, f"{APPLICATION}/notifications:batch", [
            json.dumps({"aps": {"alert": f"Photo {number}"}, "target-content-id": f"myapp://photo/{number % sessions}"})
            for number in range(first, min(first + LINES, waiting))])


def await_ready(daemon: Server) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(daemon.netloc, timeout=30)
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        is_ready = answer.status == 200
        answer.read()
        connection.close()
        if is_ready:
            return
        time.sleep(0.02)
    raise SystemExit("the daemon is not ready")


def say(name: str, text: str) -> None:
    print(f"{name:<44} {text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--waiting", type=int, default=1_000_000)
    parser.add_argument("--sessions", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        serve = [options.routerd, "serve", "--listen", "127.0.0.1:0", "--database", str(folder / "waiting.sqlite")]
        with server(serve, folder / "first.log") as daemon:
            say("resident without notifications", f"{daemon.resident_mib():,.0f} MiB")
            start = time.monotonic()
            fill(daemon, options.waiting, options.sessions)
            seconds = time.monotonic() - start
            say("accepted", f"{options.waiting:,} in {seconds:.0f} s, {options.waiting / seconds:,.0f} a second")
            say("resident", f"{daemon.resident_mib():,.0f} MiB")
            daemon.process.kill()
        start = time.monotonic()
        with server(serve, folder / "second.log") as daemon:
            await_ready(daemon)
            say("restart, until it is ready", f"{time.monotonic() - start:.1f} s")
            say("resident after the restart", f"{daemon.resident_mib():,.0f} MiB")
            found = call(daemon.netloc, "GET", "/v1/status")["notifications"]
            say("waiting", f"{found['waiting']:,}")
            daemon.process.kill()
    if found["waiting"] != options.waiting:
        raise SystemExit(f"{options.waiting - found['waiting']} notifications do not wait")


if __name__ == "__main__":
    main()
