#!/usr/bin/env python3
"""Sends requests that schemathesis makes of /openapi.json to the daemon, and compares every answer with the document.

Usage: Tests/openapi/run.py --routerd PATH [--seconds N] [--examples N] [--seed N]

Checked are: no answer 500, only documented statuses and media types, bodies as their schemas say. Of each operation some requests
name resources that are there (`world.py`, `hooks.py`): an operation without an answer of success fails the run, unless
EXEMPT has the reason. schemathesis comes from PyPI into .build/openapi-venv.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections import Counter
from pathlib import Path

from surroundings import KEY, ROOT, configuration, receive

ENVIRONMENT = ROOT / ".build/openapi-venv"
LIBRARIES = ["schemathesis>=4.32,<5", "cryptography>=43"]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# Operations that cannot have an answer of success here, with the reason.
EXEMPT = {
    "stream": "its answer does not end; OperationTests reads its head",
    "getOpenAPI": "schemathesis leaves out the address that it reads the document from",
}


def schemathesis() -> Path:
    program = ENVIRONMENT / "bin/schemathesis"
    made = ENVIRONMENT / "packages"
    if not made.exists() or made.read_text() != repr(LIBRARIES):
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([ENVIRONMENT / "bin/python", "-m", "pip", "install", "--quiet", *LIBRARIES], check=True)
        made.write_text(repr(LIBRARIES))
    return program


def verdict(document: dict, tally: dict[str, dict[str, int]]) -> list[str]:
    """Prints the operations by the classes of their answers; the operations without success that must have one, as faults."""
    names = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    classes = Counter(status for name in names for status in tally.get(name, {}))
    answers = sum(sum(of_one.values()) for of_one in tally.values())
    print(f"operations: {len(names)}, with answers of " + ", ".join(
        f"{status}: {classes[status]}" for status in ("2xx", "3xx", "4xx", "5xx")) + f"; {answers} answers")
    succeeded = {name for name in names if "2xx" in tally.get(name, {})}
    faults = [f"{name}: no answer of success, but {tally.get(name) or 'none at all'}"
              for name in names if name not in succeeded and name not in EXEMPT]
    faults += [f"{name}: exempt, but it has an answer of success" for name in EXEMPT if name in succeeded]
    return faults + [f"{name}: exempt, but no operation" for name in EXEMPT if name not in names]


def main() -> int:
    arguments = argparse.ArgumentParser(description="Compares the daemon's answers with its OpenAPI document.")
    arguments.add_argument("--routerd", type=Path, required=True, help="the binary")
    arguments.add_argument("--seconds", type=int, default=120, help="the time for requests")
    arguments.add_argument("--examples", type=int, default=50, help="requests of an operation")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", help="a regular expression of the operations to call, to look into a fault")
    given = arguments.parse_args()
    program = schemathesis()
    receiver = receive()
    with tempfile.TemporaryDirectory(prefix="routerd-openapi-") as folder:
        file, tally = Path(folder) / "routerd.yaml", Path(folder) / "tally.json"
        file.write_text(json.dumps(configuration(receiver)))
        command = [given.routerd.resolve(), "serve", "--config", file, "--listen", "127.0.0.1:0", "--database",
                   f"{folder}/routerd.db"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as daemon:
            try:
                address = next(
                    found[1] for line in daemon.stdout if (found := re.search(r"(http://127\.0\.0\.1:\d+)", line)))
                threading.Thread(target=daemon.stdout.read, daemon=True).start()
                ended = subprocess.run([
                    program, "run", f"{address}/openapi.json", "--checks", CHECKS, "--seed", str(given.seed),
                    "--max-examples", str(given.examples), "--max-time", str(given.seconds), "--phases",
                    "examples,coverage,fuzzing", *(word for name in EXEMPT for word in ("--exclude-operation-id", name)),
                    *(["--include-operation-id-regex", given.only] if given.only else []), "--header",
                    f"Authorization: Bearer {KEY}", "--generation-database", "none", "--no-color",
                ], cwd=folder, env=os.environ | {
                    "SCHEMATHESIS_HOOKS": str(Path(__file__).parent / "hooks.py"), "ROUTERD_TALLY": str(tally),
                    "ROUTERD_ADDRESS": address, "ROUTERD_KEY": KEY, "ROUTERD_RECEIVER": receiver})
                document = json.load(urllib.request.urlopen(f"{address}/openapi.json", timeout=10))
            finally:
                daemon.terminate()
        faults = verdict(document, json.loads(tally.read_text()) if tally.exists() else {})
    # Other operations are not called then.
    if given.only:
        return ended.returncode
    for fault in faults:
        print(fault)
    return ended.returncode or (1 if faults else 0)


if __name__ == "__main__":
    sys.exit(main())
