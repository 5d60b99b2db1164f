"""A headless Chromium, spoken to by the DevTools protocol."""
import base64
import json
import subprocess
import time
from pathlib import Path

import websocket


class Browser:
    """One tab. Errors of the console, of scripts and of the policy are kept in `faults`."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--user-data-dir={folder}", "--no-first-run", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "DevTools listening on" in line:
                address = line.split()[-1]
                break
        self.faults: list[str] = []
        self.number = 0
        self.session = None
        self.socket = websocket.create_connection(address, timeout=20)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: object) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            self.note(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def note(self, event: dict) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.faults.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning"):
                self.faults.append(str([one.get("value") for one in parameters["args"]]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.faults.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")

    def value(self, expression: str) -> object:
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return answer["result"].get("value")

    def until(self, expression: str, seconds: float = 10) -> object:
        end = time.monotonic() + seconds
        while not (found := self.value(expression)):
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {expression}\n{self.value('document.body.innerText')}")
            time.sleep(0.05)
        return found

    def open(self, address: str) -> None:
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=address)

    def press(self, key: str, text: str | None = None, modifiers: int = 0) -> None:
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        code = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = text if text is not None else {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if kind == "keyDown" and text else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=modifiers,
                     **more)

    def write(self, text: str) -> None:
        self.ask("Input.insertText", text=text)

    def appear(self, width: int, height: int, scheme: str) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait()
