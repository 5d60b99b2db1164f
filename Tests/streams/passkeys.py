"""Unlocks a gate by a passkey: headless Chromium with a virtual authenticator against the daemon.

    python3 Tests/streams/passkeys.py .build/release/routerd

The page makes a credential, whose public key becomes the key of the device, and answers the challenge of the locked gate with
an assertion. The assertion is taken once, and one without a verified person is refused.
"""

import asyncio
import json
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from browser import Tab, pages, started_browser, started_daemon, until

PAGE = """<!doctype html><title>passkey</title><script>
const bytes = (text) => new TextEncoder().encode(text);
let credential;
async function create() {
  credential = await navigator.credentials.create({publicKey: {
    rp: {id: "localhost", name: "Till"}, user: {id: bytes("cashier-12"), name: "cashier-12", displayName: "Cashier 12"},
    challenge: crypto.getRandomValues(new Uint8Array(32)), pubKeyCredParams: [{type: "public-key", alg: -7}],
    authenticatorSelection: {userVerification: "preferred"},
  }});
  return btoa(String.fromCharCode(...new Uint8Array(credential.response.getPublicKey())));
}
async function unlock(gate, session, term, userVerification) {
  const post = async (step, body) => {
    const answer = await fetch(`${gate}/passcode/${step}`, {method: "POST", body: JSON.stringify({session, term, ...body})});
    return {status: answer.status, ...await answer.json()};
  };
  const {challenge} = await post("challenge", {});
  const found = await navigator.credentials.get({publicKey: {
    challenge: bytes(challenge), rpId: "localhost", userVerification,
    allowCredentials: [{type: "public-key", id: credential.rawId}],
  }});
  const {clientDataJSON, authenticatorData, signature} = found.toJSON().response;
  const body = {challenge, assertion: {clientDataJSON, authenticatorData, signature}};
  return {first: await post("answer", body), body};
}
</script>"""


class Gate:
    def __init__(self, url):
        self.application = f"{url}/v1/applications/com.example.Till"

    def call(self, method, path, **body):
        request = urllib.request.Request(
            f"{self.application}{path}", json.dumps(body).encode() if body else None,
            {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    @property
    def state(self):
        return self.call("GET", "/gate?device=till-4")

    def step(self, name, **body):
        return self.call("POST", f"/gate/{name}", session="right", term=self.state["term"], **body)

    def lock(self):
        self.call("POST", "/gate/lock", session="right")
        return expect("state", "locked", self.state)


def expect(member, wanted, answer):
    if answer.get(member) != wanted:
        raise SystemExit(f"{member} {wanted!r} was expected: {answer}")
    return answer


async def play(gate, origin, tools):
    tab = await Tab.open(tools, f"{origin}/index.html")
    await until("function", lambda: tab.evaluate("typeof unlock"), lambda wanted, found: wanted == found)
    await tab.call("WebAuthn.enable")
    authenticator = (await tab.call("WebAuthn.addVirtualAuthenticator", options={
        "protocol": "ctap2", "transport": "internal", "hasUserVerification": True, "isUserVerified": True}))["authenticatorId"]
    key = await tab.evaluate("create()")

    gate.call("PUT", "", manifest={
        "supportsMultipleScenes": True, "sceneConfigurations": [{"name": "Till", "role": "windowApplication"}]},
        gates={"passcode": {"minLength": 4, "webAuthn": {"rpId": "localhost", "origins": [origin]}}})
    gate.call("PUT", "/sessions/right", configuration="Till", device="till-4", activationState="foregroundActive",
              endpoint={"stream": True})
    gate.call("POST", "/gate/open", session="right")
    expect("state", "onboarding", gate.step("passcode/create", passcode="2718", confirmation="2718", deviceKey=key))
    expect("state", "opened", gate.step("succeed", onboardingId="cashier-12"))

    async def unlock(verification):
        term = gate.lock()["term"]
        return await tab.evaluate(
            f"unlock('{gate.application}/gate', 'right', {term}, '{verification}')")

    answers = await unlock("required")
    expect("state", "opened", answers["first"])
    gate.lock()
    expect("code", "stale-challenge", gate.step("passcode/answer", **answers["body"]))
    expect("state", "opened", gate.step("passcode/input", passcode="2718"))

    await tab.call("WebAuthn.setUserVerified", authenticatorId=authenticator, isUserVerified=False)
    answers = await unlock("discouraged")
    expect("rule", "UV", expect("code", "invalid-assertion", answers["first"]))
    expect("state", "locked", gate.state)
    print("passkeys: an assertion opened the gate once, and one without a verified person was refused")


def main():
    folder = Path(tempfile.mkdtemp(prefix="routerd-passkeys-"))
    (folder / "pages").mkdir()
    (folder / "pages/index.html").write_text(PAGE)
    running = []
    try:
        with pages(folder / "pages") as port:
            origin = f"http://localhost:{port}"
            daemon, url = started_daemon(sys.argv[1], folder, origin)
            running.append(daemon)
            browser, tools = started_browser(folder)
            running.append(browser)
            asyncio.run(play(Gate(url), origin, int(tools)))
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
