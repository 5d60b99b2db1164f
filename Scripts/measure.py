#!/usr/bin/env python3
"""Measures what a notification costs routerd beside the parts that it is made of, in one run, and prints a table.

Everything is on loopback, with bounded counts. Processor time of a server is read from /proc, so that neither the load
generator nor the receiver is counted. Ratios are what counts: absolute figures are those of the machine.
"""
import argparse
import http.client
import json
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from measuring.load import APPLICATION, PAYLOAD, wait_until_settled
from measuring.servers import Server, call, server


def post_many(netloc: str, path: str, body: bytes, count: int, connections: int) -> float:
    """Posts from several threads, each on a connection of its own; returns the seconds that it took."""
    failures: list[int] = []

    def work(share: int) -> None:
        connection = http.client.HTTPConnection(netloc, timeout=60)
        for _ in range(share):
            connection.request("POST", path, body)
            answer = connection.getresponse()
            answer.read()
            if answer.status not in (202, 204):
                failures.append(answer.status)
        connection.close()

    threads = [threading.Thread(target=work, args=(count // connections,)) for _ in range(connections)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(f"{len(failures)} requests failed, the first with {failures[0]}")
    return time.monotonic() - start


def register(daemon: Server, receiver: str, sessions: int) -> None:
    call(daemon.netloc, "PUT", APPLICATION, b"{}")
    for number in range(sessions):
        body = {
            "endpoint": {"url": f"{receiver}/{number}"},
            "activationConditions": {"canActivateForTargetContentIdentifierPredicate": f"SELF ENDSWITH '/{number}'"}}
        call(daemon.netloc, "PUT", f"{APPLICATION}/sessions/s{number}", json.dumps(body).encode())


def floor(command: list[str]) -> float:
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["microsecondsEach"]


def delivered(routerd: str, folder: Path, receiver: Server, count: int, sessions: int) -> dict[str, float]:
    """Processor time of the daemon from accept to delivered, over many lanes."""
    with server([routerd, "serve", "--listen", "127.0.0.1:0", "--database", str(folder / "deliver.sqlite")],
                folder / "deliver.log") as daemon:
        register(daemon, receiver.url, sessions)
        idle = daemon.resident_mib()
        before = daemon.processor_microseconds()
        start = time.monotonic()
        payloads = [
            PAYLOAD.replace(b"photo/7", f"photo/{number}".encode()) for number in range(sessions)]
        threads = [
            threading.Thread(
                target=post_many,
                args=(daemon.netloc, f"{APPLICATION}/notifications", payload, count // sessions, 1))
            for payload in payloads]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_until_settled(daemon)
        made = count // sessions * sessions
        return {
            "microseconds": (daemon.processor_microseconds() - before) / made, "idle": idle,
            "rate": made / (time.monotonic() - start)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="routerd-measure-") as name:
        folder = Path(name)
        for number in range(options.rounds):
            part = folder / str(number)
            part.mkdir()
            with server([options.routerd, "bench", "echo"], part / "echo.log") as echo:
                before = echo.processor_microseconds()
                post_many(echo.netloc, "/hook", PAYLOAD, options.count, options.sessions)
                http_floor = (echo.processor_microseconds() - before) / options.count
                store_floor = floor(
                    [options.routerd, "bench", "store", "--database", str(part / "floor.sqlite"),
                     "--count", str(options.count), "--batch", str(options.sessions)])
                post_floor = floor(
                    [options.routerd, "bench", "post", "--url", echo.url + "/hook", "--count", str(options.count),
                     "--concurrency", str(options.sessions)])
                whole = delivered(options.routerd, part, echo, options.count, options.sessions)
            rows.append({"http": http_floor, "store": store_floor, "post": post_floor, **whole})
    report(rows)


def report(rows: list[dict[str, float]]) -> None:
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    sum_of_floors = middle["http"] + middle["store"] + middle["post"]
    print(f"processor time a notification, accept to delivered (median of {len(rows)} rounds)")
    print(f"  HTTP echo                 {middle['http']:7.1f} µs")
    print(f"  batched insert and settle {middle['store']:7.1f} µs")
    print(f"  raw libcurl POST          {middle['post']:7.1f} µs")
    print(f"  sum of the floors         {sum_of_floors:7.1f} µs")
    print(f"  routerd                   {middle['microseconds']:7.1f} µs   ratio {middle['microseconds'] / sum_of_floors:.2f}")
    print(f"  end to end                {middle['rate']:7.0f}/s; resident when idle {middle['idle']:.1f} MiB")


if __name__ == "__main__":
    main()
