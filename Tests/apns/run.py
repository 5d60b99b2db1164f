#!/usr/bin/env python3
"""Sends pushes to the real daemon, and to `routerd apns-sandbox`, by provider libraries that know nothing of either.

Usage: Tests/apns/run.py --routerd PATH

The libraries, from PyPI, are told a host, a port and a certificate authority, and nothing else: aioapns, which negotiates no
protocol and sends no :authority, and pyapns-client3, which sits on httpx. curl stands for clients in clear text. They
are installed in a virtual environment, .build/apns-venv, in which this script starts itself again.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".build/apns-venv"
LIBRARIES = ["aioapns==4.0", "pyapns-client3==3.0.6", "httpx==0.28.1"]


def enter_environment() -> None:
    """Starts this script again in the virtual environment, made at the first time."""
    python = ENVIRONMENT / "bin/python"
    if ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix):
        return
    imports = [python, "-c", "import aioapns, pyapns_client"]
    if not python.exists() or subprocess.run(imports, capture_output=True).returncode != 0:
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *LIBRARIES], check=True)
    os.execv(python, [python, __file__, *sys.argv[1:]])


def main() -> int:
    arguments = argparse.ArgumentParser(description="Sends pushes by provider libraries, and checks their outcomes.")
    arguments.add_argument("--routerd", type=Path, required=True, help="the binary")
    arguments.add_argument("--pushes", type=int, default=1000, help="how many pushes each library sends")
    given = arguments.parse_args()
    enter_environment()
    # The next imports need the libraries.
    from apns import clients, daemon, sandbox
    from apns.report import Report
    from apns.world import World

    report = Report()
    with tempfile.TemporaryDirectory(prefix="routerd-apns-") as folder:
        with World(given.routerd.resolve(), Path(folder)) as world:
            daemon.start(world)
            clients.many(world, report, given.pushes)
            clients.refusals(world, report)
            clients.certificates(world, report)
            daemon.clear_text(world, report)
            daemon.repetition(world, report)
            daemon.stop(world, report)
            sandbox.check(world, report)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
