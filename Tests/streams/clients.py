"""Plays the clients of docs/STREAMS.md against a daemon: two tabs in headless Chromium, then the Python client.

    python3 Tests/streams/clients.py .build/debug/routerd

A notification goes to the one tab that prefers its content; when that tab is closed, the next one goes to the other tab.
The tabs and the agent hold tokens of their sessions; the key stays with the server of the pages. A delivery that was called
back while it was handled ends nothing.
"""

import asyncio
import hashlib
import http.server
import json
import os
import re
import shutil
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

PAGE = """<!doctype html><title>tab</title><script type="module">
import {connectScene} from "/routerd.js";
const query = new URLSearchParams(location.search), session = query.get("session");
const tell = (what) => fetch("/told", {method: "POST", body: JSON.stringify({session, ...what})});
try {
  await connectScene({
    server: query.get("server"), application: "com.example.tabs", session,
    token: async () => (await fetch(`/token?${session}`)).text(), conditions: {preferring: [query.get("prefers")]},
    onDelivery: ({envelope, attempt}) => tell({type: envelope.type, attempt, content: envelope.data.targetContentIdentifier}),
    onError: (error) => tell({error: String(error)}),
  });
  await tell({connected: true});
} catch (error) { await tell({error: String(error)}); }
</script>"""


KEY = "rk_clients"


class Pages(http.server.BaseHTTPRequestHandler):
    told, changed, daemon = [], threading.Condition(), None

    def do_GET(self):
        if self.path.startswith("/token?"):
            return self.answer(self.daemon.token(self.path.split("?")[1]).encode(), "text/plain")
        is_module = self.path == "/routerd.js"
        body = (ROOT / "Clients/js/routerd.js").read_bytes() if is_module else PAGE.encode()
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
        data = None if body is None else json.dumps(body).encode()
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


def tabs(daemon, origin, folder):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return print("clients: no Chromium, the JavaScript client was not tried")
    browsers = {}
    for session, content in (("left", "doc/1"), ("right", "doc/2")):
        address = f"{origin}/?session={session}&prefers={content}&server={daemon.url}"
        browsers[session] = subprocess.Popen(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / session}",
             "--remote-debugging-port=0", *sys.argv[2:], address],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        Pages.wait(lambda one: one.get("connected") and one["session"] == session)
    try:
        for number, session in ((1, "left"), (2, "right")):
            found = daemon.call("POST", f"{APPLICATION}/notifications", {"notification-content-id": f"doc/{number}"})
            assert found["decision"]["session"] == session, found
            Pages.wait(lambda one: one.get("content") == f"doc/{number}" and one["session"] == session)
            assert daemon.settled(found["id"])["state"] == "delivered"
        state = daemon.call("GET", f"{APPLICATION}/sessions/left")["activationState"]
        assert state in ("foregroundActive", "foregroundInactive"), state
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
        print("clients: two tabs, the right one told each time, the next one after the first was closed")
    finally:
        for browser in browsers.values():
            browser.terminate()
            browser.wait()


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
    print("clients: the Python client acknowledges, refuses and answers, in order")


def main():
    folder = Path(tempfile.mkdtemp(prefix="routerd-clients-"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_address[1]}"
    daemon = Pages.daemon = Daemon(sys.argv[1], folder, origin)
    try:
        delivery = {"retrySchedule": [0] * 9, "lifeCycleEvents": False}
        daemon.call("PUT", APPLICATION, {"manifest": {"supportsMultipleScenes": True}, "delivery": delivery})
        tabs(daemon, origin, folder)
        asyncio.run(agent(daemon))
    finally:
        daemon.process.terminate()
        daemon.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


main()
