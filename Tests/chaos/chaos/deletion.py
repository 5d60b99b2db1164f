"""kill -9 while an application in which thousands of notifications wait is deleted, step by step.

    fill ──▶ DELETE: 202 ──▶ kill ──▶ start ──▶ the deletion goes on ──▶ 404 ──▶ the name is free ──▶ fill …
                              └── sooner or later after the answer, from the seed
"""

import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator
from random import Random

from chaos import clock
from chaos.client import API, Answer
from chaos.daemon import Daemon
from chaos.options import Options, Result
from chaos.shares import DEAD_ENDPOINT

APPLICATION, OTHER = "com.example.Deleted", "com.example.Other"
WAITING, SHORT_WAITING = 20_000, 4_000
SESSIONS = 1_500
# The kill comes within that time after the answer, or before it: a deletion of this size takes some tenths of a second.
LATEST_KILL_SECONDS = 0.4
END_SECONDS = 60.0
LINE = b'{"aps":{},"target-content-id":"dead"}\n'


def scenario(options: Options) -> Iterator[Result]:
    random = Random(options.seed)
    waiting = SHORT_WAITING if options.is_short else WAITING
    with options.stage() as stage:
        daemon = stage.daemon()
        daemon.start()
        api = API(daemon)
        api.must("PUT", f"/v1/applications/{OTHER}", {"delivery": {"lifeCycleEvents": False}})
        deaths: Counter[str] = Counter()
        faults: list[str] = []
        for number in range(1, options.cycles + 1):
            fill(api, waiting, number)
            death = strike(daemon, random)
            deaths[death] += 1
            daemon.start()
            faults += [f"after kill {number}, {death}: {each}" for each in went_on(api, number * waiting, death)]
            if faults:
                break
        yield Result("deletion", None, faults, {
            "kills": sum(deaths.values()), "notifications each": waiting,
            **{f"killed {where}": count for where, count in sorted(deaths.items())}})


def fill(api: API, count: int, number: int) -> None:
    """An application with sessions, and notifications that wait for one of them."""
    application = f"/v1/applications/{APPLICATION}"
    answer = api.call("PUT", application, json.dumps({
        "delivery": {"lifeCycleEvents": False, "retrySchedule": [3600]},
        "manifest": {"supportsMultipleScenes": True}}).encode())
    if answer.status != 201:
        raise clock.Failure(f"the name is not free for round {number}: {answer.status} {answer.body}")
    lines = [{"id": f"s{place}", "activationState": "background", "endpoint": DEAD_ENDPOINT,
              "activationConditions": {"canActivateForTargetContentIdentifierPredicate": "FALSEPREDICATE"}}
             for place in range(SESSIONS)]
    lines[0]["activationConditions"] = {"canActivateForTargetContentIdentifierPredicate": "TRUEPREDICATE"}
    post(api, f"{application}/sessions:batch", "\n".join(json.dumps(each) for each in lines).encode())
    # The keys were those of the application before, in which they named other notifications.
    post(api, f"{application}/notifications:batch", LINE * count, {"Idempotency-Key": "all"})


def post(api: API, path: str, body: bytes, headers: dict[str, str] | None = None) -> None:
    connection = api.connection()
    connection.request("POST", path, body, headers or {})
    response = connection.getresponse()
    answers = [json.loads(line) for line in response.read().splitlines()]
    connection.close()
    if any(each.get("status", 202) not in (200, 201, 202) for each in answers) or response.status != 200:
        raise clock.Failure(f"{path}: {response.status}, {answers[:1]}")


def strike(daemon: Daemon, random: Random) -> str:
    """Has the application deleted, and kills the daemon; where the deletion was."""
    api = API(daemon)
    connection = api.connection()
    connection.request("DELETE", f"/v1/applications/{APPLICATION}")
    if random.random() < 0.2:
        time.sleep(random.random() * LATEST_KILL_SECONDS / 10)
        daemon.kill()
        connection.close()
        return "before the answer"
    response = connection.getresponse()
    told = response.read()
    connection.close()
    if response.status != 202 or json.loads(told).get("deleting") is not True:
        raise clock.Failure(f"the deletion is answered with {response.status} {told!r}")
    time.sleep(random.random() * LATEST_KILL_SECONDS)
    try:
        has_ended = api.call("GET", f"/v1/applications/{APPLICATION}").status == 404
    except (OSError, http.client.HTTPException, ValueError):
        has_ended = False
    api.close()
    daemon.kill()
    return "after the end" if has_ended else "in between"


def is_over(method: str, path: str, answer: Answer) -> bool:
    """Whether the answer is that to a name which is free: 404, or 201 for a PUT of the application itself."""
    return answer.status == (201 if (method, path) == ("PUT", "") else 404)


def went_on(api: API, total: int, death: str) -> Iterator[str]:
    """Everything that is amiss after the restart; the deletion is over when this ends."""
    application = f"/v1/applications/{APPLICATION}"
    answer = api.call("GET", application)
    if answer.status == 200 and answer.body.get("deleting") is not True:
        if death != "before the answer":
            yield "the deletion was acknowledged, and is forgotten"
        api.must("DELETE", application)
    for _ in range(3):
        # Requests to it are refused meanwhile, and other applications are served.
        for method, path, body in (
                ("POST", "/notifications", LINE), ("PUT", "", b"{}"), ("PUT", "/sessions/s1", b"{}")):
            answer = api.call(method, application + path, body)
            if is_over(method, path, answer):
                # The deletion ended before the request; a PUT has made a new application then.
                api.call("DELETE", application)
                break
            if (answer.status, answer.body.get("code")) != (409, "application-deleting"):
                yield f"{method} {path} is answered with {answer.status} {answer.body.get('code')} meanwhile"
    if (answer := api.call("POST", f"/v1/applications/{OTHER}/notifications", LINE)).status != 202:
        yield f"another application is answered with {answer.status} {answer.body}"
    try:
        clock.wait_until(
            lambda: api.call("GET", application).status == 404, "the application is deleted", END_SECONDS)
    except clock.Failure as failure:
        yield str(failure)
        return
    figures = api.must("GET", "/v1/status")["notifications"]
    if figures["unaccounted"] != 0:
        yield f"{figures['unaccounted']} notifications are unaccounted for"
    if (waits := figures["waiting"] + figures.get("held", 0)) != 0:
        yield f"{waits} notifications still wait"
    page = api.must("GET", f"/v1/notifications?application={APPLICATION}&state=deadLettered&limit=1000")
    if any(each["reason"] != "application-deleted" for each in page["notifications"]):
        yield "notifications have ended for another reason"
    if figures["deadLettered"] < total:
        yield f"{figures['deadLettered']} notifications are dead-lettered, of {total} for deleted applications"
