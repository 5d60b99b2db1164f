"""Keeps notifications away from sessions of some roles."""
from routerd_rule import serve


def decide(notification, candidates, settings):
    # The payload is any JSON value, also null, and absent if it is no JSON. Look into it only if it is an object:
    # isinstance(notification.get("payload"), dict) and notification["payload"].get("type") == "comment"
    shielded = settings.get("roles", ["kiosk"])
    return [
        {"session": candidate["session"], "verdict": "veto", "reason": "the session's role is shielded"}
        for candidate in candidates
        if candidate["role"] in shielded
    ]


if __name__ == "__main__":
    serve("1.0.0", decide)
