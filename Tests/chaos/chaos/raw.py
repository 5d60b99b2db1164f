"""Bytes that no client library sends, and the answers to them: `corpus.py` is the table."""

import json
import re
import socket
from collections.abc import Iterator

from chaos import clock
from chaos.client import API
from chaos.corpus import CORPUS, Raw
from chaos.daemon import Daemon
from chaos.options import Options, Result

# Answers come at once; a request that is waited for longer has not been understood as one.
ANSWER_SECONDS = 5.0
AT_ONCE_SECONDS = 4.0


def answers_in(data: bytes) -> list[str]:
    """The answers on a connection, each as its status, and its code if it has one; interim ones too."""
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        status = re.match(rb"HTTP/1\.[01] (\d{3}) ", head)
        if status is None:
            return [*found, f"no HTTP: {data[:40]!r}"]
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        body, data = rest[:int(length[1])] if length else b"", rest[int(length[1]):] if length else rest
        code = ""
        if b"problem+json" in head:
            code = " " + str(json.loads(body or b"{}").get("code"))
        found.append(status[1].decode() + code)
    return found


def exchange(daemon: Daemon, data: bytes) -> tuple[list[str], bool]:
    """The answers to these bytes, and whether the daemon has closed the connection behind them."""
    host, _, port = daemon.address.rpartition(":")
    got = b""
    with socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS) as connection:
        try:
            connection.sendall(data)
            while piece := connection.recv(65_536):
                got += piece
        except TimeoutError:
            return answers_in(got), False
        except OSError:
            # Reset, because not all that was sent has been read.
            pass
    return answers_in(got), True


def judged(row: Raw, answers: list[str], is_closed: bool) -> str | None:
    """The faults of the answers to a row. Pure."""
    if answers != list(row.answers):
        return f"{row.name}: {', '.join(answers) or 'no answer'}; not {', '.join(row.answers)}"
    return None if is_closed else f"{row.name}: answered, and the connection stays open"


def scenario(options: Options) -> Iterator[Result]:
    rows = [each for each in CORPUS if not (each.is_open and options.without_open)]
    with options.stage() as stage:
        daemon = stage.daemon()
        daemon.start()
        api = API(daemon)
        api.put_application("com.example.Raw", timeoutSeconds=1)
        faults: list[str] = []
        known: list[str] = []
        began = clock.now()
        for row in rows:
            if told := judged(row, *exchange(daemon, row.data)):
                (known if row.is_open else faults).append(told)
        if not daemon.is_running() or api.answers("/healthz") != 200:
            faults.append("the daemon does not answer any more")
        api.close()
        yield Result("raw", None, faults, {
            "rows": len(rows), "of them left out": len(CORPUS) - len(rows), "s": f"{clock.now() - began:.1f}"}, known)
