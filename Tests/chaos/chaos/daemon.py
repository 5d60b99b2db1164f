"""The daemon as a child process: started, killed and started again on its database."""

import http.client
import os
import resource
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from chaos import clock
from chaos.history import Life
from chaos.ledger import Ledger

ANNOUNCEMENT = b"listening on http://"
START_SECONDS = 60.0
DRAIN_SECONDS = 60.0
READY_SECONDS = 5.0


class Daemon:
    """`routerd serve` on a free port of loopback, in all its lives.

    Under a wrapper such as strace both are one process group, so that they end together.
    """

    def __init__(self, binary: Path, folder: Path, ledger: Ledger, settings: Sequence[str] = ()) -> None:
        self.binary = binary
        self.folder = folder
        self.database = folder / "chaos.sqlite"
        self.log = folder / "daemon.log"
        self.configuration = folder / "routerd.yaml"
        self.configuration.write_text("\n".join(["log:", "  level: error", *settings, ""]))
        self.lives: list[Life] = []
        self.address = ""
        self.process: subprocess.Popen[bytes] | None = None
        self._ledger = ledger

    def start(self, wrapper: Sequence[str] = (), files: int | None = None) -> bool:
        """Starts it; false if it ended before it listened, as it may under injected faults.

        `files` limits how many descriptors it may have.
        """
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ROUTERD_")}
        command = [*wrapper, str(self.binary), "serve", "--listen", "127.0.0.1:0", "--database", str(self.database),
                   "--config", str(self.configuration)]

        def limit() -> None:
            if files is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        with self.log.open("ab") as log:
            said_before = self.log.stat().st_size
            # All arrivals from now on come from this life: nothing of an earlier one is left (see `bury`).
            self._ledger.life = len(self.lives)
            life = Life(ready_at=clock.now())
            self.lives.append(life)
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True,
                preexec_fn=limit)
        self.address = clock.wait_until(lambda: self._announced(said_before), "the daemon listens", START_SECONDS)
        if not self.is_running():
            self._ended(killed=True)
            return False
        clock.wait_until(lambda: not self._is_recovering(), "the daemon has read its database", START_SECONDS)
        life.ready_at = clock.now()
        return True

    def _is_recovering(self) -> bool:
        """Whether it still reads its database: until then it listens, and refuses everything but health checks."""
        connection = http.client.HTTPConnection(self.address, timeout=READY_SECONDS)
        try:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            return response.status == 503 and b'"recovering"' in response.read()
        except (OSError, http.client.HTTPException):
            # It has ended, or injected faults keep it from answering; the scenario finds out.
            return False
        finally:
            connection.close()

    def _announced(self, said_before: int) -> str | None:
        """Where it listens; something else if it never will."""
        with self.log.open("rb") as log:
            log.seek(said_before)
            lines = log.read().splitlines(keepends=True)
        for line in lines:
            if line.startswith(ANNOUNCEMENT) and line.endswith(b"\n"):
                return line.removeprefix(ANNOUNCEMENT).decode().rstrip()
        return None if self.is_running() else "nowhere"

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL to the whole group: no goodbye, nothing flushed."""
        if self.process is None:
            return
        self._signal(signal.SIGKILL)
        self.process.wait()
        self._ended(killed=True)

    def freeze(self) -> None:
        """SIGSTOP; returns when no thread of it runs any more. A thread that waits for the disk does not return."""
        self._signal(signal.SIGSTOP)
        clock.wait_until(self._stands_still, "the daemon stands still", 10)

    def _stands_still(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            return True
        states = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                states.append((task / "stat").read_text().rsplit(")", 1)[1].split()[0])
            except OSError:  # The thread has just ended.
                pass
        return all(state in "TtDZX" for state in states)

    def terminate(self) -> int:
        """SIGTERM, and its exit status when it has drained."""
        if self.process is None:
            raise clock.Failure("the daemon does not run")
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=DRAIN_SECONDS)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise clock.Failure(f"SIGTERM did not end the daemon in {DRAIN_SECONDS:.0f} s") from error
        self._ended(killed=False)
        return status

    def close(self) -> None:
        """At the end of a scenario, however it ended."""
        if self.process is not None:
            self.kill()

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass

    def _ended(self, killed: bool) -> None:
        self.process = None
        self.lives[-1].ended_at = clock.now()
        self.lives[-1].was_killed = killed

    def log_tail(self, lines: int = 15) -> list[str]:
        """The last that it said, without the hints for people at a terminal."""
        said = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return [line for line in said if line and not line.startswith(("try it", "  "))][-lines:]
