#!/usr/bin/env python3
"""Builds the package Examples/third-party-rule and checks that its daemon asks the rule of the package.

Usage: Tests/example/run.py

The package is built into .build, the scratch path of the main package, so that the modules of routerd and of its
dependencies are compiled once for both. The main package's build stays valid: `swift build` after this script compiles
nothing. The versions of the dependencies are those of the main package. The daemon and all requests are in a network
namespace of their own, where no other address can be reached.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "Examples/third-party-rule"
BINARY = ROOT / ".build/debug/kiosk-router"
RULE = "com.example.rule.shielded-roles"
MAXIMUM_LINES = 60
sys.path.insert(0, str(ROOT / "Tests/support_py"))

from daemon import Daemon  # noqa: E402
from walkthrough import Failure, enter_namespace, require  # noqa: E402


def build() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.swift") if ".build" not in path.parts)
    require(lines <= MAXIMUM_LINES, f"the example has at most {MAXIMUM_LINES} lines of Swift: it has {lines}")
    if (ROOT / "Package.resolved").exists():
        shutil.copyfile(ROOT / "Package.resolved", PACKAGE / "Package.resolved")
    subprocess.run(
        [
            ROOT / "Scripts/build.py", "--explicit-target-dependency-import-check", "error", "--package-path", PACKAGE,
            "--scratch-path", ROOT / ".build", "--product", "kiosk-router",
        ], cwd=ROOT, check=True)


def command(*arguments: str, status: int = 0) -> str:
    """The output of a command of the example's program, which must end with that status."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("ROUTERD_")}
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, env=variables, check=False)
    require(done.returncode == status, f"{arguments} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def check_commands(folder: Path) -> None:
    manifest = json.loads(command("plugins", "show", RULE, "--json"))
    require(manifest["kind"] == "rule" and manifest["version"] == "1.0.0", f"the manifest is the rule's: {manifest}")
    require([field["name"] for field in manifest["fields"]] == ["roles", "belowPriority"], "the fields are the rule's")
    verdict = command("plugin", "check", "--plugin", RULE, "--settings", '{"roles": ["kiosk"]}', "--markdown")
    require(verdict in (PACKAGE / "README.md").read_text(), f"the README shows the verdict of the rule: {verdict}")
    require("routerd.rule.quiet-hours" in command("plugins"), "the built-in plugins are listed too")
    require("valid" in command("check", "--config", str(PACKAGE / "routerd.yaml")), "the configuration is valid")
    faulty = folder / "faulty.yaml"
    faulty.write_text(f"rules:\n  - id: {RULE}\n    roles: kiosk\n    floor: background\n")
    faults = command("check", "--config", str(faulty), status=1)
    require("/rules/0/floor: " in faults and "/rules/0/roles: " in faults, f"each fault has its place: {faults}")


def check_rule(daemon: Daemon) -> None:
    application = "/v1/applications/com.example.Museum"
    daemon.put(application, {"displayName": "Museum"})
    endpoint = {"url": "http://127.0.0.1:9/hook"}
    state = {"activationState": "foregroundActive"}
    daemon.put(f"{application}/sessions/hall", {"role": "kiosk", "endpoint": endpoint, **state})
    daemon.put(f"{application}/sessions/desk", {"role": "windowApplication", "endpoint": endpoint})

    def ask(way: str, priority: str) -> Any:
        payload = {"aps": {"alert": "The museum closes in ten minutes."}}
        answer = daemon.call("POST", f"{application}/{way}", payload, {"apns-priority": priority})
        require(answer.status in (200, 202), f"{way} is answered: {answer.status} {answer.body.decode()}")
        return answer.json

    sent = ask("notifications", "5")
    require(sent["decision"]["session"] == "desk", f"the kiosk is shielded: {sent}")
    require(ask("notifications", "10")["decision"]["session"] == "hall", "an urgent notification reaches the kiosk")
    explained = ask("explain?priority=5", "5")
    require(explained["decision"]["session"] == "desk", f"explain decides alike: {explained}")
    text = json.dumps(explained)
    require(RULE in text and "the session's role is shielded" in text, f"explain names the rule: {text}")


def main() -> int:
    try:
        build()
        enter_namespace("example", "port 8080")
        with tempfile.TemporaryDirectory(prefix="example-") as name:
            folder = Path(name)
            check_commands(folder)
            with Daemon(BINARY, folder, config=PACKAGE / "routerd.yaml") as daemon:
                check_rule(daemon)
    except (Failure, subprocess.CalledProcessError) as failure:
        print(f"example: {failure}", file=sys.stderr)
        return 1
    print("example: the package is built and its rule decides")
    return 0


if __name__ == "__main__":
    sys.exit(main())
