"""The parts of the checker that are values: schedules, signatures, the zoo's table."""

import sys
import unittest
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos.crowd import balance  # noqa: E402
from chaos.files import is_monitor_to_blame  # noqa: E402
from chaos.history import Meaning  # noqa: E402
from chaos.http1 import Request, answer  # noqa: E402
from chaos.hung import MORE_THAN_SLOTS, ONE_IN_A_HUNDRED, Phase, found_out_at  # noqa: E402
from chaos.ledger import Ledger, is_signed, key_of  # noqa: E402
from chaos.menagerie import behaviours  # noqa: E402
from chaos.schedule import strikes  # noqa: E402
from chaos.sweep import points  # noqa: E402
from test_verdict import attempt, entry, history, submission  # noqa: E402

# Made by another implementation (openssl dgst -sha256 -hmac), for the zoo's secret.
SIGNED = {
    "webhook-id": "msg_1", "webhook-timestamp": "1700000000",
    "webhook-signature": "v1,AAAA v1,GtIRVeCz1MTMQoK+kVjI19vLpU1mU15UXqcli91NB9s="}


class ScheduleTests(unittest.TestCase):
    def test_a_seed_replays_its_schedule(self) -> None:
        self.assertEqual(strikes(7, 50), strikes(7, 50))
        self.assertNotEqual(strikes(7, 50), strikes(8, 50))

    def test_points_are_spread_over_all_calls(self) -> None:
        found = points(Random(1), 1000, 10)
        self.assertEqual(len(found), 10)
        self.assertTrue(all(place * 100 < point <= (place + 1) * 100 for place, point in enumerate(found)), found)
        self.assertEqual(points(Random(1), 3, 10), [1, 2, 3])


class LedgerTests(unittest.TestCase):
    BODY = b'{"data":{"payload":{"key":"a"}}}'

    def test_a_signature_fits_one_body_only(self) -> None:
        self.assertTrue(is_signed(SIGNED, self.BODY))
        self.assertFalse(is_signed(SIGNED, self.BODY + b" "))
        self.assertFalse(is_signed(SIGNED | {"webhook-timestamp": "1700000001"}, self.BODY))
        self.assertFalse(is_signed({}, self.BODY))

    def test_a_payload_is_compared_byte_for_byte(self) -> None:
        ledger = Ledger()
        ledger.payloads["a"] = b'{"key":"a"}'
        self.assertTrue(ledger.begin("lane", Request("", SIGNED, self.BODY)).is_intact)
        self.assertFalse(ledger.begin("lane", Request("", SIGNED, self.BODY.replace(b'"key"', b' "key"'))).is_intact)

    def test_a_payload_that_nobody_sent_is_not_intact(self) -> None:
        self.assertFalse(Ledger().begin("lane", Request("", SIGNED, self.BODY)).is_intact)

    def test_what_has_no_key_is_nobodys(self) -> None:
        for body in (b"", b"[]", b'{"data":{}}', b'{"data":{"payload":3}}'):
            self.assertIsNone(key_of(body))

    def test_a_key_is_taken_once(self) -> None:
        ledger = Ledger()
        for _ in range(2):
            ledger.end(ledger.begin("lane", Request("", SIGNED, self.BODY)), Meaning.TAKEN)
        self.assertEqual((ledger.taken["lane"], ledger.count("lane", "a")), (1, 2))


class BalanceTests(unittest.TestCase):
    def test_receivers_and_books_agree(self) -> None:
        case = history([submission("a", 1)], [attempt("a", 1.2)], [entry("a")])
        self.assertEqual(balance(case, {"a"}), [])
        self.assertEqual(len(balance(case, set())), 1)
        self.assertEqual(len(balance(case, {"a", "b"})), 1)
        case.submissions[0].ids.clear()
        self.assertEqual(len(balance(case, set())), 1)


class HungTests(unittest.TestCase):
    def test_with_slots_left_nobody_waits_until_they_are_found_out(self) -> None:
        self.assertEqual(ONE_IN_A_HUNDRED.seconds_to_find_out, 0.0)
        self.assertEqual(MORE_THAN_SLOTS.seconds_to_find_out, 10.0)
        self.assertEqual((ONE_IN_A_HUNDRED.slow_slots, MORE_THAN_SLOTS.slow_slots), (32, 1))

    def test_they_are_found_out_when_the_last_first_attempt_is_over(self) -> None:
        attempts = [attempt(key, at, lane=lane, lasts=5.0)
                    for key, lane, at in (("a", "x", 1.0), ("b", "y", 2.0), ("a", "x", 8.0), ("c", "well", 9.0))]
        self.assertEqual(found_out_at(attempts, {"x", "y"}, 20.0), 7.0)
        self.assertEqual(found_out_at(attempts, {"x", "y", "z"}, 20.0), 20.0)
        attempts[1].ended_at = None
        self.assertEqual(found_out_at(attempts, {"x", "y"}, 20.0), 20.0)


    def test_a_time_is_that_of_what_was_sent_from_then_on(self) -> None:
        phase = Phase([(1.0, 9.0), (9.9, 0.5), (10.0, 0.1), (12.0, 0.2)], 9.0, 10.0, 0)
        self.assertEqual((phase.p50, phase.p99, phase.p99_since(phase.drained)), (0.5, 9.0, 0.2))
        self.assertEqual(phase.times(10.0), [0.1, 0.2])


class LibdispatchTests(unittest.TestCase):
    LOOKED = '812  openat(AT_FDCWD, "/proc/815/stat", O_RDONLY|O_NONBLOCK) = -1 EMFILE (Too many open files)\n'
    OPENED = '813  openat(AT_FDCWD, "/var/chaos.sqlite", O_RDWR|O_CLOEXEC) = -1 EMFILE (Too many open files)\n'
    ENDED = "--- SIGILL {si_signo=SIGILL, si_code=ILL_ILLOPN, si_addr=0x7f} ---\n813  +++ killed by SIGILL +++\n"

    def test_who_could_not_look_and_ended_was_its_monitor(self) -> None:
        self.assertTrue(is_monitor_to_blame(f"{self.LOOKED}{self.OPENED}812  {self.ENDED}"))

    def test_another_thread_or_another_call_is_not_excused(self) -> None:
        for trace in (f"{self.LOOKED}{self.OPENED}813  {self.ENDED}", f"{self.LOOKED}814  {self.ENDED}",
                      f"{self.LOOKED}{self.OPENED.replace('813', '812')}812  {self.ENDED}",
                      f"{self.LOOKED.replace('EMFILE', 'ENOENT')}812  {self.ENDED}", self.LOOKED, ""):
            self.assertFalse(is_monitor_to_blame(trace), trace)


class ZooTests(unittest.TestCase):
    def test_there_are_at_least_sixty_behaviours(self) -> None:
        trap = "http://127.0.0.1:1/trap"
        names = [each.name for each in behaviours(trap)]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 60)

    def test_an_answer_says_its_length_unless_it_has_none(self) -> None:
        self.assertIn(b"Content-Length: 2\r\n\r\nok", answer(200, body=b"ok"))
        self.assertIn(b"Content-Length: 9\r\n\r\nok", answer(200, body=b"ok", length=9))
        self.assertNotIn(b"Content-Length", answer(204))


if __name__ == "__main__":
    unittest.main()
