#!/usr/bin/env python3
"""Checks the image and the manifests as far as that can be done without an engine, and the unit by `systemd-analyze`.

Usage: Tests/packaging/run.py --routerd PATH

The context of the Dockerfile has the sources, its build stage installs the binary that its second stage copies, that stage names the
libraries that the Debian package needs, and starts the binary with options that it has. The manifests have the fields of Kubernetes that SHAPES lists, and fit the image in user, port, folders and
version. The daemon is started with the arguments of the container, where its folders are those of the test: each probe gets 200,
and SIGTERM ends the daemon within the time of the manifest. PyYAML comes from PyPI into .build/packaging-venv.
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
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".build/packaging-venv"
LIBRARY = "PyYAML==6.0.3"

# The fields of the manifests. A shape is a type, a set of values, a pattern, a list of one shape, or an object by its fields, of
# which those with a question mark may be left out. A field that is not listed is a fault: a misspelt one has no effect.
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LABELS = {"app": NAME}
METADATA = {"name": NAME, "labels": LABELS}
PORT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")
PATH = re.compile(r"/[a-z/]+")
PROBE = {"httpGet": {"path": PATH, "port": PORT_NAME}, "periodSeconds?": int, "timeoutSeconds?": int, "failureThreshold?": int}
CONTAINER = {
    "name": NAME, "image": re.compile(r"[a-z0-9./-]+:\d+\.\d+\.\d+"), "args?": [str], "resources?": dict,
    "ports": [{"name": PORT_NAME, "containerPort": int}], "livenessProbe": PROBE, "readinessProbe": PROBE,
    "securityContext": {
        "allowPrivilegeEscalation": {False}, "readOnlyRootFilesystem": {True}, "capabilities": {"drop": [{"ALL"}]}},
    "volumeMounts": [{"name": NAME, "mountPath": PATH, "readOnly?": bool}],
}
POD = {
    "terminationGracePeriodSeconds": int, "containers": [CONTAINER],
    "securityContext": {"runAsNonRoot": {True}, "runAsUser": int, "runAsGroup": int, "fsGroup": int},
    "volumes": [{"name": NAME, "secret?": {"secretName": NAME}, "emptyDir?": dict}],
}
CLAIM = {"metadata": {"name": NAME}, "spec": {
    "accessModes": [{"ReadWriteOnce", "ReadWriteOncePod"}],
    "resources": {"requests": {"storage": re.compile(r"\d+(Mi|Gi|Ti)")}}}}
SHAPES = [
    {"apiVersion": {"v1"}, "kind": {"Service"}, "metadata": METADATA,
     "spec": {"clusterIP": {"None"}, "selector": LABELS, "ports": [{"name": PORT_NAME, "port": int}]}},
    {"apiVersion": {"apps/v1"}, "kind": {"StatefulSet"}, "metadata": METADATA, "spec": {
        "serviceName": NAME, "replicas": {1}, "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": POD}, "volumeClaimTemplates": [CLAIM]}},
]


def shape_faults(value: object, shape: object, place: str) -> list[str]:
    """The places of a manifest that are not as the shape says."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{place} is no object"]
        names = {name.removesuffix("?"): name for name in shape}
        faults = [f"{place}.{name} is no field" for name in value if name not in names]
        for name, written in names.items():
            if name in value:
                faults += shape_faults(value[name], shape[written], f"{place}.{name}")
            elif not written.endswith("?"):
                faults.append(f"{place}.{name} is missing")
        return faults
    if isinstance(shape, list):
        if not isinstance(value, list) or not value:
            return [f"{place} is no list of something"]
        return [fault for number, one in enumerate(value) for fault in shape_faults(one, shape[0], f"{place}[{number}]")]
    if isinstance(shape, re.Pattern):
        fits = isinstance(value, str) and shape.fullmatch(value)
    elif isinstance(shape, set):
        fits = any(value == one and type(value) is type(one) for one in shape)
    else:
        fits = type(value) is shape
    return [] if fits else [f"{place} is {value!r}"]


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
        if fnmatch.fnmatch(path, bare := pattern.removeprefix("!")) or fnmatch.fnmatch(path, f"{bare}/*"):
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
        faults = [f"Dockerfile: {path} is not in the context" for path in self.tracked("Package.swift", "Makefile", "Sources", "Tests", "Scripts",
                                                                                     "Packaging") if not is_in_context(path)]
        faults += [f"Dockerfile: {path} is in the context" for path in (".build/release/routerd", ".git/config") if is_in_context(path)]
        _, source, place = self.all["COPY"][1].split()
        if self.entry != [place]:
            faults.append(f"Dockerfile: the entry point is {self.entry}, and the binary at {place}")
        _, installing, running = self.all["RUN"]
        with tempfile.TemporaryDirectory(prefix="routerd-image-") as folder:
            # The command of the build stage, with a folder of this machine in place of the stage's.
            subprocess.run(installing.replace("DESTDIR=/image", f"DESTDIR={folder}/image"), shell=True, cwd=ROOT, check=True,
                           stdout=subprocess.DEVNULL)
            if not (Path(folder) / source.lstrip("/")).exists():
                faults.append(f"Dockerfile: the build stage makes no {source}")
        needed = set(re.search(r"^Depends: (.*)$", (ROOT / "Scripts/deb.sh").read_text(), re.M)[1].split(", "))
        missing = {name for name in needed - {"libc6", "libstdc++6"} if name not in running.split()}
        faults += [f"Dockerfile: {name} is not installed" for name in sorted(missing)]
        options = subprocess.run([routerd, self.arguments[0], "--help"], capture_output=True, text=True, check=True).stdout
        faults += [f"Dockerfile: {self.arguments[0]} has no option {one}" for one in self.arguments if one.startswith("--")
                   and f" {one} <" not in options]
        if f"-o {self.user}" not in running or not self.argument("--database").startswith(f"{self.volume}/"):
            faults.append(f"Dockerfile: the user cannot write the database at {self.argument('--database')}")
        return faults

    @staticmethod
    def tracked(*places: str) -> list[str]:
        """Files of the repository below these places."""
        return subprocess.run(["git", "ls-files", "--", *places], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()

    def argument(self, name: str) -> str:
        """The value of an option; empty if it is not there."""
        return next((value for option, value in zip(self.arguments, self.arguments[1:]) if option == name), "")


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


def start_faults(routerd: Path, image: Image, documents: list[dict]) -> list[str]:
    """Starts the daemon with the arguments of the container; folders of the container are folders of the test."""
    pod = documents[1]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    faults = []
    with tempfile.TemporaryDirectory(prefix="routerd-container-") as root:
        # The daemon listens on loopback here, at a free port.
        arguments = [f"{root}{word}" if word.startswith("/") else re.sub(r"^0\.0\.0\.0:\d+$", "127.0.0.1:0", word)
                     for word in container.get("args", image.arguments)]
        for mount in container["volumeMounts"]:
            (Path(root) / mount["mountPath"].lstrip("/")).mkdir(parents=True)
        configuration = Path(f"{root}{image.argument('--config')}")
        configuration.write_text(json.dumps({"apiKeys": [{"name": "all", "sha256": "0" * 64, "scopes": ["admin"]}]}))
        checked = subprocess.run([routerd, "check", "--config", configuration], capture_output=True, text=True)
        if checked.returncode:
            faults.append(f"Dockerfile: routerd check refuses the configuration: {checked.stdout}{checked.stderr}")
        command = [routerd.resolve(), *arguments]
        with subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as daemon:
            lines = []
            for line in daemon.stdout:
                lines.append(line)
                if found := re.search(r"(http://127\.0\.0\.1:\d+)", line):
                    for name in ("livenessProbe", "readinessProbe"):
                        path = container[name]["httpGet"]["path"]
                        try:
                            urllib.request.urlopen(found[1] + path, timeout=10).read()
                        except OSError as fault:
                            faults.append(f"kubernetes.yaml: the {name} asks {path}: {fault}")
                    break
            else:
                faults.append(f"Dockerfile: the daemon does not start with {arguments}: {''.join(lines)}")
            daemon.terminate()
            try:
                daemon.communicate(timeout=pod["terminationGracePeriodSeconds"])
            except subprocess.TimeoutExpired:
                daemon.kill()
                faults.append("kubernetes.yaml: the daemon takes longer to end than terminationGracePeriodSeconds")
            if found and daemon.returncode:
                faults.append(f"kubernetes.yaml: SIGTERM ends the daemon with {daemon.returncode}")
    return faults


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
    faults = [f"kubernetes.yaml: {len(documents)} documents"] if len(documents) != len(SHAPES) else [
        f"kubernetes.yaml: {fault}" for document, shape in zip(documents, SHAPES)
        for fault in shape_faults(document, shape, document.get("kind", "?"))]
    # The other checks read fields that are there, and the daemon is started as a container that fits together.
    faults = faults or manifest_faults(documents, image, version, paths)
    faults += image.faults(given.routerd)
    faults = faults or start_faults(given.routerd, image, documents)
    faults += unit_faults(given.routerd)
    print("\n".join(faults) or f"packaging: the image, {len(documents)} manifests and the units fit together")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
