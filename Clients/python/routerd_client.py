"""A receiver of routerd that connects out: asyncio, standard library only.

    async def show(delivery):
        print(delivery["envelope"]["data"]["payload"])

    asyncio.run(connect_scene("http://127.0.0.1:8080", "com.example.Gallery", "win-7", show, token="rk_..."))

A delivery is acknowledged when the handler returns; a dict that it returns is the answer, as a webhook may give it. A
handler that raises `Nack` asks for another attempt; any other exception, and an answer that is not JSON, is a refusal without
a time. `token` is a text, or a function, plain or async, that gives a fresh one for each request. A scene that was away for
too long connects in the background: a state of the foreground that was told last is told again with each connection.
`Scene.missed` proves by the numbers of deliveries that none was lost.
"""

import asyncio
import contextlib
import inspect
import json
import math
import random
import ssl
from urllib.parse import quote, urlsplit

__all__ = ["Nack", "Refused", "Superseded", "Ended", "Numbers", "Scene", "connect_scene"]

SILENCE_SECONDS = 45  # Three heartbeats; for an answer too.
LONGEST_WAIT_SECONDS = 86_400
AWAY, FOREGROUND = ("unattached", "background"), ("foregroundActive", "foregroundInactive")


class Nack(Exception):
    """The handler cannot take the delivery now."""

    def __init__(self, reason="", retry_after=None):
        super().__init__(reason)
        self.reason, self.retry_after = reason, retry_after


