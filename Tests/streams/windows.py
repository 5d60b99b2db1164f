"""Plays Examples/windows as its README tells it: two tabs in headless Chromium, and the agent on the command line.

    python3 Tests/streams/windows.py .build/release/routerd

A notification appears in the tab that prefers its content, and in the other one after that tab was closed; the agent
prints its own. The phone shows calls, also those that came in flight mode and while its page was closed. Pictures go to
.build/windows.
"""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path

from browser import ROOT, Tab, pages, started_browser, started_daemon, until

EXAMPLE = ROOT / "Examples/windows"
PICTURES = ROOT / ".build/windows"


async def submit(tab, content):
    await tab.evaluate(
        f"document.getElementById('content').value = {json.dumps(content)}; document.getElementById('form').requestSubmit()")


async def shows(tab, pattern):
    await until(pattern, lambda: tab.evaluate("document.getElementById('list')?.innerText"), re.search)


async def phone(url, port, address):
    async def shown():
        return await page.evaluate("[...document.querySelectorAll('#banners li')].map((one) => one.innerText.split('\\n')[1])")

    async def calls(*numbers):
        for number in numbers:
            body = json.dumps({"notification-content-id": f"call/{number}"}).encode()
            request = urllib.request.Request(
                f"{url}/v1/applications/com.example.Windows/notifications", body, {"content-type": "application/json"})
            await asyncio.to_thread(urllib.request.urlopen, request)

    async def opened():
        page = await Tab.open(port, address)
        await until("connected", lambda: page.evaluate("document.getElementById('network')?.innerText"), same)
        return page

    page = await opened()
    await calls(1)
    await until(["call/1"], shown, same)
    await page.evaluate("document.querySelector('#banners button').click()")
    await until([], shown, lambda wanted, found: list(found) == wanted)
    await page.evaluate("document.getElementById('flight').click()")
    await calls(2, 3)
    assert await shown() == [], await shown()
    await page.evaluate("document.getElementById('flight').click()")
    await until(["call/3", "call/2"], shown, same)
    await page.picture(PICTURES / "phone.png")
    await page.close()
    await calls(4)
    page = await opened()
    await until(["call/4"], shown, same)
    print("windows: the phone showed a call, those of its flight mode in order, and one that came while its page was closed")


def same(wanted, found):
    return wanted == found


async def play(url, origin, port, agent):
    async def sessions():
        path = f"{url}/v1/applications/com.example.Windows/sessions"
        try:
            text = await asyncio.to_thread(lambda: urllib.request.urlopen(path).read())
        except urllib.error.HTTPError:
            return []
        return sorted(one["id"] for one in json.loads(text)["sessions"])

    def page(session, content):
        return f"{origin}/index.html?server={url}&session={session}&shows={content}"

    one = await Tab.open(port, page("one", "doc/1"))
    await until(["agent", "one"], sessions, same)
    two = await Tab.open(port, page("two", "doc/2"))
    await until(["agent", "one", "two"], sessions, same)
    await submit(one, "doc/2")
    await shows(two, "notification.*doc/2")
    await submit(two, "doc/1")
    await shows(one, "notification.*doc/1")
    await one.picture(PICTURES / "one.png")
    await two.picture(PICTURES / "two.png")
    await two.close()
    await until(["agent", "one"], sessions, same)
    await submit(one, "doc/2")
    await shows(one, "notification.*doc/2")
    # Of tabs for doc/1 and doc/12, each gets its own.
    twelve = await Tab.open(port, page("twelve", "doc/12"))
    await until(["agent", "one", "twelve"], sessions, same)
    for content, tab in (("doc/1", one), ("doc/12", twelve), ("doc/1", one)):
        await submit(one, content)
        await shows(tab, f"notification.*{content}(?![0-9])")
    listed = await one.evaluate("document.getElementById('list').innerText")
    assert "doc/12" not in listed, listed
    await twelve.close()
    await until(["agent", "one"], sessions, same)
    await submit(one, "agent/1")

    async def printed():
        return "".join(agent)

    await until(r"notification agent/1", printed, re.search)
    await phone(url, port, f"{origin}/phone.html?server={url}")
    print("windows: each tab showed what it prefers, the first one all after the second was closed, and the agent its own")


def main():
    folder = Path(tempfile.mkdtemp(prefix="routerd-windows-"))
    served = folder / "pages"
    shutil.copytree(EXAMPLE, served)
    shutil.copy(ROOT / "Clients/js/routerd.js", served)
    running = []
    try:
        with pages(served) as port:
            origin = f"http://127.0.0.1:{port}"
            daemon, url = started_daemon(sys.argv[1], folder, origin)
            running.append(daemon)
            browser, tools = started_browser(folder)
            running.append(browser)
            application = json.dumps({"manifest": {"supportsMultipleScenes": True}}).encode()
            urllib.request.urlopen(urllib.request.Request(
                f"{url}/v1/applications/com.example.Windows", application, {"content-type": "application/json"},
                method="PUT"))
            agent = subprocess.Popen([sys.executable, EXAMPLE / "agent.py", url], stdout=subprocess.PIPE, text=True)
            running.append(agent)
            lines = []
            threading.Thread(target=lambda: lines.extend(agent.stdout), daemon=True).start()
            asyncio.run(play(url, origin, int(tools), lines))
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
