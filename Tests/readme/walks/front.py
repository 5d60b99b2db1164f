"""The walk-through of README.md, and what must come of each of its blocks."""
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from walkthrough import SECONDS, require

from .stage import Stage, poll

ROOT = Path(__file__).resolve().parents[3]
# The promise of the retry paragraph.
RETRY_SECONDS = 30
# The receiver is away until this attempt has failed, which takes more than 20 s. The breaker is open then.
ATTEMPTS_WITHOUT_RECEIVER = 5


class FrontPage(Stage):
    def __init__(self, folder: Path, variables: dict[str, str], command: list[str]) -> None:
        document = ROOT / "README.md"
        self.text = document.read_text()
        super().__init__(
            folder, variables, document, self.text.split("## Five minutes")[1].split("\n## Where next")[0])
        self.command = command
        self.receiving = ""
        self.id = ""
        self.checks = {
            "variables": self.variables_are_set, "receiver": self.receiver_listens,
            "application": lambda block: self.is_put(block, "com.example.Gallery"),
            "main": lambda block: self.is_put(block, "main"),
            "inspector": lambda block: self.is_put(block, "inspector"), "seven": self.inspector_has_seven,
            "eight": self.main_has_eight, "explain": self.decision_is_explained, "refused": self.receiver_is_away,
            "waiting": self.first_attempt_failed, "delivered": self.arrives_by_itself,
            "again": self.daemon_is_killed, "resume": self.lane_is_resumed,
            "verifying": self.receiver_verifies, "signed": self.signature_is_valid,
            "push": self.inspector_is_chosen, "github": self.inspector_is_chosen,
            "cloudevents": self.inspector_is_chosen, "alertmanager": self.inspector_is_chosen,
            "sets": self.nothing_changes, "anew": self.database_is_gone,
        }

    def start(self, seconds: float = SECONDS) -> None:
        daemon = self.start_daemon(self.command, ROOT, seconds)
        require("files compiled" not in daemon.written, "`make run` in a terminal compiles nothing again")

    def variables_are_set(self, block: str) -> None:
        self.shell.run(block, keeps=True)
        status = re.search(r"\*\*Status:\*\* version (\S+)", self.text)
        version = self.shell.run("routerd --version").strip()
        require(status is not None and status[1] == version, f"the status line names the version {version}")

    def receiver_listens(self, block: str) -> None:
        self.receiving = block
        self.start_receiver(block)

    def is_put(self, block: str, name: str) -> None:
        require(json.loads(self.shell.run(block))["id"] == name, f"{name} is registered")

    def inspector_has_seven(self, block: str) -> None:
        answer = json.loads(self.sends(block, "/inspector"))
        require(answer["decision"]["session"] == "inspector", "the inspector gets photo 7")
        require(answer["decision"]["tier"] == "prefers", "it gets it because it prefers it")

    def main_has_eight(self, block: str) -> None:
        require("→ main" in self.sends(block, "/main"), "the main window gets photo 8")

    def decision_is_explained(self, block: str) -> None:
        text = self.shell.run(block)
        require("→ inspector" in text and "prefers" in text, "the explanation names the receiver")
        require("only can; inspector prefers the content" in text, "it says why the main window is passed over")

    def keeps_id(self, block: str) -> None:
        self.id = self.shell.run(block + "echo $id").strip()
        require(self.id.startswith("ntf_"), "the id is kept")
        self.shell.setup += f"id={self.id}\n"

    def shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.shell.run("routerd notifications show $id"))
        return shown

    def receiver_is_away(self, block: str) -> None:
        self.stop_receiver()
        self.keeps_id(block)

    def first_attempt_failed(self, block: str) -> None:
        shown = poll(
            lambda: json.loads(self.shell.run(block)), lambda shown: len(shown["attempts"]) > 0,
            "the first attempt is made", SECONDS)
        require(shown["state"] == "waiting", "the notification waits")
        require(shown["attempts"][0]["status"] is None, "the first attempt has failed")
        require(shown["nextAttemptAt"] is not None, "the next attempt has a time")

    def arrives_by_itself(self, block: str) -> None:
        """The receiver comes back after the given number of attempts. The lane is not resumed."""
        shown = poll(
            self.shown, lambda shown: len(shown["attempts"]) >= ATTEMPTS_WITHOUT_RECEIVER,
            f"{ATTEMPTS_WITHOUT_RECEIVER} attempts are made", SECONDS)
        self.start_receiver(self.receiving)
        assert self.receiver is not None
        self.receiver.wait_for(f"{shown['webhookId']} attempt ", seconds=RETRY_SECONDS)
        shown = poll(
            lambda: json.loads(self.shell.run(block)), lambda shown: shown["state"] == "delivered",
            "the notification is delivered", SECONDS)
        attempts = shown["attempts"]
        require(attempts[-1] == 204 and len(attempts) > ATTEMPTS_WITHOUT_RECEIVER, "the last of the attempts is taken")
        require(
            self.received() == [(shown["webhookId"], len(attempts), "/inspector", "unchecked")],
            f"the receiver prints the webhook-id and the number of the attempt: {self.received()}, {shown}")

    def daemon_is_killed(self, block: str) -> None:
        self.stop_receiver()
        self.keeps_id(block)
        poll(self.shown, lambda shown: len(shown["attempts"]) > 0, "an attempt is made", SECONDS)
        assert self.daemon is not None
        self.daemon.kill()
        self.start()
        require(self.shown()["state"] in ("waiting", "inFlight"), "the daemon goes on where it was")

    def lane_is_resumed(self, block: str) -> None:
        self.start_receiver(self.receiving)
        require("inspector resumed" in self.shell.run(block), "the lane is told to try at once")
        assert self.receiver is not None
        self.receiver.wait_for(f"{self.shown()['webhookId']} attempt ", seconds=RETRY_SECONDS)
        poll(self.shown, lambda shown: shown["state"] == "delivered", "the notification is delivered", SECONDS)

    def receiver_verifies(self, block: str) -> None:
        self.stop_receiver()
        self.start_receiver(block)

    def signature_is_valid(self, block: str) -> None:
        require("delivered" in self.sends(block, "/inspector"), "the signed notification is delivered")
        require([entry[3] for entry in self.received()] == ["valid"], f"the signature is valid: {self.received()}")

    def inspector_is_chosen(self, block: str) -> None:
        """A way in: the last line of the answer is the decision, and the webhook comes."""
        decision = json.loads(self.sends(block, "/inspector").strip().splitlines()[-1])
        require(decision["session"] == "inspector", f"the sender's request goes to the inspector: {decision}")

    def nothing_changes(self, block: str) -> None:
        output = self.shell.run(block)
        require("github" in (self.folder / "gallery.yaml").read_text(), "the sources are exported")
        counts = [line.removeprefix("would be: ") for line in output.splitlines() if "taken into" not in line]
        is_same = len(counts) == 2 and all(line.split()[1:] == ["unchanged"] for line in counts)
        require(is_same, f"an exported set changes nothing: {output}")

    def database_is_gone(self, block: str) -> None:
        assert self.daemon is not None
        self.daemon.stop()
        self.shell.run(block)
        require(list(self.folder.glob("routerd.sqlite*")) == [], "the database is removed")
        self.start()
        require(self.shell.run("routerd applications") == "", "the daemon begins anew")


