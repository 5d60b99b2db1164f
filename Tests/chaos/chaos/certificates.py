"""Certificates of the zoo's own authority, made by openssl when they are needed."""

import shutil
import ssl
import subprocess
from pathlib import Path

from chaos.clock import Skipped

# Name, days of validity, whom it is for.
ISSUED = (
    ("good", 2, "IP:127.0.0.1"),
    ("expired", -1, "IP:127.0.0.1"),
    ("wrong-name", 2, "DNS:elsewhere.test"),
)


class Certificates:
    """Files in a folder: `authority.pem` is what the daemon trusts."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            raise Skipped("openssl is not installed: there are no certificates to show")
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self.authority = folder / "authority.pem"
        for name in ("authority", "self-signed"):
            self._run("req", "-x509", *self._key(name), "-subj", f"/CN={name}", "-days", "2",
                      "-addext", "subjectAltName=IP:127.0.0.1", "-out", f"{name}.pem")
        for name, days, subject in ISSUED:
            self._run("req", "-new", *self._key(name), "-subj", f"/CN={name}", "-out", f"{name}.csr")
            (folder / f"{name}.ext").write_text(f"subjectAltName={subject}\n")
            self._run("x509", "-req", "-in", f"{name}.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
                      "-CAcreateserial", "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem")

    @staticmethod
    def _key(name: str) -> list[str]:
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(["openssl", *arguments], cwd=self._folder, capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise Skipped(f"openssl {arguments[0]} failed: {done.stderr.strip()[-200:]}")

    def context(self, name: str) -> ssl.SSLContext:
        """For a server that shows this certificate. `client` wants one of its clients, too."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        shown = "good" if name == "client" else name
        context.load_cert_chain(self._folder / f"{shown}.pem", self._folder / f"{shown}.key")
        if name == "client":
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.authority)
            # With 1.3 the client would take the handshake for done before it is refused.
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        return context
