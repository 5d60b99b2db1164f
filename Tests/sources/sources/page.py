"""The commands of docs/SOURCES.md, in order, and the answers that the page promises.

A block is followed by a paragraph that begins with "The answer is" and says the status, and perhaps the code, the body,
or the content ids that arrive. Blocks that make something (`…-source`, `application`, `session`) are answered 201, as
the page says once.
"""
import json
import re
from pathlib import Path
from typing import NamedTuple

from sources.stage import Stage
from walkthrough import BLOCK, Failure, Shell, require

PAGE = Path(__file__).resolve().parents[3] / "docs/SOURCES.md"
QUOTED = re.compile(r"`([^`]+)`")


class Promise(NamedTuple):
    """An answer as the page tells it."""

    status: int
    code: str | None = None
    body: str | None = None
    content_ids: tuple[str, ...] = ()


class Sent(NamedTuple):
    """An answer as `curl -si` prints it."""

    status: int
    head: str
    body: str


def promised(name: str, following: str) -> Promise:
    """The promise of a block, from the text after it."""
    if name in ("application", "session") or name.endswith("-source"):
        return Promise(201)
    paragraph = " ".join(following.strip().split("\n\n")[0].split())
    found = re.match(r"The answer is `(\d{3})`", paragraph)
    require(found is not None, f"the paragraph after the block {name} begins with 'The answer is'")
    assert found is not None
    code = re.search(r"with the code `([a-z-]+)`", paragraph)
    body = re.search(r"with the body `([^`]+)`", paragraph)
    arrivals = re.search(r"arrives? with the content ids? ((?:`[^`]+`(?:, | and )?)+)", paragraph)
    return Promise(
        int(found[1]), code[1] if code else None, body[1] if body else None,
        tuple(QUOTED.findall(arrivals[1])) if arrivals else ())


def sent(output: str) -> Sent:
    """The last answer that `curl -si` has printed."""
    head, _, body = output.replace("\r\n", "\n").partition("\n\n")
    found = re.match(r"HTTP/1\.1 (\d{3})", head)
    if found is None:
        raise Failure(f"the block prints an answer: {output}")
    return Sent(int(found[1]), head.lower(), body)


class Walk:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.shell = Shell(stage.folder, {"PATH": "/usr/local/bin:/usr/bin:/bin"})
        self.arrived = 0
        # Kinds of source of which a block puts one, and names of blocks whose notification has arrived.
        self.kinds: set[str] = set()
        self.delivered: set[str] = set()

    def run(self, name: str, block: str, promise: Promise) -> None:
        output = sent(self.shell.run(block))
        shown = f"{name}: {output.status} {output.body.strip()}"
        require(output.status == promise.status, f"the answer is {promise.status}; {shown}")
        if promise.code is not None:
            require(json.loads(output.body)["code"] == promise.code, f"the code is {promise.code}; {shown}")
        if promise.body is not None:
            require(output.body == promise.body, f"the body is {promise.body}; {shown}")
        if name.endswith("-source"):
            self.kinds.add(json.loads(output.body)["kind"])
        webhooks = self.stage.receiver.take(len(promise.content_ids))
        contents = [webhook.content_id for webhook in webhooks]
        require(sorted(map(str, contents)) == sorted(promise.content_ids), f"{name} arrives as promised: {contents}")
        self.arrived += len(contents)
        self.stage.nothing_else(self.arrived)
        if contents:
            self.delivered.add(name)
        self.further(name, output)

    def further(self, name: str, output: Sent) -> None:
        """Promises of single blocks in words of their own."""
        if name == "orders-again":
            require(json.loads(output.body)["notifications"][0]["duplicate"], "the repetition is marked")
        if name in ("rotate", "rotate-at-once"):
            windows = json.loads(output.body)["secrets"]
            require(len(windows) == (2 if name == "rotate" else 1), f"the windows of {name}: {windows}")
        if name == "cloudevents-consent":
            require("webhook-allowed-origin: eventgrid.azure.net" in output.head, f"consent is given: {output.head}")
        if name == "cloudevents-batch":
            marks = [entry.get("duplicate", False) for entry in json.loads(output.body)["notifications"]]
            require(marks == [True, False], f"the first of the batch is marked: {marks}")
        if name == "trial":
            example = PAGE.read_text().split("<!-- check: trial -->")[1].split("```json\n")[1].split("```")[0]
            require(json.loads(output.body) == json.loads(example), f"the trial is as the page shows it: {output.body}")

    def require_encodings(self) -> None:
        """The table of encodings says what templates make of its samples."""
        table = PAGE.read_text().split("\n### Encoding\n")[1].split("\n\n|")[1].split("\n\n")[0]
        head, _, *rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.split("\n")]
        require(len(rows) == 3 and len(head) == 5, f"the table of encodings has its rows: {rows}")
        samples = [QUOTED.findall(cell)[0] for cell in head[2:]]
        for row in rows:
            hole = QUOTED.findall(row[0])[0]
            self.stage.daemon.put(
                "/v1/sources/encodings", {"kind": "push", "application": "com.example.Gallery", "contentId": hole})
            for sample, cell in zip(samples, row[2:], strict=True):
                answer = self.stage.daemon.call(
                    "POST", "/v1/sources/encodings/test", {"body": json.dumps({"x": sample})})
                content = answer.json["notifications"][0]["contentId"]
                require(content == QUOTED.findall(cell)[0], f"{hole} makes {cell} of {sample}, not {content}")

    def require_every_kind(self) -> None:
        """Every kind that the daemon has is set up on the page, and a sample of it arrives."""
        answer = self.stage.daemon.call(
            "PUT", "/v1/sources/none", {"kind": "no-such-kind", "application": "com.example.Gallery"})
        self.stage.is_refused("a source of an unknown kind", answer, 422, "unknown-kind")
        names = answer.json["detail"].rstrip(".").split("the kinds are: ")[1].split(", ")
        require(len(names) > 1, f"the message names the kinds: {answer.json['detail']}")
        for kind in names:
            require(kind in self.kinds, f"a block of docs/SOURCES.md puts a source of the kind {kind}")
            require(kind in self.delivered, f"the block {kind} of docs/SOURCES.md sends a sample that arrives")
            require(f"\n### {kind}\n" in PAGE.read_text(), f"docs/SOURCES.md has a part about {kind}")


def check(stage: Stage) -> int:
    text = PAGE.read_text()
    blocks = list(BLOCK.finditer(text))
    require(len(blocks) == text.count("```sh\n"), "every shell block of docs/SOURCES.md has a check")
    names = [block[1] for block in blocks]
    require(len(set(names)) == len(names), f"no check has two blocks: {names}")
    require(names[0] == "variables", "the variables come first")
    walk = Walk(stage)
    walk.shell.keep_values(blocks[0][2])
    for block in blocks[1:]:
        walk.run(block[1], block[2], promised(block[1], text[block.end():]))
        print(f"sources: page: {block[1]} holds")
    walk.require_encodings()
    walk.require_every_kind()
    print("sources: page: encodings and kinds hold")
    return len(blocks) + 2
