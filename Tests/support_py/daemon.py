"""`routerd serve` under test, and a client of its API."""
import http.client
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

from walkthrough import Failure, require

START_SECONDS = 60
STOP_SECONDS = 60


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Daemon:
    """`routerd serve` on an address of loopback, with a database of its own and, unless given, no configuration file.

    The port 0 asks the system for a free one; `listen` has it once the daemon has started.
    """

    def __init__(
        self, binary: Path, folder: Path, listen: str = "127.0.0.1:8080", config: Path | None = None
    ) -> None:
        self.binary, self.folder, self.listen = binary, folder, listen
        self.options = [] if config is None else ["--config", str(config)]
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Daemon":
        variables = {key: value for key, value in os.environ.items() if not key.startswith("ROUTERD_")}
        log = self.folder / "daemon.log"
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    self.binary, "serve", "--listen", self.listen, "--database", self.folder / "routerd.sqlite",
                    *self.options,
                ],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=variables, cwd=self.folder)
        end = time.monotonic() + START_SECONDS
        while (found := re.search(rb"\nlistening on http://(\S+)\n", log.read_bytes())) is None:
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise Failure(f"the daemon does not listen:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)
        self.listen = found[1].decode()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def call(
        self, method: str, path: str, body: bytes | dict[str, Any] | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """A request of its own connection; an object is sent as JSON."""
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        connection = http.client.HTTPConnection(self.listen, timeout=60)
        try:
            connection.request(method, path, content, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def put(self, path: str, body: dict[str, Any]) -> Answer:
        """A PUT that must be taken."""
        answer = self.call("PUT", path, body)
        require(answer.status in (200, 201), f"PUT {path} is taken: {answer.status} {answer.body.decode()}")
        return answer

    def notifications(self) -> int:
        """The number of notifications that the daemon has ever accepted."""
        return int(self.call("GET", "/v1/status").json["notifications"]["accepted"])
