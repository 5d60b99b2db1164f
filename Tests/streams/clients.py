"""Plays the clients of docs/STREAMS.md against a daemon: tabs in headless Chromium, the Python client, and WebSockets.

    python3 Tests/streams/clients.py .build/release/routerd

A notification goes to the one tab that prefers its content; when that tab is closed, the next one goes to the other tab.
The tabs and the agent hold tokens of their sessions; the key stays with the server of the pages. A delivery that was called
back while it was handled ends nothing. The Python client is installed by pip too. presence.py has visibility and outages.
"""

import asyncio
import hashlib
import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Clients/python"))
from routerd_client import Nack, Scene  # noqa: E402

ENVIRONMENT = ROOT / ".build/streams-venv"
PACKAGE = "websockets==17.4"
if not (ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix)):
    if not (ENVIRONMENT / PACKAGE).exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([ENVIRONMENT / "bin/python", "-m", "pip", "install", "--quiet", PACKAGE], check=True)
        (ENVIRONMENT / PACKAGE).touch()
    os.execv(ENVIRONMENT / "bin/python", [ENVIRONMENT / "bin/python", __file__, *sys.argv[1:]])
from websockets.asyncio.client import connect  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402

PAGE = """<!doctype html><title>tab</title><script type="module">
import {connectScene} from "/routerd.js";
const query = new URLSearchParams(location.search), session = query.get("session");
const tell = (what) => fetch("/told", {method: "POST", body: JSON.stringify({session, ...what})});
try {
  await connectScene({
    server: query.get("server"), application: "com.example.tabs", session,
    token: async () => (await fetch(`/token?${session}`)).text(), shows: query.get("shows"),
    onDelivery: ({envelope: {type, data}, attempt}) =>
      tell({type, attempt, content: data.targetContentIdentifier, length: data.payload?.text?.length}),
    onError: (error) => tell({error: String(error)}), onGap: (after) => tell({gap: after}),
  });
  await tell({connected: true});
} catch (error) { await tell({error: String(error)}); }
</script>"""

SOCKET = """<!doctype html><title>socket</title><script type="module">
const query = new URLSearchParams(location.search), session = query.get("session");
const tell = (what) => fetch("/told", {method: "POST", body: JSON.stringify({session, ...what})});
const token = await (await fetch(`/token?${session}`)).text();
const address = query.get("server").replace("http", "ws") + `/v1/applications/com.example.tabs/sessions/${session}/deliveries`;
const socket = new WebSocket(address, ["routerd", `routerd.token.${token}`]);
socket.onopen = () => tell({connected: true});
socket.onclose = ({code}) => tell({closed: code});
socket.onmessage = ({data}) => {
  const message = JSON.parse(data);
  if (message.type === "delivery") socket.send(JSON.stringify({type: "ack", id: message.id}));
  tell({message: message.type});
};
</script>"""

KEY = "rk_clients"


class Pages(http.server.BaseHTTPRequestHandler):
    told, changed, daemon = [], threading.Condition(), None

    def do_GET(self):
        if self.path.startswith("/token?"):
            return self.answer(self.daemon.token(self.path.split("?")[1]).encode(), "text/plain")
        is_module = self.path == "/routerd.js"
        page = SOCKET if self.path.startswith("/socket?") else PAGE
        body = (ROOT / "Clients/js/routerd.js").read_bytes() if is_module else page.encode()
        self.answer(body, "text/javascript" if is_module else "text/html")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        with self.changed:
            self.told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.changed.notify_all()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

    @classmethod
    def wait(cls, fits, seconds=30):
        with cls.changed:
            if not cls.changed.wait_for(lambda: any(fits(one) for one in cls.told), seconds):
                raise SystemExit(f"not told in time; told: {cls.told}")


