"""Tabs that go behind one another, networks that are cut, daemons that start again or say nothing.

    python3 Tests/streams/presence.py .build/release/routerd

Two tabs in headless Chromium and the Python client reach the daemon through a relay. The tab in front is in the foreground, the
other one in the background. After a cut that lasts longer than `delivery.presenceSeconds`, and after a restart, each session
is again in the state that its receiver is in. Results of handlers that cannot be used end no receiver.
"""

import asyncio
import contextlib
import json
import shutil
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from browser import CHROMIUM, ROOT, Tab, pages, started, started_browser, until

sys.path.insert(0, str(ROOT / "Clients/python"))
import routerd_client  # noqa: E402
from routerd_client import Nack, Refused, Scene  # noqa: E402

APPLICATION = "/v1/applications/com.example.presence"
GRACE_SECONDS = 1
PAGE = """<!doctype html><title>tab</title><script type="module">
import {connectScene} from "./routerd.js";
const query = new URLSearchParams(location.search), session = query.get("session");
const told = window.told = {seen: [], errors: [], ended: 0}, cyclic = {};
cyclic.self = cyclic;
const answers = {cyclic: () => cyclic, long: () => ({text: "x".repeat(200_000)})};
window.scene = await connectScene({
  server: query.get("server"), application: "com.example.presence", session, conditions: {preferring: [session]},
  fields: {whileAway: "wait"},  // An outage may be longer than the grace.
  onDelivery({envelope: {data: {payload}}, attempt}) {
    if (!payload) return;
    told.seen.push(`${payload.n}.${attempt}`);
    if (payload.time !== undefined && attempt === 1) throw Object.assign(new Error("busy"), {retryAfterSeconds: payload.time});
    return attempt === 1 ? answers[payload.answer]?.() : undefined;
  },
  onError: (error) => told.errors.push(String(error)), onEnded: () => told.ended++,
});
const aborted = new AbortController();
aborted.abort();
told.aborted = await connectScene({application: "none", session: "none", signal: aborted.signal}).catch((error) => error.name);
</script>"""


class Relay:
    """Forwards connections to a port, unless it is cut or mute. A cut relay ends all connections, and new ones at once. A mute relay
    ends those that there are, takes new ones, and never answers."""

    def __init__(self, target):
        self.target, self.open, self.muted, self.is_cut, self.is_mute = target, set(), [], False, False
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            near, _ = self.server.accept()
            if self.is_mute:
                self.muted.append(near)
                continue
            try:
                if self.is_cut:
                    raise OSError
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:  # The daemon may be down.
                near.close()
                continue
            self.open |= {near, far}
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        self.end(source)
        self.end(target)

    def end(self, connection):
        self.open.discard(connection)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def mute(self):
        self.is_mute = True
        self.cut()

    def cut(self):
        self.is_cut = True
        for connection in list(self.open):
            self.end(connection)

    def mend(self):
        self.is_cut = self.is_mute = False


class Daemon:
    """A daemon on one port and one database, however often it starts."""

    def __init__(self, binary, folder, origin):
        self.binary, self.folder, self.port = binary, folder, 0
        (folder / "routerd.yaml").write_text(
            f'http:\n  allowedOrigins: ["{origin}"]\ndelivery:\n  presenceSeconds: {GRACE_SECONDS}\n')

    def start(self):
        self.process, port = started(
            [self.binary, "serve", "--config", self.folder / "routerd.yaml", "--listen", f"127.0.0.1:{self.port}",
             "--database", self.folder / "db.sqlite"], r"listening on http://127\.0\.0\.1:(\d+)")
        self.port = int(port)

    def stop(self):
        self.process.kill()
        self.process.wait()

    async def call(self, method, path, body=None):
        def send():
            data = None if body is None else json.dumps(body).encode()
            url = f"http://127.0.0.1:{self.port}{APPLICATION}{path}"
            request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
            with urllib.request.urlopen(request) as answer:
                return json.loads(answer.read() or b"null")
        return await asyncio.to_thread(send)

    async def state(self, session, wanted):
        async def read():
            return (await self.call("GET", f"/sessions/{session}"))["activationState"]
        await until(wanted, read, lambda wanted, found: wanted == found)

    async def states(self, **wanted):
        for session, state in wanted.items():
            await self.state(session, state)

    async def post(self, session, number, **fields):
        await self.call("POST", "/notifications", {"notification-content-id": session, "n": number, **fields})


