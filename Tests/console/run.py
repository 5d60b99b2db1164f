#!/usr/bin/env python3
"""Opens every page of the console in a headless Chromium, and does the main tasks by keyboard.

Usage: Tests/console/run.py --routerd PATH [--pictures FOLDER]

Each page is opened wide and narrow, light and dark, empty, full and without an answer of the daemon: the console stays without an
error, nothing is wider than the window, every control has a name, and axe-core finds nothing. The pictures of the pages go to
.build/console.
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
PAGES = ["route", "lanes", "notifications", "overview", "live", "dead", "sessions", "sources", "gates", "plugins", "applications",
         "keys", "changes"]
APPEARANCES = [("wide", 1280, 900, "light"), ("wide-dark", 1280, 900, "dark"), ("narrow", 390, 800, "light"),
               ("narrow-dark", 390, 800, "dark")]
# axe-core is a file in a package of PyPI; the browsers of that package are not needed.
PACKAGES = [["websocket-client==1.8.0"], ["--no-deps", "axe-playwright-python==0.1.8"]]
GALLERY, OTHER, SAFE = "com.example.Gallery", "com.example.Other", "com.example.Safe"
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
# The elements that a page has once there is something to show.
ROWS = "main tbody tr"
FULL = {"route": "#ladder article", "lanes": ROWS, "notifications": ROWS, "overview": "figure svg", "sessions": ROWS,
        "sources": ROWS, "gates": ROWS, "plugins": ROWS, "applications": "main details", "changes": ROWS}
# Controls without a name for assistive technology.
NAMELESS = """[...document.querySelectorAll('input, select, textarea, button, a[href]')].filter((one) =>
  !(one.labels?.length || one.getAttribute('aria-label') || one.textContent.trim())).map((one) => one.outerHTML)"""


def enter_environment() -> None:
    """Starts this script again in the virtual environment, made at the first time."""
    python = ENVIRONMENT / "bin/python"
    if ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix):
        return
    made = ENVIRONMENT / "packages"
    if not made.exists() or made.read_text() != repr(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        for packages in PACKAGES:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        made.write_text(repr(PACKAGES))
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
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        text = urllib.request.urlopen(request, timeout=10).read()
        # A batch is bytes, and is answered by lines.
        return json.loads(text) if text and not isinstance(body, bytes) else {}

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
        self.call("PUT", "/v1/rules", {"rules": [{"name": "never", "when": "priority < 5", "then": "drop"}]})
        self.call("PUT", "/v1/sources/shop", {"kind": "github", "application": GALLERY, "secrets": ["of-the-sender-of-events"]})
        self.call("PUT", f"/v1/applications/{SAFE}", {"gates": {"onboarding": {}}})
        self.call("PUT", f"/v1/applications/{SAFE}/sessions/till", {
            "device": "till-4", "activationState": "foregroundActive", "endpoint": {"url": receiver + "/good"}})
        self.call("POST", f"/v1/applications/{SAFE}/gate/open", {"session": "till"})


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
                lose(browser, api, given.pictures)
                try_conditions(browser, api, given.routerd, given.pictures)
                try_rules(browser, api, given.pictures)
                use(browser, api, given.pictures)
                watch(browser, api, given.pictures)
                replay(browser, api, given.pictures)
                warn(browser, api)
                leave(browser, api)
                choose(browser, api)
                copy(browser, api, given.pictures)
                broadcast(browser, api, given.pictures)
                stand_aside(browser, api, f"http://127.0.0.1:{receiver.server_port}/good", given.pictures)
                hold(browser, api, given.pictures)
                mistype(browser, api, given.pictures)
                misread(browser, api, given.pictures)
                take_last(browser, api)
                show_keys(browser, given.routerd, given.pictures)
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
            application = "" if name == "empty" else SAFE if shown == "gates" else GALLERY
            browser.open(page(api, shown, application=application))
            browser.until("document.querySelector('main h1') && document.querySelector('main').ariaBusy === 'false'")
            browser.until("!document.querySelector('main').innerText.includes('Connecting')")
            assert not browser.value("document.querySelector('main [role=alert]')?.textContent"), shown
            assert "[object " not in browser.value("document.querySelector('main').innerText"), shown
            if name == "full" and shown in FULL:
                assert browser.value(f"document.querySelectorAll('{FULL[shown]}').length"), f"{shown} is empty"
            assert not (found := browser.value(NAMELESS)), f"{shown}: {found}"
            width_of_page = browser.value("document.documentElement.scrollWidth")
            assert width_of_page <= width, f"{shown} is {width_of_page} wide in {width}"
            assert not browser.faults, f"{shown}: {browser.faults}"
            expect_accessible(browser, f"{shown}, {name}, {appearance}")
            browser.picture(pictures / f"{shown}-{name}-{appearance}.png")


def expect_accessible(browser: "Browser", place: str) -> None:
    """Runs axe-core in the page."""
    file = next(ENVIRONMENT.rglob("axe_playwright_python/axe.min.js"))
    browser.ask("Runtime.evaluate", expression=file.read_text())
    found = browser.value("""axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map((one) =>
      one.id + ': ' + one.help + ' ' + one.nodes.map((node) => node.html.slice(0, 200)).join(' ')))""")
    assert found == [], f"{place}: {found}"


def press_button(browser: "Browser", text: str, scope: str = "main") -> None:
    """Presses a button by keyboard."""
    browser.until(f"[...document.querySelectorAll('{scope} button')].some((one) => one.textContent === '{text}' && !one.disabled)")
    browser.value(f"[...document.querySelectorAll('{scope} button')].find((one) => one.textContent === '{text}').focus()")
    browser.press("Enter")


def put_text(browser: "Browser", field: str, text: str) -> None:
    """Types into a field, found by an expression, in place of its text."""
    browser.until(f"!!({field})")
    browser.value(f"void (() => {{ const one = {field}; one.focus(); one.select(); }})()")
    browser.write(text)


def labelled(text: str, scope: str = "main") -> str:
    """The field with a label."""
    return f"[...document.querySelectorAll('{scope} label')].find((one) => one.textContent.startsWith('{text}'))?.control"


def forgive(browser: "Browser", status: int) -> None:
    """Drops the lines about answers that a step of the test asks for."""
    expected = [one for one in browser.faults if f"status of {status}" in one]
    assert expected, f"no answer {status}"
    browser.faults[:] = [one for one in browser.faults if one not in expected]


def lose(browser: "Browser", api: API, pictures: Path) -> None:
    """Every page says that the daemon does not answer."""
    script = browser.ask("Page.addScriptToEvaluateOnNewDocument", source="""
      window.fetch = () => Promise.resolve(new Response(JSON.stringify({ detail: 'The store cannot be written.' }), { status: 503 }));""")
    for shown in PAGES:
        for appearance, width, height, scheme in APPEARANCES:
            browser.appear(width, height, scheme)
            browser.open(page(api, shown))
            browser.until("document.querySelector('main').innerText.includes('The store cannot be written.')")
            assert browser.value("!!document.querySelector('main h1')"), shown
            expect_accessible(browser, f"{shown}, without an answer, {appearance}")
            browser.picture(pictures / f"{shown}-broken-{appearance}.png")
    browser.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    browser.open(page(api, "sessions"))
    browser.until("!!document.querySelector('main table')")
    browser.value("window.before = window.fetch; window.fetch = () => Promise.reject(new Error('Out of reach.'))")
    browser.value("dispatchEvent(new Event('hashchange'))")
    browser.until("document.querySelector('main [role=alert]')?.textContent === 'Out of reach.'")
    browser.value("window.fetch = window.before")
    press_button(browser, "Try again")
    browser.until("!!document.querySelector('main table')")
    browser.open(page(api, "lanes"))
    browser.until("!!document.querySelector('main table')")
    browser.value("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
    browser.until("document.querySelector('main [role=status]').textContent.endsWith(': The server does not answer.')")
    browser.appear(1280, 900, "light")
    assert not browser.faults, browser.faults


def moved(browser: "Browser") -> list[str]:
    return browser.value("[...document.querySelectorAll('#ladder [data-session]')].map((one) => one.dataset.session)")


def try_conditions(browser: "Browser", api: API, routerd: Path, pictures: Path) -> None:
    """Conditions are edited in a card: faults have a caret, the ladder moves, the past is compared, and nothing changes until saved."""
    session = f"/v1/applications/{GALLERY}/sessions/inspector"
    before = api.call("GET", session)
    sent = api.call("GET", f"/v1/notifications?application={GALLERY}&limit=1000")["notifications"]
    expected = [one["targetContentIdentifier"] for one in sent if one["targetContentIdentifier"] in ("photo/7", "photo/1")]
    assert len(expected) == 2, expected
    browser.open(page(api, "route", content="photo/7"))
    browser.until("document.getElementById('winner')?.textContent === 'inspector'")
    browser.value("document.querySelector('[data-session=inspector] button').focus()")
    browser.press("Enter")
    browser.until("document.activeElement === document.querySelector('.editor textarea')")
    put_text(browser, labelled("Prefers"), "SELF == 'é' OR SELF BEGINS 'x'")
    caret = browser.until("document.querySelector('.fault pre.caret')?.textContent")
    text, line = caret.split("\n")
    assert text[line.index("^"):].startswith("BEGINS") and line.count("^") + line.count("~") == len("BEGINS"), caret
    assert browser.value("document.querySelectorAll('.editor [aria-invalid]').length") == 1
    expect_accessible(browser, "a predicate with a fault")
    browser.picture(pictures / "route-fault.png")
    press_button(browser, "Select the place")
    assert browser.value("getSelection().toString()") == "BEGINS"
    forgive(browser, 422)
    put_text(browser, labelled("Can show"), "SELF == 'photo/8'")
    put_text(browser, labelled("Prefers"), "SELF == 'photo/8'")
    told = browser.until("document.getElementById('elsewhere')?.textContent")
    assert told == f"2 of the last {len(sent)} would have gone elsewhere.", told
    listed = browser.value("[...document.querySelectorAll('#trial tbody tr')].map((one) => one.cells[1].innerText)")
    assert sorted(listed) == sorted(expected), listed
    assert moved(browser)[0] == "gallery" and browser.value("document.getElementById('winner').textContent") == "gallery"
    assert browser.value("document.querySelector('[data-session=gallery] .moved').textContent") == "▲ 1 up"
    assert browser.value("document.activeElement.matches('[data-session=inspector] .editor textarea')"), "the focus has moved"
    assert not browser.value("document.querySelectorAll('.fault pre').length")
    for name, width, height, scheme in APPEARANCES:
        browser.appear(width, height, scheme)
        assert browser.value("document.documentElement.scrollWidth") <= width
        expect_accessible(browser, f"a trial, {name}")
        browser.picture(pictures / f"route-trial-{name}.png")
    browser.appear(1280, 900, "light")
    assert api.call("GET", session) == before, "the trial has changed the session"
    save_test(browser, routerd)
    link = share(browser)
    browser.press("Escape")
    browser.value("document.querySelector('.editor textarea').focus()")
    browser.press("Escape")
    browser.until("!document.querySelector('.editor') && document.getElementById('trial').hidden")
    assert moved(browser)[0] == "inspector" and not browser.value("document.querySelectorAll('.moved').length")
    assert browser.value("document.activeElement.textContent") == "Edit its conditions"
    browser.open(link)
    browser.until("document.getElementById('elsewhere')?.textContent.startsWith('2 of the last')")
    browser.value("document.querySelector('.editor textarea').focus()")
    browser.press("Enter", modifiers=2)
    browser.until("document.getElementById('toast').textContent === 'The conditions of inspector are changed.'")
    browser.until("!document.querySelector('.editor') && document.getElementById('winner')?.textContent === 'gallery'")
    assert api.send("photo/7")["decision"]["session"] == "gallery"
    api.call("PATCH", session, {"activationConditions": before["activationConditions"]})
    assert not browser.faults, browser.faults


def save_test(browser: "Browser", routerd: Path) -> None:
    """The test of the trial passes by `routerd rules test`, and fails for another session."""
    press_button(browser, "Save as test")
    text = browser.until("document.querySelector('dialog[open] textarea')?.value")
    assert browser.value("document.querySelector('dialog[open] a').download") == "route-test.json"
    expect_accessible(browser, "a test")
    browser.press("Escape")
    browser.until("!document.querySelector('dialog[open]')")
    test = json.loads(text)
    assert test["tests"][0]["expect"] == {"outcome": "session", "session": "gallery"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "route-test.json"
        for session, status in [("gallery", 0), ("inspector", 1)]:
            test["tests"][0]["expect"]["session"] = session
            file.write_text(json.dumps(test))
            done = subprocess.run([routerd.resolve(), "rules", "test", file], capture_output=True, text=True)
            assert done.returncode == status, done


def share(browser: "Browser") -> str:
    """The link to the trial, which the browser refuses to copy."""
    browser.value("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
    press_button(browser, "Copy a link")
    link = browser.until("document.querySelector('dialog[open] textarea')?.value")
    assert "try=inspector" in link, link
    return link


def try_rules(browser: "Browser", api: API, pictures: Path) -> None:
    """A rule is added, edited in place and saved."""
    sent = api.call("GET", f"/v1/notifications?application={GALLERY}&limit=1000")["notifications"]
    number = sum(one["targetContentIdentifier"] in ("photo/7", "photo/1") for one in sent)
    browser.open(page(api, "route", content="photo/7"))
    press_button(browser, "Try a new rule")
    put_text(browser, labelled("Name", ".editor"), "quiet")
    put_text(browser, labelled("When", ".editor"), "prio < 5")
    caret = browser.until("document.querySelector('.fault pre.caret')?.textContent")
    assert caret == "prio < 5\n^~~~", caret
    forgive(browser, 422)
    put_text(browser, labelled("When", ".editor"), "candidate.session == 'inspector'")
    told = browser.until("document.getElementById('elsewhere')?.textContent")
    assert told == f"{number} of the last {len(sent)} would have gone elsewhere.", told
    assert browser.value("document.getElementById('winner').textContent") == "gallery"
    assert browser.value("document.querySelector('[data-session=inspector]').innerText.includes('veto')")
    assert not browser.value("document.body.innerText.includes('The next one is inspector')"), "a vetoed session is no next one"
    assert browser.value("document.querySelectorAll('.part.yes, .part.no').length") > 3
    expect_accessible(browser, "the trial of a rule")
    browser.picture(pictures / "route-rule.png")
    assert [one["name"] for one in api.call("GET", "/v1/rules")["rules"]] == ["never"]
    press_button(browser, "Save", ".editor")
    browser.until("document.getElementById('toast').textContent === 'The rules are changed.'")
    browser.until("document.activeElement.matches('[data-rule=quiet] button')")
    assert api.send("photo/7")["decision"]["session"] == "gallery"
    browser.press("Enter")
    put_text(browser, labelled("When", ".editor"), "candidate.session == 'inspector' AND priority < 5")
    browser.until("document.getElementById('winner')?.textContent === 'inspector'")
    browser.until(f"document.getElementById('elsewhere')?.textContent.startsWith('{number + 1} of the last')")
    # The rule in use drops notifications of low priority, which the form can ask about.
    browser.value("(() => { const one = document.getElementById('priority'); one.value = '1';"
                  " one.dispatchEvent(new Event('change')); })()")
    browser.until("document.body.innerText.includes('Goes to dropped')")
    browser.picture(pictures / "route-rule-edited.png")
    browser.value("(() => { const one = document.getElementById('priority'); one.value = '10';"
                  " one.dispatchEvent(new Event('change')); })()")
    browser.until("document.getElementById('winner')?.textContent === 'inspector'")
    press_button(browser, "Save", ".editor")
    browser.until("!document.querySelector('.editor')")
    assert api.send("photo/7")["decision"]["session"] == "inspector"
    api.call("DELETE", "/v1/rules")
    assert not browser.faults, browser.faults


def watch(browser: "Browser", api: API, pictures: Path) -> None:
    """The plots of the overview have the rates of the daemon, and the filters of the stream hide events."""
    browser.open(page(api, "overview"))
    browser.until("document.querySelectorAll('figure svg').length === 6")
    for _ in range(40):
        api.send("album/2")
    rate = "Number(document.querySelector('figure .legend b').textContent.replace('/s', ''))"
    browser.until(f"{rate} > 0")
    browser.until("document.querySelectorAll('figure polyline').length >= 10")
    labels = browser.value("[...document.querySelectorAll('figure svg')].map((one) => one.getAttribute('aria-label'))")
    assert labels[0].startswith("Rates in the last 60 seconds, at most ") and "accepted: " in labels[0], labels
    ages = browser.value("document.querySelectorAll('figure')[4].querySelector('.legend b').textContent")
    assert ages not in ("–", "0 µs"), ages
    found = browser.value("""import('/console/plots.js').then(({ ceiling, quantile, readMetrics }) => {
      const name = 'a_seconds';
      const text = (counts) => ['1', '2', '+Inf'].map((end, index) => `${name}_bucket{le="${end}"} ${counts[index]}`).join('\\n');
      const [before, after] = [readMetrics(text([5, 5, 5])), readMetrics('# HELP a b\\n' + text([5, 15, 16]))];
      return [quantile(name, 0.5, before, after), quantile(name, 1, before, after), quantile(name, 0.5, after, after),
        ceiling(0), ceiling(3), ceiling(0.00012), ceiling(50), ceiling(0.3)];
    })""")
    assert found == [1.55, 2, None, 1, 5, 0.0002, 50, 0.5], found
    for name, width, height, scheme in APPEARANCES:
        browser.appear(width, height, scheme)
        expect_accessible(browser, f"plots, {name}")
        browser.picture(pictures / f"overview-used-{name}.png")
    browser.appear(1280, 900, "light")
    browser.open(page(api, "live"))
    browser.until("document.querySelector('main').innerText.includes('Listening')")
    for content in ["album/2", "refused"]:
        api.send(content)
    # The schedule has one retry: it is the last attempt of the first notification in the lane.
    api.call("POST", f"/v1/lanes/refusing/resume?application={GALLERY}")
    events = "[...document.getElementById('events').rows].filter((one) => !one.hidden).map((one) => one.cells[1].innerText)"
    browser.until(f"{events}.includes('notification.deadLettered') && {events}.includes('notification.delivered')")
    browser.value("document.getElementById('failures').focus()")
    browser.press(" ")
    assert set(browser.value(events)) == {"attempt.ended", "notification.deadLettered"}
    put_text(browser, "document.getElementById('contains')", "REFUSING")
    shown = browser.value(events)
    put_text(browser, "document.getElementById('contains')", "no such text")
    assert shown and browser.value(events) == [], shown
    put_text(browser, "document.getElementById('contains')", " ")
    press_button(browser, "Pause")
    number = browser.value("document.getElementById('events').rows.length")
    api.send("album/2")
    browser.until("document.querySelector('main [role=status]').textContent.match(/^Paused: [1-9]/)?.length")
    assert browser.value("document.getElementById('events').rows.length") == number
    browser.picture(pictures / "live-paused.png")
    press_button(browser, "Go on")
    browser.until(f"document.getElementById('events').rows.length > {number}")
    expect_accessible(browser, "the stream")
    assert not browser.faults, browser.faults


def replay(browser: "Browser", api: API, pictures: Path) -> None:
    """Dead letters are counted before they are sent again, by a filter."""
    path = f"/v1/notifications?application={GALLERY}&state=deadLettered&contentId=refused&limit=1000"
    dead = api.call("GET", path)["notifications"]
    assert dead
    browser.open(page(api, "dead", contentId="photo/7"))
    press_button(browser, "Count only")
    browser.until("document.getElementById('told').textContent.startsWith('0 would be sent again')")
    start = "[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Replay all')"
    assert browser.value(f"{start}.disabled")
    put_text(browser, labelled("Content id"), "refused")
    browser.press("Enter")
    browser.until("location.hash.includes('contentId=refused') && document.querySelector('main tbody')?.rows.length >= 1")
    press_button(browser, "Count only")
    browser.until(f"document.getElementById('told').textContent.startsWith('{len(dead)} would be sent again')")
    assert api.call("GET", "/v1/replays")["replays"] == [], "a count has replayed"
    press_button(browser, "Replay all")
    browser.until("document.querySelector('main').innerText.includes('completed')")
    replays = api.call("GET", "/v1/replays")["replays"]
    assert [one["replayed"] for one in replays] == [len(dead)], replays
    expect_accessible(browser, "replays")
    browser.picture(pictures / "dead-used.png")
    assert not browser.faults, browser.faults


def warn(browser: "Browser", api: API) -> None:
    """Sessions that can show every content are named, once there are several."""
    path = f"/v1/applications/{GALLERY}/sessions/second"
    browser.open(page(api, "sessions"))
    browser.until("!!document.querySelector('main tbody')")
    assert not browser.value("!!document.getElementById('open')")
    api.call("PUT", path, {"endpoint": {"stream": True}})
    browser.open(page(api, "sessions"))
    browser.until("document.getElementById('open')?.textContent.startsWith('2 of these 5 sessions can show every content')")
    assert browser.value("[...document.querySelectorAll('tbody tr')].filter((one) => one.innerText.includes('every content')).length") == 2
    browser.open(page(api, "route", content="nothing"))
    browser.until("document.getElementById('open')?.textContent.startsWith('2 of these sessions')")
    api.call("DELETE", path)
    assert not browser.faults, browser.faults


def use(browser: "Browser", api: API, pictures: Path) -> None:
    """The main tasks, without a mouse."""
    browser.appear(1280, 900, "light")
    for content in ["photo/7", "photo/1", "album/9", "album/private", "nothing"]:
        browser.open(page(api, "route", content=content))
        shown = browser.until("document.getElementById('winner')?.textContent")
        decided = api.send(content)["decision"]["session"]
        assert shown == decided, f"{content}: the page shows {shown}, the next post went to {decided}"
    assert browser.value("document.querySelectorAll('.part.yes, .part.no').length") > 3
    browser.open(page(api, "route", content="photo/7"))
    browser.until("!!document.getElementById('winner')")
    browser.press("Tab")
    assert browser.value("document.activeElement.className") == "skip"
    browser.press("Enter")
    assert browser.value("document.activeElement.id") == "main"
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
    browser.value("(() => { const one = document.querySelector('main button'); one.focus(); one.shown = true; })()")
    browser.until("document.querySelector('main button').shown === undefined")
    assert browser.value("document.activeElement === document.querySelector('main button')"), "the focus is lost in a refresh"
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
    links = "document.querySelectorAll('#nav a[href$=\"application={}\"]').length === 13"
    browser.until(links.format(GALLERY))
    names = browser.value("[...document.querySelectorAll('#applications option')].map((one) => one.value)")
    assert names == [GALLERY, OTHER, SAFE], names
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


def broadcast(browser: "Browser", api: API, pictures: Path) -> None:
    """A broadcast names its receivers before it is sent and afterwards."""
    api.call("PUT", f"/v1/applications/{GALLERY}", {"routing": {"broadcasts": True}})
    browser.open(page(api, "route", content="photo/7", broadcast="true"))
    browser.until("document.getElementById('winner')?.textContent === '2 sessions'")
    assert browser.value("[...document.querySelectorAll('.chosen')].map((one) => one.dataset.session)") == moved(browser)[:2]
    expect_accessible(browser, "a broadcast")
    browser.picture(pictures / "route-broadcast.png")
    try_broadcast(browser, api, pictures)
    press_button(browser, "Send it")
    browser.until("document.querySelectorAll('main [role=status] a').length === 2")
    browser.value("document.querySelector('main [role=status] a').focus()")
    browser.press("Enter")
    browser.until("document.querySelector('main').innerText.includes('Broadcast to 2 sessions')")
    expect_accessible(browser, "a notification of a broadcast")
    browser.picture(pictures / "notification-broadcast.png")
    assert not browser.faults, browser.faults


def try_broadcast(browser: "Browser", api: API, pictures: Path) -> None:
    """Trials show the receivers of a broadcast, and the box changes between a broadcast and one receiver while they go on."""
    told = "document.querySelector('#trial > p')?.textContent"
    shown = "document.getElementById('winner')?.textContent"
    chosen = "[...document.querySelectorAll('.chosen')].map((one) => one.dataset.session)"
    browser.value("document.querySelector('[data-session=inspector] button').focus()")
    browser.press("Enter")
    put_text(browser, labelled("Can show"), "SELF == 'photo/8'")
    put_text(browser, labelled("Prefers"), "SELF == 'photo/8'")
    browser.until(f"{told} === 'This broadcast would not go to inspector.'")
    assert browser.value(shown) == "1 session" and browser.value(chosen) == ["gallery"]
    expect_accessible(browser, "a trial of a broadcast")
    browser.picture(pictures / "route-broadcast-trial.png")
    browser.value("document.getElementById('broadcast').focus()")
    browser.press(" ")
    browser.until(f"{told} === 'This notification would go to gallery, not to inspector.' && {shown} === 'gallery'")
    browser.press(" ")
    browser.until(f"{told} === 'This broadcast would not go to inspector.' && {shown} === '1 session'")
    browser.value("document.querySelector('.editor textarea').focus()")
    browser.press("Escape")
    browser.until(f"!document.querySelector('.editor') && {shown} === '2 sessions'")
    press_button(browser, "Try a new rule")
    put_text(browser, labelled("Name", ".editor"), "quiet")
    put_text(browser, labelled("When", ".editor"), "candidate.session == 'gallery'")
    browser.until(f"{told} === 'This broadcast would not go to gallery.'")
    found = browser.value(chosen)
    press_button(browser, "Save", ".editor")
    browser.until("document.getElementById('toast').textContent === 'The rules are changed.'")
    browser.until(f"!document.querySelector('.editor') && {shown} === '1 session'")
    path = f"/v1/applications/{GALLERY}/notifications?broadcast=true"
    sent = api.call("POST", path, {"notification-content-id": "photo/7"})["notifications"]
    assert found == ["inspector"] == [one["decision"]["session"] for one in sent], (found, sent)
    api.call("DELETE", "/v1/rules")
    browser.open(page(api, "route", content="photo/7", broadcast="true"))
    browser.until(f"{shown} === '2 sessions'")


def hold(browser: "Browser", api: API, pictures: Path) -> None:
    """A held notification names its holder and its end, on its page and among the lanes; candidates have the reason of their loss."""
    api.call("PUT", "/v1/rules", {"rules": [{"name": "later", "when": "contentId == 'photo/8'", "then": {"holdSeconds": 600}}]})
    held = api.send("photo/8")
    assert held["state"] == "held", held
    api.call("DELETE", "/v1/rules")
    browser.open(page(api, "lanes"))
    browser.until("document.querySelector('main').innerText.includes('Held by a rule; it goes on in ')")
    expect_accessible(browser, "held notifications among the lanes")
    browser.picture(pictures / "lanes-held.png")
    browser.value("[...document.querySelectorAll('main a')].find((one) => one.hash.includes('notification?')).focus()")
    browser.press("Enter")
    browser.until("document.querySelector('ol.line')?.innerText.includes('Held by a rule; it goes on in ')")
    browser.until("document.querySelectorAll('#candidates tbody tr').length >= 2")
    rows = browser.value("[...document.querySelectorAll('#candidates tbody tr')].map((one) => [...one.cells].map((cell) => cell.innerText))")
    assert rows[0][0] == "inspector" and rows[0][3] == "chosen", rows
    assert rows[1][0] == "gallery" and rows[1][3] == "only can; inspector prefers the content", rows
    assert browser.value("document.getElementById('candidates').innerText.includes('Decided now, it would go to inspector')")
    expect_accessible(browser, "a held notification")
    browser.picture(pictures / "notification-held.png")
    gated = api.call("POST", f"/v1/applications/{SAFE}/notifications?device=till-4", {"notification-content-id": "a"})
    assert gated["state"] == "held", gated
    browser.open(page(api, "lanes", application=SAFE))
    browser.until("document.querySelector('main').innerText.includes('Held at the gate of till-4: it goes on when the gate opens.')")
    # The address of a notification need not name its application, which the field above then shows.
    browser.open(f"{api.address}/console/#/notification?id={held['id']}")
    browser.until(f"document.getElementById('application').value === '{GALLERY}' && !!document.querySelector('ol.line')")
    api.call("POST", f"/v1/notifications/{held['id']}/cancel")
    browser.open(page(api, "overview"))
    browser.until("document.querySelectorAll('#ours div').length === 5")
    assert browser.value("document.querySelector('main h2').textContent") == GALLERY
    assert not browser.faults, browser.faults


def mistype(browser: "Browser", api: API, pictures: Path) -> None:
    """A level that the daemon refuses marks its field."""
    browser.open(page(api, "route", content="photo/7"))
    browser.until("!!document.getElementById('winner')")
    browser.value("document.querySelector('[data-session=inspector] button').focus()")
    browser.press("Enter")
    put_text(browser, labelled("Preference level"), "99999999")
    browser.until(f"{labelled('Preference level')}.getAttribute('aria-invalid') === 'true'")
    told = browser.value("document.querySelector('.editor .fault .bad').textContent")
    assert "preferenceLevel must be from" in told, told
    expect_accessible(browser, "a level with a fault")
    browser.picture(pictures / "route-level.png")
    forgive(browser, 422)
    put_text(browser, labelled("Preference level"), "1")
    browser.until(f"!{labelled('Preference level')}.hasAttribute('aria-invalid')")
    browser.press("Escape")
    assert not browser.faults, browser.faults


def misread(browser: "Browser", api: API, pictures: Path) -> None:
    """A time in an address that is none is told, and dead letters of all times are shown."""
    browser.open(page(api, "dead", since="2020-01-01T00:00"))
    browser.until("document.querySelectorAll('main tbody tr').length > 0")
    rows = browser.value("document.querySelectorAll('main tbody')[0].rows.length")
    field = "document.querySelector('main input[name=since]')"
    assert browser.value(f"{field}.value === '2020-01-01T00:00' && !{field}.hasAttribute('aria-invalid')")
    browser.open(page(api, "dead", since="yesterday"))
    browser.until("!!document.getElementById('since-fault')")
    told = browser.value("document.getElementById('since-fault').textContent")
    assert '"yesterday"' in told, told
    assert browser.value(f"{field}.getAttribute('aria-invalid') === 'true' && {field}.value === ''")
    assert browser.value(f"{field}.getAttribute('aria-describedby')") == "since-fault"
    assert browser.value("document.querySelectorAll('main tbody')[0].rows.length") == rows
    expect_accessible(browser, "a time that is none")
    browser.picture(pictures / "dead-since.png")
    # The form that is sent again leaves the time out.
    press_button(browser, "Filter")
    browser.until("!location.hash.includes('yesterday') && !document.getElementById('since-fault')")
    assert not browser.faults, browser.faults


def take_last(browser: "Browser", api: API) -> None:
    """The last notification comes into the form; a payload that is not JSON is replaced by its content id."""
    payload = "document.getElementById('payload').value"
    toast = "document.getElementById('toast').textContent"
    sent = {"notification-content-id": "photo/8", "aps": {"alert": "Eight"}}
    api.call("POST", f"/v1/applications/{GALLERY}/notifications", sent)
    browser.open(page(api, "route", content="album/2"))
    browser.until("!!document.getElementById('winner')")
    press_button(browser, "Last notification")
    browser.until(f"{payload}.includes('Eight') && document.getElementById('content').value === 'photo/8'")
    assert json.loads(browser.value(payload)) == sent
    assert browser.value(toast) == "", "a payload in JSON is told"
    api.call("PUT", "/v1/sources/notes", {"kind": "cloudevents", "application": GALLERY, "contentId": "{attribute.subject}"})
    request = urllib.request.Request(f"{api.address}/v1/sources/notes", b"A note in words.", method="POST", headers={
        "content-type": "text/plain", "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/notes", "ce-type": "note",
        "ce-subject": "album/2"})
    note = json.loads(urllib.request.urlopen(request, timeout=10).read())["notifications"][0]["id"]
    whole = api.call("GET", f"/v1/notifications/{note}")
    assert "payload" not in whole and whole["payloadBase64"], whole
    press_button(browser, "Last notification")
    browser.until(f"{toast}.includes('is text/plain: its content id stands in for it')")
    found = json.loads(browser.value(payload))
    assert found == {"notification-content-id": "album/2"}, found
    browser.until("document.getElementById('winner')?.textContent.includes('gallery')")
    api.call("DELETE", "/v1/sources/notes")
    assert not browser.faults, browser.faults


def show_keys(browser: "Browser", routerd: Path, pictures: Path) -> None:
    """The keys of a configuration, that of the tab among them, and one made by a request, which is a line of the page Changes."""
    made = subprocess.run([routerd.resolve(), "keys", "new", "--name", "root", "--scope", "admin"], capture_output=True, text=True, check=True)
    key = re.search(r"rk_\S+", made.stdout + made.stderr)[0]
    digest = re.search(r"[0-9a-f]{64}", made.stdout + made.stderr)[0]
    with tempfile.TemporaryDirectory(prefix="routerd-keys-") as folder:
        file = Path(folder) / "routerd.yaml"
        file.write_text(json.dumps({"apiKeys": [{"name": "root", "sha256": digest, "scopes": ["admin"]}, {
            "name": "shop", "sha256": "0" * 64, "scopes": ["ingest"], "application": GALLERY, "requestsPerSecond": 100}]}))
        command = [routerd.resolve(), "serve", "--config", file, "--listen", "127.0.0.1:0", "--database", f"{folder}/routerd.db"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as daemon:
            try:
                address = next(found[1] for line in daemon.stdout if (found := re.search(r"(http://127\.0\.0\.1:\d+)", line)))
                threading.Thread(target=daemon.stdout.read, daemon=True).start()
                browser.open(f"{address}/console/")
                browser.until("document.getElementById('ask').open")
                forgive(browser, 401)
                browser.value("document.getElementById('ask-key').focus()")
                browser.write(key)
                browser.press("Enter")
                browser.until("!document.getElementById('ask').open")
                made = urllib.request.Request(f"{address}/v1/keys/ci", b'{"scopes":["read"]}', method="PUT")
                made.add_header("authorization", f"Bearer {key}")
                urllib.request.urlopen(made, timeout=30).read()
                browser.open(f"{address}/console/#/keys")
                rows = "[...document.querySelectorAll('main tbody tr')].map((one) => one.innerText)"
                browser.until(f"{rows}.length === 3")
                shown = browser.value(rows)
                assert "this tab's" in shown[0] and "may do everything" in shown[0], shown
                assert GALLERY in shown[1] and "100" in shown[1] and "this tab's" not in shown[1], shown
                assert "ci" in shown[2] and "a request" in shown[2] and "the configuration" in shown[1], shown
                expect_accessible(browser, "keys")
                browser.picture(pictures / "keys-used.png")
                browser.open(f"{address}/console/#/changes")
                browser.until(f"{rows}.length === 1")
                shown = browser.value(rows)
                assert "root" in shown[0] and "putKey" in shown[0] and "/v1/keys/ci" in shown[0], shown
                browser.faults[:] = [one for one in browser.faults if "status of 401" not in one]
                assert not browser.faults, browser.faults
            finally:
                daemon.terminate()


def stand_aside(browser: "Browser", api: API, endpoint: str, pictures: Path) -> None:
    """Sessions that take no part say why: an observer, and one that shows the demo."""
    api.call("PUT", f"/v1/applications/{SAFE}", {
        "manifest": {"sceneConfigurations": [
            {"name": name, "role": "windowApplication", "endpoint": {"url": endpoint}} for name in ("Till", "Demo")]},
        "gates": {"onboarding": {"demoConfiguration": "Demo"}, "passcode": {}}})
    api.call("PUT", f"/v1/applications/{SAFE}/sessions/visitor", {"device": "till-4", "activationState": "foregroundActive"})
    api.call("PUT", f"/v1/applications/{SAFE}/sessions/audit", {"role": "observer", "endpoint": {"url": endpoint}})
    api.call("POST", f"/v1/applications/{SAFE}/gate/open", {"session": "visitor", "demo": True})
    browser.open(page(api, "sessions", application=SAFE))
    browser.until("document.querySelectorAll('main tbody tr').length === 3")
    states = browser.value("[...document.querySelectorAll('main tbody tr')].map((one) => one.cells[1].innerText.split(/\\s+/))")
    assert states[0] == ["observer"] and states[2] == ["foregroundActive", "demo"], states
    browser.open(page(api, "gates", application=SAFE))
    browser.until("document.querySelector('main').innerText.includes('Demo in visitor')")
    browser.value("document.querySelector('main summary').focus()")
    browser.press("Enter")
    browser.until("document.querySelector('main').innerText.includes('None is chosen yet')")
    expect_accessible(browser, "gates with a demo")
    browser.picture(pictures / "gates-demo.png")
    lines = "\n".join(json.dumps({"id": f"z{number}", "device": "till-5", "configuration": "Till", "activationState": "background"})
                      for number in range(1100, 1122))
    others = "\n".join(json.dumps({"id": f"a{number}", "device": "till-6", "configuration": "Till"}) for number in range(1000))
    api.call("POST", f"/v1/applications/{SAFE}/sessions:batch", f"{others}\n{lines}".encode())
    for number in range(1100, 1122):
        api.call("POST", f"/v1/applications/{SAFE}/gate/open", {"session": f"z{number}", "demo": True})
    browser.open(page(api, "gates", application=SAFE))
    browser.until("document.querySelector('main').innerText.includes('Demo in z1100, ')")
    assert browser.value("document.querySelector('main').innerText.includes('z1119 and 2 more')")
    expect_accessible(browser, "gates with many demos")
    assert not browser.faults, browser.faults


def inspect(browser: "Browser", api: API, routerd: Path, pictures: Path) -> None:
    """The page of `routerd receive --ui`: webhooks appear, the next answer is chosen, and one is sent again."""
    command = [routerd.resolve(), "receive", "--listen", "127.0.0.1:0", "--secret", SECRET, "--ui"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as receiver:
        try:
            address = next(found[1] for line in receiver.stderr if (found := re.search(r"inspect at (http\S+)/_inspector/", line)))
            for name, width, height, scheme in APPEARANCES:
                browser.appear(width, height, scheme)
                browser.open(f"{address}/")
                browser.until("document.querySelector('main').innerText.includes('No webhook has come yet')")
                expect_accessible(browser, f"the empty inspector, {name}")
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
                expect_accessible(browser, f"the inspector, {name}")
                browser.picture(pictures / f"inspector-{name}.png")
            assert not browser.faults, browser.faults
        finally:
            receiver.terminate()


if __name__ == "__main__":
    sys.exit(main())
