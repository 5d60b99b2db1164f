"""The tools of the measurements: a payload, wrk to post it, and the wait until all is settled."""

import json
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from measuring.servers import Server, call

APPLICATION = "/v1/applications/com.example.Gallery"
CONTENT = "gallery://photo/7"
# 1 KiB, as a notification with a picture's address and some text has.
PAYLOAD = json.dumps(
    {"aps": {"alert": "a word or two " * 65}, "notification-content-id": CONTENT}).encode()
# The requests are made before the load begins, so that wrk does little for each.
IN_TURN = """local bodies = {%s}
local made, at = {}, 0
init = function()
  for i, body in ipairs(bodies) do made[i] = wrk.format(nil, nil, nil, body) end
end
request = function()
  at = at %% #made + 1
  return made[at]
end
"""


def wrk(
    netloc: str, path: str, connections: int, seconds: int, folder: Path, body: bytes = PAYLOAD,
    headers: Mapping[str, str] | None = None, contents: Sequence[str] = (), request: str = ""
) -> dict[str, float]:
    """Posts as fast as it goes; wrk costs less processor time than Python, which matters on two cores.

    With `contents`, the requests name them in turn instead of the payload's own. `request` is Lua: a function of that
    name, for bodies that differ.
    """
    fields = {"content-type": "application/json", **(headers or {})}
    bodies = [body.replace(CONTENT.encode(), content.encode()).decode() for content in contents]
    script = folder / "wrk.lua"
    script.write_text(
        f'wrk.method = "POST"\nwrk.body = [==[{body.decode()}]==]\n'
        + "".join(f'wrk.headers["{name}"] = "{value}"\n' for name, value in fields.items())
        + (IN_TURN % ", ".join(f"[==[{text}]==]" for text in bodies) if bodies else "") + request
        + "done = function(s, l, r)\n"
        '  io.write(string.format("JSON {\\"requests\\": %d, \\"errors\\": %d, \\"seconds\\": %f, \\"p50\\": %f,'
        ' \\"p99\\": %f}\\n", s.requests, s.errors.status + s.errors.read + s.errors.timeout, s.duration / 1e6,'
        " l:percentile(50) / 1e3, l:percentile(99) / 1e3))\nend\n")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), f"http://{netloc}{path}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(re.search(r"JSON (.*)", output)[1])


def wait_until_settled(daemon: Server, seconds: float = 300) -> dict[str, int]:
    """Waits until nothing waits any more, and returns the daemon's count of notifications by their states."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        figures = call(daemon.netloc, "GET", "/v1/status")["notifications"]
        if not figures["waiting"] and not figures["held"]:
            return figures
        time.sleep(0.2)
    raise SystemExit(f"the deliveries did not end: {figures}")
