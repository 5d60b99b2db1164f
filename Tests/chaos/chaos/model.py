"""A model of one application: the states that are possible after the acknowledged requests and those under way. Pure.

A client has one request under way at a time. While it has no answer, two worlds are possible, with and without its effect;
after a restart the daemon must be found in one of them, and the model goes on from there:

    world ──request──▶ {world, world with its effect} ──answer──▶ the one that it tells
                                    └──kill, restart──▶ observation ──▶ the one that fits; none: a finding

What the daemon does by itself is a set of states for each notification: one that waits may have been delivered meanwhile.
A state in which a notification has ended is kept for good.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

ENDS = frozenset({"delivered", "deadLettered", "cancelled", "expired", "superseded"})
# Of a notification that was accepted for a session whose endpoint takes all, or answers nothing.
FOR_PROMPT = frozenset({"waiting", "inFlight", "delivered"})
FOR_DEAD = frozenset({"waiting", "inFlight"})
NOWHERE = frozenset({"deadLettered"})


@dataclass(frozen=True)
class Request:
    """A client's request; fields that its verb does not use are empty."""

    verb: str
    session: str = ""
    # Of a payload, which is unique.
    payload: str = ""
    # The idempotency key.
    key: str = ""
    notification: str = ""
    # The number of the secret that a put or an exchange brings along.
    secret: int = 0


@dataclass(frozen=True)
class Made:
    """A notification that a request without an answer may have made."""

    payload: str
    replay_of: str | None
    session: str
    key: str


@dataclass(frozen=True)
class Notification:
    states: frozenset[str]
    session: str
    payload: str
    replay_of: str | None


@dataclass(frozen=True)
class World:
    """One possible state of the application."""

    is_there: bool = False
    # The number of the secret that signs, by session.
    sessions: dict[str, int] = field(default_factory=dict)
    notifications: dict[str, Notification] = field(default_factory=dict)
    # The notification of each idempotency key.
    keys: dict[str, str] = field(default_factory=dict)
    made: Made | None = None
    # How many notifications each replay of all cancelled ones has matched, and whether one more may be there.
    replays: dict[str, int] = field(default_factory=dict)
    is_asked: bool = False

    def states_for(self, session: str, dead: frozenset[str]) -> frozenset[str]:
        if session not in self.sessions:
            return NOWHERE
        return FOR_DEAD if session in dead else FOR_PROMPT


@dataclass(frozen=True)
class Seen:
    """A notification as the daemon shows it."""

    state: str
    payload: str
    replay_of: str | None


@dataclass(frozen=True)
class SeenReplay:
    """A replay as the daemon shows it."""

    matched: int
    replayed: int
    skipped: int
    is_over: bool


@dataclass(frozen=True)
class Observation:
    """The application as the daemon shows it. `signs` has the secret that signed a test, where there was one."""

    is_there: bool
    sessions: frozenset[str]
    signs: dict[str, int]
    notifications: dict[str, Seen]
    replays: dict[str, SeenReplay] = field(default_factory=dict)


def ended(notification: Notification) -> Notification:
    """The notification after its session has been discarded: it waits no more, and an attempt under way may still count."""
    if notification.states <= ENDS:
        return notification
    return replace(notification, states=(notification.states - {"waiting"}) | {"inFlight", "deadLettered"})


