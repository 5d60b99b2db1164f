"""A receiver that is not the bottleneck: nginx, which answers every request with 200."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 10000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ return 200; }}
    }}
}}
"""


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(process: subprocess.Popen, port: int, log: Path, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise SystemExit(f"a server did not start:\n{log.read_text() if log.exists() else ''}")


@contextlib.contextmanager
def nginx(folder: Path) -> Iterator[str]:
    """Runs nginx and gives the URL of its root."""
    port = unused_port()
    settings = folder / "nginx.conf"
    settings.write_text(CONFIGURATION.format(folder=folder, port=port))
    log = folder / "nginx.log"
    process = subprocess.Popen(["nginx", "-e", str(log), "-c", str(settings)], stderr=subprocess.DEVNULL)
    try:
        wait_for_port(process, port, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)
