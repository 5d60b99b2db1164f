#!/usr/bin/env python3
"""Runs the commands of the README's walk-through in order, in a fresh folder, and checks what each promises.

Usage: Tests/readme/run.py [--routerd .build/release/routerd]     the binary that `make install` installs

Every shell block of the chapter "Five minutes" follows a comment such as `<!-- check: seven -->`, which names the check
of its outcome below; a block without a check fails, and so does a check without a block. The daemon is the one that
`make run` starts, in a pseudo-terminal; that must compile nothing. All of it runs in a network namespace of its own,
where the README's ports are free and no other address can be reached.
"""
import argparse
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Tests/support_py"))

from walkthrough import BLOCK, SECONDS, Failure, Shell, enter_namespace, require  # noqa: E402

# The promise of the retry paragraph.
RETRY_SECONDS = 30


class Terminal:
    """A program in a pseudo-terminal, and all that it has written."""

    def __init__(self, command: list[str], folder: Path, variables: dict[str, str]) -> None:
        self.written = ""
        self.lines = threading.Condition()
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, variables)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        while True:
            try:
                data = os.read(self.descriptor, 65536)
            except OSError:
                data = b""
            with self.lines:
                self.written += data.decode(errors="replace")
                self.lines.notify_all()
            if not data:
                return

    def wait_for(self, text: str, count: int = 1, seconds: float = SECONDS) -> None:
        end = time.monotonic() + seconds
        with self.lines:
            while self.written.count(text) < count:
                if not self.lines.wait(max(end - time.monotonic(), 0)):
                    raise Failure(f"'{text}' was not written within {seconds} s; written was:\n{self.written[-2000:]}")

    def stop(self) -> None:
        """What Ctrl-C does: the terminal's foreground programs are interrupted."""
        if self.pid:
            os.write(self.descriptor, b"\x03")
            end = time.monotonic() + SECONDS
            while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                if time.monotonic() > end:
                    os.killpg(self.pid, signal.SIGKILL)
                    os.waitpid(self.pid, 0)
                    break
                time.sleep(0.05)
            self.pid = 0


