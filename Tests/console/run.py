#!/usr/bin/env python3
"""Opens every page of the console in a headless Chromium, and does the main tasks by keyboard.

Usage: Tests/console/run.py --routerd PATH [--pictures FOLDER]

Each page is opened wide and narrow, light and dark: the console stays without an error, nothing is wider than the window, and every
control has a name. The pictures of the pages go to .build/console.
"""
import argparse
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".build/console-venv"
PAGES = ["route", "lanes", "notifications", "overview", "live", "dead", "sessions", "sources", "gates", "applications"]
APPEARANCES = [("wide", 1280, 900, "light"), ("wide-dark", 1280, 900, "dark"), ("narrow", 390, 800, "light")]
GALLERY, OTHER = "com.example.Gallery", "com.example.Other"
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
# Controls without a name for assistive technology.
NAMELESS = """[...document.querySelectorAll('input, select, textarea, button, a[href]')].filter((one) =>
  !(one.labels?.length || one.getAttribute('aria-label') || one.textContent.trim())).map((one) => one.outerHTML)"""


def enter_environment() -> None:
    """Starts this script again in the virtual environment, made at the first time."""
    python = ENVIRONMENT / "bin/python"
    if ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix):
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "websocket-client==1.8.0"], check=True)
    os.execv(python, [python, __file__, *sys.argv[1:]])


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes every webhook; those to /bad are answered 500, those to /gone 400."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"] or 0))
        self.send_response({"/bad": 500, "/refused": 400}.get(self.path, 200))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class API:
    def __init__(self, address: str) -> None:
        self.address = address

    def call(self, method: str, path: str, body: object = None) -> dict:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        text = urllib.request.urlopen(request, timeout=10).read()
        return json.loads(text) if text else {}

    def send(self, content: str) -> dict:
        return self.call("POST", f"/v1/applications/{GALLERY}/notifications", {"notification-content-id": content})

    def fill(self, receiver: str) -> None:
        self.call("PUT", f"/v1/applications/{GALLERY}", {"delivery": {"retrySchedule": [600]}})
        can, prefers = (
            f"{side}ToActivateForTargetContentIdentifierPredicate" if side == "prefers"
            else f"{side}ActivateForTargetContentIdentifierPredicate" for side in ("can", "prefers"))
        for session, state, path, first, second in [
            ("inspector", "foregroundActive", "/good", "SELF BEGINSWITH 'photo/'", "SELF == 'photo/7' OR SELF == 'photo/8'"),
            ("gallery", "background", "/good", "TRUEPREDICATE", "SELF BEGINSWITH 'album/' AND NOT SELF ENDSWITH '/private'"),
            ("broken", "background", "/bad", "SELF == 'broken'", "SELF == 'broken'"),
            ("refusing", "background", "/refused", "SELF == 'refused'", "SELF == 'refused'"),
        ]:
            self.call("PUT", f"/v1/applications/{GALLERY}/sessions/{session}", {
                "activationState": state, "endpoint": {"url": receiver + path},
                "activationConditions": {can: first, prefers: second}})
        for content in ["photo/7", "album/2", "broken", "broken", "refused", "photo/1"]:
            self.send(content)


