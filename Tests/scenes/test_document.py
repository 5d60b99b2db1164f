"""The comparison of an answer with a document."""
import json
import sys
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support_py")]

import document  # noqa: E402
from document import BLOCK, Answer, Document, matches  # noqa: E402
from receiver import Webhook  # noqa: E402

PAGE = """
<!-- check: show -->
```sh
request GET $photos
```

```json
{"id": "main"}
200
```

<!-- check: remove -->
```sh
request DELETE $photos
```

```json
204
```

<!-- check: prepare -->
```sh
term=1
```

```json
{"configuration": "Detail"}
```

<!-- webhook: scene.didBecomeActive -->
```json
{"type": "scene.didBecomeActive"}
```
"""


class DocumentTests(unittest.TestCase):
    def test_compares_every_place_that_the_document_does_not_leave_open(self) -> None:
        shown = {"id": "ntf_…", "at": "2026-01-02T03:04:05.678Z", "term": 1, "more": [{"a": None, "…": "…"}], "any": "…"}
        found = {"id": "ntf_01", "at": "2031-12-31T00:00:00.000Z", "term": 1, "more": [{"a": None, "b": 2}], "any": [3]}
        self.assertTrue(matches(shown, found))
        for name, other in [
            ("id", "ses_01"), ("at", "soon"), ("at", None), ("term", 2), ("term", True), ("term", "1"),
            ("more", []), ("more", [{"b": 2}]), ("more", [{"a": 0, "b": 2}]),
        ]:
            self.assertFalse(matches(shown, found | {name: other}), f"{name}: {json.dumps(other)}")
        self.assertFalse(matches(shown, found | {"further": 1}), "a member that the document does not have")
        self.assertFalse(matches(shown, {name: found[name] for name in found if name != "any"}), "a member is missing")

    def test_reads_the_body_and_the_status_of_an_answer(self) -> None:
        self.assertEqual(Answer.read('{"id":\n "main"}\n200\n'), Answer(200, {"id": "main"}))
        self.assertEqual(Answer.read("\n204\n"), Answer(204, None))

    def test_finds_requests_answers_and_webhooks(self) -> None:
        found = [(block["name"] or block["type"], block["answer"] or block["webhook"]) for block in BLOCK.finditer(PAGE)]
        self.assertEqual(found, [
            ("show", '{"id": "main"}\n200\n'), ("remove", "204\n"), ("prepare", '{"configuration": "Detail"}\n'),
            ("scene.didBecomeActive", '{"type": "scene.didBecomeActive"}\n')])

    def test_finds_the_webhooks_of_a_type_in_their_order_and_none_twice(self) -> None:
        bodies = [json.dumps({"type": "scene.refresh", "number": number}).encode() for number in (1, 2)]
        receiver = SimpleNamespace(
            webhooks=[Webhook("/", {}, body) for body in bodies], arrived=threading.Condition(),
            server=SimpleNamespace(server_port=1))
        document.SECONDS = 0
        page = Document(Path(__file__), SimpleNamespace(listen="127.0.0.1:2"), receiver, None)  # type: ignore[arg-type]
        second = {"type": "scene.refresh", "number": 2}
        self.assertEqual(page.webhook("scene.refresh", second), second)
        self.assertIsNone(page.webhook("scene.refresh", second), "it was found before")
        self.assertIsNone(page.webhook("scene.refresh", second | {"number": 1}), "it came before the other one")


if __name__ == "__main__":
    unittest.main()
