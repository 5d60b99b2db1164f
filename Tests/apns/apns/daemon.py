"""The daemon: its start, clear text, repetitions and its end."""

import asyncio
import json
import signal
import socket
import time
import uuid
from urllib.parse import quote

import aioapns
import jwt

from apns.report import Report
from apns.world import KEY, LIMITED_KEY, OTHER_TOPIC, TEAM, TOPIC, World, until

DEVICE, MAIL_DEVICE, GONE_DEVICE = "0a" * 32, "0b" * 32, "0c" * 32

CONFIGURATION = f"""
listen: 127.0.0.1:0
database: apns.sqlite
durability: normal
apns:
  listen: 127.0.0.1:0
  cleartextListen: 127.0.0.1:0
  certificateFile: server.pem
  privateKeyFile: server-key.pem
  clientCertificateAuthorityFile: ca.pem
  unknownDevices: refuse
  streams: 100
  providers:
    - {{teamID: {TEAM}, keyID: {KEY}, publicKeyFile: provider.pub}}
    - {{teamID: {TEAM}, keyID: {LIMITED_KEY}, publicKeyFile: limited.pub, topics: [{TOPIC}]}}
"""


def start(world: World) -> None:
    """Starts the daemon and its receivers, with a session on each device; that of one device is gone."""
    world.receiver = world.start("receiver", "receive", "--json", "--listen", "127.0.0.1:0")
    gone = world.start("gone", "receive", "--status", "410", "--json", "--listen", "127.0.0.1:0")
    world.path("daemon.yaml").write_text(CONFIGURATION)
    world.daemon = world.start("daemon", "serve", "--config", "daemon.yaml")
    world.api = "http://" + world.daemon.announced("listening on http://")
    world.port = int(world.daemon.announced("APNs listening on https://127.0.0.1:"))
    world.cleartext = "http://" + world.daemon.announced("APNs listening on http://")
    hook = "http://" + world.receiver.announced("listening on http://")
    gone_hook = "http://" + gone.announced("listening on http://")
    for application, session, device, url in [
            (TOPIC, "win-1", DEVICE, hook), (OTHER_TOPIC, "win-2", MAIL_DEVICE, hook),
            (TOPIC, "win-3", GONE_DEVICE, gone_hook)]:
        world.call("PUT", f"/v1/applications/{application}",
                   {"delivery": {"maxInFlightPerSession": 16, "lifeCycleEvents": False}})
        world.call("PUT", f"/v1/applications/{application}/sessions/{session}",
                   {"device": device, "activationState": "foregroundActive", "endpoint": {"url": url + "/"}})


def token(world: World, key: str = "provider", key_id: str = KEY, age: float = 0) -> str:
    """A provider token."""
    return jwt.encode({"iss": TEAM, "iat": time.time() - age}, world.path(f"{key}.p8").read_text(),
                      algorithm="ES256", headers={"kid": key_id})


def payload(number: object) -> dict:
    """A push whose number its webhook shows."""
    return {"aps": {"alert": "Hi", "target-content-id": f"photo/{number}"}, "number": number}


def numbers(world: World) -> list[object]:
    """The numbers of the pushes that have come to the receiver, in order."""
    bodies = (json.loads(line["body"]) for line in world.receiver.lines())
    return [body["data"]["payload"].get("number") for body in bodies if body["type"] == "scene.notification"]


