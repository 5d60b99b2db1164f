#!/usr/bin/env python3
"""Writes the files of Console/ into Swift: the binary holds them, and needs no files beside it.

Usage: Scripts/embed.py [--check]

`--check` writes nothing, and exits 1 if Sources/RouterdApp/Console differs from Console/.
"""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FROM, TO = ROOT / "Console", ROOT / "Sources/RouterdApp/Console"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


def written(path: Path) -> str:
    text = path.read_text()
    if '"""##' in text:
        raise SystemExit(f"{path} holds the end of a Swift literal")
    name = path.stem
    body = "".join(f"        {line}\n" if line else "\n" for line in text.split("\n"))
    return (
        f"// swift-format-ignore-file\n// Made from Console/{path.name} by Scripts/embed.py.\n\nextension ConsoleFile {{\n"
        f"    static let {name} = ConsoleFile(\n        name: \"{path.name}\", contentType: \"{TYPES[path.suffix]}\",\n"
        f'        text: ##"""\n{body.rstrip()}\n\n        """##)\n}}\n')


def main() -> int:
    stale = []
    for path in sorted(FROM.iterdir()):
        target = TO / f"ConsoleFile+{path.stem.capitalize()}.swift"
        if not target.exists() or target.read_text() != written(path):
            stale.append(target)
            if "--check" not in sys.argv:
                target.write_text(written(path))
    if stale and "--check" in sys.argv:
        print(f"{stale[0].relative_to(ROOT)} differs from its file in Console/: run Scripts/embed.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
