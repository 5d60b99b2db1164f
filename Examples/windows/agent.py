"""A command-line agent as a scene session: prints the notifications whose content id contains `agent/`."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Clients/python"))
from routerd_client import connect_scene  # noqa: E402


async def show(delivery):
    data = delivery["envelope"]["data"]
    print(delivery["envelope"]["type"], data.get("targetContentIdentifier"), flush=True)


server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
conditions = {"allowing": ["agent/"], "preferring": ["agent/"]}
asyncio.run(connect_scene(server, "com.example.Windows", "agent", show, activationConditions=conditions))