class Walk:
    """The walk-through, and what must come of each of its blocks."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.variables, self.folder = variables, folder
        self.shell = Shell(folder, variables)
        self.receiver: Terminal | None = None
        self.command = ""
        self.id = ""
        self.sent = 0
        self.checks: dict[str, Callable[[str], None]] = {
            "variables": self.variables_are_set, "receiver": self.receiver_listens,
            "application": lambda block: self.is_put(block, "com.example.Gallery"),
            "main": lambda block: self.is_put(block, "main"),
            "inspector": lambda block: self.is_put(block, "inspector"), "seven": self.inspector_has_seven,
            "eight": self.main_has_eight, "explain": self.decision_is_explained, "refused": self.receiver_is_away,
            "waiting": self.first_attempt_failed, "resume": self.receiver_is_back, "delivered": self.is_delivered,
            "push": self.inspector_is_chosen, "github": self.inspector_is_chosen,
            "cloudevents": self.inspector_is_chosen, "alertmanager": self.inspector_is_chosen,
        }

    def variables_are_set(self, block: str) -> None:
        self.shell.run(block, keeps=True)

    def receiver_listens(self, block: str) -> None:
        self.command = f"{self.shell.setup}\nexec {block}"
        self.start_receiver()

    def start_receiver(self) -> None:
        self.receiver = Terminal(["bash", "-c", self.command], self.folder, self.variables)
        self.receiver.wait_for("listening on http://127.0.0.1:9000")

    def is_put(self, block: str, name: str) -> None:
        require(json.loads(self.shell.run(block))["id"] == name, f"{name} is registered")

    def comes_to(self, path: str, count: int = 1) -> None:
        assert self.receiver is not None
        self.receiver.wait_for(f" {path} ", count)

    def inspector_has_seven(self, block: str) -> None:
        answer = json.loads(self.shell.run(block))
        require(answer["decision"]["session"] == "inspector", "the inspector gets photo 7")
        require(answer["decision"]["tier"] == "prefers", "it gets it because it prefers it")
        self.comes_to("/inspector")

    def main_has_eight(self, block: str) -> None:
        require("→ main" in self.shell.run(block), "the main window gets photo 8")
        self.comes_to("/main")

    def decision_is_explained(self, block: str) -> None:
        text = self.shell.run(block)
        require("→ inspector" in text and "prefers" in text, "the explanation names the receiver")
        require("only can; inspector prefers the content" in text, "it says why the main window is passed over")

    def receiver_is_away(self, block: str) -> None:
        assert self.receiver is not None
        self.receiver.stop()
        self.id = self.shell.run(block + "echo $id").strip()
        require(self.id.startswith("ntf_"), "the id is kept")
        self.shell.setup += f"id={self.id}\n"

    def first_attempt_failed(self, block: str) -> None:
        end = time.monotonic() + SECONDS
        while True:
            shown = json.loads(self.shell.run(block))
            if shown["attempts"]:
                break
            require(time.monotonic() < end, "the first attempt is made")
        require(shown["state"] == "waiting", "the notification waits")
        require(shown["attempts"][0]["status"] is None, "the first attempt has failed")
        require(shown["nextAttemptAt"] is not None, "the next attempt has a time")

    def receiver_is_back(self, block: str) -> None:
        self.start_receiver()
        require("inspector resumed" in self.shell.run(block), "the lane is told to try at once")
        assert self.receiver is not None
        self.receiver.wait_for(" /inspector ", seconds=RETRY_SECONDS)

    def inspector_is_chosen(self, block: str) -> None:
        """A way in: the last line of the answer is the decision, and the webhook comes."""
        decision = json.loads(self.shell.run(block).strip().splitlines()[-1])
        require(decision["session"] == "inspector", f"the sender's request goes to the inspector: {decision}")
        self.sent += 1
        # One came in the first scene, and one after the receiver was back.
        self.comes_to("/inspector", 1 + self.sent)

    def is_delivered(self, block: str) -> None:
        end = time.monotonic() + RETRY_SECONDS
        while True:
            shown = json.loads(self.shell.run(block))
            if shown["state"] == "delivered":
                break
            require(time.monotonic() < end, f"the notification is delivered within {RETRY_SECONDS} s: {shown}")
        require(shown["attempts"][-1] == 204 and len(shown["attempts"]) > 1, "the last of several attempts is taken")


def check_installed(routerd: Path) -> None:
    """The installed binary needs libraries of the system alone, and its completions are there."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "Scripts/install.sh", routerd, folder], check=True, capture_output=True)
        binary = Path(folder) / "bin/routerd"
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            path = line.split("=>")[-1].split("(")[0].strip()
            is_of_system = path.startswith(("/lib", "/usr/lib", "linux-vdso"))
            require(is_of_system and "swift" not in path, f"the installed binary needs a library of the system: {line}")
        symbols = subprocess.run(["readelf", "-S", binary], capture_output=True, text=True, check=True).stdout
        require(".symtab" not in symbols, "the installed binary is stripped")
        require((Path(folder) / "share/bash-completion/completions/routerd").stat().st_size > 0, "completions are there")


def walk(routerd: Path) -> int:
    blocks = BLOCK.findall(ROOT.joinpath("README.md").read_text())
    chapter = ROOT.joinpath("README.md").read_text().split("## Five minutes")[1].split("\n## Where next")[0]
    with tempfile.TemporaryDirectory(prefix="readme-") as name:
        folder = Path(name)
        (folder / ".build/debug").mkdir(parents=True)
        (folder / ".build/debug/routerd").symlink_to(ROOT / ".build/debug/routerd")
        variables = {key: value for key, value in os.environ.items() if not key.startswith("ROUTERD_")}
        variables |= {"ROUTERD_DATABASE": str(folder / "routerd.sqlite"), "TERM": "xterm", "NO_COLOR": "1"}
        daemon = Terminal(["make", "run"], ROOT, variables)
        walk = Walk(folder, variables)
        try:
            daemon.wait_for("listening on http://127.0.0.1:8080", seconds=20 * 60)
            require("files compiled" not in daemon.written, "`make run` in a terminal compiles nothing again")
            require(len(blocks) == chapter.count("```sh"), "every block of the walk-through has a check")
            require([name for name, _ in blocks] == list(walk.checks), "every check has its block, in order")
            for name, block in blocks:
                walk.checks[name](block)
                print(f"readme: {name} holds")
        finally:
            if walk.receiver is not None:
                walk.receiver.stop()
            daemon.stop()
    return len(blocks)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--routerd", type=Path, default=ROOT / ".build/release/routerd")
    routerd = parser.parse_args().routerd.resolve()
    for tool in ("curl", "jq", "make", "bash"):
        if shutil.which(tool) is None:
            print(f"readme: {tool} is missing", file=sys.stderr)
            return 1
    enter_namespace("readme", "the README's ports")
    try:
        check_installed(routerd)
        count = walk(routerd)
    except Failure as failure:
        print(f"readme: does not hold: {failure}", file=sys.stderr)
        return 1
    print(f"readme: {count} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
