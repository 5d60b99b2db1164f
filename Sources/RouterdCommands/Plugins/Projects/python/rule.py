"""Keeps notifications away from sessions of some roles."""
from routerd_rule import serve


def decide(notification, candidates, settings):
    shielded = settings.get("roles", ["kiosk"])
    return [
        {"session": candidate["session"], "verdict": "veto", "reason": "the session's role is shielded"}
        for candidate in candidates
        if candidate["role"] in shielded
    ]


if __name__ == "__main__":
    serve("1.0.0", decide)