def clear_text(world: World, report: Report) -> None:
    print("curl in clear text")
    prior = ["--http2-prior-knowledge", "-H", f"apns-topic: {TOPIC}"]
    url = f"{world.cleartext}/3/device/{DEVICE}"
    status, headers, body = world.curl(url, *prior, "-d", json.dumps(payload("clear")), token=token(world))
    report.check("is taken", status == 200 and body == "", (status, body))
    identifier = headers.get("apns-unique-id", "")
    report.check("the answer names the session", headers.get("x-routerd-session") == "win-1", headers)
    stored = world.call("GET", f"/v1/notifications/{identifier}")
    report.check("the answer names the notification", stored["targetContentIdentifier"] == "photo/clear", stored)
    for claim, expected, arguments in [
            ("without a token", (403, "MissingProviderToken"), ["-d", "{}"]),
            ("by GET", (405, "MethodNotAllowed"), []),
            ("with an answer before a long body", (413, "PayloadTooLarge"), ["--data-binary", "@long"])]:
        world.path("long").write_bytes(b"x" * 5_000_000)
        arguments = [word.replace("@long", f"@{world.path('long')}") for word in arguments]
        sent = None if claim == "without a token" else token(world)
        status, headers, body = world.curl(url, *prior, *arguments, token=sent)
        seen = status, json.loads(body)["reason"]
        report.check(f"{claim}: {expected[0]} {expected[1]}", seen == expected and "apns-id" in headers, seen)
    with socket.create_connection(("127.0.0.1", int(world.cleartext.rsplit(":", 1)[1])), timeout=30) as http1:
        http1.sendall(b"POST /3/device/0a0a0a0a HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = b""
        while part := http1.recv(1024):
            answer += part
        report.check("a client of HTTP/1.1 is shown the door", not answer.startswith(b"HTTP/1."), answer)


def repetition(world: World, report: Report) -> None:
    print("the same apns-id again")
    headers = ["--http2-prior-knowledge", "-H", f"apns-topic: {TOPIC}", "-H", f"apns-id: {uuid.uuid4()}"]
    url = f"{world.cleartext}/3/device/{DEVICE}"
    answers = [world.curl(url, *headers, "-d", json.dumps(payload("again")), token=token(world)) for _ in range(2)]
    identifiers = [headers.get("apns-unique-id") for _, headers, _ in answers]
    report.check("has the first answer", identifiers[0] == identifiers[1] and answers[1][0] == 200, answers)
    until(lambda: "again" in numbers(world), "the webhook")
    other = world.curl(url, *headers, "-d", json.dumps(payload("other")), token=token(world))
    report.check("with another payload is BadMessageId", (other[0], json.loads(other[2])["reason"]) ==
                 (400, "BadMessageId"), other)


def stop(world: World, report: Report) -> None:
    from apns.clients import aio
    print("the end, with pushes under way")
    report.check("each push came once", len(numbers(world)) == len(set(map(str, numbers(world)))))

    async def push_to_the_end() -> set[str]:
        """Pushes until the daemon is gone; the content ids of those that were taken."""
        client = aio(world, world.port, str(world.path("ca.pem")), max_connection_attempts=1)
        taken: set[str] = set()

        async def one(number: int) -> None:
            request = aioapns.NotificationRequest(device_token=DEVICE, message=payload(f"stop-{number}"))
            if (await client.send_notification(request)).is_successful:
                taken.add(f"photo/stop-{number}")
            if len(taken) == 50:
                world.daemon.process.send_signal(signal.SIGTERM)
        await asyncio.gather(*(one(number) for number in range(2000)), return_exceptions=True)
        return taken
    taken = asyncio.run(push_to_the_end())
    status = world.daemon.stop()
    report.check("SIGTERM ends the daemon", status == 0, status)
    report.check("it ended between pushes", 50 <= len(taken) < 2000, len(taken))
    world.daemon = world.start("daemon-again", "serve", "--config", "daemon.yaml")
    world.api = "http://" + world.daemon.announced("listening on http://")
    stored: set[str] = set()
    cursor = ""
    while True:
        page = world.call("GET", f"/v1/notifications?application={TOPIC}&limit=1000{cursor}")
        stored |= {notification["targetContentIdentifier"] for notification in page["notifications"]}
        if not page.get("cursor"):
            break
        cursor = "&cursor=" + quote(page["cursor"])
    report.check("every push that was answered 200 is kept", taken <= stored, len(taken - stored))
    report.check("the daemon ends again", world.daemon.stop() == 0)
