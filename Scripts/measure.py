#!/usr/bin/env python3
"""Measures the processor time of a notification beside that of its parts, in one run, and prints a table.

wrk posts, nginx receives: neither is a bottleneck, and neither is counted, because processor time is read from /proc of
the measured server alone. Everything is on loopback, with bounded counts. The result is a ratio: absolute figures are
those of the machine. Alertmanager, which stores nothing, is measured beside routerd if it is installed.
"""
import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from measuring.alertmanager import alertmanager, post_alerts
from measuring.load import APPLICATION, PAYLOAD, wait_until_settled, wrk
from measuring.receiver import nginx
from measuring.servers import Server, call, server

Row = dict[str, float]


def register(daemon: Server, receiver: str, sessions: int) -> None:
    call(daemon.netloc, "PUT", APPLICATION, b"{}")
    for number in range(sessions):
        body = {
            "endpoint": {"url": f"{receiver}/{number}"},
            "activationConditions": {"canActivateForTargetContentIdentifierPredicate": f"SELF ENDSWITH '/{number}'"}}
        call(daemon.netloc, "PUT", f"{APPLICATION}/sessions/s{number}", json.dumps(body).encode())


def floor(command: list[str]) -> float:
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["microsecondsEach"]


def spent(running: Server, before: float, result: Row) -> float:
    if result["errors"]:
        raise SystemExit(f"{result['errors']:.0f} requests failed")
    return (running.processor_microseconds() - before) / result["requests"]


@contextlib.contextmanager
def daemon(options: argparse.Namespace, folder: Path) -> Iterator[Server]:
    command = [options.routerd, "serve", "--listen", "127.0.0.1:0", "--database", str(folder / "deliver.sqlite")]
    with server(command, folder / "deliver.log") as running:
        yield running


def whole(options: argparse.Namespace, folder: Path, receiver: str) -> Row:
    """Processor time of the daemon from accept to delivered, over one lane a session."""
    with daemon(options, folder) as running:
        register(running, receiver, options.sessions)
        idle = running.resident_mib()
        contents = [f"gallery://photo/{number}" for number in range(options.sessions)]
        wrk(running.netloc, f"{APPLICATION}/notifications", options.connections, 1, folder, contents=contents)
        known = wait_until_settled(running)["delivered"]
        before, start = running.processor_microseconds(), time.monotonic()
        result = wrk(
            running.netloc, f"{APPLICATION}/notifications", options.connections, options.seconds, folder,
            contents=contents)
        figures = wait_until_settled(running)
        if figures["delivered"] - known < result["requests"]:
            raise SystemExit(f"accepted {result['requests']:.0f}, but delivered {figures['delivered'] - known}")
        return {
            "routerd": spent(running, before, result), "idle": idle,
            "rate": result["requests"] / (time.monotonic() - start)}


def measured_round(options: argparse.Namespace, folder: Path, receiver: str) -> Row:
    with server([options.routerd, "bench", "echo"], folder / "echo.log") as echo:
        before = echo.processor_microseconds()
        row = {"http": spent(echo, before, wrk(echo.netloc, "/hook", options.connections, options.seconds, folder))}
    row["store"] = floor(
        [options.routerd, "bench", "store", "--database", str(folder / "floor.sqlite"),
         "--count", str(options.count), "--batch", str(options.connections)])
    row["post"] = floor(
        [options.routerd, "bench", "post", "--url", f"{receiver}/hook", "--count", str(options.count),
         "--concurrency", str(options.connections)])
    row |= whole(options, folder, receiver)
    if shutil.which("prometheus-alertmanager"):
        with alertmanager(folder, receiver) as running:
            before = running.processor_microseconds()
            row["alertmanager"] = spent(running, before, post_alerts(running, options.connections, options.seconds, folder))
    return row


def report(rows: list[Row]) -> None:
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    floors = middle["http"] + middle["store"] + middle["post"]
    lines = [
        ("HTTP echo", middle["http"], ""), ("batched insert and settle", middle["store"], ""),
        ("libcurl POST", middle["post"], ""), ("sum of the floors", floors, ""),
        ("routerd", middle["routerd"], f"   ratio {middle['routerd'] / floors:.2f}")]
    if "alertmanager" in middle:
        lines.append(("Alertmanager", middle["alertmanager"], f"   ratio {middle['alertmanager'] / floors:.2f}"))
    print(f"processor time of a notification, accept to delivered (median of {len(rows)} rounds)")
    for name, microseconds, remark in lines:
        print(f"  {name:25} {microseconds:7.1f} µs{remark}")
    print(f"  end to end                {middle['rate']:7.0f}/s; resident when idle {middle['idle']:.1f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--count", type=int, default=20_000, help="notifications of a floor of the store and of libcurl")
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=4, help="how long wrk posts, at each server")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="routerd-measure-") as name, nginx(Path(name)) as receiver:
        rows = []
        for number in range(options.rounds):
            folder = Path(name) / str(number)
            folder.mkdir()
            rows.append(measured_round(options, folder, receiver))
    report(rows)


if __name__ == "__main__":
    main()
