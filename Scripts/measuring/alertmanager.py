"""Alertmanager as a yardstick: every alert is a group of its own and goes to the same receiver."""

import contextlib
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from measuring.load import wrk
from measuring.receiver import unused_port, wait_for_port
from measuring.servers import Server

PROGRAM = "prometheus-alertmanager"
# Alerts are grouped by all labels and sent at once; the interval must be positive.
CONFIGURATION = """
route:
  receiver: hook
  group_by: ["..."]
  group_wait: 0s
  group_interval: 1h
  repeat_interval: 24h
receivers:
  - name: hook
    webhook_configs:
      - url: {receiver}/alerts
        send_resolved: false
"""
# 1 KiB, as the notification of `load.PAYLOAD`; the label makes every alert another one.
REQUEST = """local number = 0
request = function()
  number = number + 1
  return wrk.format(nil, nil, nil, '[{"labels": {"alertname": "photo", "number": "' .. number
    .. '"}, "annotations": {"summary": "%s"}}]')
end
"""


class Alertmanager(Server):
    """A running Alertmanager."""

    def __init__(self, folder: Path, receiver: str) -> None:
        settings = folder / "alertmanager.yml"
        settings.write_text(CONFIGURATION.format(receiver=receiver))
        self.port = unused_port()
        self.log = folder / "alertmanager.log"
        self.process = subprocess.Popen(
            [PROGRAM, f"--config.file={settings}", f"--storage.path={folder / 'alertmanager'}",
             f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address=", "--log.level=error"],
            stdout=subprocess.DEVNULL, stderr=self.log.open("w"))
        try:
            wait_for_port(self.process, self.port, self.log)
        except BaseException:
            self.process.kill()
            raise
        self.url, self.netloc = f"http://127.0.0.1:{self.port}", f"127.0.0.1:{self.port}"

    def sent(self) -> int:
        """How many webhooks it has sent."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=60) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith('alertmanager_notifications_total{integration="webhook"}'):
                    return int(float(line.split()[-1]))
        return 0


@contextlib.contextmanager
def alertmanager(folder: Path, receiver: str) -> Iterator[Alertmanager]:
    running = Alertmanager(folder, receiver)
    try:
        yield running
    finally:
        running.stop()


def post_alerts(running: Alertmanager, connections: int, seconds: int, folder: Path) -> dict[str, float]:
    """Posts alerts and waits until a webhook was sent for each."""
    result = wrk(
        running.netloc, "/api/v2/alerts", connections, seconds, folder, request=REQUEST % ("a word or two " * 65))
    deadline = time.monotonic() + 300
    while (sent := running.sent()) < result["requests"]:
        if time.monotonic() > deadline:
            raise SystemExit(f"Alertmanager sent {sent} of {result['requests']:.0f} webhooks")
        time.sleep(0.5)
    return result
