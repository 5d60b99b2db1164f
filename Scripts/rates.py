#!/usr/bin/env python3
"""Runs `routerd bench load` at several rates, each against a daemon and a database of its own, and prints a table.

The exit status is 0 only if the counts of every run agree: every accepted notification was delivered, and nothing else.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from measuring.servers import Server, server

WARM_UP = ["--rate", "300", "--seconds", "2", "--application", "com.example.warm-up"]


def load(routerd: str, daemon: Server, arguments: list[str]) -> dict:
    command = [routerd, "bench", "load", "--server", daemon.url, "--json", *arguments]
    return json.loads(subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True).stdout)


def measured(routerd: str, folder: Path, rate: str, arguments: list[str]) -> dict:
    folder.mkdir()
    serve = [routerd, "serve", "--listen", "127.0.0.1:0", "--database", str(folder / "rates.sqlite")]
    with server(serve, folder / "daemon.log") as daemon:
        load(routerd, daemon, WARM_UP)
        before = daemon.processor_microseconds()
        found = load(routerd, daemon, ["--rate", rate, *arguments])
        found["microseconds"] = (daemon.processor_microseconds() - before) / max(1, found["accepted"])
    return found


def shown(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else f"{milliseconds:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--rates", default="100,500,1000,2000,3000", help="notifications a second, with commas")
    parser.add_argument("--seconds", default="15", help="of each rate")
    parser.add_argument("--sessions", default="64")
    options = parser.parse_args()
    print("| a second | 202: p50 | p99 | p99.9 | delivered: p50 | p99 | p99.9 | late: p99 | µs each | accepted | delivered"
          " | refused | conserved |\n|" + "---|" * 13, flush=True)
    is_conserved = True
    with tempfile.TemporaryDirectory(prefix="routerd-rates-") as name:
        for rate in options.rates.split(","):
            found = measured(options.routerd, Path(name) / rate, rate, [
                "--seconds", options.seconds, "--sessions", options.sessions])
            # A percentile with too few requests beyond it is not in the report.
            times = [shown(found[kind].get(percentile)) for kind in ("acceptMilliseconds", "deliveryMilliseconds")
                     for percentile in ("p50", "p99", "p999")]
            refused = sum(found["refused"].values()) + sum(found["unanswered"].values())
            cells = [rate, *times, shown(found["latenessMilliseconds"].get("p99")), f"{found['microseconds']:.0f}",
                     f"{found['accepted']:,}", f"{found['delivered']:,}", f"{refused:,}",
                     "yes" if found["conserved"] else "NO"]
            print(f"| {' | '.join(cells)} |", flush=True)
            is_conserved = is_conserved and found["conserved"]
    if not is_conserved:
        raise SystemExit("not everything that was accepted was delivered once")


if __name__ == "__main__":
    main()
