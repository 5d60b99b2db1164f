"""Requests of the quiet tenant that are served from a quota which all tenants share."""

from collections.abc import Callable

from chaos.client import API
from chaos.ledger import SECRET_TEXT

SHARED = "com.example.Quiet.Shared"
PERSONS = 24
# Nothing listens there: deliveries wait for their next attempt.
DEAD_ENDPOINT = {"url": "http://127.0.0.1:9/", "secret": SECRET_TEXT}

# Asks for the share once; the status and the code of the answer.
Share = Callable[[], str]


def told(status: int, code: object) -> str:
    return f"{status} {code}" if code else str(status)


def put_application(root: API) -> None:
    """The application that all of them work on. Its sessions wait at a gate, so that the load is another one's."""
    root.must("PUT", f"/v1/applications/{SHARED}", {
        "manifest": {"supportsMultipleScenes": True, "sceneConfigurations": []}, "gates": {"passcode": {}},
        "delivery": {"lifeCycleEvents": False}})


def replay(_: API, own: API) -> Share:
    """A replay of nothing, which is over at once."""
    body = f'{{"application":"{SHARED}","contentId":"nothing"}}'.encode()

    def ask() -> str:
        answer = own.call("POST", "/v1/replays", body)
        return told(answer.status, answer.body.get("code"))

    return ask


def passcode(root: API, own: API) -> Share:
    """A passcode, of another person each time."""
    gate = f"/v1/applications/{SHARED}/gate"
    terms: dict[str, int] = {}
    for number in range(PERSONS):
        name = f"person-{number}"
        root.must("PUT", f"/v1/applications/{SHARED}/sessions/{name}", {
            "device": f"device-{number}", "activationState": "foregroundActive", "endpoint": DEAD_ENDPOINT})
        terms[name] = root.must("POST", f"{gate}/open", {"session": name})["term"]

    def ask() -> str:
        if not terms:
            return "200"
        name, term = terms.popitem()
        body = (f'{{"session":"{name}","term":{term},"passcode":"correct horse","confirmation":"correct horse"}}')
        answer = own.call("POST", f"{gate}/passcode/create", body.encode())
        return told(answer.status, answer.body.get("code"))

    return ask


def stream(_: API, own: API) -> Share:
    """A stream, which is closed at once."""

    def ask() -> str:
        connection = own.connection()
        try:
            connection.request("GET", "/v1/stream", headers=own.fields)
            return str(connection.getresponse().status)
        finally:
            connection.close()

    return ask


SHARES: dict[str, Callable[[API, API], Share]] = {"replay": replay, "passcode": passcode, "stream": stream}
