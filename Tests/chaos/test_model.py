"""The model can fail: each finding of it is made from an observation written by hand, and a true one has none."""

import base64
import hashlib
import hmac
import sys
import unittest
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos.daemon import Daemon  # noqa: E402
from chaos.history import Attempt, Life, Meaning  # noqa: E402
from chaos.http1 import Request as Webhook  # noqa: E402
from chaos.model import Model, Observation, Request, Seen, SeenReplay  # noqa: E402
from chaos.modelled import Secrets, deliveries, secret  # noqa: E402
from test_parts import SIGNED  # noqa: E402
from test_verdict import attempt  # noqa: E402

PUT, ONE = Request("put application"), Request("put session", "one", secret=1)
ACCEPT = Request("accept", "one", "a", "key-a")


def known(*more: tuple[Request, int, str, str]) -> Model:
    """An application with a session and a notification that waits for it."""
    model = Model(frozenset({"dead"}))
    for request, status, identifier, state in (
            (PUT, 201, "", ""), (ONE, 201, "", ""), (ACCEPT, 202, "ntf_a", "waiting"), *more):
        model.begin(request)
        model.answer(request, status, identifier, state)
    assert model.findings == [], model.findings
    return model


def seen(state: str = "delivered", signs: int = 1, **others: Seen) -> Observation:
    return Observation(
        True, frozenset({"one"}), {"one": signs}, {"ntf_a": Seen(state, "a", None)} | {
            f"ntf_{name}": each for name, each in others.items()})


