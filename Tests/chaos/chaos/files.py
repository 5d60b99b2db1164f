"""Descriptors run short: clients take all connections that the daemon grants, in vain or not; and then there really are
none left.

Then libdispatch may end the daemon, which is known and open (docs/CHAOS.md). That it was libdispatch is not taken on
trust: strace has to have seen that the thread which ended by SIGILL had been refused a look at `/proc/TID/stat`. Any other
end, and any end where strace may not trace, is a fault like any other.
"""

import http.client
import os
import re
import resource
import shutil
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from chaos import clock
from chaos.behaviours import TAKES
from chaos.client import API
from chaos.crowd import Crowd, balance
from chaos.daemon import Daemon
from chaos.history import History
from chaos.options import Options, Result, Stage
from chaos.sweep import may_trace
from chaos.verdict import repetitions_after_kills

# Descriptors of the daemon itself, its webhooks and the load, and not many more.
DESCRIPTORS = 160
SLOTS = 32
# A common limit of systems; the slots are then those that a daemon has by default.
USUAL_DESCRIPTORS = 1024
# More endpoints than the connections to endpoints that a daemon with default slots keeps.
ENDPOINTS = 600
IDLE_CLIENTS = 300
KEPT_CLIENTS = 4
# For clients, endpoints and their connections, which are all in this process.
OUR_DESCRIPTORS = 4096
SECONDS = 2.0
# For how long a client that is one too many may stay, and some more.
REFUSAL_SECONDS = 15.0
# The refusal of a file that libdispatch opens once a second, and needs.
MONITOR = re.compile(r'open(at)?\(.*"/proc/\d+/stat", O_RDONLY\|O_NONBLOCK\) = -1 EMFILE ')


def scenario(options: Options) -> Iterator[Result]:
    need_files(OUR_DESCRIPTORS)
    yield all_connections(options, "connections", DESCRIPTORS, IDLE_CLIENTS, 0)
    yield all_connections(options, "connections beside many endpoints", USUAL_DESCRIPTORS, USUAL_DESCRIPTORS, ENDPOINTS)
    yield no_descriptor(options)


def all_connections(options: Options, label: str, descriptors: int, clients: int, endpoints: int) -> Result:
    """Idle clients take all that is granted; further ones are refused, and other clients do not notice."""
    with options.stage() as stage:
        settings = () if endpoints else ("delivery:", f"  slots: {SLOTS}")
        daemon = stage.daemon(*settings)
        daemon.start(files=descriptors)
        crowd = Crowd(stage, daemon, options.seed)
        visit(stage, daemon, crowd, endpoints)
        crowd.load.start()
        faults: list[str] = []
        most, granted = 0, 0
        for _ in range(options.cycles):
            kept = [API(daemon) for _ in range(KEPT_CLIENTS)]
            faults += unanswered(kept, "before")
            idle = crowd_in(daemon.address, clients)
            faults += refused_cleanly(daemon)
            faults += unanswered(kept, "while all connections are taken")
            most = max(most, open_files(daemon))
            granted = sum(is_open(each) for each in idle)
            if granted == len(idle):
                faults.append(f"all of {granted} idle clients were granted a connection")
            for each in (*idle, *kept):
                each.close()
            faults += ended(daemon)
            revive(stage, daemon, files=descriptors)
        return concluded(label, crowd, faults, {
            "times": options.cycles, "descriptors": descriptors, "in use at most": most, "idle clients": clients,
            "granted": granted, "other endpoints": endpoints})


