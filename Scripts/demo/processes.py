"""The child processes: the daemon and its receivers, all of them on loopback."""

import base64
import errno
import json
import os
import secrets
import signal
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from demo.patience import Failure, Patience

ANNOUNCEMENT = "listening on http://"


class Child:
    """A process that listens and prints its address on standard error.

    A child that ended may be started again; its output goes on in the same files.
    """

    def __init__(self, name: str, binary: Path, folder: Path, patience: Patience) -> None:
        self.name = name
        self.binary = binary
        self.patience = patience
        self.output = folder / f"{name}.out"
        self.log = folder / f"{name}.log"
        self.address = ""
        # The address that the next start must have, if there is one.
        self.fixed = ""
        self.process: subprocess.Popen[bytes] | None = None

    def arguments(self) -> list[str]:
        """Arguments of the command line."""
        raise NotImplementedError

    def start(self) -> None:
        """Starts the process and waits until it listens."""
        if self.fixed and (reason := why_unusable(self.fixed)):
            raise Failure(f"{self.name} cannot listen at {self.fixed}: {reason}")
        # In a session of its own, a Ctrl-C at the terminal reaches the demo alone, which then ends its children itself.
        # Variables such as ROUTERD_LISTEN would change the results.
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
            words = "".join(lines).strip() or "nothing"
            raise Failure(f"{self.name} ended before it listened ({self.ending()}); it printed: {words}")
        return None

    def stop(self) -> None:
        """Sends SIGTERM, and SIGKILL if the process has not ended after three seconds."""
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

    def has_ended(self) -> bool:
        """Whether the process ended by itself."""
        return self.process is not None and self.process.poll() is not None

    def ending(self) -> str:
        """The exit status of a process that ended, or the signal that ended it."""
        status = self.process.returncode if self.process else None
        return f"by {signal.Signals(-status).name}" if status is not None and status < 0 else f"exit status {status}"

    def kill(self) -> None:
        """Sends SIGKILL: the process can flush nothing and close nothing."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """Stops the process where it is: connections stay open, and requests get no answer."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets a frozen process go on."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)


class Daemon(Child):
    """`routerd serve`, in each of its lives with the same database.

    Without a port of its own, each start takes any free one.
    """

    def __init__(self, binary: Path, folder: Path, patience: Patience, port: int = 0) -> None:
        super().__init__("daemon", binary, folder, patience)
        self.fixed = f"127.0.0.1:{port}" if port else ""
        self.database = folder / "gallery.sqlite"

    def arguments(self) -> list[str]:
        return ["serve", "--listen", self.fixed or "127.0.0.1:0", "--database", str(self.database)]

    def log_tail(self, lines: int = 15) -> list[str]:
        """The last lines of its log."""
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
        """The webhook's `data`."""
        return json.loads(self.body)["data"]

    @property
    def accepted_at(self) -> str:
        """The time of acceptance, in a form that sorts."""
        return json.loads(self.body)["timestamp"]


class Receiver(Child):
    """`routerd receive` in the place of one scene, with a secret of its own.

    The first start takes any free port; later ones take the same port again, for the session names it.
    """

    def __init__(self, scene: str, binary: Path, folder: Path, patience: Patience) -> None:
        super().__init__(scene, binary, folder, patience)
        self.secret = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
        self._arrivals: list[Arrival] = []
        self._read = 0

    def arguments(self) -> list[str]:
        return ["receive", "--json", "--secret", self.secret, "--listen", self.fixed or "127.0.0.1:0"]

    def start(self) -> None:
        super().start()
        self.fixed = self.address

    def arrivals(self) -> list[Arrival]:
        """All webhooks so far, over all lives of the receiver."""
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


def why_unusable(address: str) -> str:
    """The reason why no process could listen at an address of this machine now; empty if one could."""
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # As the daemon does, for old connections.
        try:
            probe.bind((host, int(port)))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return "another program uses this port"
            return error.strerror or str(error)
    return ""