class ModelTests(unittest.TestCase):
    def found(self, model: Model, observation: Observation, is_final: bool = False) -> list[str]:
        model.compare(observation, is_final)
        return model.findings

    def test_nothing_is_wrong_with_a_state_that_is_possible(self) -> None:
        for state in ("waiting", "inFlight", "delivered"):
            self.assertEqual(self.found(known(), seen(state)), [])

    def test_acknowledged_and_gone_is_lost(self) -> None:
        self.assertIn("lost", self.found(known(), replace(seen(), notifications={}))[0])

    def test_a_state_that_nothing_explains_is_found(self) -> None:
        for state in ("deadLettered", "cancelled", "expired", "superseded"):
            self.assertEqual(len(self.found(known(), seen(state))), 1)

    def test_another_payload_or_another_origin_is_found(self) -> None:
        for each in (Seen("delivered", "b", None), Seen("delivered", "a", "ntf_z")):
            self.assertEqual(len(self.found(known(), replace(seen(), notifications={"ntf_a": each}))), 1)

    def test_an_end_is_kept(self) -> None:
        model = known()
        self.assertEqual(self.found(model, seen("delivered")), [])
        self.assertEqual(len(self.found(model, seen("waiting"))), 1)

    def test_in_the_end_nothing_waits(self) -> None:
        self.assertEqual(self.found(known(), seen("delivered"), is_final=True), [])
        self.assertIn("still waiting", self.found(known(), seen("waiting"), is_final=True)[0])

    def test_what_no_request_made_is_found(self) -> None:
        self.assertIn("no request made it", self.found(known(), seen(b=Seen("delivered", "b", None)))[0])

    def test_an_unanswered_accept_is_there_once_or_not_at_all(self) -> None:
        def model() -> Model:
            made = known()
            made.begin(Request("accept", "one", "b"))
            return made

        new = Seen("waiting", "b", None)
        self.assertEqual(self.found(model(), seen()), [])
        there = model()
        self.assertEqual(self.found(there, seen(b=new)), [])
        self.assertEqual((there.carried_out, there.world.notifications["ntf_b"].payload), (1, "b"))
        self.assertIn("once", self.found(model(), seen(b=new, c=new))[0])
        self.assertEqual(len(self.found(model(), seen(b=replace(new, state="deadLettered")))), 1)

    def test_a_refused_accept_is_not_there(self) -> None:
        model = known()
        model.begin(Request("accept", "one", "b"))
        model.refuse()
        self.assertEqual(len(self.found(model, seen(b=Seen("waiting", "b", None)))), 1)

    def test_a_key_makes_one_notification(self) -> None:
        for status, identifier, count in ((200, "ntf_a", 0), (200, "ntf_b", 1), (202, "ntf_b", 1)):
            model = known()
            model.begin(ACCEPT)
            model.answer(ACCEPT, status, identifier, "waiting")
            self.assertEqual(len(model.findings), count, (status, identifier))

    def test_a_deleted_application_forgets_its_keys(self) -> None:
        gone = Request("delete application")
        model = known((gone, 204, "", ""), (PUT, 201, "", ""), (ACCEPT, 202, "ntf_b", "deadLettered"))
        self.assertEqual(set(model.world.notifications), {"ntf_a", "ntf_b"})

    def test_an_acknowledged_rotation_is_kept(self) -> None:
        rotate = Request("rotate", "one", secret=2)
        self.assertEqual(self.found(known((rotate, 200, "", "")), seen(signs=2)), [])
        self.assertIn("secret 1, not 2", self.found(known((rotate, 200, "", "")), seen(signs=1))[0])
        for number in (1, 2):
            model = known()
            model.begin(rotate)
            self.assertEqual(self.found(model, seen(signs=number)), [])
            self.assertEqual(model.world.sessions, {"one": number})

    def test_an_acknowledged_cancel_is_kept(self) -> None:
        cancel = Request("cancel", "one", notification="ntf_a")
        self.assertEqual(self.found(known((cancel, 200, "ntf_a", "cancelled")), seen("cancelled")), [])
        for state in ("waiting", "delivered", "deadLettered"):
            self.assertEqual(len(self.found(known((cancel, 200, "ntf_a", "cancelled")), seen(state))), 1)
        for state in ("delivered", "cancelled"):
            self.assertEqual(self.found(known((cancel, 200, "ntf_a", "inFlight")), seen(state)), [])

    def test_a_cancel_that_came_too_late_has_found_an_end(self) -> None:
        cancel = Request("cancel", "one", notification="ntf_a")
        self.assertEqual(self.found(known((cancel, 409, "", "")), seen("delivered")), [])
        self.assertEqual(len(self.found(known((cancel, 409, "", "")), seen("waiting"))), 1)

    def test_a_deleted_session_stays_gone_and_nothing_waits_for_it(self) -> None:
        delete = Request("delete session", "one")
        gone = Observation(True, frozenset(), {}, {"ntf_a": Seen("deadLettered", "a", None)})
        self.assertEqual(self.found(known((delete, 204, "", "")), gone), [])
        self.assertIn("was discarded", self.found(known((delete, 204, "", "")), seen())[0])
        waiting = replace(gone, notifications={"ntf_a": Seen("waiting", "a", None)})
        self.assertEqual(len(self.found(known((delete, 204, "", "")), waiting)), 1)
        self.assertIn("session one is gone", self.found(known(), gone)[0])

    def test_a_deleted_application_stays_gone(self) -> None:
        delete = Request("delete application")
        gone = Observation(False, frozenset(), {}, {"ntf_a": Seen("delivered", "a", None)})
        self.assertEqual(self.found(known((delete, 204, "", "")), gone), [])
        self.assertEqual(len(self.found(known((delete, 204, "", "")), seen())), 2)
        self.assertIn("the application is gone", self.found(known(), gone)[0])

    def test_a_half_done_deletion_is_found(self) -> None:
        model = known()
        model.begin(Request("delete application"))
        self.assertEqual(len(self.found(model, Observation(True, frozenset(), {}, seen().notifications))), 1)

    def test_a_replay_is_there_once(self) -> None:
        replay = Request("replay", "one", notification="ntf_a", key="key-r")
        again = Seen("delivered", "a", "ntf_a")
        model = known((replay, 202, "ntf_r", "waiting"))
        self.assertEqual(self.found(model, seen(r=again)), [])
        self.assertEqual(len(self.found(known((replay, 202, "ntf_r", "waiting")), seen())), 1)
        unanswered = known()
        unanswered.begin(replay)
        self.assertEqual(len(self.found(unanswered, seen(r=again, s=again))), 1)

    def test_a_replay_of_all_sends_each_once(self) -> None:
        cancel = Request("cancel", "one", notification="ntf_a")
        ask = Request("replay all", key="key-all")

        def model(is_answered: bool = True) -> Model:
            made = known((cancel, 200, "ntf_a", "cancelled"))
            made.begin(ask)
            if is_answered:
                made.answer(ask, 202, "rpl_1", "running", 1)
            return made

        again, done = Seen("delivered", "a", "ntf_a"), SeenReplay(1, 1, 0, True)

        def at_end(replays: dict[str, SeenReplay], **others: Seen) -> Observation:
            return replace(seen("cancelled", **others), replays=replays)

        for is_answered in (True, False):
            self.assertEqual(self.found(model(is_answered), at_end({"rpl_1": done}, r=again), True), [])
        self.assertEqual(self.found(model(False), at_end({}), True), [])
        for wrong in (
            at_end({}), at_end({"rpl_1": done}), at_end({"rpl_1": done}, r=again, s=again),
            at_end({"rpl_1": replace(done, matched=2)}, r=again), at_end({"rpl_1": replace(done, is_over=False)}, r=again),
            at_end({"rpl_1": done, "rpl_2": replace(done, replayed=0, skipped=1)}, r=again),
            at_end({"rpl_1": done}, r=again, b=Seen("delivered", "b", None)),
        ):
            self.assertNotEqual(self.found(model(), wrong, True), [])

    def test_an_answer_that_does_not_fit_is_found(self) -> None:
        for request, status in ((PUT, 201), (ONE, 404), (Request("rotate", "two"), 200), (ACCEPT, 404)):
            model = known()
            model.begin(request)
            model.answer(request, status)
            self.assertEqual(len(model.findings), 1, request)


