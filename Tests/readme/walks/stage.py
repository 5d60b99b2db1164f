"""The terminals of a walk-through: a daemon, a receiver, and a shell for the commands."""
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from terminal import Terminal
from walkthrough import BLOCK, EXCUSED, SECONDS, Shell, require

RECEIVED = re.compile(r"^(\S+) attempt (\d+) \S+ (/\S+) signature (\w+)", re.M)


class Stage:
    """The programs of a walk-through, and its checks by the names of their blocks.

    A block of a document without a check or the reason why it has none fails, and so does a check without a block.
    """

    def __init__(self, folder: Path, variables: dict[str, str], document: Path, chapter: str) -> None:
        self.folder, self.variables = folder, variables
        self.blocks = BLOCK.findall(document.read_text())
        self.shells = chapter.count("```sh") - len(EXCUSED.findall(chapter))
        self.shell = Shell(folder, variables)
        self.daemon: Terminal | None = None
        self.receiver: Terminal | None = None
        self.checks: dict[str, Callable[[str], None]] = {}

    def walk(self, document: str) -> int:
        require(len(self.blocks) == self.shells, f"every block of {document} has a check, or says why it is not played")
        require([name for name, _ in self.blocks] == list(self.checks), f"every check of {document} has its block, in order")
        for name, block in self.blocks:
            self.checks[name](block)
            print(f"readme: {document}: {name} holds", flush=True)
        return len(self.blocks)

    def start_daemon(self, command: list[str], folder: Path, seconds: float = SECONDS) -> Terminal:
        self.daemon = Terminal(command, folder, self.variables)
        self.daemon.wait_for("listening on http://127.0.0.1:8080", seconds=seconds)
        return self.daemon

    def start_receiver(self, block: str) -> None:
        self.receiver = Terminal(["bash", "-c", f"{self.shell.setup}\nexec {block}"], self.folder, self.variables)
        self.receiver.wait_for("listening on http://127.0.0.1:9000")

    def stop_receiver(self) -> None:
        if self.receiver is not None:
            self.receiver.stop()

    def stop(self) -> None:
        self.stop_receiver()
        if self.daemon is not None:
            self.daemon.stop()

    def sends(self, block: str, path: str) -> str:
        """Runs a block that sends a notification, and waits for the webhook of it."""
        assert self.receiver is not None
        before = self.receiver.written.count(f" {path} ")
        output = self.shell.run(block)
        self.receiver.wait_for(f" {path} ", before + 1)
        return output

    def received(self) -> list[tuple[str, int, str, str]]:
        """The webhooks that the receiver has printed: webhook-id, attempt, path, and how the signature is."""
        assert self.receiver is not None
        text = self.receiver.written.replace("\r", "")
        return [(name, int(attempt), path, signature) for name, attempt, path, signature in RECEIVED.findall(text)]


def poll(read: Callable[[], Any], holds: Callable[[Any], bool], promise: str, seconds: float) -> Any:
    """The first value that `read` returns of which `holds` is true."""
    end = time.monotonic() + seconds
    while not holds(value := read()):
        require(time.monotonic() < end, f"{promise} within {seconds:.0f} s: {value}")
        time.sleep(0.2)
    return value
