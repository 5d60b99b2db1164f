#!/usr/bin/env python3
"""Runs scenarios of faults against a daemon and judges what came of them. docs/CHAOS.md explains."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
