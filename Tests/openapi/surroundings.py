"""The surroundings of a daemon under test: a receiver of webhooks, a configuration, and the Python of the checks."""
import fcntl
import hashlib
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A key for everything.
KEY = "rk_of_the_checks_of_operations"
ENVIRONMENT = ROOT / ".build/pairs-venv"
LIBRARY = "cryptography>=43"


def enter_environment() -> None:
    """Starts this script again in the virtual environment, which the first check makes."""
    if ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix):
        return
    ENVIRONMENT.parent.mkdir(parents=True, exist_ok=True)
    with ENVIRONMENT.with_suffix(".lock").open("w") as lock:
        # Two checks may begin at a time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (ENVIRONMENT / "made").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
            subprocess.run([ENVIRONMENT / "bin/python", "-m", "pip", "install", "--quiet", LIBRARY], check=True)
            (ENVIRONMENT / "made").touch()
    os.execv(ENVIRONMENT / "bin/python", [ENVIRONMENT / "bin/python", *sys.argv])


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes every webhook; those to /bad are answered 500, those to /refused 400. The rule at /rule has no verdict."""

    protocol_version = "HTTP/1.1"
    # An answer is one packet: a head apart from its body waits 40 ms for an acknowledgement.
    wbufsize = -1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        self.send_response({"/bad": 500, "/refused": 400}.get(self.path, 200))
        answer = b""
        if self.path == "/rule":
            answer = json.dumps({"type": "verdicts", "id": json.loads(body)["id"], "verdicts": []}).encode()
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def receive() -> str:
    """Starts a receiver, which ends with this process; its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def configuration(receiver: str) -> dict:
    """A key for everything, a grant for the receiver, cheap hashes of passcodes, and a rule behind a URL."""
    return {
        "apiKeys": [{"name": "check", "sha256": digest(KEY), "scopes": ["admin"]}],
        "egress": {"grants": [{"network": "127.0.0.0/8"}]},
        "passcodes": {"logRounds": 10},
        # A server in Python may answer after the 100 ms of a rule by default while other programs have the processors.
        "rules": [
            {"id": "routerd.rule.http", "plugin": "com.example.far", "url": f"{receiver}/rule", "timeoutMilliseconds": 10_000}],
    }


def temporary_folder(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A folder in memory, where there is one, so that no disk is measured."""
    shared_memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(prefix=prefix, dir=shared_memory if shared_memory.is_dir() else None)
