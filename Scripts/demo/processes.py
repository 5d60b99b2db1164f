"""The child processes: the daemon and its receivers, all of them on loopback."""

import base64
import json
import os
import secrets
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from demo.patience import Failure, Patience

ANNOUNCEMENT = "listening on http://"


class Child:
    """A process that listens, and says where on its standard error.

    It may be started again after it ended; its output goes on in the same files.
    """

    def __init__(self, name: str, binary: Path, folder: Path, patience: Patience) -> None:
        self.name = name
        self.binary = binary
        self.patience = patience
        self.output = folder / f"{name}.out"
        self.log = folder / f"{name}.log"
        self.address = ""
        self.process: subprocess.Popen[bytes] | None = None

    def arguments(self) -> list[str]:
        """What it is started with."""
        raise NotImplementedError

    def start(self) -> None:
        """Starts it and waits until it listens."""
        # In a session of its own, a Ctrl-C at the terminal reaches the demo alone, which then ends its children itself.
        # Variables such as ROUTERD_LISTEN would change what is shown.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ROUTERD_")}
        with self.output.open("ab") as output, self.log.open("ab") as log:
            said_before = self.log.stat().st_size
            self.process = subprocess.Popen(
                [self.binary, *self.arguments()], stdin=subprocess.DEVNULL, stdout=output, stderr=log,
                env=environment, start_new_session=True)
        self.address = self.patience.until(lambda: self._announced(said_before), f"{self.name} listens")

    def _announced(self, said_before: int) -> str | None:
        with self.log.open("rb") as log:
            log.seek(said_before)
            lines = log.read().decode(errors="replace").splitlines(keepends=True)
        for line in lines:
            if line.startswith(ANNOUNCEMENT) and line.endswith("\n"):
                return line.removeprefix(ANNOUNCEMENT).rstrip()
        if self.process is not None and self.process.poll() is not None:
            raise Failure(f"{self.name} ended at once: {''.join(lines).strip() or 'it said nothing'}")
        return None

    def stop(self) -> None:
        """Asks it to end, and makes it end if it does not."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.process = None

    def kill(self) -> None:
        """SIGKILL: no goodbye, nothing flushed."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """The process stands still; its connections stay open, and nothing is answered."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets a frozen process go on."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)


class Daemon(Child):
    """`routerd serve` on a free port, always with the same database."""

    def __init__(self, binary: Path, folder: Path, patience: Patience) -> None:
        super().__init__("daemon", binary, folder, patience)
        self.database = folder / "gallery.sqlite"

    def arguments(self) -> list[str]:
        return ["serve", "--listen", "127.0.0.1:0", "--database", str(self.database)]

    def log_tail(self, lines: int = 15) -> list[str]:
        """The last that it said."""
        return self.log.read_text(errors="replace").splitlines()[-lines:] if self.log.exists() else []


@dataclass(frozen=True)
class Arrival:
    """A webhook as a receiver printed it."""

    webhook_id: str
    type: str
    signature: str
    body: bytes

    def carries(self, payload: bytes) -> bool:
        """Whether the payload is in the body, byte for byte."""
        return b'"payload":' + payload in self.body

    @property
    def data(self) -> dict:
        """What the webhook tells."""
        return json.loads(self.body)["data"]


class Receiver(Child):
    """`routerd receive` in the place of one scene, with a secret of its own."""

    def __init__(self, scene: str, binary: Path, folder: Path, patience: Patience) -> None:
        super().__init__(scene, binary, folder, patience)
        self.secret = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
        self._arrivals: list[Arrival] = []
        self._read = 0

    def arguments(self) -> list[str]:
        # The first time any free port will do; after that it must be the one that the session names.
        listen = self.address or "127.0.0.1:0"
        return ["receive", "--json", "--secret", self.secret, "--listen", listen]

    def arrivals(self) -> list[Arrival]:
        """All that came in so far, over all its lives."""
        with self.output.open("rb") as output:
            output.seek(self._read)
            fresh = output.read()
        complete = fresh[: fresh.rfind(b"\n") + 1]
        self._read += len(complete)
        for line in complete.splitlines():
            said = json.loads(line)
            self._arrivals.append(
                Arrival(said["webhookId"], said["type"], said["signature"], said["body"].encode()))
        return list(self._arrivals)
