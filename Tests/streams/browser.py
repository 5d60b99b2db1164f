"""Headless Chromium for the tests of this folder, by the protocol of its developer tools."""

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
import threading
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".build/streams-venv"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SECONDS = 40
if not (ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix)):
    os.execv(ENVIRONMENT / "bin/python", [ENVIRONMENT / "bin/python", *sys.argv])
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
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']['message']}")
                return answer["result"]

    async def evaluate(self, text):
        """The value of an expression, or of its promise."""
        answer = await self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if fault := answer.get("exceptionDetails"):
            raise SystemExit(f"the page: {fault.get('exception', fault).get('description', fault)}")
        return answer["result"].get("value")

    async def picture(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode((await self.call("Page.captureScreenshot"))["data"]))

    async def close(self):
        """Closes the tab, and waits until its scripts have ended."""
        base = f"http://127.0.0.1:{self.port}/json"
        await asyncio.to_thread(lambda: urllib.request.urlopen(f"{base}/close/{self.target}").read())

        async def targets():
            return await asyncio.to_thread(lambda: urllib.request.urlopen(f"{base}/list").read().decode())

        await until(self.target, targets, lambda wanted, found: wanted not in found)


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


@contextmanager
def pages(folder):
    """The port of a server of the files of a folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()


def started_daemon(binary, folder, origin):
    """A daemon whose API pages of an origin may use, and its URL."""
    (folder / "routerd.yaml").write_text(f'http:\n  allowedOrigins: ["{origin}"]\n')
    return started(
        [binary, "serve", "--config", folder / "routerd.yaml", "--listen", "127.0.0.1:0", "--database",
         folder / "db.sqlite"], r"listening on (http://\S+)")


def started_browser(folder):
    """Headless Chromium, and the port of its developer tools."""
    return started(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
         "--remote-debugging-port=0", "about:blank"], r"DevTools listening on ws://127\.0\.0\.1:(\d+)/",
        stdout=subprocess.DEVNULL)
