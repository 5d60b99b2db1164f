"""Documents whose commands a test runs: the marked blocks, and the shell that runs them.

A block of a document follows a comment that names its check:

    <!-- check: seven -->
    ```sh
    curl -s …
    ```

A block that no test can play follows a comment with the reason: `<!-- not played: needs a second machine -->`.
"""
import ctypes
import fcntl
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"<!-- check: ([a-z0-9-]+) -->\n```sh\n(.*?)```", re.S)
EXCUSED = re.compile(r"<!-- not played: \S.*? -->\n```sh\n")
# Seconds that a command of a document may take.
SECONDS = 60
CLONE_NEW_NETWORK = 0x40000000


class Failure(Exception):
    """A promise of a document that did not hold."""


def require(holds: bool, promise: str) -> None:
    if not holds:
        raise Failure(promise)


def enter_namespace(test: str, ports: str) -> None:
    """Moves this process to a network namespace with a loopback interface and nothing else.

    `test` and `ports` name the test and the ports that it needs, for the message where the system refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEW_NETWORK) != 0:
        print(f"{test}: no network namespace here; {ports} must be free", file=sys.stderr)
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        up = struct.pack("16sh", b"lo", 0x1)
        fcntl.ioctl(probe, 0x8914, up + bytes(24 - len(up)))  # SIOCSIFFLAGS, IFF_UP


class Shell:
    """A shell that runs block after block, as one terminal of a document."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder, self.variables, self.setup = folder, variables, ""

    def run(self, block: str, keeps: bool = False) -> str:
        """The output of a block; with `keeps` its commands run again before each block after it."""
        script = f"set -e -o pipefail\n{self.setup}\n{block}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.variables, capture_output=True, text=True,
            timeout=SECONDS, check=False)
        require(done.returncode == 0, f"the command ends with {done.returncode}: {block}\n{done.stdout}{done.stderr}")
        if keeps:
            self.setup += block + "\n"
        return done.stdout

    def keep_values(self, block: str) -> None:
        """Runs a block of assignments once and keeps the values, those of random generators included."""
        names = re.findall(r"^(\w+)=", block, re.M)
        self.setup += self.run(f"{block}\ndeclare -p {' '.join(names)}")
