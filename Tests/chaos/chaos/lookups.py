"""A name server is silent: those whose names were found before must not notice.

Rounds of two phases in turn, as in `hung`. All endpoints have names and keep no connection, so that each attempt needs its
name. In one phase of a round notifications come for strangers, whose names are new to it, and for some whose
names were found, and the server says nothing to those. Processes share a machine's resolver settings, so the daemon runs in
a mount namespace of its own in which `/etc/resolv.conf` names the server, which listens on loopback.
"""

import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from chaos.behaviours import takes
from chaos.client import API, APPLICATION, Journal, settle
from chaos.clock import Skipped
from chaos.crowd import balance
from chaos.daemon import Daemon
from chaos.history import History, Promises
from chaos.hung import SCHEDULE, Shape, play
from chaos.options import Options, Result, need, need_root

# An address of loopback of its own, since resolvers are always asked at port 53.
ADDRESS = "127.77.0.53"
PORT = 53
# A query of the resolver is given up after that, and repeated once: longer than an attempt may take.
RESOLVER_SECONDS = 4
# Names that were known before; in each round more strangers than there are threads for look-ups; and names that were known, and
# are silent then as well, more than one application has threads for if none of them is late.
KNOWN = Shape("names", 100, 0, 256, 2, 6.0, 2.0, 2.0)
STRANGERS = 400
FALLEN = 60
# Look-ups, those that take long among them, and what else the daemon does: no thread for each name.
MOST_THREADS = 64 + 192 + 40
# The prefix of names that are not answered for while the name server is silent.
SILENT = "stranger"

TYPE_A = 1
HEADER = struct.Struct(">HHHHHH")


class NameServer:
    """Says 127.0.0.1 for every name; while it is silent, nothing for those that begin with a word."""

    def __init__(self, silent_for: str) -> None:
        self.is_silent = False
        self.unanswered = 0
        self._silent_for = silent_for.encode()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((ADDRESS, PORT))
        except OSError as error:
            raise Skipped(f"no name server can be had at {ADDRESS}: {error}") from error
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        # A datagram of no bytes wakes the thread, and ends it.
        self._socket.sendto(b"", (ADDRESS, PORT))
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, client = self._socket.recvfrom(4096)
            if not query:
                return
            if answer := self._answer(query):
                self._socket.sendto(answer, client)
            else:
                self.unanswered += 1

    def _answer(self, query: bytes) -> bytes | None:
        """RFC 1035 4.1: the question comes back, and behind it a record for it."""
        number = HEADER.unpack_from(query)[0]
        labels, place = [], HEADER.size
        while length := query[place]:
            labels.append(query[place + 1:place + 1 + length])
            place += 1 + length
        if self.is_silent and labels[0].lower().startswith(self._silent_for):
            return None
        question = query[HEADER.size:place + 5]
        is_address = struct.unpack_from(">H", query, place + 1)[0] == TYPE_A
        record = struct.pack(">HHHIH4s", 0xC00C, TYPE_A, 1, 0, 4, socket.inet_aton("127.0.0.1")) if is_address else b""
        return HEADER.pack(number, 0x8180, 1, int(is_address), 0, 0) + question + record


def scenario(options: Options) -> Iterator[Result]:
    need_root("a mount namespace")
    need("unshare")
    server = NameServer(SILENT)
    try:
        yield from against(server, options)
    finally:
        server.close()


def against(server: NameServer, options: Options) -> Iterator[Result]:
    with options.stage() as stage:
        daemon, journal = stage.daemon("delivery:", f"  slots: {KNOWN.slots}"), Journal(stage.ledger)
        daemon.start(asking(stage.folder))
        api = API(daemon)
        api.put_application(timeoutSeconds=KNOWN.timeout_seconds, retrySchedule=[int(each) for each in SCHEDULE])
        strangers = [[f"{SILENT}-{number}-{each}" for each in range(STRANGERS)] for number in range(options.rounds)]
        fallen = [f"{SILENT}-known-{number}" for number in range(FALLEN)]
        known = [f"endpoint-{number}" for number in range(KNOWN.endpoints)]
        for lane in (*known, *fallen, *sum(strangers, [])):
            url = stage.zoo.house(lane, takes("Connection: close"))
            api.put_session(lane, url.replace("127.0.0.1", f"{lane}.test"))
        seconds = options.seconds or KNOWN.seconds
        for lane in (*known, *fallen):
            send(api, journal, lane, f"first-{lane}")
        settle(daemon, 60)
        ratios: list[float] = []
        most_threads = 0
        for number in range(options.rounds):
            found = {}
            for is_silent in (False, True) if number % 2 == 0 else (True, False):
                server.is_silent = is_silent
                name = f"{'silent' if is_silent else 'well'}-{number}"
                for lane in [*fallen, *strangers[number]] if is_silent else []:
                    send(api, journal, lane, f"{name}-{lane}")
                found[is_silent] = play(stage, KNOWN, daemon, journal, name, options.seed + number, seconds)
                most_threads = max(most_threads, threads(daemon))
                server.is_silent = False
                settle(daemon, 60)
            ratios.append(found[True].p99 / found[False].p99)
        ratio = statistics.median(ratios)
        history = History(
            journal.submissions, list(stage.ledger.attempts), daemon.lives, api.books(APPLICATION),
            # Hosts without an address have seen no attempt.
            Promises(SCHEDULE, slots=KNOWN.slots), opaque=set(fallen + sum(strangers, [])))
        api.close()
        faults = balance(history, stage.ledger.distinct_taken())
        if ratio >= KNOWN.most:
            faults.append(f"p99 of those that are known is {ratio:.2f} times the value when the name server answers")
        if server.unanswered < STRANGERS + FALLEN:
            faults.append(f"only {server.unanswered} queries were not answered: nothing was tried")
        if most_threads > MOST_THREADS:
            faults.append(f"the daemon had {most_threads} threads")
        yield Result(KNOWN.name, history, faults, {
            "endpoints": KNOWN.endpoints, "strangers a round": STRANGERS, "known that fall silent": FALLEN, "rounds": options.rounds,
            "times the baseline's p99 (median)": f"{ratio:.2f}", "each round": " ".join(f"{each:.2f}" for each in ratios),
            "queries without an answer": server.unanswered, "threads at most": most_threads})


def asking(folder: Path) -> list[str]:
    """Starts a program for which the machine's name server is this one."""
    settings = folder / "resolv.conf"
    settings.write_text(f"nameserver {ADDRESS}\noptions timeout:{RESOLVER_SECONDS} attempts:2\n")
    if not Path("/etc/resolv.conf").exists():
        raise Skipped("there is no /etc/resolv.conf in whose place another could stand")
    bind = f"mount --make-rprivate / && mount --bind {settings} /etc/resolv.conf && exec \"$@\""
    return ["unshare", "--mount", "sh", "-c", bind, "sh"]


def send(api: API, journal: Journal, lane: str, key: str) -> None:
    submission = journal.open(lane, key)
    while not journal.submit(api, submission):
        time.sleep(0.02)


def threads(daemon: Daemon) -> int:
    assert daemon.process is not None
    return len(list(Path(f"/proc/{daemon.process.pid}/task").iterdir()))