class Agent:
    """The Python client, with a handler whose results are odd."""

    def __init__(self, server):
        self.scene = Scene(server, "com.example.presence", "agent")
        self.seen = []

    async def handle(self, delivery):
        payload = delivery["envelope"]["data"].get("payload")
        if payload is None:
            return None
        self.seen.append(f"{payload['n']}.{delivery['attempt']}")
        if delivery["attempt"] > 1:
            return None
        if "time" in payload:
            raise Nack("x" * 1000, payload["time"])
        return {"set": {1, 2}, "long": {"text": "x" * 200_000}}.get(payload.get("answer"))

    async def start(self):
        await self.scene.put(activationState="foregroundInactive", whileAway="wait", activationConditions={"preferring": ["agent"]})
        self.task = asyncio.create_task(self.scene.run(self.handle))

    async def found(self):
        if self.task.done():
            self.task.result()
        return self.seen


def holds(wanted, found):
    return wanted in found


async def behind_one_another(daemon, one, two):
    for front, behind, states in (
            (one, two, {"one": "foregroundActive", "two": "background"}),
            (two, one, {"one": "background", "two": "foregroundActive"})):
        await front.call("Page.bringToFront")
        await daemon.states(**states)
    await daemon.post("something", 1)
    await until("1.1", lambda: two.evaluate("told.seen"), holds)
    print("presence: the tab in front is in the foreground and gets what no tab prefers, the one behind is in the background")


async def outage(daemon, one, two, agent, number, begin, end):
    states = {"one": "background", "two": "foregroundActive", "agent": "foregroundInactive"}
    await daemon.states(**states)
    await begin()
    await end()
    await daemon.states(**states)
    for session, read in (
            ("one", lambda: one.evaluate("told.seen")), ("two", lambda: two.evaluate("told.seen")), ("agent", agent.found)):
        await daemon.post(session, number)
        await until(f"{number}.1", read, holds)


async def outages(daemon, relay, one, two, agent):
    async def cut():
        relay.cut()
        await daemon.states(one="unattached", two="unattached", agent="unattached")

    async def mend():
        relay.mend()

    await outage(daemon, one, two, agent, 2, cut, mend)
    print("presence: after a cut longer than the grace each receiver is in its state again")

    async def away():
        relay.cut()
        await asyncio.to_thread(daemon.stop)

    async def back():
        # The daemon has lost them by then, as in any longer stop.
        await asyncio.to_thread(daemon.start)
        await daemon.states(one="unattached", two="unattached", agent="unattached")
        relay.mend()

    await outage(daemon, one, two, agent, 3, away, back)
    await outage(daemon, one, two, agent, 4, lambda: asyncio.to_thread(daemon.stop), lambda: asyncio.to_thread(daemon.start))
    print("presence: the same after the daemon was killed and has started again, at once and after the grace")


async def odd_results(daemon, two, agent):
    odd = {"two": [{"time": 0.5}, {"time": -3}, {"time": None}, {"answer": "cyclic"}, {"answer": "long"}],
           "agent": [{"time": 0.5}, {"time": -3}, {"time": "soon"}, {"answer": "set"}, {"answer": "long"}]}
    for session, read in (("two", lambda: two.evaluate("told.seen")), ("agent", agent.found)):
        for number, fields in enumerate(odd[session], 10):
            await daemon.post(session, number, **fields)
            # An answer that is too long is left out; all else comes again.
            await until(f"{number}.{1 if fields.get('answer') == 'long' else 2}", read, holds)
        await daemon.post(session, 20)
        await until("20.1", read, holds)
        assert "14.2" not in await read(), await read()
    assert await two.evaluate("told.aborted") == "AbortError"
    for time_wanted, written in ((1e9, 86_400), (float("inf"), 86_400), (0.2, 1), (float("nan"), 0), ("soon", None)):
        sent = []

        async def call(_, __, body=None):
            sent.append(body)

        scene = Scene("http://127.0.0.1", "a", "b")
        scene.call = call
        await scene.nack({"id": "dlv_1"}, "busy", time_wanted)
        assert sent[0].get("retryAfterSeconds") == written, (time_wanted, sent)
    print("presence: results of handlers that cannot be used end no receiver")


