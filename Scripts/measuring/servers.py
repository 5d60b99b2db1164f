"""Servers on loopback that are measured, and calls to them."""

import contextlib
import http.client
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

TICK = os.sysconf("SC_CLK_TCK")
# A daemon that reads a million sessions takes a while.
START_SECONDS = 120


class Server:
    """A child process that says where it listens."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log
        self.process = subprocess.Popen(command, stderr=log.open("w"), stdout=subprocess.DEVNULL)
        self.url = self._wait_for_url()
        self.netloc = urlsplit(self.url).netloc

    def _wait_for_url(self) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(r"listening on (http://\S+)", self.log.read_text()):
                return found[1]
            time.sleep(0.02)
        raise SystemExit(f"a server did not start:\n{self.log.read_text()}")

    def processor_microseconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK * 1e6

    def resident_mib(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def wake_ups(self) -> dict[str, int]:
        """By thread, how often it has waited for something and gone on."""
        found = {}
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            status = (task / "status").read_text()
            found[task.name] = int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", status)[1])
        return found

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


@contextlib.contextmanager
def server(command: list[str], log: Path) -> Iterator[Server]:
    running = Server(command, log)
    try:
        yield running
    finally:
        running.stop()


def call(netloc: str, method: str, path: str, body: bytes = b"") -> dict:
    connection = http.client.HTTPConnection(netloc, timeout=30)
    connection.request(method, path, body)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {answer.status} {data.decode()}")
    return json.loads(data) if data else {}
