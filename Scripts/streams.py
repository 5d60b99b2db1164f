#!/usr/bin/env python3
"""Ten thousand open streams beside webhooks, in one daemon: memory, idle processor time, and times until the receiver has it.

The steps, on loopback: sessions are registered, most of them with a stream, some with a URL; all streams are opened; nothing
is sent for a while; then notifications go out at a steady rate that does not depend on the answers, every second one to
a stream, the others to webhooks.

The exit status is 0 only if everything that was accepted was received once and acknowledged, and every stream is still open.
"""
import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

from measuring.connected import Receivers
from measuring.farm import Count, Farm
from measuring.load import APPLICATION, wait_until_settled
from measuring.servers import Server, call, server
from measuring.steady import percentiles, post_lines, say, send_steadily

# Beside streams: the store's, the clients', the event loops'.
FILES_BESIDE = 4096
SETTLE_SECONDS = 60
IDLE_SECONDS = 30


def register(daemon: Server, streams: int, urls: list[str]) -> None:
    """Lanes 0, 1, … are streams, and those behind them are webhooks."""
    call(daemon.netloc, "PUT", APPLICATION, b"{}")
    endpoints = [("stream", {"stream": True})] * streams + [("hook", {"url": url}) for url in urls]
    post_lines(daemon, "sessions:batch", [
        json.dumps({
            "id": f"{kind}-{lane}", "activationState": "background", "endpoint": endpoint,
            "activationConditions": {"canActivateForTargetContentIdentifierPredicate": f"SELF == 'lane://{lane}'"},
        }).encode() for lane, (kind, endpoint) in enumerate(endpoints)], b'"secret"')


def idle(daemon: Server) -> None:
    # Threads and buffers of the opening end after a while; that is not measured here.
    time.sleep(IDLE_SECONDS / 3)
    spent, before, start = daemon.processor_microseconds(), daemon.wake_ups(), time.monotonic()
    time.sleep(IDLE_SECONDS)
    seconds = time.monotonic() - start
    woken = sum(max(0, count - before.get(thread, 0)) for thread, count in daemon.wake_ups().items())
    say("idle, heartbeats of all streams included",
        f"{(daemon.processor_microseconds() - spent) / 1e6 / seconds:.1%} of a core, {woken / seconds:,.0f} wake-ups a second")


def steadily(daemon: Server, streams: int, hooks: int, rate: float, seconds: float) -> int:
    generator = random.Random(1)
    lanes = [generator.randrange(streams) if number % 2 else streams + number // 2 % hooks
             for number in range(int(rate * seconds))]
    spent, start = daemon.processor_microseconds(), time.monotonic()
    senders = send_steadily(daemon, lanes, rate)
    wait_until_settled(daemon, SETTLE_SECONDS)
    spent, elapsed = daemon.processor_microseconds() - spent, time.monotonic() - start
    say("notifications at a steady rate", f"{len(lanes):,}, {rate:.0f}/s, half to streams, half to webhooks")
    say("  due to 202", percentiles([each for sender in senders for each in sender.times]))
    say("  the daemon's processor time", f"{spent / len(lanes):.0f} µs each, {spent / 1e6 / elapsed:.0%} of a core")
    return sum(each.refused for each in senders)


def faults(figures: dict[str, int], streams: Count, hooks: Count, options: argparse.Namespace, refused: int) -> list[str]:
    found = []
    received, distinct = streams.received + hooks.received, streams.distinct + hooks.distinct
    if not figures["accepted"] == figures["delivered"] == distinct == received:
        found.append(f"accepted {figures['accepted']}, delivered {figures['delivered']}, received {received}, "
                     f"of them different {distinct}")
    if streams.open != options.streams:
        found.append(f"{streams.open} streams are open at the end, not {options.streams}")
    if refused or streams.held:
        found.append(f"{refused} notifications and {streams.held} acknowledgements were refused")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--webhooks", type=int, default=64)
    parser.add_argument("--rate", type=float, default=200, help="notifications a second")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    files = options.streams + FILES_BESIDE
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < files:
        raise SystemExit(f"the process may not have {files} files open; raise the limit (ulimit -n)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    with tempfile.TemporaryDirectory(prefix="routerd-streams-") as name, Farm(options.webhooks) as farm:
        folder = Path(name)
        connections = options.streams + 512
        (folder / "routerd.yaml").write_text(
            f"http:\n  connections: {connections}\n  connectionsPerAddress: {connections}\n")
        serve = [options.routerd, "serve", "--listen", "127.0.0.1:0", "--database", str(folder / "streams.sqlite"),
                 "--config", str(folder / "routerd.yaml")]
        with server(serve, folder / "daemon.log") as daemon:
            register(daemon, options.streams, farm.urls)
            known = daemon.resident_mib()
            start = time.monotonic()
            with Receivers(daemon, options.streams) as receivers:
                say("streams open", f"{options.streams:,}, after {time.monotonic() - start:.1f} s")
                idle(daemon)
                say("resident", f"{known:.1f} MiB with the sessions, {daemon.resident_mib():.1f} with the streams: "
                    f"{(daemon.resident_mib() - known) * 1024 / options.streams:.1f} KiB a stream")
                refused = steadily(daemon, options.streams, options.webhooks, options.rate, options.seconds)
                figures = wait_until_settled(daemon, SETTLE_SECONDS)
                streams, hooks = receivers.count(), farm.count()
                say("  due to the event at a stream's client", percentiles(streams.times))
                say("  due to the webhook's arrival", percentiles(hooks.times))
                found = faults(figures, streams, hooks, options, refused)
    say("accepted, delivered, received", f"{figures['accepted']:,}, {figures['delivered']:,}, "
        f"{streams.received + hooks.received:,}")
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