def effect(world: World, request: Request) -> World:
    """The world in which the request has been carried out."""
    match request.verb:
        case "accept":
            if not world.is_there or request.key in world.keys:
                return world
            return replace(world, made=Made(request.payload, None, request.session, request.key))
        case "replay":
            old = world.notifications[request.notification]
            if not world.is_there or not old.states & ENDS or request.key in world.keys:
                return world
            return replace(world, made=Made(old.payload, request.notification, old.session, request.key))
        case "cancel":
            old = world.notifications[request.notification]
            if old.states <= ENDS:
                return world
            # The notification may have ended before.
            return with_states(world, request.notification, old.states | {"cancelled"})
        case "replay all":
            return replace(world, is_asked=True)
        case "rotate":
            if request.session not in world.sessions:
                return world
            return replace(world, sessions=world.sessions | {request.session: request.secret})
        case "put session":
            return replace(world, sessions=world.sessions | {request.session: request.secret}) if world.is_there else world
        case "delete session":
            return without_session(world, request.session)
        case "put application":
            return replace(world, is_there=True)
        case "delete application":
            if not world.is_there:
                return world
            for session in world.sessions:
                world = without_session(world, session)
            return replace(world, is_there=False, sessions={}, keys={})
    raise ValueError(request.verb)


def with_states(world: World, identifier: str, states: frozenset[str]) -> World:
    changed = replace(world.notifications[identifier], states=states)
    return replace(world, notifications=world.notifications | {identifier: changed})


def without_session(world: World, session: str) -> World:
    notifications = {
        identifier: ended(each) if each.session == session else each for identifier, each in world.notifications.items()}
    sessions = {name: secret for name, secret in world.sessions.items() if name != session}
    return replace(world, sessions=sessions, notifications=notifications)


def expected(world: World, request: Request) -> set[int]:
    """The statuses with which the request may be answered in this world."""
    is_known = request.session in world.sessions
    match request.verb:
        case "accept":
            return {404} if not world.is_there else {200} if request.key in world.keys else {202}
        case "replay":
            old = world.notifications[request.notification].states
            if request.key in world.keys:
                return {200}
            answers = ({202} if world.is_there else {404}) if old & ENDS else set()
            return answers | ({409} if old - ENDS else set())
        case "cancel":
            old = world.notifications[request.notification].states
            return ({200} if old - (ENDS - {"cancelled"}) else set()) | ({409} if old & (ENDS - {"cancelled"}) else set())
        case "replay all":
            return {202, 429} if world.is_there else {202, 404, 429}
        case "rotate":
            return {200} if is_known else {404}
        case "put session":
            return ({200} if is_known else {201}) if world.is_there else {404}
        case "delete session":
            return {204} if is_known else {404}
        case "put application":
            return {200} if world.is_there else {201}
        case "delete application":
            return {202, 204} if world.is_there else {404}
    raise ValueError(request.verb)


def differences(world: World, seen: Observation, dead: frozenset[str], is_final: bool) -> Iterator[str]:
    """Everything in which the daemon is not in this world."""
    if seen.is_there != world.is_there:
        yield f"the application is {'there' if seen.is_there else 'gone'}"
    for name in sorted(seen.sessions - world.sessions.keys()):
        yield f"session {name} is there, though it was discarded"
    for name in sorted(world.sessions.keys() - seen.sessions):
        yield f"session {name} is gone"
    for name, secret in sorted(seen.signs.items()):
        if world.sessions.get(name, secret) != secret:
            yield f"session {name} signs with secret {secret}, not {world.sessions[name]}"
    for identifier, known in world.notifications.items():
        now = seen.notifications.get(identifier)
        if now is None:
            yield f"{known.payload} is lost: the daemon does not know {identifier}"
        elif now.state not in known.states:
            yield f"{known.payload} is {now.state}, not {' or '.join(sorted(known.states))}"
        elif (now.payload, now.replay_of) != (known.payload, known.replay_of):
            yield f"{identifier} is {now.payload}, replay of {now.replay_of}; not {known.payload}, of {known.replay_of}"
        elif is_final and now.state not in ENDS and known.session not in dead:
            yield f"{known.payload} is still {now.state}"
    yield from replay_differences(world, seen, is_final)
    strangers = sorted(
        each for each in seen.notifications.keys() - world.notifications.keys() if not is_replayed(world, seen, each))
    if world.made is None:
        for identifier in strangers:
            yield f"{identifier} ({seen.notifications[identifier].payload}) is there, and no request made it"
        return
    made = [each for each in strangers if is_made(seen.notifications[each], world, dead)]
    if len(made) != 1 or len(strangers) != 1:
        told = ", ".join(f"{each} ({seen.notifications[each].payload})" for each in strangers) or "nothing"
        yield f"{world.made.payload} should be there once, and there is {told}"


