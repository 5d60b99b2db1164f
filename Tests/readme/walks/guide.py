"""The tutorial of docs/GUIDE.md, the receivers of Examples/receivers included."""
import json
import re
import socket
from pathlib import Path

from terminal import Terminal
from walkthrough import SECONDS, require

from .stage import Stage, poll

ROOT = Path(__file__).resolve().parents[3]
RECEIVERS = {"python3": "receiver.py", "node": "receiver.mjs"}


class Guide(Stage):
    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        document = ROOT / "docs/GUIDE.md"
        self.text = document.read_text()
        tutorial = self.text.split("## Five minutes")[1].split("\n## TLS")[0]
        super().__init__(folder, variables, document, tutorial)
        self.secret = ""
        self.keys: list[str] = []
        self.entries: list[str] = []
        self.verifying = ""
        self.checks = {
            "serve": self.daemon_serves, "receive": self.start_receiver, "gallery": self.gallery_is_put,
            "send": self.both_arrive, "explain": self.is_explained, "eval": self.is_true,
            "down": self.waits, "resume": self.lane_is_resumed, "rule": self.rule_decides,
            "rule-explained": self.veto_is_shown, "rule-removed": self.rule_is_removed, "keys": self.keys_are_made,
            "configured": self.configuration_is_served, "status": self.status_is_shown,
            "rotate": self.secret_is_new, "verify": self.receivers_verify, "signed": self.signed_is_taken,
            "source": self.source_is_tried, "schedule": self.schedule_is_taken,
        }

    def daemon_serves(self, block: str) -> None:
        self.start_daemon(["bash", "-c", f"exec {block}"], self.folder)

    def gallery_is_put(self, block: str) -> None:
        assignments, commands = block.split("\n\n", maxsplit=1)
        self.shell.run(assignments, keeps=True)
        answers = self.shell.run(commands)
        require(answers.count('"whsec_') == 2, "both sessions are given a secret")

    def both_arrive(self, block: str) -> None:
        first, second = block.strip().splitlines()
        require("→ inspector" in self.sends(first, "/inspector"), "photo 7 goes to the inspector")
        require("→ main" in self.sends(second, "/main"), "photo 8 goes to the main window")

    def is_explained(self, block: str) -> None:
        text = self.shell.run(block)
        require("→ inspector" in text and text.count("delivered") == 2, "the candidates and the notifications are shown")

    def is_true(self, block: str) -> None:
        require(self.shell.run(block).strip() == "true", "the predicate holds")

    def waits(self, block: str) -> None:
        self.stop_receiver()
        send, *looks = block.strip().splitlines()
        self.shell.run(send)
        text = poll(
            lambda: self.shell.run("\n".join(looks)), lambda text: text.count("inspector") == 2,
            "the notification waits in its lane", SECONDS)
        require("waiting" in text, "the notification waits")

    def lane_is_resumed(self, block: str) -> None:
        receive = next(block for name, block in self.blocks if name == "receive")
        self.start_receiver(receive)
        self.sends(block, "/inspector")

    def rule_decides(self, block: str) -> None:
        output = self.sends(block, "/main")
        require("0 failed" in output and "→ main" in output, f"the rule's test passes, and the main window is chosen: {output}")
        require("compared, 0 would go elsewhere" in output, f"urgent notifications would go where they went: {output}")

    def veto_is_shown(self, block: str) -> None:
        output = self.shell.run(block)
        require("the inspector is for urgent notifications" in output, f"the veto is shown: {output}")

    def rule_is_removed(self, block: str) -> None:
        require("0 rules" in self.shell.run(block), "no rule is in use")

    def keys_are_made(self, block: str) -> None:
        output = self.shell.run(block)
        self.keys = re.findall(r"rk_\S+", output)
        self.entries = re.findall(r"sha256: ([0-9a-f]{64})", output)
        require(len(self.keys) == len(self.entries) == 2, "two keys are made")

    def configuration_is_served(self, block: str) -> None:
        assert self.daemon is not None
        self.daemon.stop()
        digests = iter(self.entries)
        configuration = next(
            block for block in re.findall(r"```yaml\n(.*?)```", self.text, re.S) if block.startswith("# guide.yaml"))
        (self.folder / "guide.yaml").write_text(re.sub("…", lambda _: next(digests), configuration))
        self.start_daemon(["bash", "-c", block], self.folder)
        require("guide.yaml: valid (keys: 2" in self.daemon.written, "the configuration is valid")

    def status_is_shown(self, block: str) -> None:
        export, command = block.strip().splitlines()
        self.shell.run(export.replace("rk_…", self.keys[0]), keeps=True)
        require("unaccounted" in self.shell.run(command), "the operator's key shows the status")

    def secret_is_new(self, block: str) -> None:
        self.secret = self.shell.run(block).strip()
        require(self.secret.startswith("whsec_"), "a new secret is made")

    def receivers_verify(self, block: str) -> None:
        """Only keeps the command: it runs in the next check, once in each language."""
        self.stop_receiver()
        self.verifying = block

    def signed_is_taken(self, block: str) -> None:
        first, second = self.verifying.split("# or:")
        for command in (f"{first.strip()}\n", first.split(" ")[0] + second):
            receiver = Terminal(
                ["bash", "-c", "exec env " + command.replace("whsec_…", self.secret)], self.folder, self.variables)
            try:
                poll(listens, bool, "the receiver listens", SECONDS)
                require("delivered" in self.shell.run(block), f"a signed webhook is answered 2xx: {command}")
                receiver.wait_for("scene.notification")
                post = "curl -s -o answer -w '%{http_code}' http://127.0.0.1:9000/inspector -d '{}'"
                require(self.shell.run(post) == "401", f"an unsigned webhook is answered 401: {command}")
            finally:
                receiver.stop()

    def source_is_tried(self, block: str) -> None:
        output = self.shell.run(block)
        require("verify" in output and "refused" in output, f"the trial shows its steps: {output}")
        require("hooks" in output.splitlines()[-1], "the source is listed")

    def schedule_is_taken(self, block: str) -> None:
        require(json.loads(self.shell.run(block))["delivery"]["retrySchedule"] == [2, 5, 15, 60], "the schedule is taken")


def listens() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", 9000)) == 0
