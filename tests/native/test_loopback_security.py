"""The built-in server's TLS and PSK listeners, with clients of others."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from telemark.servers.certificates import Certificates, make_certificates
from tests.support.loopback import HOST, Device, Running, running
from tests.support.requirements import require_program
from tests.support.waiting import PATIENCE_S

PSK = "identity-1:00112233445566778899aabbccddeeff"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """A CA, a server certificate and one client certificate."""
    return make_certificates(tmp_path_factory.mktemp("certificates"), clients=1)


@pytest.fixture(scope="module")
def server(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Plain, TLS, TLS with client certificates, and PSK."""
    psk_file = tmp_path_factory.mktemp("psk") / "keys"
    psk_file.write_text(PSK + "\n")
    tls = {"security": "tls", "certificate": str(certificates.server), "key": str(certificates.server_key)}
    listeners = [
        {"name": "plain"},
        {"name": "tls", **tls},
        {"name": "mutual", "client_ca": str(certificates.ca), **tls},
        {"name": "psk", "security": "psk", "psk_file": str(psk_file)},
    ]
    with running(listeners=listeners, threads=2) as started:
        yield started


def secured(port: int, context: ssl.SSLContext) -> Device:
    device = Device(port)
    device.client.tls_set_context(context)
    return device


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("size", [32, 300_000])
def test_messages_travel_over_tls(
    server: Running, certificates: Certificates, version: ssl.TLSVersion, size: int
) -> None:
    """Small and large messages arrive through a verified TLS connection of either version."""
    context = ssl.create_default_context(cafile=str(certificates.ca))
    context.minimum_version = context.maximum_version = version
    with secured(server.ports["tls"], context) as device:
        device.subscribe("tls", 1)
        for _ in range(5):
            device.publish("tls", b"x" * size, 1)

        assert device.wait_for(5) == [b"x" * size] * 5


def test_a_client_certificate_is_demanded_where_configured(server: Running, certificates: Certificates) -> None:
    """Without a certificate there is no connection, with one there is."""
    context = ssl.create_default_context(cafile=str(certificates.ca))
    with pytest.raises((ssl.SSLError, ConnectionError)):  # TLS 1.3 tells it with the first read
        first_byte_over_tls(server.ports["mutual"], context)

    context.load_cert_chain(certificates.folder / "client-0.crt", certificates.folder / "client-0.key")
    with secured(server.ports["mutual"], context) as device:
        device.subscribe("mutual", 1)
        device.publish("mutual", b"known", 1)
        assert device.wait_for(1) == [b"known"]


def first_byte_over_tls(port: int, context: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection((HOST, port), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        return secure.recv(1)


def test_plain_bytes_on_a_tls_listener_end_the_connection_only(server: Running, certificates: Certificates) -> None:
    """Somebody who does not speak TLS is cut off; others are served."""
    with socket.create_connection((HOST, server.ports["tls"]), timeout=PATIENCE_S) as lost:
        lost.sendall(b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01a" * 10)
        while received(lost):
            pass
    test_messages_travel_over_tls(server, certificates, ssl.TLSVersion.TLSv1_3, 32)


def received(connection: socket.socket) -> bytes:
    """The next bytes; nothing when the peer has gone."""
    try:
        return connection.recv(4096)
    except ConnectionResetError:
        return b""


def test_a_pre_shared_key_opens_the_psk_listener_and_a_wrong_one_does_not(server: Running) -> None:
    """Only the key of the file is accepted. Python 3.11 has no PSK, so Mosquitto's client asks."""
    require_program("mosquitto_pub")
    identity, key = PSK.split(":")
    with Device(server.port) as watcher:
        watcher.subscribe("psk", 1)
        assert publish_with_psk(server.ports["psk"], identity, key, "right").returncode == 0
        assert publish_with_psk(server.ports["psk"], identity, key[::-1], "wrong").returncode != 0
        assert publish_with_psk(server.ports["psk"], "stranger", key, "stranger").returncode != 0

        assert watcher.settle() == [b"right"]


def publish_with_psk(port: int, identity: str, key: str, payload: str) -> subprocess.CompletedProcess[str]:
    command = ["mosquitto_pub", "-h", HOST, "-p", str(port), "--psk", key, "--psk-identity", identity]
    command += ["--tls-version", "tlsv1.2", "-t", "psk", "-m", payload, "-q", "1"]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_missing_files_are_reported_all_at_once(tmp_path: Path) -> None:
    """A wrong configuration names every field, the value found and what was expected."""
    listeners: list[dict[str, Any]] = [
        {"name": "tls", "security": "tls", "certificate": str(tmp_path / "none.crt")},
        {"name": "psk", "security": "psk"},
    ]
    with pytest.raises(ValueError, match="certificate") as problem, running(listeners=listeners, threads=0):
        pass
    for field in ("listeners[0].certificate", "listeners[0].key", "listeners[1].psk_file", "threads"):
        assert field in str(problem.value)