def is_replayed(world: World, seen: Observation, identifier: str) -> bool:
    """Whether it comes from a replay of all cancelled ones: a single replay is asked for of others only."""
    of = world.notifications.get(seen.notifications[identifier].replay_of or "")
    return of is not None and "cancelled" in of.states and bool(seen.replays)


def replay_differences(world: World, seen: Observation, is_final: bool) -> Iterator[str]:
    """Whether replays are as they were asked for, and each has replayed a cancelled notification once at most."""
    new = seen.replays.keys() - world.replays.keys()
    if len(new) != (1 if world.is_asked else 0):
        yield f"{len(new)} replays are there that were not, and {'one' if world.is_asked else 'none'} should be"
    for identifier, matched in sorted(world.replays.items()):
        if identifier not in seen.replays:
            yield f"the replay {identifier} is lost"
        elif seen.replays[identifier].matched != matched:
            yield f"the replay {identifier} has matched {seen.replays[identifier].matched}, not {matched}"
    sent = Counter(each.replay_of for each in seen.notifications.values())
    replayed = {name: sent[name] for name, each in world.notifications.items() if "cancelled" in each.states}
    for name, count in sorted(replayed.items()):
        if count > len(seen.replays):
            yield f"{world.notifications[name].payload} was replayed {count} times by {len(seen.replays)} replays"
    counted = sum(each.replayed for each in seen.replays.values())
    # Lists and replays are read one after the other.
    if is_final and counted != sum(replayed.values()):
        yield f"{counted} notifications were replayed by the replays' account, and {sum(replayed.values())} are there"
    for identifier, each in sorted(seen.replays.items()):
        if is_final and (not each.is_over or each.replayed + each.skipped != each.matched):
            yield f"the replay {identifier} ended with {each.replayed} and {each.skipped} skipped of {each.matched}"


def is_made(seen: Seen, world: World, dead: frozenset[str]) -> bool:
    made = world.made
    return made is not None and (seen.payload, seen.replay_of) == (made.payload, made.replay_of) and (
        seen.state in world.states_for(made.session, dead))


