"""The requests of docs/SCENES.md, which are run, and their answers and webhooks, which are compared.

    <!-- check: put-main -->
    ```sh
    request PUT $gallery/sessions/main -d '{"device": "tablet"}'
    ```

    ```json
    {"id": "main", "device": "tablet", "epoch": 0, "…": "…"}
    201
    ```

The block of a request is followed by that of its answer: the body, if there is one, and the status. A block without an
answer prepares the requests after it. A block after `<!-- webhook: TYPE -->` is a webhook that has arrived by then. In a
text of the document `…` stands for any characters, the text `…` alone for any value, the member `"…": "…"` for any
further members, and a time for any time.
"""
import json
import re
import time
from pathlib import Path
from typing import Any, NamedTuple, Optional

from daemon import Daemon
from receiver import Receiver
from walkthrough import Failure, Shell, require

BLOCK = re.compile(
    r"<!-- check: (?P<name>[a-z0-9-]+) -->\n```sh\n(?P<request>.*?)```\n(?:\n```json\n(?P<answer>.*?)```\n)?"
    r"|<!-- webhook: (?P<type>[A-Za-z.]+) -->\n```json\n(?P<webhook>.*?)```\n", re.S)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
STATUS = re.compile(r"^\d{3}\n```$", re.M)
# The addresses of the document: the daemon's and the receiver's.
SERVER, ENDPOINT = "127.0.0.1:8080", "127.0.0.1:9000"
SECONDS = 30


class Answer(NamedTuple):
    status: int
    body: Any

    @staticmethod
    def read(text: str) -> "Answer":
        """The answer that a request prints: its body, and its status in the last line."""
        body, _, status = text.strip().rpartition("\n")
        return Answer(int(status), json.loads(body) if body.strip() else None)


def matches(pattern: Any, value: Any) -> bool:
    """Whether a value is the one that a document shows, apart from the places that the document leaves open."""
    if pattern == "…":
        return True
    if isinstance(pattern, str) and isinstance(value, str):
        if TIME.fullmatch(pattern):
            return TIME.fullmatch(value) is not None
        return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), value, re.S) is not None
    if isinstance(pattern, dict) and isinstance(value, dict):
        is_whole = "…" in pattern or pattern.keys() == value.keys()
        return is_whole and all(
            name in value and matches(part, value[name]) for name, part in pattern.items() if name != "…")
    if isinstance(pattern, list) and isinstance(value, list):
        return len(pattern) == len(value) and all(map(matches, pattern, value))
    return type(pattern) is type(value) and bool(pattern == value)


class Document:
    """A document, the shell that runs its requests, and the receiver of its webhooks."""

    def __init__(self, path: Path, daemon: Daemon, receiver: Receiver, shell: Shell) -> None:
        self.path, self.receiver, self.shell = path, receiver, shell
        self.text = path.read_text()
        # The place behind the last webhook that was found, by its type.
        self.behind: "dict[str, int]" = {}
        self.addresses = {SERVER: daemon.listen, ENDPOINT: f"127.0.0.1:{receiver.server.server_port}"}

    def here(self, text: str) -> str:
        for address, present in self.addresses.items():
            text = text.replace(address, present)
        return text

    def run(self, request: str) -> Answer:
        return Answer.read(self.shell.run(self.here(request)))

    def prepare(self, block: str) -> None:
        """Runs a block once; its variables and functions are there for the blocks after it."""
        self.shell.run(self.here(block))
        kept = re.findall(r"^(?:\w+=.*|\w+\(\) \{.*\})$", block, re.M)
        self.shell.setup += self.here("\n".join(kept)) + "\n"

    def webhook(self, kind: str, pattern: Any) -> Optional[Any]:
        """The next webhook of a type that matches, or the last one of that type, once one matches or the time is over.

        The webhooks of a type arrive in the order of the document: one behind the match before, and none twice.
        """
        end = time.monotonic() + SECONDS
        while True:
            with self.receiver.arrived:
                found = [webhook.envelope for webhook in self.receiver.webhooks if webhook.envelope["type"] == kind]
                for place in range(self.behind.get(kind, 0), len(found)):
                    if matches(pattern, found[place]):
                        self.behind[kind] = place + 1
                        return found[place]
                if not self.receiver.arrived.wait(max(end - time.monotonic(), 0)) and time.monotonic() > end:
                    return found[-1] if found[self.behind.get(kind, 0):] else None

    def check(self, block: "re.Match[str]") -> None:
        if block["type"] is not None:
            pattern = json.loads(self.here(block["webhook"]))
            found = self.webhook(block["type"], pattern)
            require(matches(pattern, found), f"{self.path.name} shows the webhook {block['type']}; found: {found}")
        elif block["answer"] is None:
            self.prepare(block["request"])
        else:
            promised, found = Answer.read(self.here(block["answer"])), self.run(block["request"])
            is_same = promised.status == found.status and matches(promised.body, found.body)
            require(is_same, f"{self.path.name} shows the answer of {block['name']}; found: "
                             f"{json.dumps(found.body, ensure_ascii=False)} {found.status}")

    def walk(self) -> int:
        blocks = list(BLOCK.finditer(self.text))
        requests = sum(block["name"] is not None for block in blocks)
        require(self.text.count("```sh\n") == requests, f"every shell block of {self.path.name} has a check")
        answers = sum(block["answer"] is not None for block in blocks)
        require(len(STATUS.findall(self.text)) == answers, f"every answer of {self.path.name} follows its request")
        marks = len(re.findall(r"<!-- (?:check|webhook): ", self.text))
        require(marks == len(blocks), f"every mark of {self.path.name} is followed by its block")
        for block in blocks:
            try:
                self.check(block)
            except (Failure, ValueError) as failure:
                line = self.text.count("\n", 0, block.start()) + 1
                raise Failure(f"{self.path.name}, line {line}: {failure}") from failure
        print(f"scenes: {self.path.name}: {len(blocks)} requests, answers and webhooks hold", flush=True)
        return len(blocks)
