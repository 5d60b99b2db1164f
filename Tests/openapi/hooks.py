"""Hooks of schemathesis: every fourth request of an operation is one that it takes, and every second names its resources.

The others stay as they are generated. The statuses of all answers go to the file of ROUTERD_TALLY, by operation.
"""
import atexit
import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import schemathesis
from hypothesis import strategies

sys.path.append(str(Path(__file__).parent))
from world import KEPT, LINES, World, request_for

world = World(*(os.environ[name] for name in ("ROUTERD_ADDRESS", "ROUTERD_KEY", "ROUTERD_RECEIVER")))
world.build()
tally: dict[str, Counter] = defaultdict(Counter)
turns: Counter = Counter()
paths: dict[str, dict] = {}
# A poll waits for as long as it is asked to.
LONGEST_POLL = 1

schemathesis.openapi.media_type(LINES, strategies.binary(max_size=100))
atexit.register(lambda: Path(os.environ["ROUTERD_TALLY"]).write_text(json.dumps(tally)))


def name(case: schemathesis.Case) -> str:
    return case.operation.definition.raw["operationId"]


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    operation = name(case)
    turn = turns[operation] % 4
    turns[operation] += 1
    if turn == 0:
        request = request_for(world, operation)
        paths[operation] = request.path
        case.path_parameters = {key: value for key, value in request.path.items() if f"{{{key}}}" in case.path}
        case.query = dict(request.query)
        case.headers = dict(request.headers)
        if request.body is not None:
            case.body = request.body
            case.media_type = request.media_type
        elif case.operation.body:
            case.body = schemathesis.core.NOT_SET
    elif turn % 2:
        case.path_parameters = {**(case.path_parameters or {}), **{
            key: value for key, value in paths[operation].items() if f"{{{key}}}" in case.path}}
    # schemathesis also uses ids that it has found in answers.
    changes = case.method in ("PUT", "PATCH", "DELETE") or operation == "disconnectSession"
    if changes and list((case.path_parameters or {"": ""}).values())[-1] in KEPT:
        case.path_parameters = paths[operation]
    if operation == "streamDeliveries":
        bound_poll(case)


def bound_poll(case: schemathesis.Case) -> None:
    """Without a parameter the answer is a stream, which does not end."""
    query = dict(case.query or {})
    if not query.keys() & {"waitSeconds", "after", "limit"}:
        query["waitSeconds"] = 0
    if str(query.get("waitSeconds", "")).isdecimal():
        query["waitSeconds"] = min(int(query["waitSeconds"]), LONGEST_POLL)
    case.query = query


@schemathesis.hook
def after_call(context, case, response) -> None:
    tally[name(case)][f"{response.status_code // 100}xx"] += 1
