#!/usr/bin/env python3
"""Checks what the formatter cannot: the house rules of CONTRIBUTING.md, as far as a script can see them.

Prints every fault as FILE:LINE: what, and exits 1 if there is one.

  tidy.py --sentences FOLDER   the sentences of a folder that hide their subject
  tidy.py --lower              writes a lower budget of them where there are fewer
"""
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import graph
import prose

ROOT = Path(__file__).resolve().parent.parent
PURE = ("PredicateEngine", "RouterPlugin", "Router")
# Where Swift is told to take it that something may be shared: memory it does not manage, and nothing else.
UNCHECKED = {
    "Sources/DeliveryCurl/Addresses/CurlURL.swift",
    "Sources/PredicateEngine/Index/NodeSet.swift",
    "Sources/Router/Choice/IndexedRegistry.swift",
}
# Files whose sentences count.
PROSE = ("*.swift", "*.md", "*.py", "*.sh", "*.yaml", "*.yml", "Makefile", "*/Makefile")
MAXIMUM_FILE, MAXIMUM_FUNCTION = 600, 70

Fault = tuple[Path, int, str]


def tracked(*patterns: str) -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


# Bytes of a vector's element; a generic one may have 8.
ELEMENT_BYTES = {f"{sign}Int{bits}": bits // 8 for sign in ("", "U") for bits in (8, 16, 32, 64)} | {"Float": 4, "Float16": 2}
MAXIMUM_VECTOR = 16


def vector_bytes(code: str) -> int:
    """The bytes of the largest SIMD type that a line names."""
    return max((int(lanes) * ELEMENT_BYTES.get(element, 8)
                for lanes, element in re.findall(r"\bSIMD(2|3|4|8|16|32|64)\b(?:<\s*(\w+))?", code)), default=0)


def code_of(line: str) -> str:
    """The line without its comment and without what stands in string literals."""
    return re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]


def swift_faults(path: Path) -> Iterator[Fault]:
    name = path.relative_to(ROOT)
    in_sources, target = name.parts[0] == "Sources", name.parts[1]
    lines = path.read_text().split("\n")
    if len(lines) > MAXIMUM_FILE:
        yield path, len(lines), f"the file has more than {MAXIMUM_FILE} lines"
    yield from function_faults(path, lines)
    safe = -10
    for number, line in enumerate(lines, 1):
        code = code_of(line)
        if "Safety:" in line:
            safe = number
        if found := re.match(r"\s*(?:@\w+ )*(?:public |package |internal )?import (?:\w+ )?(\w+)", line):
            module = found[1]
            if in_sources and target in PURE and module in ("Foundation", "Dispatch", "Glibc", "NIOCore", "Logging"):
                yield path, number, f"the pure core must not import {module}"
        if not in_sources:
            continue
        if re.search(r"\btry!|\bfatalError\(|\bas!|\bTask(\.detached)? \{", code):
            yield path, number, "not in Sources: try!, as!, fatalError and unstructured tasks"
        if re.search(r"\basync let\b", code):
            yield path, number, "not in Sources: async let, of whose faults some remain in toolchain 6.3 (swiftlang/swift#81771); use a task group"
        if re.search(r"@unchecked Sendable|nonisolated\(unsafe\)", code):
            if str(name) not in UNCHECKED:
                yield path, number, "not in this file: @unchecked Sendable and nonisolated(unsafe)"
            if number - safe > 6:
                yield path, number, "needs a comment 'Safety:' right above that says why"
        if vector_bytes(code) > MAXIMUM_VECTOR:
            yield path, number, (
                f"a vector of more than {MAXIMUM_VECTOR} bytes: swiftlang/swift#91639 makes the context of an async function that "
                "keeps it too small; InlineArray has no such fault")
        if target in PURE and re.search(r"\bDate\(|(?<!self)\.now\b|\basync\b|\.random\((?!.*using:)", code):
            yield path, number, "the pure core takes time, randomness and waiting as arguments"


def function_faults(path: Path, lines: list[str]) -> Iterator[Fault]:
    start, indent = 0, ""
    for number, line in enumerate(lines, 1):
        if found := re.match(r"( *)(?:[\w@()]+ )*(?:func \S|init[?(<])", line):
            start, indent = number, found[1]
        if start and line == indent + "}":
            if number - start + 1 > MAXIMUM_FUNCTION:
                yield path, start, f"the function has more than {MAXIMUM_FUNCTION} lines"
            start = 0


