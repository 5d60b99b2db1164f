"""All behaviours at once, two notifications each: is the outcome of each as required?"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from chaos import answers, clock, connections, statuses
from chaos.behaviours import TAKES, Behaviour, Place
from chaos.certificates import Certificates
from chaos.client import API, Body, Journal, settle
from chaos.history import History, Promises, Submission
from chaos.options import Options, Result, Stage
from chaos.zoo import Zoo

SCHEDULE = [1.0, 1.0, 1.0]
EACH = 2
SETTLE_SECONDS = 120.0
# For those that run into the daemon's time limit, the limit is short.
PATIENT, IMPATIENT = "com.example.Chaos.Patient", "com.example.Chaos.Impatient"
# Behaviours whose notifications another session could have; the test is whether it gets them.
INHERITED = {"gone", "backlog-inherited", "hang-inherited"}
TIMEOUTS = {PATIENT: 15, IMPATIENT: 2}


def behaviours(trap: str) -> list[Behaviour]:
    """The whole table; no request may reach `trap`."""
    return statuses.table(trap) + answers.table() + connections.table(trap)


@dataclass(frozen=True)
class Resident:
    """A behaviour with its endpoint."""

    behaviour: Behaviour
    url: str

    @property
    def application(self) -> str:
        return IMPATIENT if self.behaviour.is_slow else PATIENT

    @property
    def is_opaque(self) -> bool:
        """Whether its ledger may miss attempts, or their contents."""
        return self.behaviour.place is not Place.PLAIN or self.behaviour.certificate is not None


class Menagerie:
    """The endpoints of all behaviours."""

    def __init__(self, zoo: Zoo, certificates: Certificates, options: Options) -> None:
        self._zoo = zoo
        self._certificates = certificates
        self._sockets: list[socket.socket] = []
        trap = zoo.trap()
        wanted = [each for each in behaviours(trap) if options.only is None or options.only in each.name]
        self.left_out = [each.name for each in wanted if each.is_open and options.without_open]
        self.residents = [Resident(each, self._place(each)) for each in wanted if each.name not in self.left_out]

    def _place(self, behaviour: Behaviour) -> str:
        match behaviour.place:
            case Place.UNHEARD:
                return f"http://127.0.0.1:{self._listener(accepts=False)}/"
            case Place.FULL:
                return f"http://127.0.0.1:{self._listener(accepts=True)}/"
            case Place.NO_NAME:
                return f"http://{connections.IMPOSSIBLE_NAME}/"
            case _:
                tls = self._certificates.context(behaviour.certificate) if behaviour.certificate else None
                url = self._zoo.house(behaviour.name, behaviour.act, tls, behaviour.place is Place.CONNECTION)
                return f"{behaviour.scheme}:{url.partition(':')[2]}" if behaviour.scheme else url

    def _listener(self, accepts: bool) -> int:
        """A port that is taken and refuses, or one whose queue is full and that never accepts."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self._sockets.append(listener)
        if accepts:
            listener.listen(0)
            for _ in range(2):
                queued = socket.socket()
                queued.setblocking(False)
                queued.connect_ex(listener.getsockname())
                self._sockets.append(queued)
        return int(listener.getsockname()[1])

    def close(self) -> None:
        for each in self._sockets:
            each.close()


def scenario(options: Options) -> Iterator[Result]:
    with options.stage() as stage:
        yield run(stage, options)


