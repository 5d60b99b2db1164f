"""`routerd apns-sandbox`."""

import asyncio
import json

import aioapns
from pyapns_client import exceptions

from apns.clients import aio, httpx, push
from apns.daemon import DEVICE, payload
from apns.report import Report
from apns.world import KEY, TEAM, World, until

SCRIPT = """
- {token: "0a0a0a0a", reason: Unregistered, timestamp: 1767268800123}
- {topic: com.example.Gallery.voip, status: 503, reason: ServiceUnavailable, times: 1}
- {token: "0b0b0b0b", status: 418, reason: Teapot}
"""


def check(world: World, report: Report) -> None:
    print("the sandbox")
    world.path("script.yaml").write_text(SCRIPT)
    arguments = ["apns-sandbox", "--json", "--listen", "127.0.0.1:0", "--certificate-dir", "certificates"]
    fake = world.start("sandbox", *arguments, "--script", "script.yaml",
                       "--provider", f"{TEAM}:{KEY}:{world.path('provider.pub')}")
    port = int(fake.announced("APNs listening on https://127.0.0.1:"))
    authority = str(world.folder / fake.announced("certificate authority: "))
    with httpx(world, port, authority) as client:
        client.push(push(1, collapse_id="c"), DEVICE)
        try:
            client.push(push(2), "0a0a0a0a")
            report.check("the script's answer", False, "taken")
        except exceptions.UnregisteredException as error:
            report.check("the script's answer", error.status_code == 410, error.status_code)
            report.check("with its time", int(error.timestamp_datetime.timestamp()) == 1767268800,
                         error.timestamp_datetime)

    async def by_aioapns() -> list[tuple[str, str | None]]:
        client = aio(world, port, authority)
        results = []
        for token, topic in [("0b0b0b0b", None)] + 2 * [(DEVICE, "com.example.Gallery.voip")]:
            request = aioapns.NotificationRequest(device_token=token, message=payload(3), apns_topic=topic)
            result = await asyncio.wait_for(client.send_notification(request), 30)
            results.append((result.status, result.description))
        client.pool.close()
        return results
    seen = asyncio.run(by_aioapns())
    report.check("any status, and an answer for some times", seen ==
                 [("418", "Teapot"), ("503", "ServiceUnavailable"), ("200", None)], seen)
    records = until(lambda: len(fake.lines()) == 5 and fake.lines(), "five lines")
    report.check("each push is printed", [record["status"] for record in records] == [200, 410, 418, 503, 200], records)
    report.check("with payload and headers", json.loads(records[0]["payload"])["number"] == 1
                 and records[0]["headers"]["apns-collapse-id"] == "c", records[0])
    report.check("SIGTERM ends it", fake.stop() == 0)
    kept = world.path("certificates/ca.pem").read_bytes()
    again = world.start("sandbox-again", *arguments)
    again.announced("APNs listening on https://127.0.0.1:")
    report.check("the authority stays the same", world.path("certificates/ca.pem").read_bytes() == kept)
    clear = world.start("sandbox-clear", "apns-sandbox", "--cleartext", "--listen", "127.0.0.1:0")
    address = clear.announced("APNs listening on http://")
    status, _, _ = world.curl(f"http://{address}/3/device/{DEVICE}", "--http2-prior-knowledge", "-H",
                              "apns-topic: com.example.Gallery", "-d", "{}", token="any")
    report.check("in clear text, with any token", status == 200, status)
