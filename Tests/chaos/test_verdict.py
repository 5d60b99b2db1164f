"""The verdict can fail: each kind of finding is made from a history written by hand, and a good one has none."""

import sys
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos.corpus import CORPUS, Raw  # noqa: E402
from chaos.history import Attempt, Books, Entry, History, Life, Meaning, Promises, Submission  # noqa: E402
from chaos.neighbour import Phase, noticed, together  # noqa: E402
from chaos.noise import whole_answer  # noqa: E402
from chaos.noises import KINDS as NOISES  # noqa: E402
from chaos.noises import is_loud  # noqa: E402
from chaos.raw import answers_in, judged  # noqa: E402
from chaos.verdict import KINDS, judge, repetitions_after_kills  # noqa: E402


def submission(key: str, at: float, lane: str = "lane") -> Submission:
    return Submission(key, lane, submitted_at=at, acked_at=at + 0.1, ids=[f"ntf_{key}"])


def attempt(key: str | None, began: float, meaning: Meaning = Meaning.TAKEN, life: int = 0, lane: str = "lane",
            lasts: float = 0.1) -> Attempt:
    return Attempt(lane, began, life, key, f"msg_{key}", meaning=meaning, answered_at=began + lasts,
                   ended_at=began + lasts)


def entry(key: str, state: str = "delivered", settled: float | None = 50.0, lane: str = "lane") -> Entry:
    return Entry(f"ntf_{key}", f"msg_{key}", lane, state, settled_at=settled)


def history(
    submissions: list[Submission], attempts: list[Attempt], entries: list[Entry], lives: list[Life] | None = None,
    slack: float = 10.0, max_in_flight: int = 1
) -> History:
    states: dict[str, int] = {}
    for each in entries:
        states[each.state] = states.get(each.state, 0) + 1
    return History(
        submissions, attempts, lives or [Life(ready_at=0.0)],
        Books(looked_at=100.0, accepted=len(entries), by_state=states, unaccounted=0, entries=entries),
        Promises([1.0, 2.0], max_in_flight, slack))


def killed_once(at: float) -> list[Life]:
    return [Life(0.0, ended_at=at, was_killed=True), Life(at + 0.5)]


def good() -> History:
    """Two notifications of one lane, one after the other; the second fails once."""
    return history(
        [submission("a", 1), submission("b", 2)],
        [attempt("a", 1.2), attempt("b", 2.2, Meaning.FAILED), attempt("b", 3.4)], [entry("a"), entry("b")])


