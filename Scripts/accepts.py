#!/usr/bin/env python3
"""Measures durable accepts (synchronous=FULL) beside what the same disk gives to one transaction a request.

Rounds of a few seconds each, in turns, so that a disk that others use is as slow for all of them; medians count:

  flush    fdatasync after a page was written anew in a file that is there already
  loop     one row a transaction, one after another, by Python's sqlite3 and nothing else: no server that commits each
           request by itself can answer more
  alone    the daemon, 128 connections whose notifications share a collapse id: each has to know the one before, so that
           no two of them can share a transaction
  echo     128 connections to `routerd bench echo`, which reads the same bodies and answers: HTTP without a store
  1, 32, 128  the daemon with so many connections
  batch    the daemon, one connection that posts lines to notifications:batch

The receiver's port is closed: nothing is delivered. With --flush-ms every fdatasync of loop and daemon takes that much
longer, as it does on disks that are slower than this one.
"""
import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measuring.load import APPLICATION, PAYLOAD, wrk
from measuring.servers import Server, call, server

CONNECTIONS = (1, 32, 128)
GOAL = 20
BATCH_LINES = 128
WARM_UP_SECONDS = 2
# As the daemon has it: the log is written over, not extended, once it has come to this size.
CHECKPOINT_PAGES = 4000
Row = dict[str, float]


