#!/usr/bin/env python3
"""Ten thousand lanes, each with an endpoint and an open connection of its own, in one daemon.

The steps, on loopback: sessions are registered; every lane gets a notification, and no receiver answers before as
many have come as may be under way at once; then notifications are sent at a steady rate that does not depend on the
answers, to all lanes in turn; then nothing happens for a while.

The exit status is 0 only if everything that was accepted was delivered once, each lane got its share, and every lane has
its connection still.
"""
import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

from measuring.farm import Count, Farm
from measuring.load import APPLICATION, wait_until_settled
from measuring.servers import Server, call, server
from measuring.steady import payload, percentiles, post_lines, say, send_steadily

# Beside connections: the store's, the clients', the event loops'.
FILES_BESIDE = 4096
# The default, the share of them that only less urgent classes may use, and how many attempts of one application leave one free.
SLOTS = 256
RESERVED_SHARE = 16
ATTEMPTS_PER_FREE_SLOT = 8
SETTLE_SECONDS = 60
IDLE_SECONDS = 10


def register(daemon: Server, urls: list[str]) -> None:
    call(daemon.netloc, "PUT", APPLICATION, b"{}")
    post_lines(daemon, "sessions:batch", [
        json.dumps({
            "id": f"lane-{lane}", "activationState": "background", "endpoint": {"url": url},
            "activationConditions": {"canActivateForTargetContentIdentifierPredicate": f"SELF == 'lane://{lane}'"},
        }).encode() for lane, url in enumerate(urls)], b'"secret"')


def all_at_once(daemon: Server, farm: Farm, lanes: int, slots: int) -> None:
    """One for each lane; the receivers answer when no more can come."""
    free = slots - 2 * (slots // RESERVED_SHARE)
    most = min(lanes, -(-ATTEMPTS_PER_FREE_SLOT * free // (ATTEMPTS_PER_FREE_SLOT + 1)))
    farm.tell("hold")
    start = time.monotonic()
    post_lines(daemon, "notifications:batch", [payload(lane) for lane in range(lanes)], b'"waiting"')
    accepted = time.monotonic()
    while farm.count().held < most and time.monotonic() < accepted + SETTLE_SECONDS:
        time.sleep(0.1)
    say("attempts under way at once", f"{farm.count().held:,}, {time.monotonic() - start:.1f} s after the first request")
    say("  resident then", f"{daemon.resident_mib():.1f} MiB")
    released = time.monotonic()
    farm.tell("go")
    wait_until_settled(daemon, SETTLE_SECONDS)
    say("  answered and settled after", f"{time.monotonic() - released:.1f} s")


def steadily(daemon: Server, farm: Farm, lanes: int, rate: float, seconds: float) -> int:
    """Load at a rate, and its cost; returns the number of refusals."""
    order = random.Random(1).sample(range(lanes), lanes)
    sent = [order[number % lanes] for number in range(int(rate * seconds))]
    before, spent = farm.count(), daemon.processor_microseconds()
    start = time.monotonic()
    senders = send_steadily(daemon, sent, rate)
    wait_until_settled(daemon, SETTLE_SECONDS)
    spent, elapsed = daemon.processor_microseconds() - spent, time.monotonic() - start
    count = farm.count()
    say("notifications at a steady rate", f"{len(sent):,}, {rate:.0f}/s; the last was settled after {elapsed:.1f} s")
    say("  due to 202", percentiles([each for sender in senders for each in sender.times]))
    say("  due to arrival", percentiles(count.times))
    say("  the daemon's processor time", f"{spent / len(sent):.0f} µs each, {spent / 1e6 / elapsed:.0%} of a core")
    say("  the receivers'", f"{(count.processor_seconds - before.processor_seconds) / elapsed:.0%} of a core")
    return sum(each.refused for each in senders)


def idle(daemon: Server) -> None:
    # Idle threads end after a while; that is not measured here.
    time.sleep(IDLE_SECONDS)
    spent, before = daemon.processor_microseconds(), daemon.wake_ups()
    time.sleep(IDLE_SECONDS)
    woken = sum(max(0, count - before.get(thread, 0)) for thread, count in daemon.wake_ups().items())
    say("idle with all of it", f"{woken} wake-ups and "
        f"{(daemon.processor_microseconds() - spent) / 1000:.0f} ms of processor time in {IDLE_SECONDS} s")


def faults(figures: dict[str, int], count: Count, options: argparse.Namespace, refused: int) -> list[str]:
    found = []
    if not figures["accepted"] == figures["delivered"] == count.distinct == count.received:
        found.append(f"accepted {figures['accepted']}, delivered {figures['delivered']}, received {count.received}, "
                     f"of them different {count.distinct}")
    if max(count.lanes) - min(count.lanes) > 1 or not min(count.lanes):
        found.append(f"lanes received {min(count.lanes)} to {max(count.lanes)}")
    if count.open != options.lanes:
        found.append(f"{count.open} connections are open at the end, not {options.lanes}")
    if refused:
        found.append(f"{refused} notifications were refused")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routerd", default=".build/release/routerd")
    parser.add_argument("--lanes", type=int, default=10_000)
    parser.add_argument("--slots", type=int, default=SLOTS, help="delivery.slots")
    parser.add_argument("--rate", type=float, default=1000, help="notifications a second")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    files = max(options.slots, options.lanes) + FILES_BESIDE
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < files:
        raise SystemExit(f"the process may not have {files} files open; raise the limit (ulimit -n)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    with tempfile.TemporaryDirectory(prefix="routerd-lanes-") as name, Farm(options.lanes) as farm:
        folder = Path(name)
        (folder / "routerd.yaml").write_text(
            f"delivery:\n  slots: {options.slots}\n  connections: {max(options.lanes, 2 * options.slots)}\n")
        serve = [options.routerd, "serve", "--listen", "127.0.0.1:0", "--database", str(folder / "lanes.sqlite"),
                 "--config", str(folder / "routerd.yaml")]
        with server(serve, folder / "daemon.log") as daemon:
            empty = daemon.resident_mib()
            register(daemon, farm.urls)
            known = daemon.resident_mib()
            say("lanes, slots", f"{options.lanes:,}, {options.slots:,}")
            say("resident, without sessions, with all", f"{empty:.1f}, {known:.1f} MiB")
            all_at_once(daemon, farm, options.lanes, options.slots)
            refused = steadily(daemon, farm, options.lanes, options.rate, options.seconds)
            count, full = farm.count(), daemon.resident_mib()
            say("connections open", f"{count.open:,}")
            say("resident", f"{full:.1f} MiB: {(full - empty) * 1024 / options.lanes:.1f} KiB a lane, "
                f"{(full - known) * 1024 / options.lanes:.1f} beside the session")
            idle(daemon)
            figures = wait_until_settled(daemon, SETTLE_SECONDS)
            found = faults(figures, farm.count(), options, refused)
    say("accepted, delivered, received", f"{figures['accepted']:,}, {figures['delivered']:,}, {count.received:,}")
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
