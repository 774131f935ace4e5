"""Certificates and pre-shared keys for one run: an own CA, a server certificate, client certificates.

They are made with the `openssl` program (docs/decisions/070). They protect nothing but test traffic on this host
and are worthless after the run, so they stay with the run's configuration, readable by the owner only.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from telemark.errors import RequirementError
from telemark.model.plan import Tls

NEW_KEY = ("-newkey", "rsa:2048", "-nodes")  # as in the published TLS cases
SERVER_NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"
# Not a secret: the same key lies beside it unencrypted. Java key stores must have a password.
STORE_PASSWORD = "telemark"
PSK_IDENTITY = "device-{index}"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files made for one server."""

    folder: Path

    @property
    def ca(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def server(self) -> Path:
        return self.folder / "server.crt"

    @property
    def server_key(self) -> Path:
        return self.folder / "server.key"

    @property
    def server_store(self) -> Path:
        """Server certificate and key as PKCS #12, for Java servers."""
        return self.folder / "server.p12"

    @property
    def trust_store(self) -> Path:
        """The CA as a Java trust store."""
        return self.folder / "trust.p12"

    def tls(self, clients: int = 0) -> Tls:
        """How devices connect: they verify the server, and show one of `clients` certificates when there are any."""
        if not clients:
            return Tls(ca=str(self.ca), server_name="localhost")
        pattern = str(self.folder / f"client-{{index%{clients}}}")
        return Tls(ca=str(self.ca), server_name="localhost", certificate=pattern + ".crt", key=pattern + ".key")


def make_certificates(folder: Path, *, clients: int = 0, expired: bool = False) -> Certificates:
    """Make a CA, a server certificate for localhost and 127.0.0.1, and client certificates.

    Args:
        folder: where they go; what is already there is kept, so a restarted server shows the same certificate.
        clients: how many client certificates; devices take them in turn.
        expired: the server certificate ended yesterday, to see how devices and messages deal with it.
    """
    made = Certificates(folder)
    if made.server.exists():
        return made
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    _make_ca(folder)
    _sign(folder, "server", "/CN=localhost", SERVER_NAMES, days=-1 if expired else 825)
    for number in range(clients):
        _sign(folder, f"client-{number}", f"/CN=device-{number}", "extendedKeyUsage=clientAuth", days=825)
    return made


def make_java_stores(made: Certificates, *, trust: bool = False) -> None:
    """Add the PKCS #12 key store and, on demand, the trust store that Java servers read."""
    if not made.server_store.exists():
        source = ("-in", str(made.server), "-inkey", str(made.server_key), "-name", "server")
        _openssl("pkcs12", "-export", *source, "-out", str(made.server_store), "-passout", f"pass:{STORE_PASSWORD}")
    if trust and not made.trust_store.exists():
        store = ("-keystore", str(made.trust_store), "-storetype", "PKCS12", "-storepass", STORE_PASSWORD)
        command = ("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", str(made.ca), *store)
        _run(command, "install a Java runtime (Debian: apt install openjdk-17-jre-headless)")


def make_psk_file(path: Path, identities: int) -> Tls:
    """Write a random 128-bit key for each identity `device-0` ... and return how devices use the file."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"device-{number}:{secrets.token_hex(16)}\n" for number in range(identities))
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(lines)
    return Tls(version="1.2", psk_identity=PSK_IDENTITY, psk_file=str(path))


def _make_ca(folder: Path) -> None:
    files = ("-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.crt"))
    _openssl("req", "-x509", *NEW_KEY, "-days", "825", "-subj", "/CN=Telemark test CA", *files)


def _sign(folder: Path, name: str, subject: str, extension: str, *, days: int) -> None:
    request, extensions = folder / f"{name}.csr", folder / f"{name}.ext"
    _openssl("req", *NEW_KEY, "-subj", subject, "-keyout", str(folder / f"{name}.key"), "-out", str(request))
    extensions.write_text(extension + "\n")
    signer = ("-CA", str(folder / "ca.crt"), "-CAkey", str(folder / "ca.key"), "-CAcreateserial")
    made = ("-days", str(days), "-extfile", str(extensions), "-out", str(folder / f"{name}.crt"))
    _openssl("x509", "-req", "-in", str(request), *signer, *made)
    request.unlink()
    extensions.unlink()


def _openssl(*arguments: str) -> None:
    _run(("openssl", *arguments), "install the openssl program (Debian: apt install openssl)")


def _run(command: Sequence[str], how_to_get: str) -> None:
    if shutil.which(command[0]) is None:
        raise RequirementError(f"certificates: the program {command[0]} was not found on PATH", hint=how_to_get)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise RequirementError(
            f"certificates: {command[0]} {command[1]} ended with status {done.returncode}", hint=done.stderr[-2000:]
        )
