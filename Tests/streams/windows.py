"""Plays Examples/windows as its README tells it: two tabs in headless Chromium, and the agent on the command line.

    python3 Tests/streams/windows.py .build/debug/routerd

A notification appears in the tab that prefers its content, and in the other one after that tab was closed; the agent
prints its own. Pictures of both tabs go to .build/windows.
"""

import asyncio
import base64
import functools
import http.server
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "Examples/windows"
ENVIRONMENT = ROOT / ".build/streams-venv"
PICTURES = ROOT / ".build/windows"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SECONDS = 40
if not (ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix)):
    os.execv(ENVIRONMENT / "bin/python", [ENVIRONMENT / "bin/python", __file__, *sys.argv[1:]])
from websockets.asyncio.client import connect  # noqa: E402


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Tab:
    """A tab of the browser, by the protocol of its developer tools."""

    numbers = itertools.count(1)

    def __init__(self, port, target, socket):
        self.port, self.target, self.socket = port, target, socket

    @classmethod
    async def open(cls, port, url):
        address = urllib.parse.quote(url, safe="")
        request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?{address}", method="PUT")
        found = json.loads(await asyncio.to_thread(lambda: urllib.request.urlopen(request).read()))
        socket = await connect(found["webSocketDebuggerUrl"], max_size=None)
        return cls(port, found["id"], socket)

    async def call(self, method, **parameters):
        number = next(self.numbers)
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        async for message in self.socket:
            answer = json.loads(message)
            if answer.get("id") == number:
                return answer["result"]

    async def evaluate(self, text):
        return (await self.call("Runtime.evaluate", expression=text))["result"].get("value")

    async def type(self, content):
        await self.evaluate(
            f"document.getElementById('content').value = {json.dumps(content)}; document.getElementById('form').requestSubmit()")

    async def shows(self, pattern):
        await until(pattern, lambda: self.evaluate("document.getElementById('list').innerText"), re.search)

    async def picture(self, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / name).write_bytes(base64.b64decode((await self.call("Page.captureScreenshot"))["data"]))

    async def close(self):
        address = f"http://127.0.0.1:{self.port}/json/close/{self.target}"
        await asyncio.to_thread(lambda: urllib.request.urlopen(address).read())


async def until(wanted, read, fits):
    found = None
    for _ in range(SECONDS * 10):
        found = await read()
        if fits(wanted, found or ""):
            return
        await asyncio.sleep(0.1)
    raise SystemExit(f"{wanted!r} did not come in {SECONDS} s; there is {found!r}")


def started(command, pattern, **options):
    """A process, and the part of its messages that a pattern finds."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)
    for line in process.stderr:
        if found := re.search(pattern, line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, found[1]
    raise SystemExit(f"{command[0]} does not start")


async def play(url, origin, port, agent):
    async def sessions():
        path = f"{url}/v1/applications/com.example.Windows/sessions"
        try:
            text = await asyncio.to_thread(lambda: urllib.request.urlopen(path).read())
        except urllib.error.HTTPError:
            return []
        return sorted(one["id"] for one in json.loads(text)["sessions"])

    def page(session, content):
        return f"{origin}/index.html?server={url}&session={session}&prefers={content}"

    one = await Tab.open(port, page("one", "doc/1"))
    await until(["agent", "one"], sessions, lambda wanted, found: wanted == found)
    two = await Tab.open(port, page("two", "doc/2"))
    await until(["agent", "one", "two"], sessions, lambda wanted, found: wanted == found)
    await one.type("doc/2")
    await two.shows("notification.*doc/2")
    await two.type("doc/1")
    await one.shows("notification.*doc/1")
    await one.picture("one.png")
    await two.picture("two.png")
    await two.close()
    await until(["agent", "one"], sessions, lambda wanted, found: wanted == found)
    await one.type("doc/2")
    await one.shows("notification.*doc/2")
    await one.type("agent/1")

    async def printed():
        return "".join(agent)

    await until(r"notification agent/1", printed, re.search)
    print("windows: each tab showed what it prefers, the first one all after the second was closed, and the agent its own")


def main():
    folder = Path(tempfile.mkdtemp(prefix="routerd-windows-"))
    served = folder / "pages"
    shutil.copytree(EXAMPLE, served)
    shutil.copy(ROOT / "Clients/js/routerd.js", served)
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=served))
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{pages.server_address[1]}"
    (folder / "windows.yaml").write_text(f'http:\n  allowedOrigins: ["{origin}"]\n')
    running = []
    try:
        daemon, url = started(
            [sys.argv[1], "serve", "--config", folder / "windows.yaml", "--listen", "127.0.0.1:0", "--database",
             folder / "db.sqlite"], r"listening on (http://\S+)")
        running.append(daemon)
        browser, port = started(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
             "--remote-debugging-port=0", "about:blank"], r"DevTools listening on ws://127\.0\.0\.1:(\d+)/",
            stdout=subprocess.DEVNULL)
        running.append(browser)
        application = json.dumps({"manifest": {"supportsMultipleScenes": True}}).encode()
        urllib.request.urlopen(urllib.request.Request(
            f"{url}/v1/applications/com.example.Windows", application, {"content-type": "application/json"}, method="PUT"))
        agent = subprocess.Popen([sys.executable, EXAMPLE / "agent.py", url], stdout=subprocess.PIPE, text=True)
        running.append(agent)
        lines = []
        threading.Thread(target=lambda: lines.extend(agent.stdout), daemon=True).start()
        asyncio.run(play(url, origin, int(port), lines))
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
        pages.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
