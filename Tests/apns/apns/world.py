"""Keys, certificates and processes of a run."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Callable, TypeVar

TEAM, KEY, LIMITED_KEY = "TEAM123456", "KEY1234567", "KEY7654321"
TOPIC, OTHER_TOPIC = "com.example.Gallery", "com.example.Mail"
Seen = TypeVar("Seen")


class Child:
    """A process with the files of its output."""

    def __init__(self, name: str, command: list[str], folder: Path) -> None:
        self.name = name
        self.out, self.log = folder / f"{name}.out", folder / f"{name}.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ROUTERD_")}
        with self.out.open("wb") as out, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=environment, cwd=folder)

    def announced(self, beginning: str) -> str:
        """The rest of the first line of the log that begins so; waits for it."""
        def look() -> str | None:
            for line in self.log.read_text().splitlines(keepends=True):
                if line.startswith(beginning) and line.endswith("\n"):
                    return line.removeprefix(beginning).rstrip()
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended: {self.log.read_text()}")
            return None
        return until(look, f"{self.name} says {beginning}")

    def lines(self) -> list[dict]:
        """Its output as JSON lines; an unfinished line is left out."""
        return [json.loads(line) for line in self.out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def stop(self, seconds: float = 30) -> int:
        """Tells it to end; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def until(look: Callable[[], Seen | None], what: str, seconds: float = 60) -> Seen:
    """Looks until there is something to see."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if seen := look():
            return seen
        time.sleep(0.02)
    raise TimeoutError(f"not within {seconds} s: {what}")


class World:
    """A folder with keys and certificates, and the processes that were started; all of them end with it."""

    def __init__(self, routerd: Path, folder: Path) -> None:
        self.routerd, self.folder = str(routerd), folder
        self.children: list[Child] = []
        self.api = ""
        self.cleartext = ""
        self.port = 0
        self.daemon: Child
        self.receiver: Child

    def __enter__(self) -> "World":
        for name in ("provider", "limited", "stranger"):
            self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                          "-out", f"{name}.p8")
            self._openssl("pkey", "-in", f"{name}.p8", "-pubout", "-out", f"{name}.pub")
        self._openssl("req", "-x509", *self._new_key("ca"), "-days", "2", "-subj", "/CN=Test authority", "-out", "ca.pem")
        self._certificate("server", "/CN=127.0.0.1", "subjectAltName=IP:127.0.0.1")
        self._certificate("client", f"/CN=Apple Push Services: {TOPIC}/UID={TOPIC}", "extendedKeyUsage=clientAuth")
        bundle = self.path("client.pem").read_text() + self.path("client-key.pem").read_text()
        self.path("client-bundle.pem").write_text(bundle)
        return self

    def __exit__(self, *_: object) -> None:
        for child in reversed(self.children):
            child.stop()

    def path(self, name: str) -> Path:
        return self.folder / name

    def start(self, name: str, *arguments: str) -> Child:
        child = Child(name, [self.routerd, *arguments], self.folder)
        self.children.append(child)
        return child

    def call(self, method: str, path: str, body: dict | None = None) -> dict:
        """Calls the daemon's API."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.api + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def curl(self, url: str, *arguments: str, token: str | None = None) -> tuple[int, dict[str, str], str]:
        """Status, headers and body of an answer."""
        credentials = ["-H", f"authorization: bearer {token}"] if token else []
        done = subprocess.run(
            ["curl", "-sS", "-i", "--max-time", "30", *credentials, *arguments, url], capture_output=True, text=True,
            check=True)
        head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
        first, *fields = head.split("\n")
        return int(first.split()[1]), dict(field.split(": ", 1) for field in fields), body

    def _certificate(self, name: str, subject: str, extension: str) -> None:
        self._openssl("req", "-x509", *self._new_key(name), "-days", "2", "-subj", subject, "-addext", extension,
                      "-addext", "basicConstraints=critical,CA:FALSE", "-CA", "ca.pem", "-CAkey", "ca-key.pem",
                      "-out", f"{name}.pem")

    @staticmethod
    def _new_key(name: str) -> list[str]:
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-batch", "-keyout", f"{name}-key.pem"]

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
