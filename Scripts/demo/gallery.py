"""The files of Examples/gallery."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Example:
    """A payload of the gallery, and its expected route."""

    name: str
    path: Path
    payload: bytes
    content_id: str | None
    scene: str
    tier: str
    type: str


class Gallery:
    """Application, scenes and payloads, each in the bytes of its file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.application = (folder / "application.json").read_bytes()
        self.scenes = sorted(path.stem for path in (folder / "sessions").glob("*.json"))
        entries = json.loads((folder / "expected.json").read_bytes())
        self.examples = [self._example(entry) for entry in entries]

    def _example(self, entry: dict) -> Example:
        path = self._folder / "payloads" / entry["payload"]
        return Example(
            entry["payload"], path, path.read_bytes(), entry["contentId"], entry["session"], entry["tier"],
            entry["type"])

    def session(self, scene: str, address: str, secret: str) -> bytes:
        """The body of a session, with the scene's receiver filled in."""
        text = (self._folder / "sessions" / f"{scene}.json").read_text(encoding="utf-8")
        return text.replace("{receiver}", f"http://{address}").replace("{secret}", secret).encode()

    def example(self, name: str) -> Example:
        return next(example for example in self.examples if example.name == name)

    def content_id(self, scene: str) -> str:
        """A content id that routes to this scene."""
        return next(example.content_id for example in self.examples if example.scene == scene and example.content_id)
