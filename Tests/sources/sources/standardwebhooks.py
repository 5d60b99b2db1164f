"""Webhooks that the reference library of Standard Webhooks has signed."""
import base64
import json
import uuid
from datetime import datetime, timedelta, timezone

from sources.stage import Stage
from standardwebhooks import Webhook
from walkthrough import require

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PATH = "/v1/sources/billing"


def signed(body: str, at: datetime, family: str = "webhook") -> dict[str, str]:
    """The headers of a webhook that the library signs at a time."""
    identifier = f"msg_{uuid.uuid4().hex}"
    return {
        "content-type": "application/json", f"{family}-id": identifier,
        f"{family}-timestamp": str(int(at.timestamp())),
        f"{family}-signature": Webhook(SECRET).sign(identifier, at, body)}


def check(stage: Stage) -> int:
    stage.put_session()
    stage.put_source(
        "billing", "standard-webhooks", SECRET,
        contentId={"invoice.paid": "billing://invoices/{data.id}", "*": "billing://{type}"})
    now = datetime.now(timezone.utc)
    body = json.dumps({"type": "invoice.paid", "timestamp": now.isoformat(), "data": {"id": "in_8", "note": "Zürich"}},
                      ensure_ascii=False)
    payload = body.encode()
    passed = 0
    for family in ("webhook", "svix"):
        headers = signed(body, now, family)
        webhook = stage.arrives(
            family, stage.daemon.call("POST", PATH, payload, headers), "billing://invoices/in_8")
        require(webhook.payload == payload, f"{family} arrives byte for byte")
        stage.is_repetition(family, stage.daemon.call("POST", PATH, payload, headers))
        # A second signature beside the right one, as senders have while they change keys.
        rotated = signed(body, now, family)
        rotated[f"{family}-signature"] = "v1,AAAA v2,unknown " + rotated[f"{family}-signature"]
        stage.arrives(
            f"{family} with several signatures", stage.daemon.call("POST", PATH, payload, rotated),
            "billing://invoices/in_8")
        tampered = stage.daemon.call("POST", PATH, payload + b" ", signed(body, now, family))
        stage.is_refused(f"{family} with another body", tampered, 401, "signature-invalid")
        for late in (timedelta(minutes=-6), timedelta(minutes=6)):
            answer = stage.daemon.call("POST", PATH, payload, signed(body, now + late, family))
            stage.is_refused(f"{family} at another time", answer, 401, "timestamp-outside-window")
        passed += 7
    stage.nothing_else(4)
    print("sources: standardwebhooks: webhooks of the library hold")
    return passed
