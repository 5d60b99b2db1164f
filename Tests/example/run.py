#!/usr/bin/env python3
"""Makes a project by `routerd plugin new --language swift`, runs its tests, and checks that its daemon asks its rule.

Usage: Tests/example/run.py

The project is the package Examples/third-party-rule, but for the path of routerd's package; `NewPluginTests` compares them. It
is built into .build, the scratch path of the main package, so that the modules of routerd and of its dependencies are
compiled once for both. The main package's build stays valid: `make build-tests` after this script compiles nothing. The
versions of the dependencies are those of the main package. The daemon and all requests are in a network namespace of their
own, where no other address can be reached.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROUTERD = ROOT / ".build/release/routerd"
BINARY = ROOT / ".build/debug/kiosk-router"
RULE = "com.example.rule.shielded-roles"
MAXIMUM_LINES = 60
# The plan of the package that was built last in the folder, which SwiftPM takes for that of the next one.
PLANS = [ROOT / ".build" / name for name in ("debug.yaml", "plugin-tools.yaml", "debug/description.json")]
sys.path.insert(0, str(ROOT / "Tests/support_py"))

from daemon import Daemon  # noqa: E402
from terminal import Terminal  # noqa: E402
from walkthrough import Failure, enter_namespace, require  # noqa: E402


def make(project: Path) -> None:
    """The example as an author makes it."""
    subprocess.run(
        [ROUTERD, "plugin", "new", project, "--language", "swift", "--routerd", ROOT], check=True, stdout=subprocess.PIPE)
    sources = [path for path in project.rglob("*.swift") if "Tests" not in path.parts]
    lines = sum(len(path.read_text().splitlines()) for path in sources)
    require(lines <= MAXIMUM_LINES, f"a new project has at most {MAXIMUM_LINES} lines of Swift: it has {lines}")


def forget_plans() -> None:
    for plan in PLANS:
        plan.unlink(missing_ok=True)


def build_and_test(project: Path) -> None:
    place = ["--package-path", project, "--scratch-path", ROOT / ".build"]
    subprocess.run(
        [ROOT / "Scripts/build.py", "--explicit-target-dependency-import-check", "error", *place, "--build-tests"],
        cwd=ROOT, check=True)
    swift = os.environ.get("SWIFT", "swift")
    done = subprocess.run(
        [swift, "test", "--skip-build", "--no-color-diagnostics", *place], cwd=ROOT, capture_output=True, text=True,
        check=False)
    require(done.returncode == 0, f"the tests of a new project pass: {done.stdout}{done.stderr}")
    require("2 tests in 1 suite passed" in done.stdout, f"a new project has two tests: {done.stdout}")


def command(*arguments: str, status: int = 0) -> str:
    """The output of a command of the example's program, which must end with that status."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("ROUTERD_")}
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, env=variables, check=False)
    require(done.returncode == status, f"{arguments} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def check_commands(project: Path, folder: Path) -> None:
    manifest = json.loads(command("plugins", "show", RULE, "--json"))
    require(manifest["kind"] == "rule" and manifest["version"] == "1.0.0", f"the manifest is the rule's: {manifest}")
    fields = [field["name"] for field in manifest["fields"]]
    require(fields == ["roles", "belowPriority", "name", "applications", "mode"], f"the fields are the rule's: {fields}")
    verdict = command("plugin", "check", "--plugin", RULE, "--settings", '{"roles": ["kiosk"]}', "--markdown")
    require(" conforms to version 1 " in verdict, f"the rule keeps the laws: {verdict}")
    require(" conforms " not in (project / "README.md").read_text(), "the README of a new project claims nothing")
    require("routerd.rule.quiet-hours" in command("plugins"), "the built-in plugins are listed too")
    require("valid" in command("check", "--config", str(project / "routerd.yaml")), "the configuration is valid")
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


def check_printed_line(folder: Path) -> None:
    """The command that docs/PLUGINS.md prints has no payload: in a terminal it does not wait for keys."""
    page = (ROOT / "docs/PLUGINS.md").read_text()
    printed = next(line for line in page.splitlines() if line.startswith("swift run kiosk-router explain "))
    variables = {key: value for key, value in os.environ.items() if not key.startswith("ROUTERD_")}
    line = printed.replace("swift run kiosk-router", str(BINARY))
    terminal = Terminal(["bash", "-c", f"exec {line}"], folder, {**variables, "NO_COLOR": "1"})
    try:
        terminal.wait_for("→ desk")
        terminal.wait_for("the session's role is shielded")
    finally:
        terminal.wait_for_end()


def main() -> int:
    try:
        with tempfile.TemporaryDirectory(prefix="example-") as name:
            folder = Path(name)
            project = folder / "kiosk-router"
            make(project)
            forget_plans()
            try:
                build_and_test(project)
            finally:
                forget_plans()
            enter_namespace("example", "port 8080")
            check_commands(project, folder)
            with Daemon(BINARY, folder, config=project / "routerd.yaml") as daemon:
                check_rule(daemon)
                check_printed_line(folder)
    except (Failure, subprocess.CalledProcessError) as failure:
        print(f"example: {failure}", file=sys.stderr)
        return 1
    print("example: a new project is built, its tests pass, and its rule decides")
    return 0


if __name__ == "__main__":
    sys.exit(main())
