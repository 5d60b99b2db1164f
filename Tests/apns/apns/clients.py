"""The provider libraries."""

import asyncio
import logging
import ssl
import time
import uuid
import warnings

import aioapns
import aioapns.connection
import jwt
import pyapns_client
from pyapns_client import exceptions
from pyapns_client.auth import CertificateBasedAuth, TokenBasedAuth

from apns import daemon
from apns.daemon import DEVICE, GONE_DEVICE, MAIL_DEVICE, numbers, payload
from apns.report import Report
from apns.world import KEY, LIMITED_KEY, OTHER_TOPIC, TEAM, TOPIC, World, until

logging.getLogger("aioapns").setLevel(logging.CRITICAL)
warnings.simplefilter("ignore", DeprecationWarning)


def aio(world: World, port: int, authority: str, **options: object) -> aioapns.APNs:
    """A client of aioapns for a listener."""
    protocol = aioapns.connection.APNsProductionClientProtocol
    protocol.APNS_SERVER, protocol.APNS_PORT = "127.0.0.1", port
    defaults = {"key": world.path("provider.p8").read_text(), "key_id": KEY, "team_id": TEAM, "topic": TOPIC}
    if "client_cert" in options:
        defaults = {}
    return aioapns.APNs(ssl_context=ssl.create_default_context(cafile=authority), **{**defaults, **options})


def httpx(world: World, port: int, authority: str | ssl.SSLContext, auth: object = None) -> pyapns_client.APNSClient:
    """A client of pyapns-client3 for a listener."""
    pyapns_client.APNSClient.BASE_URLS["dev"] = f"https://127.0.0.1:{port}"
    auth = auth or TokenBasedAuth(str(world.path("provider.p8")), KEY, TEAM)
    return pyapns_client.APNSClient("dev", auth, root_cert_path=authority)


def push(number: object, **headers: object) -> pyapns_client.IOSNotification:
    """A push of pyapns-client3."""
    content = pyapns_client.IOSPayload(alert="Hi", target_content_id=f"photo/{number}", custom={"number": number})
    return pyapns_client.IOSNotification(content, **{"topic": TOPIC, **headers})


def many(world: World, report: Report, count: int) -> None:
    authority = str(world.path("ca.pem"))
    print(f"{count} pushes by aioapns")
    began = time.monotonic()
    results, bound = asyncio.run(_many_at_once(aio, world, authority, count))
    report.check("all are taken", all(result.is_successful for result in results) and len(results) == count,
                 [result.description for result in results if not result.is_successful][:3])
    report.check("the limit of streams is told", bound == 100, bound)
    print(f"    {time.monotonic() - began:.1f} s")
    print(f"{count} pushes by pyapns-client3")
    began = time.monotonic()
    with httpx(world, world.port, authority) as client:
        taken = 0
        for number in range(count):
            try:
                client.push(push(f"httpx-{number}"), DEVICE)
                taken += 1
            except exceptions.APNSException as error:
                print(f"    {number}: {error}")
    report.check("all are taken", taken == count, taken)
    print(f"    {time.monotonic() - began:.1f} s")
    expected = {f"{name}-{number}" for name in ("aio", "httpx") for number in range(count)}
    try:
        until(lambda: expected <= set(numbers(world)), "all webhooks")
    except TimeoutError as error:
        return report.check("all are delivered", False, (error, len(numbers(world)), world.call("GET", "/v1/status")))
    seen = [number for number in numbers(world) if number in expected]
    report.check("each is delivered once", len(seen) == len(expected), len(seen) - len(expected))


async def _many_at_once(make, world: World, authority: str, count: int) -> tuple[list, int]:
    client = make(world, world.port, authority)
    results = await asyncio.gather(*(
        client.send_notification(aioapns.NotificationRequest(device_token=DEVICE, message=payload(f"aio-{number}")))
        for number in range(count)))
    bound = client.pool.connections[0].free_channels.bound
    client.pool.close()
    return results, bound


