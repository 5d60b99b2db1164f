"""The protocol of routerd's process rules: length-prefixed JSON on standard input and output."""
import json
import struct
import sys


def serve(version, decide):
    """Calls decide(notification, candidates, settings) for each question; it returns a list of verdicts."""
    # Standard output has the messages alone: print() goes to standard error, and so to the log.
    output, sys.stdout = sys.stdout.buffer, sys.stderr
    settings = {}
    while (message := read(sys.stdin.buffer)) is not None:
        if message["type"] == "hello":
            if message["protocol"] != 1:
                sys.exit("this plugin speaks version 1 of the protocol")
            settings = message["settings"]
            # The name of the configuration, so that several rules may run this program.
            ready = {"type": "ready", "protocol": 1, "kind": "rule", "plugin": message["plugin"], "version": version}
            write(output, ready)
        elif message["type"] == "rule":
            verdicts = decide(message["notification"], message["candidates"], settings)
            write(output, {"type": "verdicts", "id": message["id"], "verdicts": verdicts})


def read(stream):
    head = stream.read(4)
    if len(head) < 4:
        return None
    return json.loads(stream.read(struct.unpack(">I", head)[0]))


def write(stream, message):
    body = json.dumps(message).encode()
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()
