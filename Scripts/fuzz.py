#!/usr/bin/env python3
"""Builds the fuzz targets of Fuzzing/ and runs each for a bounded time.

Exits 1 when a target finds something; the input is printed and kept, and `--replay FILE` runs it again.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".build" / "fuzz"
SOURCES, TESTS = ROOT / "Sources", ROOT / "Tests"
ENGINE, TEMPLATES, PLUGINS = (TESTS / f"{name}Tests" for name in ("PredicateEngine", "RouterPlugin", "Plugins"))
# Packages of others come from the package's own debug build: `decoders` builds that first. Their C parts have module maps.
PACKAGE = ROOT / ".build" / "debug"
CHECKOUTS = ROOT / ".build" / "checkouts"
LIBRARIES = ("Crypto", "CryptoBoringWrapper", "CCryptoBoringSSL", "CCryptoBoringSSLShims", "CXKCP", "CXKCPShims", "Mustache")


@dataclass(frozen=True)
class Target:
    """The modules of ours that a target is built on, in order; the test target that replays its findings; the files that
    both share; its dictionary."""
    modules: tuple[str, ...]
    tests: Path
    shared: tuple[str, ...]
    dictionary: str

    @property
    def regressions(self) -> Path:
        return self.tests / "Fixtures" / "fuzz"


PREDICATES = Target(
    ("PredicateEngine",), ENGINE,
    ("Fuzzing/ByteReader.swift", "Fuzzing/ByteReader+Trees.swift", "Fuzzing/IndexProbe.swift",
     "Fuzzing/ParserProbe.swift", "Fuzzing/PayloadProbe.swift", "Index/IndexModel.swift", "RandomPayloads.swift",
     "RandomPredicates.swift", "SplitMix64.swift"),
    "predicates.dict")
TARGETS = {
    "parser": PREDICATES,
    "payload": PREDICATES,
    "index": PREDICATES,
    "templates": Target(("RouterPlugin",), TEMPLATES, ("Fuzzing/TemplateProbe.swift",), "templates.dict"),
    "decoders": Target(
        ("RouterPlugin", "Plugins", "RouterTesting"), PLUGINS, ("Fuzzing/DecoderProbe.swift",), "decoders.dict"),
}
# Of RouterTesting the suite for plugins alone: the rest needs the router.
PARTS = {"RouterTesting": [
    SOURCES / "RouterTesting" / "Plugins" / f"{name}.swift" for name in (
        "HostileRequests", "PayloadSourceSuite", "PayloadSourceSuite+Verification", "SeededGenerator", "Violations")]}
# Called as a compiler, not as a package: libFuzzer brings its own `main`, which a package's executable would have too,
# and the package's other targets would be built with it. The project's own package name gives access to the index,
# `-enable-testing` to what tests see.
FLAGS = [
    "-O", "-g", "-swift-version", "6", "-warnings-as-errors", "-package-name", "routerd", "-parse-as-library",
    "-sanitize=fuzzer,address", "-enable-testing", "-enable-upcoming-feature", "ExistentialAny",
    "-enable-upcoming-feature", "MemberImportVisibility", "-enable-upcoming-feature", "InternalImportsByDefault"]
BUILD_SECONDS, REPLAY_SECONDS, INPUT_SECONDS = 900, 60, 10
# A second's worth on a slow machine. Fewer means that a target stands still, and not that nothing is to be found.
LEAST_RUNS = 100
# Long enough that the limits of the parser can be reached.
INPUT_BYTES, MEMORY_MB = 4096, 2048

# Swift's own backtracer reads all memory at a trap. The address sanitizer takes that for a fault and hides the trap;
# the backtracer is left waiting.
ENVIRONMENT = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}


def newest(paths: list[Path]) -> float:
    return max(path.stat().st_mtime for path in paths)


def compile_with(flags: list[str], sources: list[Path], output: Path) -> None:
    """Compiles when a source is newer than what there is."""
    if output.exists() and output.stat().st_mtime > newest([*sources, Path(__file__)]):
        return
    output.unlink(missing_ok=True)
    built = subprocess.run(
        ["swiftc", *FLAGS, *flags, "-o", str(output), *map(str, sources)],
        cwd=WORK, timeout=BUILD_SECONDS)
    if built.returncode != 0:
        sys.exit(f"fuzz: {output.name} does not build")


def libraries(target: Target) -> tuple[list[str], list[Path]]:
    """The flags and the objects of packages of others; builds them if the target needs any."""
    if "Plugins" not in target.modules:
        return [], []
    built = subprocess.run([ROOT / "Scripts" / "build.py", "--target", "Plugins"], cwd=ROOT, timeout=BUILD_SECONDS)
    if built.returncode != 0:
        sys.exit("fuzz: the plugins do not build")
    flags = ["-I", str(PACKAGE / "Modules")]
    for source in sorted((CHECKOUTS / "swift-crypto" / "Sources").glob("C*/include/module.modulemap")):
        flags += ["-Xcc", f"-fmodule-map-file={source}"]
    return flags, sorted(path for name in LIBRARIES for path in (PACKAGE / f"{name}.build").rglob("*.o"))


def build(name: str) -> Path:
    target = TARGETS[name]
    flags, objects = libraries(target)
    modules: list[Path] = []
    for module in target.modules:
        sources = PARTS.get(module) or sorted((SOURCES / module).rglob("*.swift"))
        output = WORK / f"{module}.o"
        if modules and output.exists() and output.stat().st_mtime < newest(modules):
            output.unlink()
        compile_with(
            ["-wmo", "-c", "-module-name", module, "-emit-module-path", str(WORK / f"{module}.swiftmodule"),
             "-I", str(WORK), *flags], sources, output)
        modules.append(output)
    binary = WORK / name
    if binary.exists() and binary.stat().st_mtime < newest([*modules, *objects]):
        binary.unlink()
    entry = ROOT / "Fuzzing" / f"{name.capitalize()}Target.swift"
    # A list in a file: a command has no room for so many objects.
    listed = WORK / f"{name}.objects"
    listed.write_text("".join(f'"{path}"\n' for path in [*modules, *objects]))
    compile_with(
        ["-wmo", "-use-ld=lld", "-module-name", f"{name.capitalize()}Target", "-I", str(WORK), *flags, f"@{listed}"],
        [entry, *(target.tests / path for path in target.shared)], binary)
    return binary


def seeds(target: str) -> Iterator[bytes]:
    """The vectors as inputs. `Fuzzing` in the test targets says how the targets read them."""
    if target == "templates":
        yield from template_seeds()
        return
    if target == "decoders":
        yield from decoder_seeds()
        return
    vectors = json.loads((ENGINE / "Fixtures" / "predicates.json").read_text())
    pairs = [(each["predicate"].encode(), (each["subject"] or "").encode()) for each in vectors]
    if target == "parser":
        for predicate, subject in pairs:
            yield predicate
            yield re.sub(rb"'[^']*'", b"%@", predicate) + b"\xff" + subject
        yield from edges()
        return
    if target == "payload":
        for each in json.loads((ENGINE / "Fixtures" / "payload-predicates.json").read_text()):
            yield each["predicate"].encode()
            yield re.sub(rb"'[^']*'", b"%@", each["predicate"].encode()) + b"\xffbug\xffa.b"
        yield from edges()
        return
    steps = [b"0" + predicate + b"\xff" + bytes([16 + number % 5]) + b"5" + subject + b"\xff"
             for number, (predicate, subject) in enumerate(pairs)]
    yield from (b"0" + step for step in steps)
    for start in range(0, len(steps), 8):
        yield b"0" + b"".join(steps[start:start + 8]) + b"7" + b"4\x40\x00\x00" + b"3\x00\x00\x11"
    for kind in range(6):
        yield b"0" + bytes([2, kind, 16 + kind, 80, 0]) + b"5a/7\xff4\xf0" + bytes(range(32))


def template_seeds() -> Iterator[bytes]:
    """A hole of each form and each place, with an event that fills it."""
    event = (
        b'\xff{"a":"b/c","d":{"e f":[1,"..",true]},"type":"x","":"."}\xfftissues\xffhx-id=%41 /?\xffqa=\xc3\xa9\xffasource=.')
    paths = ("a", "d['e f'][0]", "d['e f'][LAST]", "payload", "payload.type", "['']", "header.x-id", "query.a",
             "attribute.source", "type", "missing")
    for path in paths:
        for hole in ("{%s}", "{%s:segment}", "{+%s}", "app://{%s|a|'it''s'}/x", "{{%s}}", "{missing|%s}"):
            yield (hole % path).encode() + event
    for depth in (31, 32, 33):
        yield b"{" + b".".join([b"a"] * depth) + b"}" + event
    for count in (15, 16, 17):
        yield b"{" + b"|".join([b"a"] * count) + b"}" + event
    for count in (63, 64, 65):
        yield b"{a}" * count + event


def decoder_seeds() -> Iterator[bytes]:
    """A request that each kind takes, and those kinds with the bodies of others."""
    form = b"content-type: application/x-www-form-urlencoded\n"
    alert = b'{"status":"firing","labels":{"alertname":"Disk"},"startsAt":"2026-01-02T03:04:05Z","fingerprint":"f"}'
    event = b'{"specversion":"1.0","id":"1","source":"/s","type":"t","subject":"doc/1","data":{"a":1}}'
    bodies = (
        b'{"aps":{"target-content-id":"a"},"notification-content-id":"b"}', b'{"url":"myapp://doc/42","options":{}}',
        b'{"userActivity":{"activityType":"a","webpageURL":"b","userInfo":{}}}', b'{"shortcutItem":{"type":"t"}}',
        event, b"[" + event + b"," + event + b"]", b'{"issue":{"iid":17},"object_attributes":{"iid":1}}',
        b'{"id":"evt_1","type":"charge.succeeded","data":{"object":{"object":"charge","id":"ch_1"}}}',
        b'{"type":"url_verification","challenge":"c"}', b'{"type":"event_callback","event_id":"E","event":{"type":"m"}}',
        b'{"version":"4","alerts":[' + alert + b"," + alert.replace(b"firing", b'resolved","endsAt":"b') + b"]}")
    headers = (
        b"", b"apns-priority: 5\napns-expiration: 0\napns-collapse-id: c\nidempotency-key: k\n",
        b"content-type: application/cloudevents+json\n", b"content-type: application/cloudevents-batch+json\n",
        b"ce-id: 1\nce-source: /s\nce-specversion: 1.0\nce-type: t\nce-subject: %C3%A9\n",
        b"x-github-event: issues\nx-github-delivery: d\n", b"x-gitlab-event: Note Hook\nx-gitlab-event-uuid: e\n",
        b"webhook-id: m\nwebhook-timestamp: 1767268800\nwebhook-signature: v1,AAAA\n",
        b"stripe-signature: t=1767268800,v1=00\n", b"x-slack-signature: v0=00\nx-slack-request-timestamp: 1767268800\n",
        b"x-shopify-topic: orders/create\nx-shopify-event-id: e\n", b"authorization: Bearer s3cret:of-the-source\n",
        b"authorization: Basic czNjcmV0Om9mLXRoZS1zb3VyY2U=\n", b"x-sig: 00,11\nx-time: 1767268800\nx-id: 1\n")
    for kind in b"abcdefghijklmn":
        yield from (bytes([kind]) + b"\n" + fields + b"\n" + body for fields in headers for body in bodies)
        for body in (b"payload=%7B%22type%22%3A%22a%22%7D", b"command=%2Fa&text=a+b&trigger_id=1.2", b"ssl_check=1"):
            yield bytes([kind]) + b"\n" + form + b"\n" + body


def edges() -> Iterator[bytes]:
    """Numbers at the ends of their range, and nesting at the limit, which bytes are slow to find."""
    numbers = ("9223372036854775807", "-9223372036854775808", "-1", "0", "63", "1e308", "5e-324", "0.5")
    for operation in ("+", "-", "*", "/", "**"):
        yield from (f"{left} {operation} {right} < 1".encode() for left in numbers for right in numbers)
    for opening, closing in (("(", ")"), ("{", "}"), ("NOT ", ""), ("NOT (", ")"), ("- ", "")):
        for depth in (31, 32, 63, 64, 65):
            for core in ("SELF == 1", "1"):
                yield (opening * depth + core + closing * depth).encode()
    yield b"SELF IN {" + b", ".join([b"1"] * 1025) + b"}"
    yield b"SELF == '" + b"a" * 1025 + b"'"
    yield b"SELF == '" + b"\x00" * 1000 + b"' OR SELF IN {'" + b"', '".join([b"\x00" * 900] * 3) + b"'}"


def prepare(target: str) -> list[Path]:
    """The first corpus of libFuzzer: the corpus of earlier runs, the seeds, and earlier findings."""
    corpus, seeded, known = (WORK / kind / target for kind in ("corpus", "seeds", "known"))
    for folder in (seeded, known):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (corpus, seeded, known, WORK / "findings"):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(target)):
        if len(seed) <= INPUT_BYTES:
            (seeded / f"{number:04}").write_bytes(seed)
    for path in TARGETS[target].regressions.glob(f"{target}-*"):
        shutil.copy(path, known)
    return [corpus, seeded, known]


def show_finding(target: str, log: Path) -> None:
    text = log.read_text(errors="replace")
    print("\n".join(text.splitlines()[-60:]))
    for name in re.findall(r"Test unit written to (\S+)", text):
        content = Path(name).read_bytes()
        print(f"{target}: found by {len(content)} bytes: {content!r}")
        print(f"again: {Path(__file__).relative_to(ROOT)} --replay {Path(name).relative_to(ROOT)} {target}")


def run(target: str, seconds: int) -> bool:
    """Runs a target; returns whether nothing was found."""
    binary, log = build(target), WORK / f"{target}.log"
    arguments = [
        f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS}", f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={INPUT_BYTES}", "-len_control=20", f"-dict={ROOT / 'Fuzzing' / TARGETS[target].dictionary}", f"-artifact_prefix={WORK / 'findings' / target}-",
        "-print_final_stats=1"]
    with log.open("wb") as out:
        try:
            code = subprocess.run(
                [binary, *arguments, *prepare(target)], stdout=out, stderr=subprocess.STDOUT,
                env=ENVIRONMENT, timeout=seconds + 120).returncode
        except subprocess.TimeoutExpired:
            code = -1
    text = log.read_text(errors="replace")
    runs = re.findall(r"^#(\d+)\s.* cov: (\d+) ft: (\d+) corp: (\d+)", text, re.MULTILINE)
    done = re.search(r"stat::number_of_executed_units: (\d+)", text)
    count, coverage, features, corpus = runs[-1] if runs else ("0", "no", "no", "no")
    if code != 0:
        show_finding(target, log)
    elif not done or int(done[1]) < LEAST_RUNS:
        print(f"{target}: fewer than {LEAST_RUNS} runs say nothing")
        return False
    print(
        f"{target}: {done[1] if done else count} runs in {seconds} s at most, {coverage} edges, {features} features, "
        f"{corpus} inputs kept: {'nothing found' if code == 0 else f'FOUND SOMETHING, code {code}'}", flush=True)
    return code == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"{', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=int, default=60, help="how long each target runs; building comes on top")
    parser.add_argument("--replay", type=Path, help="run one target on one input")
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    if unknown := set(targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if options.replay and len(targets) != 1:
        parser.error("--replay needs one target")
    WORK.mkdir(parents=True, exist_ok=True)
    if options.replay:
        return subprocess.run([build(targets[0]), options.replay], env=ENVIRONMENT, timeout=REPLAY_SECONDS).returncode
    # All of them, even when the first has found something.
    return 0 if all([run(target, options.seconds) for target in targets]) else 1


if __name__ == "__main__":
    sys.exit(main())
