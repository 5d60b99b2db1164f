#!/usr/bin/env python3
"""Checks the image and the manifests as far as that can be done without an engine, and the unit by `systemd-analyze`.

Usage: Tests/packaging/run.py --routerd PATH

The Dockerfile copies files that the context has, names the libraries that the Debian package needs, and starts the binary with
options that it has. The manifests fit the image in user, port, folders and version. Each
probe asks a path of the API, and the daemon may write to its folders. PyYAML comes from PyPI into .build/packaging-venv.
"""
import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".build/packaging-venv"
LIBRARY = "PyYAML==6.0.3"


def enter_environment() -> None:
    """Starts this script again in the virtual environment, made at the first time."""
    python = ENVIRONMENT / "bin/python"
    if ENVIRONMENT.exists() and ENVIRONMENT.samefile(sys.prefix):
        return
    if not (ENVIRONMENT / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", LIBRARY], check=True)
        (ENVIRONMENT / "made").touch()
    os.execv(python, [python, __file__, *sys.argv[1:]])


def is_in_context(path: str) -> bool:
    """Whether .dockerignore leaves the file in the context; the last line that fits decides."""
    kept = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        if fnmatch.fnmatch(path, pattern.removeprefix("!")):
            kept = pattern.startswith("!")
    return kept


class Image:
    """The instructions of the Dockerfile that matter to manifests."""

    def __init__(self) -> None:
        text = re.sub(r"\\\n\s*", "", (ROOT / "Packaging/Dockerfile").read_text())
        lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
        self.all = {}
        for name, value in lines:
            self.all.setdefault(name, []).append(value)
        self.user = int(self.all["USER"][0].split(":")[0])
        self.port = int(self.all["EXPOSE"][0])
        self.volume = self.all["VOLUME"][0]
        self.entry = json.loads(self.all["ENTRYPOINT"][0])
        self.arguments = json.loads(self.all["CMD"][0])

    def faults(self, routerd: Path) -> list[str]:
        faults = []
        source, place = self.all["COPY"][0].split()
        if not is_in_context(source):
            faults.append(f"Dockerfile: {source} is not in the context")
        if is_in_context("Sources/Router/Pipeline.swift"):
            faults.append("Dockerfile: the context has more than the binary")
        if self.entry != [place]:
            faults.append(f"Dockerfile: the entry point is {self.entry}, and the binary at {place}")
        needed = set(re.search(r"^Depends: (.*)$", (ROOT / "Scripts/deb.sh").read_text(), re.M)[1].split(", "))
        missing = {name for name in needed - {"libc6", "libstdc++6"} if name not in self.all["RUN"][0].split()}
        faults += [f"Dockerfile: {name} is not installed" for name in sorted(missing)]
        options = subprocess.run([routerd, self.arguments[0], "--help"], capture_output=True, text=True, check=True).stdout
        faults += [f"Dockerfile: {self.arguments[0]} has no option {one}" for one in self.arguments if one.startswith("--")
                   and f" {one} <" not in options]
        if f"-o {self.user}" not in self.all["RUN"][0] or not self.argument("--database").startswith(f"{self.volume}/"):
            faults.append(f"Dockerfile: the user cannot write the database at {self.argument('--database')}")
        return faults

    def argument(self, name: str) -> str:
        return self.arguments[self.arguments.index(name) + 1]


def manifest_faults(documents: list[dict], image: Image, version: str, paths: set[str]) -> list[str]:
    service, workload = documents
    pod = workload["spec"]["template"]["spec"]
    container = pod["containers"][0]
    claims = {claim["metadata"]["name"] for claim in workload["spec"]["volumeClaimTemplates"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    written = {path for path, mount in mounts.items() if mount["name"] in claims or "emptyDir" in volumes.get(mount["name"], {})}
    kept = {path for path, mount in mounts.items() if mount["name"] in claims}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    user = pod["securityContext"]["runAsUser"]
    probes = [container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")]
    checks = [
        (service["spec"]["selector"] == workload["spec"]["template"]["metadata"]["labels"], "the service selects no pod"),
        (service["metadata"]["name"] == workload["spec"]["serviceName"], "the set has no service"),
        (workload["spec"]["replicas"] == 1, "the database has one writer"),
        (container["image"] == f"routerd:{version}", f"the image is not of version {version}"),
        (user == image.user == pod["securityContext"]["fsGroup"], "the user is not that of the image"),
        (container["securityContext"]["readOnlyRootFilesystem"], "the root may be written"),
        ({"/tmp", image.volume} <= written, f"{image.volume} and /tmp cannot be written"),
        (image.volume in kept, "the database is not kept"),
        (str(Path(image.argument("--config")).parent) in mounts, "the configuration is not there"),
        (set(ports.values()) == {image.port} == {port["port"] for port in service["spec"]["ports"]}, "the ports differ"),
        (image.argument("--listen").endswith(f":{image.port}"), "the daemon listens elsewhere"),
        (all(probe["path"] in paths and probe["port"] in ports for probe in probes), "a probe asks no path of the API"),
        (all(mount["name"] in claims | volumes.keys() for mount in mounts.values()), "a mount has no volume"),
    ]
    return [f"kubernetes.yaml: {sentence}" for holds, sentence in checks if not holds]


def unit_faults(routerd: Path) -> list[str]:
    """The lines of `systemd-analyze verify` about the units; none where the program is missing."""
    if not shutil.which("systemd-analyze"):
        return []
    with tempfile.TemporaryDirectory(prefix="routerd-units-") as folder:
        for name in ("routerd.service", "routerd.socket"):
            text = (ROOT / "Packaging" / name).read_text().replace("/usr/bin/routerd", str(routerd.resolve()))
            (Path(folder) / name).write_text(text)
        units = [str(path) for path in Path(folder).iterdir()]
        ended = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True)
        ours = [line for line in ended.stderr.splitlines() if "routerd" in line]
        return [f"unit: {line}" for line in ours]


def main() -> int:
    arguments = argparse.ArgumentParser(description="Checks image, manifests and unit.")
    arguments.add_argument("--routerd", type=Path, required=True, help="the binary")
    given = arguments.parse_args()
    enter_environment()
    import yaml

    image = Image()
    version = subprocess.run([given.routerd, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    page = (ROOT / "docs/API.md").read_text()
    paths = set(re.findall(r"^\| `GET (\S+)` \|", page, re.M))
    documents = list(yaml.safe_load_all((ROOT / "Packaging/kubernetes.yaml").read_text()))
    faults = image.faults(given.routerd) + manifest_faults(documents, image, version, paths) + unit_faults(given.routerd)
    print("\n".join(faults) or f"packaging: the image, {len(documents)} manifests and the units fit together")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
