"""Encryption of the line: TLS with a certificate made for one campaign, which exists in memory only.

Nobody has to trust the certificate: both sides prove that they know the campaign's secret over its fingerprint
(`greeting.py`), which no one in the middle can do.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import subprocess
from dataclasses import dataclass

from telemark.errors import RequirementError

_MAKE = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_SUBJECT = ("-subj", "/CN=telemark", "-days", "30", "-keyout", "-", "-out", "-")


@dataclass(frozen=True, slots=True)
class RunnerIdentity:
    """The runner's end of encrypted lines."""

    context: ssl.SSLContext
    fingerprint: bytes


def new_identity() -> RunnerIdentity:
    """A fresh key and certificate.

    Raises:
        RequirementError: there is no openssl program, or it failed.
    """
    try:
        made = subprocess.run([*_MAKE, *_SUBJECT], capture_output=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise RequirementError(
            f"the certificate of the line to the hosts cannot be made: {error}",
            hint="install OpenSSL (Debian: apt install openssl)",
        ) from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    _load(context, made.stdout)
    text = made.stdout.decode()
    certificate = text[text.index("-----BEGIN CERTIFICATE-----") :]
    return RunnerIdentity(context, fingerprint(ssl.PEM_cert_to_DER_cert(certificate.strip() + "\n")))


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """Python loads keys from files only: this one has no name and no place on a disk."""
    descriptor = os.memfd_create("telemark-line")
    try:
        os.write(descriptor, pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def agent_context() -> ssl.SSLContext:
    """An agent's end: it accepts any certificate, and then asks for the proof over its fingerprint."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def fingerprint(certificate: bytes) -> bytes:
    """SHA-256 of a certificate in DER form."""
    return hashlib.sha256(certificate).digest()