async def discarded(daemon, relay, one, agent):
    """Sessions are discarded while their receivers cannot be told so."""
    relay.cut()
    for session in ("one", "agent"):
        await daemon.call("DELETE", f"/sessions/{session}")
    relay.mend()
    await until(1, lambda: one.evaluate("told.ended"), lambda wanted, found: wanted == found)
    try:
        await asyncio.wait_for(agent.task, 40)
    except Refused as refusal:
        assert refusal.code == "unknown-session", refusal
    else:
        raise SystemExit("a discarded session does not end its receiver")
    left = [one["id"] for one in (await daemon.call("GET", "/sessions"))["sessions"]]
    assert left == ["two"], left
    print("presence: a session that was discarded in an outage is not registered again")


async def silent_daemon(daemon, relay, tab):
    """The JavaScript client, with less patience, at a daemon that says nothing to some of its requests."""
    relay.mute()
    connect = """import("./impatient.js").then(({connectScene}) => connectScene({
      server: "URL", application: "com.example.presence", session: "late", conditions: {preferring: ["late"]}, fields: {whileAway: "wait"},
      onDelivery({envelope: {data: {payload}}}) { if (payload) (window.late ??= []).push(String(payload.n)); },
    })).then(() => "connected", (error) => error.name)""".replace("URL", relay.url)
    assert (found := await asyncio.wait_for(tab.evaluate(connect), 30)) == "TimeoutError", found
    relay.mend()
    assert (found := await tab.evaluate(connect)) == "connected", found
    for number in (30, 31):
        await daemon.post("late", number)
        await until(str(number), lambda: tab.evaluate("window.late"), holds)
        relay.muted.clear()
        relay.mute()

        async def muted():
            return len(relay.muted)

        # One of them is the request for the deliveries, which is never answered.
        await until(2, muted, lambda wanted, found: int(found or 0) >= wanted)
        relay.mend()
    print("presence: a tab gives up requests that are not answered, and connects again")


async def silence():
    """A server that takes connections and says nothing."""
    silent = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{silent.getsockname()[1]}"
    routerd_client.SILENCE_SECONDS, before = 1, routerd_client.SILENCE_SECONDS
    began = time.monotonic()
    scene = Scene(url, "a", "b")
    for work in (scene.patch(), scene.deliveries().__anext__()):
        try:
            await asyncio.wait_for(work, 30)
        except asyncio.TimeoutError:
            assert time.monotonic() - began < 20
        else:
            raise SystemExit("a silent server has answered")
    routerd_client.SILENCE_SECONDS = before
    silent.close()
    print("presence: a server that says nothing is given up")


async def play(daemon, origin, tools):
    relay, tabs = Relay(daemon.port), []
    agent = Agent(relay.url)
    await daemon.call("PUT", "", {
        "manifest": {"supportsMultipleScenes": True}, "delivery": {"retrySchedule": [0] * 9}})
    for session in ("one", "two"):
        tabs.append(await Tab.open(tools, f"{origin}/index.html?session={session}&server={relay.url}"))
        await until("AbortError", lambda: tabs[-1].evaluate("window.told?.aborted"), holds)
    await agent.start()
    await behind_one_another(daemon, *tabs)
    await outages(daemon, relay, *tabs, agent)
    await odd_results(daemon, tabs[1], agent)
    await discarded(daemon, relay, tabs[0], agent)
    await silent_daemon(daemon, relay, tabs[1])
    await silence()


def main():
    if CHROMIUM is None:
        print("presence: no Chromium, nothing was tried")
        return
    folder = Path(tempfile.mkdtemp(prefix="routerd-presence-"))
    served = folder / "pages"
    served.mkdir()
    (served / "index.html").write_text(PAGE)
    client = (ROOT / "Clients/js/routerd.js").read_text()
    assert len(client.encode()) < 7500 and "SILENCE = 45_000" in client
    (served / "routerd.js").write_text(client)
    (served / "impatient.js").write_text(client.replace("SILENCE = 45_000", "SILENCE = 3_000"))
    running = []
    try:
        with pages(served) as port:
            origin = f"http://127.0.0.1:{port}"
            daemon = Daemon(sys.argv[1], folder, origin)
            daemon.start()
            browser, tools = started_browser(folder)
            running.append(browser)
            try:
                asyncio.run(play(daemon, origin, int(tools)))
            finally:
                daemon.stop()
    finally:
        for process in running:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