def refusals(world: World, report: Report) -> None:
    authority = str(world.path("ca.pem"))
    # The device's receiver answers 410 to its first push; the device is retired then.
    with httpx(world, world.port, authority) as client:
        client.push(push("gone"), GONE_DEVICE)
        until(lambda: world.call("GET", f"/v1/applications/{TOPIC}/sessions/win-3").get("disabled"), "the session is disabled")
        print("refusals by pyapns-client3")
        for expected, notification, token in [
                (exceptions.BadDeviceTokenException, push(1), "0d" * 32),
                (exceptions.BadDeviceTokenException, push(1), "xyz"),
                (exceptions.DeviceTokenNotForTopicException, push(1), MAIL_DEVICE),
                (exceptions.MissingTopicException, push(1, topic=None), DEVICE),
                (exceptions.BadTopicException, push(1, topic="com.example.Unknown"), DEVICE),
                (exceptions.InvalidPushTypeException, push(1, push_type="banner"), DEVICE),
                (exceptions.BadPriorityException, push(1, priority=7), DEVICE),
                (exceptions.BadMessageIdException, push(1, apns_id="1"), DEVICE),
                (exceptions.BadCollapseIdException, push(1, collapse_id="c" * 65), DEVICE),
                (exceptions.BadExpirationDateException, push(1, expiration="soon"), DEVICE),
                (exceptions.PayloadTooLargeException, push("x" * 5000), DEVICE)]:
            _refused(report, client, expected, notification, token)
        began = world.call("GET", f"/v1/applications/{TOPIC}/sessions/win-3")["disabled"]
        unregistered = _refused(report, client, exceptions.UnregisteredException, push(1), GONE_DEVICE)
        report.check("Unregistered has the time", abs(unregistered.timestamp_datetime.timestamp() - time.time()) < 300,
                     (unregistered, began))
    for expected, auth in [
            (exceptions.InvalidProviderTokenException, TokenBasedAuth(str(world.path("stranger.p8")), KEY, TEAM)),
            (exceptions.InvalidProviderTokenException, TokenBasedAuth(str(world.path("provider.p8")), "OTHER", TEAM)),
            (exceptions.ExpiredProviderTokenException, _old_token(world))]:
        with httpx(world, world.port, authority, auth) as client:
            _refused(report, client, expected, push(1), DEVICE)
    limited = TokenBasedAuth(str(world.path("limited.p8")), LIMITED_KEY, TEAM)
    with httpx(world, world.port, authority, limited) as client:
        _refused(report, client, exceptions.TopicDisallowedException, push(1, topic=OTHER_TOPIC), MAIL_DEVICE)
        _refused(report, client, exceptions.BadDeviceTokenException, push(1), MAIL_DEVICE)
    print("refusals by aioapns")
    asyncio.run(_aio_refusals(world, report, authority))


def _old_token(world: World) -> TokenBasedAuth:
    auth = TokenBasedAuth(str(world.path("provider.p8")), KEY, TEAM)
    auth._auth_token_storage, auth._auth_token_time = daemon.token(world, age=3700), time.time()
    return auth


def _refused(report: Report, client: pyapns_client.APNSClient, expected: type, notification: object, token: str):
    try:
        client.push(notification, token)
    except exceptions.APNSException as error:
        report.check(f"{expected.__name__}", type(error) is expected, error)
        return error
    report.check(f"{expected.__name__}", False, "taken")
    return None


async def _aio_refusals(world: World, report: Report, authority: str) -> None:
    client = aio(world, world.port, authority)
    cases = [
        ("BadDeviceToken", "400", {"device_token": "0d" * 32}), ("Unregistered", "410", {"device_token": GONE_DEVICE}),
        ("PayloadTooLarge", "413", {"message": {"x": "y" * 5000}}), ("MissingTopic", "400", {"apns_topic": ""}),
        ("BadPriority", "400", {"push_type": aioapns.PushType.BACKGROUND, "priority": 10}),
        ("BadPayload", "400", {"message": [1]}), ("BadMessageId", "400", {"notification_id": "order-1"}),
    ]
    for reason, status, parts in cases:
        if reason == "MissingTopic":
            client.pool.apns_topic = client.pool.connections[0].apns_topic = ""
        request = aioapns.NotificationRequest(**{"device_token": DEVICE, "message": payload(1), **parts})
        result = await asyncio.wait_for(client.send_notification(request), 30)
        client.pool.apns_topic = client.pool.connections[0].apns_topic = TOPIC
        seen = (result.description, result.status, result.notification_id)
        report.check(f"{status} {reason}", seen == (reason, status, request.notification_id), seen)
        if reason == "Unregistered":
            report.check("with the time", isinstance(result.timestamp, int), result.timestamp)
    client.pool.close()


def certificates(world: World, report: Report) -> None:
    print("client certificates")
    authority, bundle = str(world.path("ca.pem")), str(world.path("client-bundle.pem"))
    # httpx 0.28 forgets a client certificate if it is told the authority by a path.
    with httpx(world, world.port, ssl.create_default_context(cafile=authority), CertificateBasedAuth(bundle)) as client:
        client.push(push("certificate", topic=None), DEVICE)
        until(lambda: "certificate" in numbers(world), "the webhook of the push with a certificate")
        report.check("the certificate stands for token and topic", numbers(world).count("certificate") == 1)
        _refused(report, client, exceptions.TopicDisallowedException, push(1, topic=OTHER_TOPIC), MAIL_DEVICE)

    async def by_aioapns() -> None:
        client = aio(world, world.port, authority, client_cert=bundle)
        request = aioapns.NotificationRequest(device_token=DEVICE, message=payload("aio-certificate"))
        result = await asyncio.wait_for(client.send_notification(request), 30)
        report.check("aioapns with a certificate", result.is_successful, result.description)
        client.pool.close()
    asyncio.run(by_aioapns())
