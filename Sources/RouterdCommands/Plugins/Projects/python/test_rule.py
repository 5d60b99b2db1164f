import unittest

from rule import decide


class Decide(unittest.TestCase):
    def test_vetoes_kiosks(self):
        candidates = [{"session": "a", "role": "kiosk"}, {"session": "b", "role": "windowApplication"}]
        verdicts = decide({"priority": 10}, candidates, {})
        self.assertEqual([(v["session"], v["verdict"]) for v in verdicts], [("a", "veto")])


if __name__ == "__main__":
    unittest.main()