class SecretTests(unittest.TestCase):
    def test_a_secret_signs_from_its_exchange_to_the_next_one(self) -> None:
        secrets = Secrets()
        secrets.begin("one", 1, 1.0)
        secrets.settle("one", 1, 2.0)
        secrets.begin("one", 2, 10.0)
        self.assertTrue(secrets.may_sign("one", 1, 60.0))
        self.assertTrue(secrets.may_sign("one", 2, 10.0))
        self.assertFalse(secrets.may_sign("one", 2, 9.0))
        secrets.settle("one", 2, 11.0)
        self.assertTrue(secrets.may_sign("one", 1, 12.0))
        self.assertFalse(secrets.may_sign("one", 1, 14.0))

    def test_a_webhook_under_an_old_secret_or_none_is_found(self) -> None:
        secrets, body = Secrets(), b'{"data":{"payload":{"key":"a"}}}'
        for number in (1, 2):
            secrets.begin("one", number, float(number))
            secrets.settle("one", number, float(number))

        def webhook(number: int) -> Webhook:
            signature = hmac.new(secret(number), b"msg_1.1700000000." + body, hashlib.sha256).digest()
            return Webhook("", SIGNED | {"webhook-signature": "v1," + base64.b64encode(signature).decode()}, body)

        secrets.witness("one", attempt("a", 50.0), webhook(2))
        self.assertEqual(secrets.findings, [])
        secrets.witness("one", attempt("a", 50.0), webhook(1))
        secrets.witness("one", attempt("a", 50.0), webhook(3))
        self.assertEqual(len(secrets.findings), 2)


class DeliveryTests(unittest.TestCase):
    def found(self, model: Model, *attempts: Attempt) -> int:
        daemon = Daemon.__new__(Daemon)
        daemon.lives = [Life(0.0, ended_at=10.0, was_killed=True), Life(10.5)]
        for each in attempts:
            each.webhook_id = (each.webhook_id or "").replace("msg_", "dlv_")
        return len(list(deliveries(model, list(attempts), daemon)))

    def test_delivered_is_taken_once_for_each_kill(self) -> None:
        model = known()
        model.compare(seen())
        self.assertEqual(self.found(model, attempt("a", 1.0)), 0)
        self.assertEqual(self.found(model), 1)
        self.assertEqual(self.found(model, attempt("a", 1.0, Meaning.FAILED)), 1)
        self.assertEqual(self.found(model, attempt("a", 1.0), attempt("a", 2.0)), 1)
        self.assertEqual(self.found(model, attempt("a", 9.5), attempt("a", 11.0, life=1)), 0)
        self.assertEqual(self.found(model, attempt("a", 1.0), attempt("a", 11.0, life=1)), 1)
        self.assertEqual(self.found(model, attempt("a", 1.0), attempt("b", 1.0)), 1)

    def test_an_outcome_that_another_attempt_follows_is_committed(self) -> None:
        other = Request("accept", "one", "b")
        model = known((other, 202, "ntf_b", "waiting"))
        model.compare(seen(b=Seen("delivered", "b", None)))
        a, again, b = attempt("a", 9.5), attempt("a", 11.0, life=1), attempt("b", 9.7)
        self.assertEqual(self.found(model, a, b, again), 1)


if __name__ == "__main__":
    unittest.main()