class VerdictTests(unittest.TestCase):
    def kinds(self, judged: History) -> set[str]:
        found = judge(judged)
        self.assertLessEqual({finding.kind for finding in found}, set(KINDS))
        return {finding.kind for finding in found}

    def test_nothing_is_wrong_with_a_good_history(self) -> None:
        self.assertEqual(judge(good()), [])
        self.assertEqual(len(KINDS), 9)

    # lost

    def test_acknowledged_and_unknown_is_lost(self) -> None:
        case = good()
        case.books.entries = [replace(case.books.entries[0], id="ntf_other", webhook_id="msg_a"), case.books.entries[1]]
        self.assertIn("lost", self.kinds(case))

    def test_delivered_by_the_books_alone_is_lost(self) -> None:
        self.assertEqual(self.kinds(history([submission("a", 1)], [], [entry("a")])), {"lost"})

    def test_a_refusal_is_no_delivery(self) -> None:
        case = history([submission("a", 1)], [attempt("a", 1.2, Meaning.REJECTED)], [entry("a")])
        self.assertEqual(self.kinds(case), {"lost"})

    def given_up(self, state: str, *meanings: Meaning) -> History:
        attempts = [attempt("a", 1.2 + 3 * number, meaning) for number, meaning in enumerate(meanings)]
        return history([submission("a", 1)], attempts, [entry("a", state)])

    def test_what_is_given_up_unasked_is_lost(self) -> None:
        for state in ["deadLettered", "expired", "superseded", "cancelled"]:
            with self.subTest(state):
                self.assertEqual(self.kinds(self.given_up(state)), {"lost"})
                self.assertEqual(self.kinds(self.given_up(state, Meaning.FAILED)), {"lost"})
                self.assertEqual(self.kinds(self.given_up(state, Meaning.REJECTED, Meaning.LATER)), {"lost"})

    def test_what_its_receiver_refuses_or_cannot_take_is_given_up(self) -> None:
        self.assertEqual(judge(self.given_up("deadLettered", *[Meaning.REJECTED] * 3)), [])
        self.assertEqual(judge(self.given_up("deadLettered", *[Meaning.FAILED] * 3)), [])
        self.assertEqual(judge(self.given_up("deadLettered", Meaning.GONE)), [])

    def test_what_its_receiver_does_not_see_may_be_given_up(self) -> None:
        case = self.given_up("deadLettered")
        case.opaque = {"lane"}
        self.assertEqual(judge(case), [])
        case.books = self.given_up("expired").books
        self.assertEqual(self.kinds(case), {"lost"})

    def test_who_calls_back_ends_it_whatever_was_answered(self) -> None:
        case = self.given_up("cancelled")
        case.submissions[0].is_recalled = True
        self.assertEqual(judge(case), [])

    # duplicate

    def test_taken_twice_without_a_kill_is_a_duplicate(self) -> None:
        case = history([submission("a", 1)], [attempt("a", 1.2), attempt("a", 9)], [entry("a")])
        self.assertEqual(self.kinds(case), {"duplicate"})

    def test_a_kill_right_after_the_answer_explains_one_repetition(self) -> None:
        twice = [attempt("a", 1.2), attempt("a", 2, life=1)]
        case = history([submission("a", 1)], twice, [entry("a")], killed_once(1.4))
        self.assertEqual(judge(case), [])
        self.assertEqual(repetitions_after_kills(case), 1)

    def test_a_kill_long_after_the_answer_explains_nothing(self) -> None:
        case = history([submission("a", 1)], [attempt("a", 1.2), attempt("a", 9, life=1)], [entry("a")], killed_once(8))
        self.assertEqual(self.kinds(case), {"duplicate"})

    def test_a_graceful_end_explains_nothing(self) -> None:
        lives = [Life(0.0, ended_at=1.4), Life(1.9)]
        case = history([submission("a", 1)], [attempt("a", 1.2), attempt("a", 2, life=1)], [entry("a")], lives)
        self.assertEqual(self.kinds(case), {"duplicate"})

    def test_a_kill_explains_as_many_repetitions_as_were_in_flight(self) -> None:
        case = history(
            [submission("a", 0.9), submission("b", 0.9)],
            [attempt("a", 1.0), attempt("b", 1.2), attempt("a", 2, life=1), attempt("b", 2.3, life=1)],
            [entry("a"), entry("b")], killed_once(1.4))
        self.assertEqual(self.kinds(case), {"duplicate"})

    def test_the_bound_is_that_of_the_lane(self) -> None:
        keys = ("a", "b", "c")
        case = history(
            [submission(key, 0.9) for key in keys],
            [attempt(key, 1.0 + 0.2 * place) for place, key in enumerate(keys)]
            + [attempt(key, 2.0 + 0.2 * place, life=1) for place, key in enumerate(keys)],
            [entry(key) for key in keys], killed_once(1.6), max_in_flight=3)
        self.assertEqual(judge(case), [])
        case.promises.max_in_flight = 2
        self.assertEqual(self.kinds(case), {"duplicate"})

    def test_what_the_lane_went_on_from_was_committed(self) -> None:
        case = history(
            [submission("a", 0.9), submission("b", 0.9)],
            [attempt("a", 1.0), attempt("b", 1.2, Meaning.FAILED), attempt("a", 2, life=1), attempt("b", 2.4, life=1)],
            [entry("a"), entry("b")], killed_once(1.4))
        self.assertEqual(self.kinds(case), {"duplicate"})

    def test_one_key_acknowledged_under_two_ids_is_a_duplicate(self) -> None:
        case = good()
        case.submissions[0].ids.append("ntf_b")
        self.assertEqual(self.kinds(case), {"duplicate"})

    def test_one_key_under_two_webhook_ids_is_a_duplicate(self) -> None:
        case = good()
        case.attempts[1].webhook_id = "msg_a"
        self.assertEqual(self.kinds(case), {"duplicate"})

    # overlapped

    def test_two_attempts_at_once_overlap(self) -> None:
        case = history(
            [submission("a", 1)], [attempt("a", 1.2, Meaning.FAILED, lasts=3), attempt("a", 2.9)], [entry("a")])
        self.assertIn("overlapped", self.kinds(case))

    def test_two_of_one_notification_overlap_even_where_a_lane_may_have_two(self) -> None:
        case = history(
            [submission("a", 1)], [attempt("a", 1.2, Meaning.UNCLEAR, lasts=3), attempt("a", 2.9)], [entry("a")],
            max_in_flight=2)
        case.attempts[0].answered_at = None
        self.assertEqual(self.kinds(case), {"overlapped"})

    def test_two_of_a_lane_at_once_overlap(self) -> None:
        case = history(
            [submission("a", 1), submission("b", 1)], [attempt("a", 1.2, lasts=3), attempt("b", 2)],
            [entry("a"), entry("b")])
        self.assertEqual(self.kinds(case), {"overlapped"})
        case.promises.max_in_flight = 2
        self.assertEqual(judge(case), [])

    def test_a_dead_daemon_overlaps_with_nothing(self) -> None:
        first = attempt("a", 1.2, Meaning.UNCLEAR, lasts=30)
        case = history([submission("a", 1)], [first, attempt("a", 2, life=1)], [entry("a")], killed_once(1.4))
        self.assertEqual(judge(case), [])

    # early

    def test_a_retry_before_the_schedule_is_early(self) -> None:
        case = history([submission("a", 1)], [attempt("a", 1.2, Meaning.FAILED), attempt("a", 2.1)], [entry("a")])
        self.assertEqual(self.kinds(case), {"early"})

    def test_the_second_step_is_longer_than_the_first(self) -> None:
        failed = [attempt("a", 1, Meaning.FAILED), attempt("a", 2.2, Meaning.FAILED)]
        case = history([submission("a", 0.9)], [*failed, attempt("a", 3.5)], [entry("a")])
        self.assertEqual(self.kinds(case), {"early"})
        case = history([submission("a", 0.9)], [*failed, attempt("a", 4.4)], [entry("a")])
        self.assertEqual(judge(case), [])

    def test_a_retry_before_what_the_receiver_asked_for_is_early(self) -> None:
        for meaning, asked, least in ((Meaning.LATER, 3.0, 3), (Meaning.LATER, None, 5), (Meaning.FAILED, 4.0, 4)):
            first = attempt("a", 1, meaning)
            first.retry_after = asked
            case = history([submission("a", 0.9)], [first, attempt("a", 1 + least - 0.5)], [entry("a")])
            self.assertEqual(self.kinds(case), {"early"})
            case.attempts[1] = attempt("a", 1.1 + least)
            self.assertEqual(judge(case), [])

    def test_a_kept_connection_that_ends_unanswered_is_replaced_at_once(self) -> None:
        first = attempt("a", 1.2, Meaning.FAILED)
        first.is_kept, first.number, first.answered_at = True, 1, None
        again = attempt("a", 1.35)
        again.number = 1
        case = history([submission("a", 1)], [first, again], [entry("a")])
        self.assertEqual(judge(case), [])
        for other in (replace(first, is_kept=False), replace(first, has_answered=True), replace(first, number=2)):
            case.attempts[0] = other
            self.assertEqual(self.kinds(case), {"early"})

    def test_what_a_kill_cut_off_may_be_tried_again_at_once(self) -> None:
        case = history(
            [submission("a", 1)], [attempt("a", 1.2, Meaning.FAILED), attempt("a", 1.9, life=1)], [entry("a")],
            killed_once(1.35))
        self.assertEqual(judge(case), [])

    # late

    def test_a_retry_long_after_it_was_due_is_late(self) -> None:
        case = history(
            [submission("a", 1)], [attempt("a", 1.2, Meaning.FAILED), attempt("a", 22)], [entry("a")], slack=10.0)
        self.assertEqual(self.kinds(case), {"late"})

    def test_a_first_attempt_long_after_its_turn_is_late(self) -> None:
        case = history([submission("a", 1)], [attempt("a", 22)], [entry("a")], slack=10.0)
        self.assertEqual(self.kinds(case), {"late"})

    def test_waiting_for_its_turn_or_for_the_daemon_is_not_late(self) -> None:
        case = history(
            [submission("a", 1), submission("b", 1)], [attempt("a", 1.2, lasts=30), attempt("b", 31.5)],
            [entry("a"), entry("b")], slack=10.0)
        self.assertEqual(judge(case), [])
        case = history([submission("a", 1)], [attempt("a", 41, life=1)], [entry("a")], killed_once(40), slack=10.0)
        self.assertEqual(judge(case), [])

    def test_an_endpoint_that_fails_is_left_alone_for_a_while(self) -> None:
        def case(failures: int, pause: float) -> History:
            failed = [attempt("a", 1.2 + 2.3 * place, Meaning.FAILED) for place in range(failures)]
            return history([submission("a", 1)], failed + [attempt("a", failed[-1].began_at + pause)],
                           [entry("a", settled=90.0)])

        # Eight in a row: 40 s, and a fifth of it, and what a machine may be late.
        self.assertEqual(judge(case(8, 57.0)), [])
        self.assertEqual(self.kinds(case(8, 59.0)), {"late"})
        self.assertEqual(self.kinds(case(4, 16.0)), {"late"})
        self.assertEqual(self.kinds(case(5, 17.0)), {"late"})
        self.assertEqual(judge(case(5, 15.0)), [])

    def test_an_endpoint_that_fails_half_of_the_time_is_left_alone_too(self) -> None:
        def case(pause: float) -> History:
            keys = [f"k{place}" for place in range(12)]
            attempts, now = [], 1.0
            for key in keys:
                attempts += [attempt(key, now, Meaning.FAILED), attempt(key, now + 1.5)]
                now += 2.0
            submissions = [submission(key, 0.5) for key in keys] + [submission("z", 0.6)]
            attempts += [attempt("z", now, Meaning.FAILED), attempt("z", now + pause)]
            return history(submissions, attempts, [entry(key, settled=90.0) for key in keys + ["z"]])

        # It opens at the twenty-first, and again at each failure after that: the third wait is 20 s.
        self.assertEqual(judge(case(33.0)), [])
        self.assertEqual(self.kinds(case(36.0)), {"late"})

    def test_who_cannot_have_a_slot_is_not_late(self) -> None:
        def case(others: list[tuple[str, float]], began: float = 26.0) -> History:
            """A notification that is due at 1.1 s, while others have attempts of 12 s."""
            keys = [f"{lane}{place}" for place, (lane, _) in enumerate(others)]
            made = history(
                [submission("a", 1)] + [submission(key, at - 0.1, lane) for key, (lane, at) in zip(keys, others)],
                [attempt("a", began)] + [
                    attempt(key, at, lane=lane, lasts=12.0) for key, (lane, at) in zip(keys, others)],
                [entry("a")] + [entry(key, lane=lane) for key, (lane, _) in zip(keys, others)])
            made.promises.slots = 2
            return made

        # The longest of a lane counts, wherever it stands.
        shorter = case([("b", 0.5), ("c", 0.5), ("d", 12.5), ("e", 12.5), ("b", 24.6)], 25.0)
        self.assertEqual(judge(shorter), [])
        two, four = [("b", 0.5), ("c", 0.5)], [("b", 0.5), ("c", 0.5), ("d", 12.5), ("e", 12.5)]
        self.assertEqual(judge(case(four)), [])
        self.assertEqual(judge(case(four, 34.4)), [])
        self.assertEqual(self.kinds(case(four, 34.6)), {"late"})
        self.assertEqual(self.kinds(case(two)), {"late"})
        # One of the slots is free, or it would have been its turn.
        self.assertEqual(self.kinds(case([*two, ("d", 12.5)])), {"late"})
        self.assertEqual(self.kinds(case([*two, ("d", 12.5), ("b", 12.5)])), {"late"})
        unbounded = case(four)
        unbounded.promises.slots = None
        self.assertEqual(self.kinds(unbounded), {"late"})

    def test_who_is_slow_waits_for_the_slots_of_those_who_are(self) -> None:
        def case(first: Attempt, began: float) -> History:
            """A retry, due 1.2 s after the first attempt, while another slow endpoint has attempts of 20 s."""
            other = [attempt(key, at, Meaning.FAILED, lane="other", lasts=lasts)
                     for key, at, lasts in (("b", 0.5, 5.5), ("b", 7.1, 20.0))]
            made = history(
                [submission("a", 0.9), submission("b", 0.4, "other")], [first, attempt("a", began), *other],
                [entry("a"), Entry("ntf_b", "msg_b", "other", "waiting", next_attempt_at=200.0)])
            made.patient = {"other"}
            made.promises.slots, made.promises.slow_slots = 8, 1
            return made

        silent = attempt("a", 1.0, Meaning.FAILED, lasts=5.0)
        silent.answered_at = None
        self.assertEqual(judge(case(silent, 37.0)), [])
        self.assertEqual(self.kinds(case(silent, 37.4)), {"late"})
        self.assertEqual(judge(case(attempt("a", 1.0, Meaning.FAILED, lasts=5.0), 37.0)), [])
        self.assertEqual(self.kinds(case(attempt("a", 1.0, Meaning.FAILED, lasts=4.9), 37.0)), {"late"})
        # One quick answer is not enough, three are; and a new process knows nothing of it.
        for quick, kinds in ((1, set()), (3, {"late"})):
            made = case(silent, 36.0)
            made.attempts[1:1] = [attempt("a", 6.1 + place / 5, Meaning.FAILED) for place in range(quick)]
            made.promises.schedule = [0.0]
            self.assertEqual(self.kinds(made), kinds)
        restarted = case(silent, 37.0)
        restarted.lives += killed_once(6.1)[1:]
        restarted.lives[0].ended_at = 6.1
        restarted.attempts[1].life = restarted.attempts[3].life = 1
        self.assertEqual(self.kinds(restarted), {"late"})
        plenty = case(silent, 37.0)
        plenty.promises.slow_slots = 2
        self.assertEqual(self.kinds(plenty), {"late"})

    # disorder

    def test_a_later_one_before_an_earlier_one_is_disorder(self) -> None:
        case = history(
            [submission("a", 1), submission("b", 2)], [attempt("b", 2.2), attempt("a", 3)], [entry("a"), entry("b")])
        self.assertEqual(self.kinds(case), {"disorder"})

    def test_a_retry_after_the_next_one_is_disorder(self) -> None:
        case = history(
            [submission("a", 1), submission("b", 2)],
            [attempt("a", 1.2, Meaning.FAILED), attempt("b", 2.2), attempt("a", 2.4)], [entry("a"), entry("b")])
        self.assertEqual(self.kinds(case), {"disorder"})

    def test_who_was_sent_at_the_same_time_has_no_order(self) -> None:
        case = history(
            [submission("a", 1), submission("b", 1.05)], [attempt("b", 2.2), attempt("a", 3)], [entry("a"), entry("b")])
        self.assertEqual(judge(case), [])

    # after-settlement

    def test_an_attempt_after_the_end_is_found(self) -> None:
        case = history(
            [submission("a", 1)], [attempt("a", 1.2, Meaning.FAILED), attempt("a", 3)], [entry("a", settled=2.0)])
        self.assertEqual(self.kinds(case), {"after-settlement"})

    def test_an_attempt_after_it_was_cancelled_is_found(self) -> None:
        case = history(
            [replace(submission("a", 1), is_recalled=True, cancelled_at=2.0)], [attempt("a", 1.2, Meaning.FAILED), attempt("a", 3)],
            [entry("a", "cancelled", settled=None)])
        self.assertEqual(self.kinds(case), {"after-settlement"})

    # stuck

    def test_what_waits_for_nothing_is_stuck(self) -> None:
        case = history([submission("a", 1)], [attempt("a", 1.2, Meaning.FAILED)], [entry("a", "waiting", None)])
        self.assertEqual(self.kinds(case), {"stuck"})

    def test_what_waits_for_its_time_is_not_stuck_until_then(self) -> None:
        waiting, behind = entry("a", "waiting", None), entry("b", "waiting", None)
        case = history(
            [submission("a", 1), submission("b", 1)], [attempt("a", 1.2, Meaning.LATER)], [waiting, behind])
        case.patient = {"lane"}
        waiting.next_attempt_at = 500.0
        self.assertEqual(judge(case), [])
        case.patient = set()
        self.assertEqual(self.kinds(case), {"stuck"})
        case.patient = {"lane"}
        waiting.next_attempt_at = 50.0
        self.assertEqual(self.kinds(case), {"stuck"})

    # unaccounted

    def test_books_that_do_not_balance_are_unaccounted(self) -> None:
        for break_it in (
            lambda books: setattr(books, "accepted", 3),
            lambda books: setattr(books, "unaccounted", 1),
            lambda books: books.by_state.update(delivered=1),
            lambda books: books.entries.append(books.entries[0]),
        ):
            case = good()
            break_it(case.books)
            self.assertIn("unaccounted", self.kinds(case))

    def test_what_nobody_sent_is_unaccounted(self) -> None:
        case = good()
        case.attempts.append(attempt("ghost", 9))
        self.assertEqual(self.kinds(case), {"unaccounted"})
        case = history([submission("a", 1)], [attempt("a", 1.2)], [entry("a"), entry("b")])
        self.assertEqual(self.kinds(case), {"unaccounted"})

    def test_an_unanswered_submission_may_be_in_the_books(self) -> None:
        case = history(
            [submission("a", 1), Submission("b", "lane", 2.0)], [attempt("a", 1.2), attempt("b", 2.2)],
            [entry("a"), entry("b")])
        self.assertEqual(judge(case), [])

    def test_what_came_elsewhere_is_unaccounted(self) -> None:
        case = good()
        case.attempts[2].lane = "another"
        self.assertEqual(self.kinds(case), {"unaccounted"})
        case.heirs = {"lane": "another"}
        self.assertEqual(judge(case), [])

    def test_what_came_altered_or_unsigned_is_unaccounted(self) -> None:
        for name in ("is_intact", "is_signed"):
            case = good()
            setattr(case.attempts[0], name, False)
            self.assertEqual(self.kinds(case), {"unaccounted"})