class Refused(Exception):
    """The daemon refuses a request; another attempt would be refused too."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body.decode(errors='replace').strip()}")
        self.status, self.body = status, body

    @property
    def code(self):
        """The code of the problem, such as unknown-delivery."""
        try:
            return json.loads(self.body).get("code")
        except (ValueError, AttributeError):
            return None


class Superseded(Exception):
    """Another connection has taken the deliveries of the session."""


class Ended(Exception):
    """The session was discarded, or has a URL."""


class Numbers:
    """The numbers of the deliveries that a scene has seen: all up to `through`, and some later ones. They begin with 1, or
    after the number that is put into `through`, such as the `last` of an earlier run."""

    def __init__(self):
        self.through, self._later = 0, set()

    def add(self, number):
        if number > self.through:
            self._later.add(number)
        while self.through + 1 in self._later:
            self.through += 1
            self._later.remove(self.through)

    def __contains__(self, number):
        return number <= self.through or number in self._later

    @property
    def has_gap(self):
        """Whether a number is left out that is smaller than one that was seen."""
        return bool(self._later)


class Scene:
    """A scene session that is reached by a stream."""

    def __init__(self, server, application, session, token=None):
        self.url = urlsplit(server)
        self.path = f"{self.url.path.rstrip('/')}/v1/applications/{quote(application, safe='')}/sessions/{quote(session, safe='')}"
        self.token = token
        self.numbers = Numbers()
        self._told = None

    async def register(self, **fields):
        """Makes the session, such as with activationConditions and activationState. A session that is there keeps all else, such
        as its userInfo, and connects anew: scene.willConnect brings its data back."""
        body = {"endpoint": {"stream": True}, **fields}
        for _ in range(9):
            answer = await self._put(body, {"if-none-match": "*"})
            if answer is None:
                try:
                    known, headers = await self._answer("GET", "")
                except Refused as error:
                    if error.code != "unknown-session":
                        raise
                    continue
                answer = await self._put(
                    {**known, **body, "activationState": "unattached"}, {"if-match": headers.get("etag", "*")})
            if answer is not None:
                self._note(fields)
                return answer
        raise ConnectionError("the session changes too often")

    async def _put(self, body, condition):
        try:
            return await self.call("PUT", "", body, headers=condition)
        except Refused as error:
            if error.code != "precondition-failed":
                raise

    async def put(self, **fields):
        """Puts the session as these fields have it, without anything that it had before."""
        answer = await self.call("PUT", "", {"endpoint": {"stream": True}, **fields})
        self._note(fields)
        return answer

    async def patch(self, **fields):
        answer = await self.call("PATCH", "", fields, "application/merge-patch+json")
        self._note(fields)
        return answer

    async def ack(self, delivery, answer=None):
        await self._settle(delivery, "ack", answer)
        if isinstance(answer, dict):
            self._note(answer.get("session"))
        if delivery.get("envelope", {}).get("type") == "scene.willConnect":
            await self._tell_again()

    async def nack(self, delivery, reason="", retry_after=None):
        body = {"reason": str(reason)[:500]}
        with contextlib.suppress(TypeError):
            body["retryAfterSeconds"] = math.ceil(min(LONGEST_WAIT_SECONDS, max(0, retry_after)))
        await self._settle(delivery, "nack", body)

    async def _settle(self, delivery, verb, body):
        path = f"/deliveries/{delivery['id']}/{verb}"
        try:
            await self.call("POST", path, body)
        except Refused as error:
            # It was cancelled, or has gone to another session meanwhile.
            if error.code == "unknown-delivery":
                return
            # It was handled or refused, though the words for it cannot be used.
            if body is None or error.status not in (400, 413, 422):
                raise
            await self._settle(delivery, verb, None)

    def _note(self, fields):
        if isinstance(fields, dict) and (state := fields.get("activationState")) in AWAY + FOREGROUND:
            self._told = state

    async def _tell_again(self):
        if self._told not in FOREGROUND:
            return
        try:
            await self.patch(activationState=self._told)
        except Refused as error:
            # The session waits for its configuration, or was disconnected at this moment.
            if error.code != "illegal-transition":
                raise

    async def deliveries(self):
        """The deliveries of one connection; raises Superseded if another one takes over, Ended if the session is gone."""
        reader, writer, status, headers = await self._begin("GET", "/deliveries", accept="text/event-stream")
        try:
            if status != 200:
                raise Refused(status, await _body(reader, headers))
            await self._tell_again()
            event = data = ""
            async for line in _lines(reader):
                if line.startswith("event: "):
                    event = line[7:]
                elif line.startswith("data: "):
                    data = line[6:]
                elif not line:
                    if event == "superseded":
                        raise Superseded()
                    if event == "ended":
                        raise Ended()
                    if event == "delivery":
                        yield json.loads(data)
                    event = data = ""
        finally:
            writer.close()

    async def range(self, after=0):
        """The deliveries after a number, whatever has become of them: sequence, state and, if delivered, envelope."""
        while after is not None:
            page = await self.call("GET", f"/deliveries?after={after}")
            for item in page["deliveries"]:
                yield item
            after = page.get("next")

    async def missed(self):
        """Deliveries that were acknowledged, and not by this scene. Numbers whose deliveries have ended otherwise count as
        seen; those whose deliveries wait are looked at again the next time."""
        missed = []
        async for item in self.range(self.numbers.through):
            if item["state"] in ("waiting", "held") or item["sequence"] in self.numbers:
                continue
            if item["state"] == "delivered":
                missed.append(item)
            self.numbers.add(item["sequence"])
        return missed

    async def run(self, handler, *, attempts=None):
        """Handles deliveries, one after another; connects again after a random wait of up to 15 s."""
        failures = 0
        while attempts is None or failures < attempts:
            try:
                async with contextlib.aclosing(self.deliveries()) as deliveries:
                    async for delivery in deliveries:
                        failures = 0
                        await self._handle(handler, delivery)
            except Refused as error:
                if error.status < 500 and error.status not in (408, 429):
                    raise
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
                pass
            failures += 1
            await asyncio.sleep(random.uniform(0, min(15, 0.25 * 2**failures)))

    async def _handle(self, handler, delivery):
        try:
            answer = await handler(delivery)
            json.dumps(answer)
        except Nack as error:
            return await self.nack(delivery, error.reason, error.retry_after)
        except Exception as error:  # The lane goes on by its schedule.
            return await self.nack(delivery, f"{type(error).__name__}: {error}")
        await self.ack(delivery, answer)
        if sequence := delivery.get("sequence"):
            self.numbers.add(sequence)

    async def call(self, method, path, body=None, content_type="application/json", headers=None):
        return (await self._answer(method, path, body, content_type, headers))[0]

    async def _answer(self, method, path, body=None, content_type="application/json", headers=None):
        reader, writer, status, headers = await self._begin(method, path, body, content_type=content_type, headers=headers)
        try:
            answer = await _body(reader, headers)
        finally:
            writer.close()
        if status >= 400:
            raise Refused(status, answer)
        return json.loads(answer) if answer else None, headers

    async def _begin(self, method, path, body=None, **options):
        """Sends a request; returns the connection with the status and the headers of the answer."""
        return await asyncio.wait_for(self._ask(method, path, body, **options), SILENCE_SECONDS)

    async def _ask(self, method, path, body, accept="application/json", content_type="application/json", headers=None):
        secure = self.url.scheme == "https"
        port = self.url.port or (443 if secure else 80)
        context = ssl.create_default_context() if secure else None
        data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {self.path}{path} HTTP/1.1", f"host: {self.url.netloc}", f"accept: {accept}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        token = self.token() if callable(self.token) else self.token
        if token := await token if inspect.isawaitable(token) else token:
            lines.append(f"authorization: Bearer {token}")
        if body is not None:
            lines.append(f"content-type: {content_type}")
        if method != "GET":
            lines.append(f"content-length: {len(data)}")
        reader, writer = await asyncio.open_connection(self.url.hostname, port, ssl=context)
        try:
            writer.write("\r\n".join(lines + ["", ""]).encode() + data)
            await writer.drain()
            return reader, writer, *await _head(reader)
        except BaseException:
            writer.close()
            raise


async def connect_scene(server, application, session, handler, *, token=None, shows=None, **fields):
    """Registers a session, which keeps its data if it is there, and handles its deliveries until another connection takes over.
    `shows` is the content id that the session prefers, exactly that, or a list of them."""
    scene = Scene(server, application, session, token)
    if shows is not None:
        contents = [shows] if isinstance(shows, str) else list(shows)
        equal = {"format": " OR ".join(["SELF == %@"] * len(contents)), "arguments": contents}
        conditions = fields.get("activationConditions") or {}
        name = "prefersToActivateForTargetContentIdentifierPredicate"
        fields["activationConditions"] = conditions | {name: equal}
    await scene.register(**({"activationState": "foregroundActive"} | fields))
    await scene.run(handler)


async def _head(reader):
    line = (await reader.readline()).split()
    if len(line) < 2:
        raise ConnectionError("the connection ended before an answer")
    status = int(line[1])
    headers = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return status, headers


async def _chunks(reader):
    # A connection that ends without a word is noticed by the heartbeats that do not come.
    async def heard(work):
        return await asyncio.wait_for(work, SILENCE_SECONDS)

    while size := int((await heard(reader.readline())).split(b";")[0].strip() or b"0", 16):
        yield await heard(reader.readexactly(size))
        await heard(reader.readexactly(2))


async def _body(reader, headers):
    if headers.get("transfer-encoding") == "chunked":
        return b"".join([chunk async for chunk in _chunks(reader)])
    return await asyncio.wait_for(reader.readexactly(int(headers.get("content-length", 0))), SILENCE_SECONDS)


async def _lines(reader):
    rest = b""
    async for chunk in _chunks(reader):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode()