class Daemon:
    def __init__(self, binary, folder, origin):
        config = folder / "routerd.yaml"
        config.write_text(
            f"http:\n  allowedOrigins: ['{origin}']\napiKeys:\n- name: clients\n  scopes: [admin]\n"
            f"  sha256: {hashlib.sha256(KEY.encode()).hexdigest()}\n")
        self.process = subprocess.Popen(
            [binary, "serve", "--config", config, "--listen", "127.0.0.1:0", "--database", folder / "db.sqlite"],
            stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"listening on (http://\S+)", line):
                self.url = found[1]
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        raise SystemExit("the daemon does not start")

    def token(self, session):
        return self.call("POST", f"{APPLICATION}/sessions/{session}/tokens", {"lifetimeSeconds": 60})["token"]

    def call(self, method, path, body=None):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def settled(self, notification):
        for _ in range(600):
            found = self.call("GET", f"/v1/notifications/{notification}")
            if found["state"] not in ("waiting", "inFlight", "held"):
                return found
            time.sleep(0.05)
        raise SystemExit(f"not settled: {found}")


APPLICATION = "/v1/applications/com.example.tabs"


def largest(content):
    """A payload of 256 KiB and 64 levels, as an object and as text with line ends between its values."""
    payload = {"notification-content-id": content, "deep": json.loads("[" * 63 + "]" * 63), "text": ""}
    payload["text"] = "x" * (256 * 1024 - len(json.dumps(payload, indent=0)))
    return payload, json.dumps(payload, indent=0).encode()


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def browser(folder, session, address):
    process = subprocess.Popen(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / session}",
         "--remote-debugging-port=0", *sys.argv[2:], address],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    Pages.wait(lambda one: one.get("connected") and one["session"] == session)
    return process


def tabs(daemon, origin, folder):
    browsers = {}
    for session, content in (("left", "doc/1"), ("right", "doc/2")):
        address = f"{origin}/?session={session}&shows={content}&server={daemon.url}"
        browsers[session] = browser(folder, session, address)
    try:
        for number, session in ((1, "left"), (2, "right")):
            found = daemon.call("POST", f"{APPLICATION}/notifications", {"notification-content-id": f"doc/{number}"})
            assert found["decision"]["session"] == session, found
            Pages.wait(lambda one: one.get("content") == f"doc/{number}" and one["session"] == session)
            assert daemon.settled(found["id"])["state"] == "delivered"
        browsers["left"].terminate()
        browsers["left"].wait()
        for _ in range(400):
            if daemon.call("GET", f"{APPLICATION}/sessions/left")["activationState"] == "unattached":
                break
            time.sleep(0.05)
        else:
            raise SystemExit("a closed tab is not unattached after 20 s")
        found = daemon.call("POST", f"{APPLICATION}/notifications", {"notification-content-id": "doc/9"})
        assert found["decision"]["session"] == "right", found
        Pages.wait(lambda one: one.get("content") == "doc/9" and one["session"] == "right")
        payload, text = largest("doc/2")
        found = daemon.call("POST", f"{APPLICATION}/notifications", text)
        Pages.wait(lambda one: one.get("content") == "doc/2" and one.get("length") == len(payload["text"]))
        assert len(daemon.settled(found["id"])["attempts"]) == 1
        print("clients: two tabs, the right one told each time, the next one after the first was closed")
    finally:
        for process in browsers.values():
            process.terminate()
            process.wait()


def put_stream(daemon, session):
    daemon.call("PUT", f"{APPLICATION}/sessions/{session}", {
        "endpoint": {"stream": True}, "activationState": "foregroundActive",
        "activationConditions": {"preferring": [session]}})


def post(daemon, session, **fields):
    return daemon.call("POST", f"{APPLICATION}/notifications", {"notification-content-id": session, **fields})["id"]


def page_with_socket(daemon, origin, folder):
    """A page's own WebSocket, with the token as a subprotocol."""
    put_stream(daemon, "socket")
    process = browser(folder, "socket", f"{origin}/socket?session=socket&server={daemon.url}")
    try:
        assert daemon.settled(post(daemon, "socket"))["state"] == "delivered"
        Pages.wait(lambda one: one.get("message") == "settled")
        daemon.call("DELETE", f"{APPLICATION}/sessions/socket")
        Pages.wait(lambda one: one.get("closed") == 4001)
        print("clients: a page receives and acknowledges over a WebSocket, and is told the end of its session")
    finally:
        process.terminate()
        process.wait()