def main() -> int:
    arguments = argparse.ArgumentParser(description="Opens the console in a browser, and uses it.")
    arguments.add_argument("--routerd", type=Path, required=True, help="the binary")
    arguments.add_argument("--pictures", type=Path, default=ROOT / ".build/console")
    given = arguments.parse_args()
    enter_environment()
    from browser import Browser

    given.pictures.mkdir(parents=True, exist_ok=True)
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="routerd-console-", ignore_cleanup_errors=True) as folder:
        command = [given.routerd.resolve(), "serve", "--listen", "127.0.0.1:0", "--database", f"{folder}/routerd.db"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as daemon:
            browser = None
            try:
                address = next(
                    found[1] for line in daemon.stdout if (found := re.search(r"(http://127\.0\.0\.1:\d+)", line)))
                threading.Thread(target=daemon.stdout.read, daemon=True).start()
                browser = Browser(Path(folder) / "profile")
                api = API(address)
                look(browser, api, given.pictures, "empty", PAGES)
                api.fill(f"http://127.0.0.1:{receiver.server_port}")
                look(browser, api, given.pictures, "full", PAGES)
                use(browser, api, given.pictures)
                leave(browser, api)
                choose(browser, api)
                copy(browser, api, given.pictures)
                inspect(browser, api, given.routerd, given.pictures)
            finally:
                if browser:
                    browser.close()
                daemon.terminate()
    print(f"console: {len(PAGES)} pages, no error; pictures in {given.pictures}")
    return 0


def page(api: API, name: str, **values: str) -> str:
    terms = urllib.parse.urlencode({"application": GALLERY, **values} if values.get("application") != "" else {})
    return f"{api.address}/console/#/{name}" + (f"?{terms}" if terms else "")


def look(browser: "Browser", api: API, pictures: Path, name: str, pages: list[str]) -> None:
    for shown in pages:
        for appearance, width, height, scheme in APPEARANCES:
            browser.appear(width, height, scheme)
            browser.open(page(api, shown, application="") if name == "empty" else page(api, shown))
            browser.until("document.querySelector('main h1') && document.querySelector('main').ariaBusy === 'false'")
            browser.until("!document.querySelector('main').innerText.includes('Connecting')")
            assert not browser.value("document.querySelector('main [role=alert]')?.textContent"), shown
            assert not (found := browser.value(NAMELESS)), f"{shown}: {found}"
            width_of_page = browser.value("document.documentElement.scrollWidth")
            assert width_of_page <= width, f"{shown} is {width_of_page} wide in {width}"
            assert not browser.faults, f"{shown}: {browser.faults}"
            browser.picture(pictures / f"{shown}-{name}-{appearance}.png")


def use(browser: "Browser", api: API, pictures: Path) -> None:
    """The main tasks, without a mouse."""
    browser.appear(1280, 900, "light")
    for content in ["photo/7", "photo/1", "album/9", "album/private", "nothing"]:
        browser.open(page(api, "route", content=content))
        shown = browser.until("document.getElementById('winner')?.textContent")
        decided = api.send(content)["decision"]["session"]
        assert shown == decided, f"{content}: the page shows {shown}, the next post went to {decided}"
    assert browser.value("document.querySelectorAll('.part.yes, .part.no').length") > 3
    browser.press("/")
    browser.value("document.activeElement.select()")
    browser.write("photo/8")
    browser.press("Enter")
    browser.until("document.getElementById('winner')?.textContent === 'inspector'")
    browser.picture(pictures / "route-used.png")
    browser.value("document.activeElement.blur()")
    browser.press("l")
    browser.until("document.querySelector('main h1')?.textContent === 'Lanes'")
    browser.until("document.querySelector('[data-until]')?.textContent.startsWith('in ')")
    browser.value("document.querySelector('main button').focus()")
    browser.press("Enter")
    browser.until("document.getElementById('toast').textContent.startsWith('Resumed')")
    browser.open(page(api, "live"))
    browser.until("document.querySelector('main').innerText.includes('Listening')")
    sent = api.send("photo/7")["id"]
    browser.until(f"document.getElementById('events').innerText.includes('{sent}')")
    browser.picture(pictures / "live-used.png")
    browser.open(page(api, "notification", id=sent))
    browser.until("document.querySelector('ol.line')?.innerText.includes('attempt 1')")
    browser.picture(pictures / "notification.png")
    browser.value("document.querySelector('main button.main').focus()")
    browser.press("Enter")
    browser.until(f"location.hash.includes('/notification') && !location.hash.includes('{sent}')")
    browser.until("document.querySelector('ol.line')?.innerText.includes('again for')")
    browser.open(page(api, "dead"))
    browser.until("!!document.querySelector('main table')")
    browser.value("[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Count only').focus()")
    browser.press("Enter")
    browser.until("document.querySelector('main [role=status]').textContent.includes('1 would be sent again')")
    assert not browser.faults, browser.faults


def leave(browser: "Browser", api: API) -> None:
    """A page that is left ends its requests, and says nothing of it."""
    browser.open(page(api, "overview"))
    browser.until("document.querySelector('main').ariaBusy === 'false'")
    browser.value("""void (() => {
      const before = window.fetch;
      window.asked = [];
      window.fetch = (path, more) => {
        if (more.method !== 'GET') return before(path, more);
        asked.push([path, more.signal]);
        return new Promise((_, fail) => more.signal?.addEventListener('abort', () => fail(more.signal.reason)));
      };
    })()""")
    browser.value("document.activeElement.blur()")
    browser.press("s")
    browser.until("asked.length > 0 && document.querySelector('main').ariaBusy === 'true'")
    browser.press("d")
    browser.until("document.title.startsWith('Dead letters') && asked[0][1].aborted")
    assert browser.value("document.getElementById('toast').textContent") == ""
    assert not browser.faults, browser.faults


def choose(browser: "Browser", api: API) -> None:
    """The application is typed, and every link leads to pages of it."""
    for application in [OTHER, GALLERY]:
        api.call("PUT", f"/v1/applications/{application}", {})
    browser.open(page(api, "sessions", application=""))
    links = "document.querySelectorAll('#nav a[href$=\"application={}\"]').length === 10"
    browser.until(links.format(GALLERY))
    names = browser.value("[...document.querySelectorAll('#applications option')].map((one) => one.value)")
    assert names == [GALLERY, OTHER], names
    browser.value("(() => { const one = document.getElementById('application'); one.focus(); one.select(); })()")
    browser.write(OTHER)
    browser.press("Enter")
    browser.until("document.querySelector('main').innerText.includes('no session yet')")
    browser.until(links.format(OTHER))
    assert not browser.faults, browser.faults


def copy(browser: "Browser", api: API, pictures: Path) -> None:
    """Where the browser refuses to copy, the text is there to be copied by hand."""
    browser.open(page(api, "route", content="photo/7"))
    browser.until("!!document.getElementById('winner')")
    browser.value("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
    browser.value("[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Copy as curl').focus()")
    browser.press("Enter")
    browser.until("document.querySelector('dialog[open] textarea')?.value.startsWith('curl -X POST')")
    assert browser.value("getSelection().toString()").startswith("curl -X POST")
    assert not (found := browser.value(NAMELESS)), found
    browser.picture(pictures / "copy.png")
    browser.press("Escape")
    browser.until("!document.querySelector('dialog[open]')")
    assert not browser.faults, browser.faults


def inspect(browser: "Browser", api: API, routerd: Path, pictures: Path) -> None:
    """The page of `routerd receive --ui`: webhooks appear, the next answer is chosen, and one is sent again."""
    command = [routerd.resolve(), "receive", "--listen", "127.0.0.1:0", "--secret", SECRET, "--ui"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as receiver:
        try:
            address = next(found[1] for line in receiver.stderr if (found := re.search(r"inspect at (http\S+)/inspector/", line)))
            for name, width, height, scheme in APPEARANCES:
                browser.appear(width, height, scheme)
                browser.open(f"{address}/")
                browser.until("document.querySelector('main').innerText.includes('No webhook has come yet')")
                browser.picture(pictures / f"inspector-empty-{name}.png")
            browser.appear(1280, 900, "light")
            browser.value("document.getElementById('status').focus(); document.getElementById('status').select()")
            browser.write("503")
            browser.value("document.getElementById('times').focus()")
            browser.write("1")
            browser.press("Enter")
            browser.until("document.getElementById('told').textContent.includes('answers 503, 1 more times')")
            api.call("PUT", f"/v1/applications/{OTHER}", {"delivery": {"retrySchedule": [0]}})
            api.call("PUT", f"/v1/applications/{OTHER}/sessions/seen", {
                "activationState": "foregroundActive", "endpoint": {"url": f"{address}/hook?from=test", "secret": SECRET}})
            api.call("POST", f"/v1/applications/{OTHER}/notifications", {"notification-content-id": "photo/7"})
            browser.until("document.getElementById('webhooks').rows.length >= 2")
            texts = browser.value("[...document.getElementById('webhooks').rows].map((one) => one.innerText)")
            assert "503" in texts[-1] and "valid" in texts[-1] and "204" in texts[-2], texts
            browser.value("document.querySelector('#webhooks tr:last-child a').focus()")
            browser.press("Enter")
            browser.until("document.getElementById('detail').innerText.includes('webhook-signature')")
            browser.value("document.getElementById('url').focus()")
            browser.write(f"{address}/again")
            browser.press("Enter")
            browser.until("document.getElementById('detail').innerText.includes('Answered 204')")
            browser.until("document.querySelector('#webhooks tr').innerText.includes('/again')")
            assert "valid" in browser.value("document.querySelector('#webhooks tr').innerText")
            assert not (found := browser.value(NAMELESS)), found
            for name, width, height, scheme in APPEARANCES:
                browser.appear(width, height, scheme)
                width_of_page = browser.value("document.documentElement.scrollWidth")
                assert width_of_page <= width, f"the inspector is {width_of_page} wide in {width}"
                browser.picture(pictures / f"inspector-{name}.png")
            assert not browser.faults, browser.faults
        finally:
            receiver.terminate()


if __name__ == "__main__":
    sys.exit(main())