def flush(folder: Path, seconds: float) -> Row:
    """Median and 99th percentile of fdatasync, in microseconds."""
    size, page = 1 << 24, 4096
    with (folder / "flush").open("wb+", buffering=0) as file:
        file.write(bytes(size))
        os.fdatasync(file.fileno())
        times, ends = [], time.monotonic() + seconds
        while time.monotonic() < ends:
            os.pwrite(file.fileno(), os.urandom(page), len(times) * page % size)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - start) * 1e6)
    times.sort()
    return {"p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "rate": 1e6 / statistics.mean(times)}


def loop(database: Path, seconds: float) -> float:
    """Transactions of one row a second, once the log is written over."""
    connection = sqlite3.connect(database, isolation_level=None)
    for setting in ("journal_mode = wal", "synchronous = full", f"wal_autocheckpoint = {CHECKPOINT_PAGES}"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE IF NOT EXISTS notification (id INTEGER PRIMARY KEY, payload BLOB NOT NULL)")
    insert = "INSERT INTO notification (payload) VALUES (?)"
    connection.execute("BEGIN")
    connection.executemany(insert, ((PAYLOAD,) for _ in range(4 * CHECKPOINT_PAGES)))
    connection.execute("COMMIT")
    connection.execute(insert, (PAYLOAD,))
    count, start = 0, time.monotonic()
    while (spent := time.monotonic() - start) < seconds:
        connection.execute(insert, (PAYLOAD,))
        count += 1
    connection.close()
    return count / spent


def slowed(options: argparse.Namespace, folder: Path) -> list[str]:
    """The prefix of a command that makes its flushes take longer."""
    if not options.flush_ms:
        return []
    library = folder / "slow-flush.so"
    if not library.exists():
        source = Path(__file__).with_name("measuring") / "slow-flush.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source)], check=True)
    return ["env", f"LD_PRELOAD={library}", f"FLUSH_MICROSECONDS={options.flush_ms * 1000:.0f}"]


@contextmanager
def daemon(options: argparse.Namespace, folder: Path) -> Iterator[Server]:
    """A new one, warm: its log has been written over, its caches are full."""
    folder.mkdir()
    serve = [*slowed(options, folder.parent), options.routerd, "serve", "--listen", "127.0.0.1:0",
             "--database", str(folder / "accept.sqlite")]
    with server(serve, folder / "daemon.log") as running:
        call(running.netloc, "PUT", APPLICATION, b"{}")
        call(running.netloc, "PUT", f"{APPLICATION}/sessions/only", b'{"endpoint": {"url": "http://127.0.0.1:1/"}}')
        wrk(running.netloc, f"{APPLICATION}/notifications", max(CONNECTIONS), WARM_UP_SECONDS, folder)
        yield running
    shutil.rmtree(folder)


def rate(result: dict[str, float], each: int = 1) -> Row:
    if result["errors"]:
        raise SystemExit(f"{result['errors']:.0f} requests were not accepted")
    return {"rate": result["requests"] * each / result["seconds"], "p50": result["p50"], "p99": result["p99"]}


def measured(options: argparse.Namespace, folder: Path) -> dict[str, Row]:
    """One round."""
    seconds, notifications = options.seconds, f"{APPLICATION}/notifications"
    found = {"flush": flush(folder, seconds / 2)}
    looped = subprocess.run(
        [*slowed(options, folder), sys.executable, __file__, "--loop", str(folder / "loop.sqlite"),
         "--seconds", str(seconds)], check=True, capture_output=True, text=True).stdout
    found["loop"] = {"rate": float(looped), "p50": 0.0, "p99": 0.0}
    for each in folder.glob("loop.sqlite*"):
        each.unlink()
    with server([options.routerd, "bench", "echo"], folder / "echo.log") as running:
        found["echo"] = rate(wrk(running.netloc, "/hook", max(CONNECTIONS), seconds, folder))
    with daemon(options, folder / "accept") as running:
        for connections in CONNECTIONS:
            before = running.processor_microseconds()
            found[str(connections)] = rate(wrk(running.netloc, notifications, connections, seconds, folder))
            spent = running.processor_microseconds() - before
            found[str(connections)]["µs"] = spent / seconds / found[str(connections)]["rate"]
        lines = b"\n".join([PAYLOAD] * BATCH_LINES)
        found["batch"] = rate(wrk(running.netloc, f"{notifications}:batch", 1, seconds, folder, lines), BATCH_LINES)
    with daemon(options, folder / "alone") as running:
        found["alone"] = rate(wrk(
            running.netloc, notifications, max(CONNECTIONS), seconds, folder, headers={"apns-collapse-id": "one"}))
    return found


def report(rounds: list[dict[str, Row]]) -> None:
    middle = {
        name: {key: statistics.median(each[name][key] for each in rounds) for key in row}
        for name, row in rounds[0].items()}
    most = middle[str(max(CONNECTIONS))]["rate"]
    disk = middle["flush"]
    print(f"fdatasync: p50 {disk['p50']:.0f} µs, p99 {disk['p99']:.0f} µs, {disk['rate']:.0f}/s")
    names = {"loop": "one row a transaction, nothing else", "alone": "128 connections, one transaction a request",
             "echo": "128 connections, HTTP and nothing else", "batch": f"notifications:batch, {BATCH_LINES} lines"}
    for name in ("loop", "alone", "echo", *map(str, CONNECTIONS), "batch"):
        row = middle[name]
        times = f"  p50 {row['p50']:7.2f} ms  p99 {row['p99']:7.2f} ms" if row["p50"] else ""
        cost = f"  {row['µs']:4.0f} µs of processor time each" if row.get("µs") else ""
        print(f"{names.get(name, f'{name} connections'):44} {row['rate']:8.0f}/s{times}{cost}")
    for name, what in (("loop", "the loop"), ("alone", "one transaction a request"), ("1", "one connection")):
        ratios = [each[str(max(CONNECTIONS))]["rate"] / each[name]["rate"] for each in rounds]
        print(f"128 connections to {what}: {most / middle[name]['rate']:.1f} (rounds: "
              + " ".join(f"{each:.1f}" for each in ratios) + f"); the goal is {GOAL}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--seconds", type=int, default=3, help="of each part of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="on the disk to measure; by default that of temporary files")
    parser.add_argument("--flush-ms", type=float, default=0.0, help="how much longer each fdatasync takes")
    parser.add_argument("--loop", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.loop:
        print(loop(options.loop, options.seconds))
        return
    with tempfile.TemporaryDirectory(prefix="routerd-accepts-", dir=options.folder) as name:
        report([measured(options, Path(name)) for _ in range(options.rounds)])


if __name__ == "__main__":
    main()
