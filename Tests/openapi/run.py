#!/usr/bin/env python3
"""Sends requests that schemathesis makes of /openapi.json to the daemon, and compares every answer with the document.

Usage: Tests/openapi/run.py --routerd PATH [--seconds N] [--examples N] [--seed N]

Checked are: no answer 500, only documented statuses and media types, bodies as their schemas say. schemathesis comes from PyPI
into .build/openapi-venv. The stream is left out because it does not end, batches because their lines have no schema, and requests
of sources because they are in the form of their senders.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".build/openapi-venv"
LIBRARY = "schemathesis>=4,<5"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def schemathesis() -> Path:
    program = ENVIRONMENT / "bin/schemathesis"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([ENVIRONMENT / "bin/python", "-m", "pip", "install", "--quiet", LIBRARY], check=True)
    return program


def put(address: str, path: str, body: dict) -> None:
    request = urllib.request.Request(address + path, json.dumps(body).encode(), method="PUT")
    urllib.request.urlopen(request, timeout=10).read()


def main() -> int:
    arguments = argparse.ArgumentParser(description="Compares the daemon's answers with its OpenAPI document.")
    arguments.add_argument("--routerd", type=Path, required=True, help="the binary")
    arguments.add_argument("--seconds", type=int, default=120, help="the time for requests")
    arguments.add_argument("--examples", type=int, default=50, help="requests of an operation")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    program = schemathesis()
    with tempfile.TemporaryDirectory(prefix="routerd-openapi-") as folder:
        command = [given.routerd.resolve(), "serve", "--listen", "127.0.0.1:0", "--database", f"{folder}/routerd.db"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as daemon:
            try:
                address = next(
                    found[1] for line in daemon.stdout if (found := re.search(r"(http://127\.0\.0\.1:\d+)", line)))
                put(address, "/v1/applications/com.example.a", {"displayName": "a"})
                put(address, "/v1/applications/com.example.a/sessions/s", {"endpoint": {"url": "http://127.0.0.1:9/"}})
                return subprocess.run([
                    program, "run", f"{address}/openapi.json", "--checks", CHECKS, "--seed", str(given.seed),
                    "--max-examples", str(given.examples), "--max-time", str(given.seconds), "--phases",
                    "examples,coverage,fuzzing", "--exclude-path", "/v1/stream", "--exclude-path-regex",
                    r"^/v1/sources/\{source\}$|:batch$|^/console", "--generation-database", "none", "--no-color",
                ], cwd=folder).returncode
            finally:
                daemon.terminate()


if __name__ == "__main__":
    sys.exit(main())