async def sockets(daemon, origin, folder):
    """The package websockets, in clear text and behind a proxy that terminates TLS."""
    await asyncio.to_thread(put_stream, daemon, "py")
    token = daemon.token("py")
    protocols = ["routerd", f"routerd.token.{token}"]
    path = f"{APPLICATION}/sessions/py/deliveries"
    host, port = daemon.url.removeprefix("http://").split(":")

    async def pipe(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def forward(reader, writer):
        to_reader, to_writer = await asyncio.open_connection(host, port)
        await asyncio.gather(pipe(reader, to_writer), pipe(to_reader, writer), return_exceptions=True)

    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(certificate, key)
    proxy = await asyncio.start_server(forward, "localhost", 0, ssl=server_side)
    client_side = ssl.create_default_context(cafile=certificate)
    behind_tls = f"wss://localhost:{proxy.sockets[0].getsockname()[1]}{path}"
    in_clear_text = daemon.url.replace("http", "ws") + path

    async def receive(socket):
        return json.loads(await asyncio.wait_for(socket.recv(), 30))

    for address, settings in ((in_clear_text, {}), (behind_tls, {"ssl": client_side})):
        async with connect(address, subprotocols=protocols, origin=origin, **settings) as socket:
            assert socket.subprotocol == "routerd", socket.subprotocol
            wanted = [await asyncio.to_thread(post, daemon, "py", n=n, text="x" * 100_000) for n in (1, 2)]
            seen, replies = [], []
            while len(replies) < 3:
                message = await receive(socket)
                if message["type"] != "delivery":
                    replies.append(message["type"])
                    continue
                seen.append((message["envelope"]["data"]["payload"]["n"], message["attempt"]))
                answer = {"type": "ack", "id": message["id"], "answer": {"session": {"userInfo": {"by": address}}}}
                if seen[-1] == (2, 1):
                    answer = {"type": "nack", "id": message["id"], "reason": "busy", "retryAfterSeconds": 0}
                await socket.send(json.dumps(answer))
            assert seen == [(1, 1), (2, 1), (2, 2)] and replies == ["settled"] * 3, (seen, replies)
            await socket.send(json.dumps({"type": "ack", "ids": [one.replace("ntf_", "dlv_") for one in wanted]}))
            assert (await receive(socket))["type"] == "settled"
            assert await (await socket.ping()) >= 0
        for one in wanted:
            assert (await asyncio.to_thread(daemon.settled, one))["state"] == "delivered"
        session = await asyncio.to_thread(daemon.call, "GET", f"{APPLICATION}/sessions/py")
        assert session["userInfo"] == {"by": address}, session

    for changes, status in (({"origin": "https://other.example"}, 403), ({"subprotocols": ["routerd"]}, 401)):
        try:
            await connect(in_clear_text, **{"subprotocols": protocols, "origin": origin, **changes})
        except InvalidStatus as refusal:
            assert refusal.response.status_code == status, refusal
        else:
            raise SystemExit(f"not refused: {changes}")
    async with connect(in_clear_text, subprotocols=protocols) as first:
        async with connect(in_clear_text, subprotocols=protocols):
            assert (await receive(first))["type"] == "superseded"
            try:
                await first.recv()
            except ConnectionClosed as end:
                assert end.rcvd.code == 4000, end
    proxy.close()
    print("clients: a WebSocket receives, acknowledges and refuses, in clear text and over TLS, and is taken over")


async def agent(daemon):
    seen = []

    async def handle(delivery):
        payload = delivery["envelope"]["data"].get("payload", {})
        seen.append((payload.get("n"), delivery["attempt"]))
        if payload.get("n") == 4:
            called = delivery["id"].replace("dlv_", "ntf_")
            await asyncio.to_thread(daemon.call, "POST", f"/v1/notifications/{called}/cancel")
            await scene.ack(delivery)  # The first acknowledgement ends it; the client's own is answered 204 again.
            return {"session": {"activationState": "no such state"}}
        if payload.get("n") == 2 and delivery["attempt"] == 1:
            raise Nack("busy", 1)
        return {"session": {"userInfo": {"last": payload.get("n")}}}

    scene = Scene(
        daemon.url, "com.example.tabs", "agent", lambda: asyncio.to_thread(daemon.token, "agent"))
    await scene.put(activationState="foregroundActive", activationConditions={"preferring": ["agent"]})
    task = asyncio.create_task(scene.run(handle))
    ids = []
    for number in (1, 2, 3, 4, 5):
        body = {"notification-content-id": "agent", "n": number}
        ids.append((await asyncio.to_thread(daemon.call, "POST", f"{APPLICATION}/notifications", body))["id"])
    for one in ids:
        found = await asyncio.to_thread(daemon.settled, one)
        assert found["state"] == "delivered", found
    assert seen == [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (5, 1)], seen
    session = await asyncio.to_thread(daemon.call, "GET", f"{APPLICATION}/sessions/agent")
    assert session["userInfo"] == {"last": 5}, session
    task.cancel()
    assert scene.numbers.through == 5 and not scene.numbers.has_gap, scene.numbers.through
    other = Scene(daemon.url, "com.example.tabs", "agent", lambda: asyncio.to_thread(daemon.token, "agent"))
    body = {"notification-content-id": "agent", "n": 6}
    await asyncio.to_thread(daemon.call, "POST", f"{APPLICATION}/notifications", body)
    async for delivery in other.deliveries():
        await other.ack(delivery)
        break
    missed = [item["envelope"]["data"]["payload"]["n"] for item in await scene.missed()]
    assert missed == [6] and await scene.missed() == [], missed
    payload, text = largest("agent")
    await asyncio.to_thread(daemon.call, "POST", f"{APPLICATION}/notifications", text)
    async for delivery in other.deliveries():
        assert delivery["envelope"]["data"]["payload"] == payload and delivery["attempt"] == 1
        await other.ack(delivery)
        break
    await asyncio.to_thread(daemon.call, "PATCH", f"{APPLICATION}/sessions/agent", {"userInfo": {"map": "satellite"}})
    await other.register(activationConditions={"preferring": ["agent"]})
    kept = await asyncio.to_thread(daemon.call, "GET", f"{APPLICATION}/sessions/agent")
    assert kept["userInfo"]["map"] == "satellite" and kept["activationState"] == "unattached", kept
    print("clients: the Python client acknowledges, refuses and answers, in order, and finds what it has missed")


INSTALLED = """
import asyncio, sys
import routerd_client

async def show(delivery):
    print(routerd_client.__file__, delivery["envelope"]["data"]["targetContentIdentifier"], flush=True)

asyncio.run(routerd_client.connect_scene(
    sys.argv[1], "com.example.tabs", "installed", show, token=sys.argv[2], activationConditions={"preferring": ["installed"]}))
"""


def installed(daemon, folder):
    """The Python client from an environment that it was installed into by pip."""
    environment = folder / "environment"
    python = environment / "bin/python"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ROOT / "Clients/python"], check=True)
    about = subprocess.run([python, "-m", "pip", "show", "routerd-client"], check=True, capture_output=True, text=True)
    assert "Requires: \n" in about.stdout, about.stdout
    assert (ROOT / "Clients/python/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    program = subprocess.Popen(
        [python, "-I", "-c", INSTALLED, daemon.url, daemon.token("installed")], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(400):
            sessions = daemon.call("GET", f"{APPLICATION}/sessions")["sessions"]
            if program.poll() is not None or any(one["id"] == "installed" for one in sessions):
                break
            time.sleep(0.05)
        assert daemon.settled(post(daemon, "installed"))["state"] == "delivered"
        path, content = program.stdout.readline().split()
        assert Path(path).is_relative_to(environment) and content == "installed", path
    finally:
        program.terminate()
        program.wait()
    print("clients: the Python client is installed by pip, and receives")


def main():
    folder = Path(tempfile.mkdtemp(prefix="routerd-clients-"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_address[1]}"
    daemon = Pages.daemon = Daemon(sys.argv[1], folder, origin)
    try:
        delivery = {"retrySchedule": [0] * 9, "lifeCycleEvents": False}
        daemon.call("PUT", APPLICATION, {"manifest": {"supportsMultipleScenes": True}, "delivery": delivery})
        if CHROMIUM is None:
            print("clients: no Chromium, the JavaScript client and a page's WebSocket were not tried")
        else:
            tabs(daemon, origin, folder)
            page_with_socket(daemon, origin, folder)
        asyncio.run(agent(daemon))
        installed(daemon, folder)
        asyncio.run(sockets(daemon, origin, folder))
    finally:
        daemon.process.terminate()
        daemon.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


main()
