"""Every example payload of GitHub, by a source with a template for each type of event."""
import hashlib
import hmac
import json
import re
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sources.stage import Stage
from walkthrough import require

FIXTURES = Path(__file__).resolve().parents[3] / "Tests/PluginsTests/Fixtures/github"
SECRET = "correct horse battery staple"
REPOSITORY = "github://{repository.full_name}"

# Types whose content stands in another place than the payload's member of that name.
TEMPLATES = {
    "branch_protection_rule": f"{REPOSITORY}/settings/{{rule.name}}",
    "code_scanning_alert": f"{REPOSITORY}/alerts/{{alert.number}}",
    "commit_comment": f"{REPOSITORY}/commit/{{comment.commit_id}}",
    "create": f"{REPOSITORY}/{{ref_type}}/{{ref}}",
    "delete": f"{REPOSITORY}/{{ref_type}}/{{ref}}",
    "deployment_review": f"{REPOSITORY}/runs/{{workflow_run.id}}",
    "discussion_comment": f"{REPOSITORY}/discussions/{{discussion.number}}",
    "fork": f"{REPOSITORY}/forks/{{forkee.full_name:segment}}",
    "github_app_authorization": "github://users/{sender.login}",
    "installation": "github://installations/{installation.id}/{repositories[0].full_name|'none'}",
    "installation_repositories": "github://installations/{installation.id}",
    "issue_comment": f"{REPOSITORY}/issues/{{issue.number}}",
    "issues": f"{REPOSITORY}/issues/{{issue.number}}",
    "marketplace_purchase": "github://marketplace/{marketplace_purchase.account.login}",
    "merge_group": f"{REPOSITORY}/{{merge_group.head_ref}}",
    "meta": f"{REPOSITORY}/hooks/{{hook_id}}",
    "organization": "github://{organization.login}/{membership.user.login|user.login|invitation.login}",
    "page_build": f"{REPOSITORY}/pages/{{build.commit}}",
    "ping": "github://hooks/{hook_id}",
    "project_card": "{+project_card.url}",
    "project_column": "{+project_column.url}",
    "projects_v2_item": "github://{organization.login}/projects/{projects_v2_item.id}",
    "public": f"{REPOSITORY}/public",
    "pull_request_review": f"{REPOSITORY}/pull/{{pull_request.number}}",
    "pull_request_review_comment": f"{REPOSITORY}/pull/{{pull_request.number}}",
    "pull_request_review_thread": f"{REPOSITORY}/pull/{{pull_request.number}}",
    "push": f"{REPOSITORY}/{{ref}}/{{commits[LAST].id|after}}",
    "repository": REPOSITORY,
    "repository_dispatch": f"{REPOSITORY}/dispatch/{{branch}}",
    "security_advisory": "github://advisories/{security_advisory.ghsa_id}",
    "star": f"{REPOSITORY}/stars/{{sender.login}}",
    "status": f"{REPOSITORY}/commit/{{sha}}/{{context:segment}}",
    "team": "github://teams/{team.id}",
    "team_add": "github://teams/{team.id}",
}


def template(event: str) -> str:
    return TEMPLATES.get(event, f"{REPOSITORY}/{event}/{{{event}.number|{event}.name|{event}.id}}")


def filled(text: str, payload: Any) -> str:
    """The content id by another implementation of the part of the template language that is used here."""
    def value(path: str) -> str | None:
        if path.startswith("'"):
            return path.strip("'")
        place = payload
        for step in re.findall(r"\w+|\[\w+\]", path):
            if step.startswith("["):
                index = -1 if step == "[LAST]" else int(step[1:-1])
                place = place[index] if isinstance(place, list) and place else None
            else:
                place = place.get(step) if isinstance(place, dict) else None
        return None if place is None or isinstance(place, (dict, list)) else str(place) or None

    def hole(found: re.Match[str]) -> str:
        inner = found[1]
        safe = "/"
        if inner.startswith("+"):
            inner, safe = inner[1:], ":/?#[]@!$&'()*+,;="
        elif inner.endswith(":segment"):
            inner, safe = inner.removesuffix(":segment"), ""
        values = [text for path in inner.split("|") if (text := value(path)) is not None]
        require(values != [], f"the payload has one of {inner}")
        return quote(values[0], safe=safe)

    return re.sub(r"\{([^}]+)\}", hole, text)


def headers(event: str, signed: bytes) -> dict[str, str]:
    """The headers of a delivery whose signature is that of some bytes."""
    return {
        "content-type": "application/json", "user-agent": "GitHub-Hookshot/760256b", "x-github-event": event,
        "x-github-delivery": str(uuid.uuid4()), "x-github-hook-id": "292430182",
        "x-hub-signature": "sha1=" + hmac.new(SECRET.encode(), signed, hashlib.sha1).hexdigest(),
        "x-hub-signature-256": "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()}


def check(stage: Stage) -> int:
    stage.put_session()
    files = sorted(FIXTURES.glob("*.payload.json"))
    events = {file: file.name.split(".")[0] for file in files}
    require(len(files) > 40, f"the payloads are there: {len(files)}")
    stage.put_source(
        "github", "github", SECRET, onMissing="refuse", contentId={event: template(event) for event in events.values()})
    stage.put_source("defaults", "github", SECRET, onMissing="refuse")
    passed = 0
    for file, event in events.items():
        body = file.read_bytes()
        expected = filled(template(event), json.loads(body))
        proof = headers(event, body)
        webhook = stage.arrives(file.name, stage.daemon.call("POST", "/v1/sources/github", body, proof), expected)
        require(webhook.payload == body, f"{file.name} arrives byte for byte")
        stage.is_repetition(file.name, stage.daemon.call("POST", "/v1/sources/github", body, proof))
        passed += 3
        # One bit in the middle, and a space at the end, which means the same JSON.
        middle = len(body) // 2
        flipped = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1:]
        for tampered in (flipped, body + b" "):
            answer = stage.daemon.call("POST", "/v1/sources/github", tampered, headers(event, body))
            stage.is_refused(f"a tampered {file.name}", answer, 401, "signature-invalid")
            passed += 1
        # The templates of the kind itself find a content in each of them too.
        answer = stage.daemon.call("POST", "/v1/sources/defaults", body, headers(event, body))
        require(answer.status == 202, f"{file.name} has a content id by default: {answer.body.decode()}")
        webhook = stage.receiver.take(1)[0]
        require((webhook.content_id or "").startswith("github://"), f"{file.name} by default: {webhook.content_id}")
        passed += 1
    stage.nothing_else(2 * len(files))
    print(f"sources: github: {len(files)} payloads of {len(set(events.values()))} types hold")
    return passed