class NeighbourTests(unittest.TestCase):
    def test_p99_may_be_three_times_the_quiet_one(self) -> None:
        quiet = Phase(accepts=[0.020] * 200)
        self.assertEqual(list(noticed(quiet, Phase(accepts=[0.005] * 197 + [0.060] * 3))), [])
        # Of 200, the two slowest do not count.
        self.assertEqual(list(noticed(quiet, Phase(accepts=[0.005] * 198 + [9.0] * 2))), [])
        found = list(noticed(quiet, Phase(accepts=[0.005] * 197 + [0.061] * 3)))
        self.assertEqual(found, ["p99 of the accepts is 61 ms, more than 60 ms: 3.0 times the quiet one"])

    def test_a_lucky_quiet_phase_counts_as_10_ms(self) -> None:
        quiet = Phase(accepts=[0.001] * 200)
        self.assertEqual(list(noticed(quiet, Phase(accepts=[0.030] * 200))), [])
        self.assertEqual(len(list(noticed(quiet, Phase(accepts=[0.031] * 200)))), 1)

    def test_of_three_short_phases_the_median_counts_and_every_refusal(self) -> None:
        times = [0.005, 0.500, 0.020]
        made = together([Phase(accepts=[each] * 200, shares=[], health=each) for each in times])
        self.assertEqual((made.p99, made.health), (0.020, 0.500))
        refused = [Phase(accepts=[0.005]), Phase(accepts=[0.005], refusals=["503 overloaded"], silences=1, health=None)]
        made = together(refused)
        self.assertEqual((made.refusals, made.silences, made.health), (["503 overloaded"], 1, None))

    def test_a_phase_without_accepts_is_noticed(self) -> None:
        self.assertEqual(len(list(noticed(Phase(accepts=[0.001]), Phase()))), 1)

    def test_everything_that_is_refused_is_noticed(self) -> None:
        quiet = Phase(accepts=[0.005] * 200)
        for break_it in (
            lambda phase: phase.refusals.append("503 overloaded"),
            lambda phase: setattr(phase, "silences", 1),
            lambda phase: setattr(phase, "given_up", 1),
            lambda phase: setattr(phase, "health", None),
            lambda phase: setattr(phase, "health", 1.1),
            lambda phase: phase.shares.append("429 too-many-replays"),
            lambda phase: phase.shares.append("no answer (TimeoutError)"),
        ):
            phase = Phase(accepts=[0.005] * 200, health=0.9, shares=["202", "200"])
            self.assertEqual(list(noticed(quiet, phase)), [])
            break_it(phase)
            self.assertEqual(len(list(noticed(quiet, phase))), 1)

    def test_a_noise_that_is_none_is_found(self) -> None:
        kind = replace(NOISES[0], least=10)
        self.assertEqual(list(is_loud(kind, 10, 2, Counter({"202": 5, "429": 3}))), [])
        self.assertEqual(len(list(is_loud(kind, 10, 2, Counter({"202": 5})))), 1)
        self.assertEqual(len(list(is_loud(kind, 10, 0, Counter()))), 1)
        # A noise with the wrong key is none, however often it is answered.
        self.assertEqual(len(list(is_loud(kind, 10, 2, Counter({"401": 50})))), 2)
        self.assertEqual(len(list(is_loud(kind, 10, 2, Counter({"202": 50, "404": 1})))), 1)

    def test_there_are_at_least_fifteen_kinds(self) -> None:
        self.assertGreaterEqual(len({each.name for each in NOISES}), 15)
        self.assertGreaterEqual(sum(each.is_short for each in NOISES), 3)

    def test_a_doctored_ledger_of_the_quiet_tenant_is_found(self) -> None:
        lost = good()
        lost.attempts = [each for each in lost.attempts if each.key != "a"]
        self.assertEqual({finding.kind for finding in judge(lost)}, {"lost"})
        swapped = good()
        swapped.attempts[0].key, swapped.attempts[2].key = "b", "a"
        swapped.attempts[0].webhook_id, swapped.attempts[2].webhook_id = "msg_b", "msg_a"
        self.assertIn("disorder", {finding.kind for finding in judge(swapped)})

    def test_an_answer_is_read_to_its_end(self) -> None:
        data = bytearray(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{")
        self.assertIsNone(whole_answer(data))
        self.assertEqual(whole_answer(data + b"}"), (202, b"{}"))
        chunks = bytearray(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")
        self.assertIsNone(whole_answer(chunks))
        self.assertEqual((whole_answer(chunks + b"0\r\n\r\n") or (0, b""))[0], 200)


class RawTests(unittest.TestCase):
    ROW = Raw("row", b"", ("200", "400 malformed-request"))
    OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    BAD = (b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nContent-Length: 28\r\n\r\n"
           b'{"code":"malformed-request"}')

    def test_answers_are_told_apart(self) -> None:
        self.assertEqual(answers_in(self.OK + self.BAD), ["200", "400 malformed-request"])
        self.assertEqual(answers_in(b"HTTP/1.1 100 Continue\r\n\r\n" + self.OK), ["100", "200"])
        self.assertEqual(len(answers_in(b"hello")), 1)

    def test_one_answer_more_or_less_is_found(self) -> None:
        right = ["200", "400 malformed-request"]
        self.assertIsNone(judged(self.ROW, right, True))
        for answers, is_closed in ((right + ["200"], True), (right[:1], True), (["200", "413 body-too-large"], True),
                                   ([], True), (right, False)):
            self.assertIsNotNone(judged(self.ROW, answers, is_closed))

    def test_rows_have_names_of_their_own(self) -> None:
        self.assertEqual(len({each.name for each in CORPUS}), len(CORPUS))
        self.assertGreaterEqual(len(CORPUS), 120)


if __name__ == "__main__":
    unittest.main()