def text_faults(path: Path) -> Iterator[Fault]:
    if path == Path(__file__):
        return
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
            yield path, number, "open ends belong into an issue"
        if re.search(r"(^|[\s\"'(=])/(home|root|work|Users)/", line):
            yield path, number, "a path of one machine"


def link_faults(path: Path) -> Iterator[Fault]:
    """Every relative link of a document leads to something."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                yield path, number, f"the link {target} leads nowhere"
        for target in re.findall(r"`((?:Sources|Tests|Benchmarks|docs|Scripts|Examples)/[\w./+-]+)`", line):
            if not (ROOT / target).exists():
                yield path, number, f"{target} does not exist"


def listing_faults(path: Path) -> Iterator[Fault]:
    """A listing that names a file is the whole of it; every Swift listing names one, which a test compiles."""
    text = path.read_text()
    marked = 0
    for found in re.finditer(r"<!-- file: (\S+) -->\n```(\w+)\n(.*?)```", text, re.S):
        marked += found[2] == "swift"
        if not (ROOT / found[1]).exists() or (ROOT / found[1]).read_text() != found[3]:
            yield path, text.count("\n", 0, found.start()) + 1, f"the listing differs from {found[1]}"
    if marked != text.count("```swift\n"):
        yield path, 1, "a Swift listing has no comment that names its file"


def code_faults(path: Path, known: str) -> Iterator[Fault]:
    """Every code of a problem stands in the document for its readers."""
    statuses = (
        "badRequest|unauthorized|forbidden|notFound|conflict|unprocessableContent|tooManyRequests|serviceUnavailable")
    for number, line in enumerate(path.read_text().split("\n"), 1):
        found = re.search(rf"\.(?:{statuses}), \"([a-z-]+)\"", line)
        if found and f"`{found[1]}`" not in known:
            yield path, number, f"docs/API.md does not have the code {found[1]}"


def prose_faults() -> Iterator[Fault]:
    """No folder has more sentences that hide their subject than its budget; one with fewer gets a lower budget."""
    found, budget = prose.counts(ROOT, tracked(*PROSE)), prose.read_budget()
    for folder in sorted(found | budget):
        if found[folder] > budget[folder]:
            yield ROOT / folder, 1, (
                f"{found[folder]} sentences hide their subject, {budget[folder]} may; "
                f"`Scripts/tidy.py --sentences {folder}` shows them")
        elif found[folder] < budget[folder]:
            print(f"tidy: {folder} has {found[folder]} sentences that hide their subject and a budget of {budget[folder]}; "
                  "please lower it: Scripts/tidy.py --lower")


def lower_budget() -> None:
    found, budget = prose.counts(ROOT, tracked(*PROSE)), prose.read_budget()
    prose.write_budget(found & budget)


def show_sentences(folder: str) -> None:
    for path in tracked(*PROSE):
        if prose.folder(path.relative_to(ROOT)) == folder:
            for line, sentence in prose.hidden_subjects(path):
                print(f"{path.relative_to(ROOT)}:{line}: {sentence}")


def main() -> int:
    if sys.argv[1:2] == ["--sentences"] and len(sys.argv) == 3:
        show_sentences(sys.argv[2])
        return 0
    if sys.argv[1:] == ["--lower"]:
        lower_budget()
        return 0
    faults: list[Fault] = []
    for path in tracked("Sources/*.swift", "Tests/*.swift", "Benchmarks/*.swift", "Fuzzing/*.swift", "Examples/*.swift"):
        faults += swift_faults(path)
    for path in tracked("*.swift", "*.md", "*.py", "*.sh", "*.yaml", "Makefile", "*.h", "*.c"):
        if "Fixtures" not in path.parts:
            faults += text_faults(path)
    known_codes = (ROOT / "docs/API.md").read_text()
    for path in tracked("Sources/RouterdApp/*.swift"):
        faults += code_faults(path, known_codes)
    for path in [ROOT / "docs/PLUGINS.md", *tracked("Sources/*.docc/*.md")]:
        faults += listing_faults(path)
    for path in tracked("*.md"):
        faults += link_faults(path)
    faults += graph.faults()
    faults += prose_faults()
    for path, number, what in faults:
        print(f"{path.relative_to(ROOT)}:{number}: {what}")
    print(f"tidy: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
