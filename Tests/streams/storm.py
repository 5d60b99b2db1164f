"""Kills a daemon again and again while receivers that connect out take and acknowledge deliveries.

    python3 Tests/streams/storm.py .build/release/routerd --kills 50 --receivers 64

At the end nothing accepted is lost, each receiver has seen its notifications in order, a delivery came again only where its
acknowledgement had not been answered by 204, and the numbers of each session have no gap.
"""

import argparse
import asyncio
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Clients/python"))
from routerd_client import Nack, Refused, Scene  # noqa: E402

APPLICATION = "com.example.storm"


class Daemon:
    def __init__(self, binary, folder):
        self.arguments = [binary, "serve", "--database", str(folder / "db.sqlite"), "--listen"]
        self.port, self.process, self.starts = 0, None, 0

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            *self.arguments, f"127.0.0.1:{self.port}", stderr=subprocess.PIPE)
        while line := (await self.process.stderr.readline()).decode():
            if found := re.search(r"listening on http://127.0.0.1:(\d+)", line):
                self.port = int(found[1])
                self.starts += 1
                self.drain = asyncio.create_task(self.process.stderr.read())
                return
        raise SystemExit("the daemon does not start")

    async def kill(self):
        self.process.kill()
        await self.process.wait()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


class Receiver:
    """Keeps the deliveries that it has seen, and those whose acknowledgement was answered."""

    def __init__(self, daemon, number, generator):
        self.name, self.generator = f"r{number}", generator
        self.scene = Scene(daemon.url, APPLICATION, self.name)
        self.first, self.known, self.answered, self.faults, self.repeats = [], set(), set(), [], 0
        self.numbers = {}

    async def handle(self, delivery):
        number = delivery["envelope"]["data"]["payload"]["n"]
        if self.numbers.setdefault(number, delivery.get("sequence")) != delivery.get("sequence"):
            self.faults.append(f"{self.name}: {number} has another number than before")
        if delivery["id"] in self.answered:
            self.faults.append(f"{self.name}: {number} came again after its acknowledgement")
        if number in self.known:
            self.repeats += 1
        else:
            self.known.add(number)
            self.first.append(number)
        if self.generator.random() < 0.05:
            raise Nack("not now", 0)

    async def compare(self):
        """Finds numbers that are left out, or that the daemon gives to other deliveries than it did."""
        for _ in range(100):
            items = [item async for item in self.scene.range()]
            if all(item["state"] == "delivered" for item in items):
                break
            await asyncio.sleep(0.1)
        if [item["sequence"] for item in items] != list(range(1, len(items) + 1)):
            yield f"{self.name}: numbers are left out: {[item['sequence'] for item in items]}"
        kept = {item["envelope"]["data"]["payload"]["n"]: item["sequence"] for item in items if "envelope" in item}
        if kept != self.numbers:
            yield f"{self.name}: other numbers: {kept} and {self.numbers}"

    async def run(self):
        scene = self.scene
        ack = scene.ack

        async def noting(delivery, answer=None):
            await ack(delivery, answer)
            self.answered.add(delivery["id"])

        scene.ack = noting
        while True:
            try:
                await scene.run(self.handle)
            except Refused:  # 404 or 409 of a moment.
                await asyncio.sleep(0.1)


async def request(daemon, method, path, body=None, headers=None):
    """A request that is made again until it is answered."""
    while True:
        scene = Scene(daemon.url, APPLICATION, "none")
        scene.path = path
        try:
            return await scene.call(method, "", body, headers=headers)
        except Refused as error:
            if error.status < 500:
                raise
        except (OSError, asyncio.IncompleteReadError):
            pass
        await asyncio.sleep(0.05)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("routerd")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--receivers", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="routerd-storm-"))
    daemon = Daemon(options.routerd, folder)
    await daemon.start()
    base = f"/v1/applications/{APPLICATION}"
    delivery = {"timeoutSeconds": 5, "retrySchedule": [0] * 64, "lifeCycleEvents": False}
    manifest = {"supportsMultipleScenes": True}
    await request(daemon, "PUT", base, {"manifest": manifest, "delivery": delivery})
    receivers = [Receiver(daemon, number, random.Random(number)) for number in range(options.receivers)]
    for receiver in receivers:
        await receiver.scene.put(activationState="foregroundActive", activationConditions={"preferring": [receiver.name]})
    tasks = [asyncio.create_task(receiver.run()) for receiver in receivers]
    accepted = {receiver.name: [] for receiver in receivers}
    stop = asyncio.Event()

    async def produce(name):
        number = 0
        while not stop.is_set():
            number += 1
            path = f"{base}/notifications"
            body = {"notification-content-id": name, "n": number}
            answer = await request(daemon, "POST", path, body, {"idempotency-key": f"{name}-{number}"})
            accepted[name].append((number, answer["id"]))
            await asyncio.sleep(generator.uniform(0.05, 0.3))

    producers = [asyncio.create_task(produce(receiver.name)) for receiver in receivers]
    began = time.monotonic()
    for _ in range(options.kills):
        await asyncio.sleep(generator.uniform(0.2, 1.0))
        await daemon.kill()
        await daemon.start()
    stop.set()
    await asyncio.gather(*producers)
    deadline = time.monotonic() + 120
    missing = 1
    while missing and time.monotonic() < deadline:
        await asyncio.sleep(0.2)
        missing = sum(len({n for n, _ in accepted[r.name]} - r.known) for r in receivers)
    faults = [fault for receiver in receivers for fault in receiver.faults]
    for receiver in receivers:
        if receiver.first != sorted(receiver.first):
            faults.append(f"{receiver.name}: out of order: {receiver.first}")
        if lost := {number for number, _ in accepted[receiver.name]} - receiver.known:
            faults.append(f"{receiver.name}: lost {sorted(lost)}")
    for receiver in receivers[:8]:
        for _, one in accepted[receiver.name]:
            for _ in range(100):
                found = await request(daemon, "GET", f"/v1/notifications/{one}")
                if found["state"] == "delivered":
                    break
                await asyncio.sleep(0.1)
            else:
                faults.append(f"{receiver.name}: {one} is {found['state']}")
    for receiver in receivers:
        faults += [fault async for fault in receiver.compare()]
    for task in tasks:
        task.cancel()
    await daemon.kill()
    shutil.rmtree(folder, ignore_errors=True)
    total = sum(len(numbers) for numbers in accepted.values())
    repeats = sum(receiver.repeats for receiver in receivers)
    print(
        f"storm: {options.kills} kills, {options.receivers} receivers, {total} notifications, {repeats} repetitions,"
        f" {time.monotonic() - began:.0f} s, {len(faults)} faults")
    for fault in faults[:20]:
        print(fault[:300])
    sys.exit(1 if faults else 0)


asyncio.run(main())