def run(stage: Stage, options: Options) -> Result:
    certificates = Certificates(stage.folder / "certificates")
    menagerie = Menagerie(stage.zoo, certificates, options)
    try:
        daemon = stage.daemon("delivery:", f"  certificateAuthorityFile: {certificates.authority}")
        daemon.start()
        api, journal = API(daemon), Journal(stage.ledger)
        for name, timeout in TIMEOUTS.items():
            api.put_application(
                name, timeoutSeconds=timeout, retrySchedule=[int(each) for each in SCHEDULE],
                reroute={"onExhausted": True})
        for resident in menagerie.residents:
            api.put_session(resident.behaviour.name, resident.url, resident.application)
        heirs = {
            each.behaviour.name: f"heir-of-{each.behaviour.name}" for each in menagerie.residents
            if each.behaviour.name in INHERITED}
        for resident in menagerie.residents:
            if heir := heirs.get(resident.behaviour.name):
                bequeath(api, resident, heir, stage.zoo.house(heir, TAKES))
        submitted = {resident.behaviour.name: submit(api, journal, resident) for resident in menagerie.residents}
        waiting = EACH * sum(each.behaviour.expected.state == "waiting" for each in menagerie.residents)
        settle(daemon, SETTLE_SECONDS, waiting)
        misjudged = [
            fault for resident in menagerie.residents
            for fault in judge(api, resident, submitted[resident.behaviour.name])]
        misjudged += [f"a request came to the trap: {each}" for each in stage.zoo.trespassers]
        history = History(
            journal.submissions, stage.ledger.attempts, daemon.lives, api.books(PATIENT, IMPATIENT), Promises(SCHEDULE),
            opaque={each.behaviour.name for each in menagerie.residents if each.is_opaque},
            patient={each.behaviour.name for each in menagerie.residents if each.behaviour.expected.state == "waiting"},
            heirs=heirs)
        api.close()
        return Result("zoo", history, misjudged, {
            "behaviours": len(menagerie.residents), "attempts in the ledger": len(stage.ledger.attempts),
            "misjudged": len(misjudged), "left out": ", ".join(menagerie.left_out) or "none"})
    finally:
        menagerie.close()


def bequeath(api: API, resident: Resident, heir: str, url: str) -> None:
    """A session that can have a resident's notifications, and prefers them less."""
    name, application = resident.behaviour.name, resident.application
    api.put_session(heir, url, application, content=name)
    api.must("PATCH", f"/v1/applications/{application}/sessions/{name}", {"activationState": "foregroundActive"})


def submit(api: API, journal: Journal, resident: Resident) -> list[Submission]:
    made = []
    for number in range(EACH):
        submission = journal.open(resident.behaviour.name, f"{resident.behaviour.name}-{number}")
        if not journal.submit(api, submission, resident.application):
            raise clock.Failure(f"{submission.key} was not taken: {journal.refusals[-1:]}")
        made.append(submission)
    return made


def judge(api: API, resident: Resident, submissions: list[Submission]) -> list[str]:
    """Compares the outcomes with the required ones. Behind one that waits for long, the next one waits untried."""
    expected, found = resident.behaviour.expected, []
    for place, submission in enumerate(submissions):
        notification = api.must("GET", f"/v1/notifications/{submission.ids[0]}")
        attempts = notification["attempts"]
        said = [each.get("error", {}).get("kind") or each["status"] for each in attempts]
        told = f"{submission.key}: {notification['state']} {notification['reason'] or ''} after {said}"
        waits_behind = expected.waits is not None and place > 0
        is_rerouted = resident.behaviour.name == "gone" and place > 0
        # The first delivery opens the breaker; the deliveries behind it are decided again at once.
        follows = resident.behaviour.name == "backlog-inherited" and place > 0 and 0 < len(attempts) <= expected.attempts
        wanted = 0 if waits_behind else 1 if is_rerouted else None if follows else expected.attempts
        if (notification["state"], notification["reason"]) != (expected.state, expected.reason):
            found.append(f"{told}, not {expected.state} {expected.reason or ''}")
        elif wanted is not None and len(attempts) != wanted:
            found.append(f"{told}: not {wanted} attempts")
        elif attempts and not is_rerouted and is_other(expected.status, expected.error, attempts[0]):
            message = attempts[0].get("error", {}).get("message", "")
            found.append(f"{told}, not {expected.status or expected.error} at first; {message}")
        elif expected.waits is not None and not waits_behind:
            left = (clock.of_daemon(notification["nextAttemptAt"]) or 0.0) - clock.now()
            if not expected.waits <= left <= expected.waits * 1.25:
                found.append(f"{told}: waits {left:.0f} s, not about {expected.waits:.0f}")
    return found


def is_other(status: int | None, error: str | None, attempt: Body) -> bool:
    if status is not None:
        return bool(attempt["status"] != status)
    return error is not None and attempt.get("error", {}).get("kind") != error
