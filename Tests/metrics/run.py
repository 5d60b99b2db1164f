#!/usr/bin/env python3
"""Compares alert rules, dashboard and documentation with the metrics that a daemon serves; promtool checks all of them, and plays
histories of metrics to the alerts.

Usage: Tests/metrics/run.py --routerd PATH [--promtool PATH]
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES, DASHBOARD = ROOT / "Examples/prometheus/alerts.yml", ROOT / "Examples/grafana/routerd.json"
HISTORIES = ROOT / "Tests/metrics/alerts_test.yml"


def served(routerd: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="routerd-metrics-") as folder:
        command = [routerd.resolve(), "serve", "--listen", "127.0.0.1:0", "--database", f"{folder}/routerd.db"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as daemon:
            try:
                address = next(
                    found[1] for line in daemon.stdout if (found := re.search(r"(http://127\.0\.0\.1:\d+)", line)))
                put = urllib.request.Request(f"{address}/v1/applications/com.example.a", b"{}", method="PUT")
                urllib.request.urlopen(put, timeout=10).read()
                return urllib.request.urlopen(f"{address}/metrics", timeout=10).read().decode()
            finally:
                daemon.terminate()


def names(text: str) -> set[str]:
    found = re.findall(r"\b((?:routerd|process)_[a-z_]+[a-z])\b", text)
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in found}


def checked(command: list[str], text: str | None = None) -> list[str]:
    ended = subprocess.run(command, input=text, capture_output=True, text=True)
    return [] if ended.returncode == 0 else [ended.stdout + ended.stderr]


def main() -> int:
    arguments = argparse.ArgumentParser(description="Compares rules, dashboard and documentation with the metrics.")
    arguments.add_argument("--routerd", type=Path, required=True, help="the binary")
    arguments.add_argument("--promtool", default="promtool", help="the checker, which Scripts/promtool.sh finds")
    given = arguments.parse_args()
    text = served(given.routerd)
    known = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    faults = checked([given.promtool, "check", "metrics"], text) + checked([given.promtool, "check", "rules", str(RULES)])
    faults += checked([given.promtool, "test", "rules", str(HISTORIES)])
    panels = json.loads(DASHBOARD.read_text())["panels"]
    queries = "\n".join(target["expr"] for panel in panels for target in panel["targets"])
    expressions = "\n".join(re.findall(r"expr: (.*)", RULES.read_text()))
    for place, used in (("alerts", expressions), ("dashboard", queries)):
        faults += [f"{place}: {name} is not served" for name in sorted(names(used) - known)]
    page = (ROOT / "docs/OPERATING.md").read_text()
    faults += [f"OPERATING.md does not have {name}" for name in sorted(known) if name not in page and "process_" not in name]
    for alert in re.findall(r"alert: (\S+)", RULES.read_text()):
        if f"| `{alert}` |" not in page or f"\n### {alert}\n" not in page:
            faults.append(f"OPERATING.md has no row or no section for {alert}")
        if f"docs/OPERATING.md#{alert.lower()}" not in RULES.read_text():
            faults.append(f"alerts: {alert} does not name its section")
    print("\n".join(faults) or f"metrics: {len(known)} names, {len(panels)} panels, no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