def check_installed(routerd: Path, folder: Path) -> None:
    """The installed binary needs libraries of the system alone, and its completions are there."""
    subprocess.run([ROOT / "Scripts/install.sh", routerd, folder], check=True, capture_output=True)
    binary = folder / "bin/routerd"
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        path = line.split("=>")[-1].split("(")[0].strip()
        is_of_system = path.startswith(("/lib", "/usr/lib", "linux-vdso"))
        require(is_of_system and "swift" not in path, f"the installed binary needs a library of the system: {line}")
    symbols = subprocess.run(["readelf", "-S", binary], capture_output=True, text=True, check=True).stdout
    require(".symtab" not in symbols, "the installed binary is stripped")
    require((folder / "share/bash-completion/completions/routerd").stat().st_size > 0, "completions are there")
    unit = (folder / "lib/systemd/system/routerd.service").read_text()
    require(f"ExecStart={binary} serve" in unit and "/usr/bin/routerd" not in unit, "the unit starts the installed binary")
    require((folder / "share/man/man1/routerd.1.gz").stat().st_size > 0, "the man page is there")
    require((folder / "share/doc/routerd/routerd.yaml").read_text() == (ROOT / "routerd.yaml").read_text(), "a sample is there")
    subprocess.run([ROOT / "Scripts/install.sh", "--remove", folder], check=True, capture_output=True)
    left = [path for path in folder.rglob("*") if path.is_file()]
    require(left == [], f"everything that was installed is removed: {left}")
