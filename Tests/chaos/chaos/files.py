"""All file descriptors are taken by clients that say nothing; then they go away."""

import os
import signal
import socket
import time
from collections.abc import Iterator

from chaos import clock
from chaos.client import API
from chaos.crowd import Crowd, balance
from chaos.daemon import Daemon
from chaos.options import Options, Result
from chaos.verdict import explained_repetitions

# What the daemon needs for itself, its webhooks and the load, and not much more.
DESCRIPTORS = 160
SLOTS = 32
IDLE_CLIENTS = 300
SECONDS = 2.0


def scenario(options: Options) -> Iterator[Result]:
    with options.stage() as stage:
        daemon = stage.daemon("delivery:", f"  slots: {SLOTS}")
        daemon.start(files=DESCRIPTORS)
        crowd = Crowd(stage, daemon, options.seed)
        crowd.load.start()
        faults, most = [], 0
        for _ in range(options.cycles):
            time.sleep(0.3)
            idle = crowd_in(daemon.address)
            time.sleep(SECONDS)
            if daemon.is_running():
                most = max(most, open_files(daemon))
            for each in idle:
                each.close()
            if not daemon.is_running():
                # What it had accepted must not be lost all the same.
                faults.append(f"the daemon did not survive it: {status_of(daemon)}")
                daemon.kill()
                stage.zoo.bury()
                daemon.start(files=DESCRIPTORS)
            clock.wait_until(lambda: API(daemon).answers("/healthz") == 200, "the daemon answers again", 30)
        crowd.settle()
        history = crowd.history()
        faults += balance(history, stage.ledger.distinct_taken())
        if most < DESCRIPTORS - 1:
            faults.append(f"it never had more than {most} descriptors of {DESCRIPTORS}: they were never exhausted")
        yield Result("file descriptors", history, faults, {
            "times": options.cycles, "descriptors": DESCRIPTORS, "in use at most": most,
            "idle clients": IDLE_CLIENTS, "accepted": history.books.accepted,
            "delivered": history.books.by_state["delivered"], "repeated": explained_repetitions(history)})


def status_of(daemon: Daemon) -> str:
    """How it ended."""
    code = daemon.process.returncode if daemon.process else None
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"


def open_files(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd")) if daemon.process else 0


def crowd_in(address: str) -> list[socket.socket]:
    """Clients that connect and say nothing, more than there is room for."""
    host, _, port = address.partition(":")
    found = []
    for _ in range(IDLE_CLIENTS):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex((host, int(port)))
        found.append(client)
    return found
