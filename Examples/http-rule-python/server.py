"""Keeps notifications away from sessions of some roles: a rule behind a URL. Usage: server.py [PORT]"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def decide(notification, candidates, settings):
    shielded = settings.get("roles", ["kiosk"])
    return [
        {"session": candidate["session"], "verdict": "veto", "reason": "the session's role is shielded"}
        for candidate in candidates
        if candidate["role"] in shielded
    ]


class Rule(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        try:
            question = json.loads(self.rfile.read(int(self.headers["content-length"])))
            verdicts = decide(question["notification"], question["candidates"], question["settings"])
        except (KeyError, TypeError, ValueError):
            return self.answer(400, {})
        return self.answer(200, {"type": "verdicts", "id": question["id"], "verdicts": verdicts})

    def answer(self, status, message):
        body = json.dumps(message).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    # Connections that wait to be taken: as many as questions that come at the same time.
    request_queue_size = 64


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9100
    server = Server(("127.0.0.1", port), Rule)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