def no_descriptor(options: Options) -> Result:
    """The limit is lowered to the number of open descriptors, and raised again."""
    with options.stage() as stage:
        daemon = stage.daemon("delivery:", f"  slots: {SLOTS}")
        trace = stage.folder / "trace"
        witness = watching(trace)
        daemon.start(witness)
        crowd = Crowd(stage, daemon, options.seed)
        crowd.load.start()
        faults: list[str] = []
        known: list[str] = []
        spent, measured, survived = 0.0, 0, 0
        for number in range(options.cycles):
            time.sleep(0.3)
            before = processor_seconds(daemon)
            # None beyond the open ones; every other time not even as many, as if others had been faster.
            limit_files(daemon, open_files(daemon) // (1 + number % 2))
            clients = crowd_in(daemon.address, KEPT_CLIENTS)
            time.sleep(SECONDS)
            if daemon.is_running():
                measured += 1
                spent += processor_seconds(daemon) - before
                limit_files(daemon, None)
            for each in clients:
                each.close()
            told = ended(daemon)
            survived += not told
            (known if told and is_by_libdispatch(trace) else faults).extend(told)
            revive(stage, daemon, witness)
        return concluded("no descriptor", crowd, faults, {
            "times": options.cycles, "survived": survived,
            "of a core meanwhile": f"{spent / SECONDS / measured:.0%}" if measured else "unknown"}, known)


def watching(trace: Path) -> list[str]:
    """Writes down which files the daemon could not open, and by which signal it ended, as the kernel saw it."""
    if shutil.which("strace") is None or not may_trace():
        return []
    # Detached: the daemon is our child, and not strace's.
    return ["strace", "-D", "-f", "-qq", "-Z", "--seccomp-bpf", "-e", "trace=open,openat", "-e", "signal=SIGILL",
            "-o", str(trace)]


def is_by_libdispatch(trace: Path) -> bool:
    """Whether it was libdispatch's look at its threads that ended the daemon."""
    if not trace.exists():
        return False

    def last_word() -> bool:
        return trace.read_text(errors="replace").endswith(" +++\n")

    # strace may still be writing.
    clock.wait_until(last_word, "strace has ended", 10)
    return is_monitor_to_blame(trace.read_text(errors="replace"))


def is_monitor_to_blame(trace: str) -> bool:
    """Whether the thread that was ended by SIGILL had just been refused a descriptor for a look at a thread's state."""
    last: dict[str, str] = {}
    for line in trace.splitlines():
        thread, _, what = line.partition(" ")
        what = what.strip()
        if what.startswith("--- SIGILL"):
            return MONITOR.match(last.get(thread, "")) is not None
        last[thread] = what
    return False


def need_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count:
        raise clock.Skipped(f"this process may not have {count} files open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))


def visit(stage: Stage, daemon: Daemon, crowd: Crowd, endpoints: int) -> None:
    """So many endpoints beside the crowd's get a notification each, and keep the connection."""
    api = API(daemon)
    for number in range(endpoints):
        lane = f"visited-{number}"
        api.put_session(lane, stage.zoo.house(lane, TAKES))
        submission = crowd.journal.open(lane, f"v-{number}")
        if not crowd.journal.submit(api, submission):
            raise clock.Failure(f"the notification for {lane} was not accepted")
    clock.wait_until(lambda: api.unsettled() == 0, "the endpoints have been visited", 60)
    api.close()


def unanswered(kept: list[API], when: str) -> list[str]:
    """Clients with a connection are answered on it."""
    silent = sum(api.answers("/readyz") != 200 for api in kept)
    return [f"{silent} of {len(kept)} clients with a connection were not answered {when}"] if silent else []


def refused_cleanly(daemon: Daemon) -> list[str]:
    """A client more is told so, and a health check is answered; it may have to come again until it is its turn."""
    ends, told, is_healthy = clock.now() + REFUSAL_SECONDS, "nothing", False
    while clock.now() < ends and daemon.is_running():
        is_healthy = is_healthy or API(daemon).answers("/healthz") == 200
        connection = http.client.HTTPConnection(daemon.address, timeout=REFUSAL_SECONDS)
        try:
            connection.request("GET", "/v1/status")
            answer = connection.getresponse()
            answer.read()
            told = f"{answer.status}, Retry-After: {answer.getheader('Retry-After')}"
            if is_healthy and answer.status in (429, 503) and answer.getheader("Retry-After"):
                return []
        except (OSError, http.client.HTTPException):
            # Closed without a word: there are more than are told.
            time.sleep(0.1)
        finally:
            connection.close()
    if not daemon.is_running():
        return []
    return [f"a client more was told {told}, and a health check was {'' if is_healthy else 'not '}answered"]


def ended(daemon: Daemon) -> list[str]:
    """That it did not survive, if it did not. Returns when that is known: it may take its time to say what ended it."""
    clock.wait_until(
        lambda: not daemon.is_running() or API(daemon).answers("/readyz") == 200, "the daemon answers again or ends", 30)
    return [] if daemon.is_running() else [f"the daemon did not survive it: {status_of(daemon)}"]


def revive(stage: Stage, daemon: Daemon, wrapper: Sequence[str] = (), files: int | None = None) -> None:
    """Starts it again if it has ended: accepted notifications must not be lost all the same. Returns when it answers."""
    if not daemon.is_running():
        daemon.kill()
        stage.zoo.bury()
        daemon.start(wrapper, files)
    clock.wait_until(lambda: API(daemon).answers("/readyz") == 200, "the daemon answers again", 30)


def concluded(
    label: str, crowd: Crowd, faults: list[str], figures: dict[str, object], known: Sequence[str] = ()
) -> Result:
    crowd.settle()
    history: History = crowd.history()
    return Result(label, history, faults + balance(history, crowd.stage.ledger.distinct_taken()), {
        **figures, "accepted": history.books.accepted, "delivered": history.books.by_state["delivered"],
        "refusals": len(crowd.journal.refusals), "repeated": repetitions_after_kills(history)},
        [f"{each}, by libdispatch" for each in known])


def limit_files(daemon: Daemon, most: int | None) -> None:
    """As many descriptors as it may have from now on; open ones stay. None restores the limit."""
    if daemon.process is not None:
        _, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (hard if most is None else most, hard))


def status_of(daemon: Daemon) -> str:
    """How it ended."""
    code = daemon.process.returncode if daemon.process else None
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"


def open_files(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd")) if daemon.process and daemon.is_running() else 0


def processor_seconds(daemon: Daemon) -> float:
    if daemon.process is None or not daemon.is_running():
        return 0.0
    with open(f"/proc/{daemon.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_open(client: socket.socket) -> bool:
    """Whether the daemon has left the connection open."""
    try:
        return client.recv(4096, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def crowd_in(address: str, clients: int) -> list[socket.socket]:
    """Clients that connect and say nothing."""
    host, _, port = address.partition(":")
    found = []
    for _ in range(clients):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex((host, int(port)))
        found.append(client)
    return found
