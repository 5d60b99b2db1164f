#!/usr/bin/env python3
"""Builds Tests/Race with the thread sanitizer and runs it; exits 1 when it reports a race.

Only the types that threads share are compiled with the sanitizer, from the files of the daemon. The modules that these types import
hold values and no threads, and come from the package's debug build: Router, Logging and the header of libcurl, nothing else.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEBUG = ROOT / ".build" / "debug"
WORK = ROOT / ".build" / "race"
SHARED = (
    "DeliveryCurl/Loop/Mailbox.swift", "DeliveryCurl/Addresses/HostLookUp.swift", "DeliveryCurl/CurlError.swift",
    "DeliveryCurl/CurlLimits.swift", "RouterdApp/DaemonLimits.swift", "RouterdApp/Engine/Inbox.swift",
    "RouterdApp/Engine/SteadyClock.swift", "RouterdApp/Events/EventFeed.swift", "RouterdApp/Events/EventRing.swift",
    "RouterdApp/Events/FeedState.swift", "RouterdApp/Events/ObserverDesk.swift",
    "RouterdApp/Events/ObserverDispatcher.swift", "RouterdApp/Events/ObserverLine.swift")
# Built before, and linked as they are.
TARGETS = ("Router", "CCurl", "Logging")
LIBRARIES = (
    "PredicateEngine", "RouterPlugin", "Router", "DequeModule", "HashTreeCollections", "HeapModule",
    "InternalCollectionsUtilities", "ContainersPreview", "Logging")
FLAGS = [
    "-sanitize=thread", "-g", "-Onone", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library",
    "-module-name", "Race", "-enable-upcoming-feature", "ExistentialAny",
    "-enable-upcoming-feature", "MemberImportVisibility", "-enable-upcoming-feature", "InternalImportsByDefault",
    "-enable-upcoming-feature", "NonisolatedNonsendingByDefault", "-use-ld=lld", "-lcurl"]


def package_name() -> str:
    """The name that gives `package` access: SwiftPM takes it from the folder of the clone."""
    described = (ROOT / ".build" / "debug.yaml").read_text()
    found = re.search(r'"-module-name","Router",[^\n]*?"-package-name","([^"]+)"', described)
    if found is None:
        sys.exit("race: .build/debug.yaml does not say how Router is compiled")
    return found[1]


def main() -> int:
    for target in TARGETS:
        if subprocess.run([ROOT / "Scripts" / "build.py", "--target", target], cwd=ROOT).returncode != 0:
            sys.exit(f"race: {target} does not build")
    WORK.mkdir(parents=True, exist_ok=True)
    objects = sorted(path for name in LIBRARIES for path in (DEBUG / f"{name}.build").rglob("*.o"))
    # A list in a file: a command has no room for so many objects.
    listed = WORK / "objects"
    listed.write_text("".join(f'"{path}"\n' for path in objects))
    sources = [*sorted((ROOT / "Tests" / "Race").glob("*.swift")), *(ROOT / "Sources" / name for name in SHARED)]
    program = WORK / "race"
    built = subprocess.run(
        [os.environ.get("SWIFT", "swift") + "c", *FLAGS, "-package-name", package_name(), "-I", DEBUG / "Modules", "-Xcc",
         f"-fmodule-map-file={DEBUG / 'CCurl.build' / 'module.modulemap'}", f"@{listed}", *sources, "-o", program],
        cwd=WORK)
    if built.returncode != 0:
        sys.exit("race: the program does not build")
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1", "SWIFT_BACKTRACE": "enable=no"}
    return subprocess.run([program], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