class Model:
    """The possible worlds of one application, and everything that was amiss."""

    def __init__(self, dead: frozenset[str]) -> None:
        # Sessions whose endpoint has no listener.
        self.dead = dead
        self.worlds = [World()]
        self.findings: list[str] = []
        self.compared = 0
        # How often a request without an answer turned out to have been carried out, or not.
        self.carried_out = 0
        self.not_carried_out = 0

    @property
    def world(self) -> World:
        return self.worlds[0]

    def begin(self, request: Request) -> None:
        """The request is under way: it may be carried out from now on."""
        before = self.worlds[0]
        after = effect(before, request)
        self.worlds = [before] if after == before else [before, after]

    def answer(
        self, request: Request, status: int, identifier: str = "", state: str = "", matched: int = 0
    ) -> None:
        """Its answer: one world is left."""
        before, after = self.worlds[0], self.worlds[-1]
        self.worlds = [before]
        if status not in expected(before, request):
            self._find(f"{request} was answered {status}, not {expected(before, request)}")
            return
        if status == 200 and request.verb in ("accept", "replay") and before.keys[request.key] != identifier:
            self._find(f"{request} was answered {identifier}, not {before.keys[request.key]}")
        if request.verb == "replay all" and status == 202:
            self.worlds = [replace(before, replays=before.replays | {identifier: matched})]
            return
        if status in (404, 409, 429) or status == 200 and request.verb in ("accept", "replay"):
            if status == 409 and request.verb in ("cancel", "replay"):
                self._narrow(request, settled=request.verb == "cancel")
            return
        if request.verb in ("accept", "replay") and after.made is not None:
            states = after.states_for(after.made.session, self.dead)
            if state not in states:
                self._find(f"{request} was answered {state}, not {' or '.join(sorted(states))}")
            self.worlds = [adopted(after, after.made, identifier, states)]
            if request.verb == "replay":
                self._narrow(request, settled=True)
        elif request.verb == "cancel":
            kept = before.notifications[request.notification].states
            told = frozenset({"cancelled"}) if state == "cancelled" else kept - {"expired", "superseded"}
            self.worlds = [with_states(before, request.notification, told | {"cancelled"})]
        else:
            self.worlds = [after]

    def refuse(self) -> None:
        """The request was refused before anything was done."""
        self.worlds = self.worlds[:1]

    def _narrow(self, request: Request, settled: bool) -> None:
        """The answer says whether the notification had ended."""
        world = self.worlds[0]
        old = world.notifications[request.notification].states
        # A notification that had not ended may have ended since.
        states = (old & ENDS if request.verb == "replay" else old & (ENDS - {"cancelled"})) if settled else old
        self.worlds = [with_states(world, request.notification, states)]

    def compare(self, seen: Observation, is_final: bool = False) -> None:
        """The daemon's state must be that of a possible world; the model goes on from the observation."""
        self.compared += 1
        told = [list(differences(each, seen, self.dead, is_final)) for each in self.worlds]
        best = min(range(len(told)), key=lambda place: len(told[place]))
        for each in told[best]:
            self._find(each)
        if len(self.worlds) > 1 and not all(len(each) == 0 for each in told):
            self.carried_out += best > 0
            self.not_carried_out += best == 0
        # Where both fit, the observation does not tell them apart, but for states that both allow.
        world = self.worlds[best] if sum(not each for each in told) < 2 else self.worlds[-1]
        notifications: dict[str, Notification] = {}
        # The oldest come first, so that a replay of a replay finds its original.
        for identifier in sorted(seen.notifications.keys() - world.notifications.keys()):
            now = seen.notifications[identifier]
            # A notification that no request explains is a finding already, and may be in any state.
            # So may one of a replay, whose session may have come and gone meanwhile.
            is_free = world.made is None or is_replayed(world, seen, identifier)
            made = Made(now.payload, now.replay_of, self._session(world, now), "") if is_free else world.made
            states = ENDS | FOR_PROMPT if is_free else world.states_for(made.session, self.dead)
            world = adopted(world, made, identifier, states)
        for identifier, known in world.notifications.items():
            now = seen.notifications.get(identifier)
            if now is not None:
                states = frozenset({now.state}) if now.state in ENDS else known.states
                notifications[identifier] = replace(known, states=states)
        # A finding is told once: from here on, the daemon's word counts.
        sessions = {name: seen.signs.get(name, world.sessions.get(name, 0)) for name in seen.sessions}
        self.worlds = [replace(
            world, is_there=seen.is_there, sessions=sessions, notifications=notifications, made=None, is_asked=False,
            replays={name: each.matched for name, each in seen.replays.items()},
            keys={key: each for key, each in world.keys.items() if each in notifications})]

    @staticmethod
    def _session(world: World, now: Seen) -> str:
        """The session of the notification that it is a replay of."""
        of = world.notifications.get(now.replay_of or "")
        return of.session if of else ""

    def _find(self, what: str) -> None:
        self.findings.append(what)


def adopted(world: World, made: Made, identifier: str, states: frozenset[str]) -> World:
    """The world in which the notification has its id."""
    known = Notification(states, made.session, made.payload, made.replay_of)
    keys = world.keys | {made.key: identifier} if made.key else world.keys
    left = None if made == world.made else world.made
    return replace(world, notifications=world.notifications | {identifier: known}, keys=keys, made=left)
