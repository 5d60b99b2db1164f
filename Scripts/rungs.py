#!/usr/bin/env python3
"""The cost of 0, 1, 5 and 20 rules of each rung in a decision: without code, compiled in, in processes, behind URLs.

Usage: Scripts/rungs.py [--routerd .build/release/routerd] [--decisions 10000] [--remote-decisions 1000] [--sessions 1000]

Every rule looks at the best candidate and accepts it, so that a decision costs as many verdicts as there are rules. Processes
are those of `routerd plugin new --language python`, one for each rule. The server answers every question at once, in
Python on this machine: its time is part of the figures. Prints the rows of a table.
"""
import argparse
import json
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COUNTS = [0, 1, 5, 20]
PYTHON = "/usr/bin/python3"


class Answers(BaseHTTPRequestHandler):
    """Accepts every candidate."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps({"type": "verdicts", "id": question["id"], "verdicts": []}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def declared(number: int) -> dict:
    return {"name": f"r{number}", "when": "priority < 10 AND candidate.role == 'kiosk'", "then": "veto"}


def compiled(number: int) -> dict:
    return {"id": "routerd.rule.state-floor", "name": f"r{number}", "floor": "unattached", "atOrBelowPriority": 5}


def process(number: int, routerd: str, folder: Path) -> dict:
    plugin = f"com.example.rule.r{number}"
    project = folder / f"r{number}"
    subprocess.run(
        [routerd, "plugin", "new", str(project), "--language", "python", "--id", plugin],
        check=True, stdout=subprocess.DEVNULL)
    return {"id": "routerd.rule.process", "plugin": plugin, "command": [PYTHON, str(project / "rule.py")],
            "timeoutMilliseconds": 5000}


def call_out(number: int, port: int) -> dict:
    return {"id": "routerd.rule.http", "plugin": f"com.example.rule.r{number}",
            "url": f"http://127.0.0.1:{port}/r{number}", "timeoutMilliseconds": 5000}


def measure(routerd: str, folder: Path, name: str, rules: list[dict], decisions: int, sessions: int) -> None:
    file = folder / f"{name.replace(' ', '-')}.json"
    file.write_text(json.dumps({"rules": rules}))
    command = [routerd, "bench", "rules", str(file), "--decisions", str(decisions), "--sessions", str(sessions)]
    output = subprocess.run(
        command + [word for count in COUNTS for word in ("--count", str(count))],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {line["rules"]: line for line in map(json.loads, output.splitlines())}
    cells = [f"{found[count]['nsP50'] / 1000:.1f} / {found[count]['nsP99'] / 1000:.1f}" for count in COUNTS]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--remote-decisions", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=1000)
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    numbers = range(COUNTS[-1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Plugins of a daemon with the rights of root run as another user.
        folder.chmod(0o755)
        rungs = [
            ("without code", [declared(number) for number in numbers], options.decisions),
            ("compiled in", [compiled(number) for number in numbers], options.decisions),
            ("process", [process(number, options.routerd, folder) for number in numbers], options.remote_decisions),
            ("call-out", [call_out(number, server.server_port) for number in numbers], options.remote_decisions),
        ]
        print(f"| rung, median / p99 in µs | {' | '.join(map(str, COUNTS))} |")
        print(f"|---|{'---|' * len(COUNTS)}")
        for rung, rules, decisions in rungs:
            measure(options.routerd, folder, rung, rules, decisions, options.sessions)


if __name__ == "__main__":
    main()
