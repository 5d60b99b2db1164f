"""A program in a pseudo-terminal, as a person runs it."""
import os
import pty
import signal
import threading
import time
from pathlib import Path

from walkthrough import SECONDS, Failure


class Terminal:
    """A program in a pseudo-terminal, and all that it has written."""

    def __init__(self, command: list[str], folder: Path, variables: dict[str, str]) -> None:
        self.written = ""
        self.lines = threading.Condition()
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, variables)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        while True:
            try:
                data = os.read(self.descriptor, 65536)
            except OSError:
                data = b""
            with self.lines:
                self.written += data.decode(errors="replace")
                self.lines.notify_all()
            if not data:
                return

    def wait_for(self, text: str, count: int = 1, seconds: float = SECONDS) -> None:
        end = time.monotonic() + seconds
        with self.lines:
            while self.written.count(text) < count:
                if not self.lines.wait(max(end - time.monotonic(), 0)):
                    raise Failure(f"'{text}' was not written within {seconds} s; written was:\n{self.written[-2000:]}")

    def stop(self) -> None:
        """The effect of Ctrl-C: the terminal's foreground programs are interrupted."""
        if self.pid:
            os.write(self.descriptor, b"\x03")
            self.wait_for_end()

    def kill(self) -> None:
        """The effect of `kill -9` of the program: of the last descendant, where the program has started others."""
        pid = self.pid
        while children := children_of(pid):
            pid = children[0]
        os.kill(pid, signal.SIGKILL)
        self.wait_for_end()

    def wait_for_end(self) -> None:
        end = time.monotonic() + SECONDS
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                break
            time.sleep(0.05)
        self.pid = 0


def children_of(parent: int) -> list[int]:
    """The processes that a process has started."""
    children = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name, in parentheses, may hold blanks.
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            children.append(int(entry.parent.name))
    return children


def end_children_at_termination() -> None:
    """At SIGTERM and SIGHUP the script leaves by its `finally` blocks, which stop its programs."""
    def leave(number: int, _: object) -> None:
        for other in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
