#!/usr/bin/env python3
"""Measures routerd beside the parts that it is made of, in one run, and prints a table.

Everything is on loopback, with bounded counts. Processor time of a server is read from /proc, so that neither the load
generator nor the receiver is counted. Ratios are what counts: absolute figures are those of the machine.
"""
import argparse
import http.client
import json
import re
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from measuring.servers import Server, call, server

APPLICATION = "/v1/applications/com.example.Gallery"
PAYLOAD = json.dumps(
    {"aps": {"alert": "a word or two " * 65}, "notification-content-id": "gallery://photo/7"}).encode()


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


def wrk(netloc: str, path: str, connections: int, seconds: int, script: Path) -> dict[str, float]:
    """Posts as fast as it goes; wrk costs less processor time than Python, which matters on two cores."""
    script.write_text(
        f'wrk.method = "POST"\nwrk.body = [==[{PAYLOAD.decode()}]==]\n'
        'wrk.headers["content-type"] = "application/json"\n'
        "done = function(s, l, r)\n"
        '  io.write(string.format("JSON {\\"requests\\": %d, \\"errors\\": %d, \\"seconds\\": %f, \\"p50\\": %f,'
        ' \\"p99\\": %f}\\n", s.requests, s.errors.status + s.errors.read + s.errors.timeout, s.duration / 1e6,'
        " l:percentile(50) / 1e3, l:percentile(99) / 1e3))\nend\n")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), f"http://{netloc}{path}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(re.search(r"JSON (.*)", output)[1])


def wait_until_settled(daemon: Server) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if not call(daemon.netloc, "GET", "/v1/notifications?state=waiting&limit=1")["notifications"] and not call(
                daemon.netloc, "GET", "/v1/notifications?state=inFlight&limit=1")["notifications"]:
            return
        time.sleep(0.2)
    raise SystemExit("the deliveries did not end")


def register(daemon: Server, receiver: str, sessions: int) -> None:
    call(daemon.netloc, "PUT", APPLICATION, b"{}")
    for number in range(sessions):
        body = {
            "endpoint": {"url": f"{receiver}/{number}"},
            "activationConditions": {"canActivateForTargetContentIdentifierPredicate": f"SELF ENDSWITH '/{number}'"}}
        call(daemon.netloc, "PUT", f"{APPLICATION}/sessions/s{number}", json.dumps(body).encode())


def floor(command: list[str]) -> float:
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["microsecondsEach"]


def accepts(routerd: str, folder: Path, seconds: int) -> dict[int, dict[str, float]]:
    """Durable accepts without delivery: the one session's endpoint is a closed port, its lane waits."""
    results = {}
    with server([routerd, "serve", "--listen", "127.0.0.1:0", "--database", str(folder / "accept.sqlite")],
                folder / "accept.log") as daemon:
        call(daemon.netloc, "PUT", APPLICATION, b"{}")
        body = json.dumps({"endpoint": {"url": "http://127.0.0.1:1/"}}).encode()
        call(daemon.netloc, "PUT", f"{APPLICATION}/sessions/only", body)
        for connections in (1, 32, 128):
            results[connections] = wrk(
                daemon.netloc, f"{APPLICATION}/notifications", connections, seconds, folder / "accept.lua")
    return results


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
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="routerd-measure-") as name:
        folder = Path(name)
        accept = accepts(options.routerd, folder, options.seconds)
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
    report(accept, rows)


def report(accept: dict[int, dict[str, float]], rows: list[dict[str, float]]) -> None:
    print("durable accepts, synchronous=FULL, 1 KiB payloads")
    for connections, result in accept.items():
        rate = result["requests"] / result["seconds"]
        print(f"  {connections:4} connections  {rate:8.0f}/s  p50 {result['p50']:6.2f} ms  p99 {result['p99']:6.2f} ms"
              f"  errors {result['errors']:.0f}")
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    sum_of_floors = middle["http"] + middle["store"] + middle["post"]
    print(f"\nprocessor time a notification, accept to delivered (median of {len(rows)} rounds)")
    print(f"  HTTP echo                 {middle['http']:7.1f} µs")
    print(f"  batched insert and settle {middle['store']:7.1f} µs")
    print(f"  raw libcurl POST          {middle['post']:7.1f} µs")
    print(f"  sum of the floors         {sum_of_floors:7.1f} µs")
    print(f"  routerd                   {middle['microseconds']:7.1f} µs   ratio {middle['microseconds'] / sum_of_floors:.2f}")
    print(f"  end to end                {middle['rate']:7.0f}/s; resident when idle {middle['idle']:.1f} MiB")


if __name__ == "__main__":
    main()
