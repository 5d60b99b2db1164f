#!/usr/bin/env python3
"""Makes the documentation of the library products: .build/docs, a site of static files.

Usage: Scripts/docs.py [--build .build/debug] [--output .build/docs]

Takes the modules of a debug build, such as that of `make test`, and builds nothing. Each module's public symbols are extracted
into a symbol graph, DocC converts them with the catalog `Sources/MODULE/MODULE.docc`, and the archives are merged. A warning
of DocC, such as a link that leads nowhere, is a fault.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The modules that programs of third parties import.
MODULES = ["PredicateEngine", "RouterPlugin", "RouterTesting", "RouterdClient", "RouterdApp", "RouterdCommands"]
# Folders of checkouts whose C modules no product has.
UNUSED = re.compile(r"/(Tests|Examples?|Benchmarks|Fuzz\w*)/")


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{Path(str(command[0])).name} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def c_modules(build: Path) -> list[str]:
    """The flags by which the compiler finds the C modules that ours import: each module once, by its map."""
    checkouts = build.resolve().parent.parent / "checkouts"
    maps = [*build.glob("*.build/module.modulemap"), *checkouts.glob("**/module.modulemap")]
    found: dict[str, Path] = {}
    for path in sorted(path for path in maps if not UNUSED.search(str(path))):
        for name in re.findall(r"\bmodule\s+(\w+)", path.read_text()):
            found.setdefault(name, path)
    paths = sorted(set(found.values()))
    return [flag for path in paths for flag in ("-Xcc", f"-fmodule-map-file={path}", "-Xcc", f"-I{path.parent}")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / ".build/debug")
    parser.add_argument("--output", type=Path, default=ROOT / ".build/docs")
    options = parser.parse_args()
    swift = shutil.which(os.environ.get("SWIFT", "swift")) or sys.exit("There is no `swift` in PATH.")
    docc = Path(swift).resolve().with_name("docc")
    target = re.search(r'"unversionedTriple"\s*:\s*"([^"]+)"', run(swift, "-print-target-info"))
    assert target is not None
    flags = ["-target", target[1], "-I", options.build / "Modules", *c_modules(options.build)]
    with tempfile.TemporaryDirectory() as folder:
        archives = []
        for module in MODULES:
            graphs, archive = Path(folder, module), Path(folder, f"{module}.doccarchive")
            graphs.mkdir()
            run(swift, "symbolgraph-extract", "-module-name", module, *flags, "-module-cache-path", Path(folder, "cache"),
                "-minimum-access-level", "public", "-skip-synthesized-members", "-skip-inherited-docs",
                "-emit-extension-block-symbols", "-output-dir", graphs)
            run(docc, "convert", ROOT / f"Sources/{module}/{module}.docc", "--additional-symbol-graph-dir", graphs,
                "--fallback-bundle-identifier", f"routerd.{module}", "--fallback-default-module-kind", "Module",
                "--warnings-as-errors", "--output-path", archive)
            archives.append(archive)
        shutil.rmtree(options.output, ignore_errors=True)
        options.output.parent.mkdir(parents=True, exist_ok=True)
        run(docc, "merge", *archives, "--synthesized-landing-page-name", "routerd", "--output-path", options.output)
    print(f"{options.output}: the documentation of {', '.join(MODULES)}; python3 -m http.server -d {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
