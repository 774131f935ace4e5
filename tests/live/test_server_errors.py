"""What goes wrong between a run and its server is told in words that name the cause and the remedy."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemark.errors import ConfigError, RequirementError, ServerError
from telemark.host.ports import LOOPBACK, free_ports
from telemark.servers import registry
from telemark.servers.certificates import make_certificates
from telemark.servers.contract import Listener, StartRequest, WithLogin
from telemark.servers.mosquitto import Mosquitto
from telemark.servers.process import ServerProcess
from telemark.servers.tiny_client import CertificateRefusedError, LoginRefusedError, UnreachableError
from tests.support.requirements import require_program
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.live

PLAIN = (Listener("plain"),)
TLS = (Listener("tls", "tls"),)


def request(folder: Path, listeners: tuple[Listener, ...] = PLAIN) -> StartRequest:
    return StartRequest(folder, "memory", listeners, devices=5)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A Mosquitto that asks for user `device` and password `open sesame`, started by hand; gives its port."""
    require_program("mosquitto_passwd")
    folder, port = tmp_path_factory.mktemp("guarded"), free_ports(1)[0]
    passwords = folder / "passwords"
    passwords.write_text("device:open sesame\n")
    subprocess.run(["mosquitto_passwd", "-U", str(passwords)], check=True, timeout=PATIENCE_S)
    lines = ["user root", f"listener {port} {LOOPBACK}", f"password_file {passwords}", "sys_interval 1"]
    (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n")
    command = [require_program("mosquitto"), "-c", "mosquitto.conf"]
    process = ServerProcess("mosquitto", command, folder / "log", directory=folder)
    process.start()
    process.wait_for_port(LOOPBACK, port, PATIENCE_S)
    yield port
    process.stop()


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    """A fixed port that somebody listens on is refused before the server starts."""
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        server = Mosquitto({"port": port})

        with pytest.raises(ServerError, match=f"port {port} .listener plain. is already in use"):
            server.start(request(tmp_path))

    assert not server.alive()


def test_a_missing_program_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the program there is a remedy, not a traceback."""
    monkeypatch.setattr("telemark.servers.mosquitto._program", lambda: None)

    with pytest.raises(RequirementError, match="mosquitto is not installed") as caught:
        Mosquitto().start(request(tmp_path))

    assert "apt install mosquitto" in (caught.value.hint or "")


def test_a_server_that_cannot_start_gives_its_own_last_words(tmp_path: Path) -> None:
    """The error carries the server's log lines and no process is left."""

    class Broken(Mosquitto):
        def configure(self) -> None:
            super().configure()
            (self.directory / "mosquitto.conf").write_text("no_such_setting true\n")

    server = Broken()

    with pytest.raises(ServerError, match="ended with status") as caught:
        server.start(request(tmp_path))

    assert "no_such_setting" in (caught.value.hint or "")
    assert list(server.pids()) == []


def test_what_a_server_does_not_offer_is_refused_before_the_start(tmp_path: Path) -> None:
    """Every mismatch is listed at once."""
    listeners = (Listener("psk", "psk"),)

    with pytest.raises(ConfigError) as caught:
        registry.make("rabbitmq").start(StartRequest(tmp_path, "memory", listeners, devices=5, ha=True))

    assert len(caught.value.problems) == 2


def test_an_unreachable_remote_server_is_told_apart() -> None:
    """Nothing listens: the address is named."""
    port = free_ports(1)[0]

    with pytest.raises(UnreachableError, match=f"127.0.0.1:{port} cannot be reached"):
        registry.make(f"mqtt://127.0.0.1:{port}").start(request(Path()))


def test_a_refused_login_is_told_apart(guarded: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong password is not a network problem."""
    monkeypatch.setenv("WRONG", "closed sesame")
    server = registry.make(f"mqtt://127.0.0.1:{guarded}", {"username": "device", "password_env": "WRONG"})

    with pytest.raises(LoginRefusedError, match="refused the login"):
        server.start(request(Path()))


def test_a_remote_server_lets_devices_in_with_a_password_that_is_stored_nowhere(guarded: int, tmp_path: Path) -> None:
    """The login names the file; counters come from $SYS; the server survives our leaving."""
    secret = tmp_path / "password"
    secret.write_text("open sesame\n")
    options = {"username": "device", "password_file": str(secret), "sys": True, "version": "2"}
    server = registry.make(f"mqtt://127.0.0.1:{guarded}", options)

    server.start(request(tmp_path))
    try:
        assert isinstance(server, WithLogin)
        login = server.login()
        assert login is not None
        assert (login.username, login.password.file) == ("device", str(secret))
        assert server.endpoints()["plain"].port == guarded
        assert server.alive()
        with pytest.raises(ServerError, match="never killed"):
            server.kill()
    finally:
        server.stop()


def test_a_password_in_the_url_is_refused() -> None:
    """It would be seen in process lists and kept in histories."""
    with pytest.raises(ConfigError, match="password_env"):
        registry.make("mqtt://device:secret@127.0.0.1:1883").start(request(Path()))


def test_an_expired_certificate_is_told_apart(tmp_path: Path) -> None:
    """The message says that the certificate has expired, whoever tries to connect."""
    server = Mosquitto({"expired_certificate": True})
    server.start(request(tmp_path, TLS))
    try:
        endpoint = server.endpoints()["tls"]
        url = f"mqtts://127.0.0.1:{endpoint.port}"
        remote = registry.make(url, {"ca": endpoint.tls.ca, "server_name": "localhost"})

        with pytest.raises(CertificateRefusedError, match="certificate has expired"):
            remote.start(request(tmp_path, TLS))
    finally:
        server.stop()


def test_a_certificate_of_another_authority_is_told_apart(tmp_path: Path) -> None:
    """A server whose CA is not the one given is refused."""
    other = make_certificates(tmp_path / "other")
    server = Mosquitto()
    server.start(request(tmp_path / "server", TLS))
    try:
        remote = registry.make(f"mqtts://127.0.0.1:{server.port('tls')}", {"ca": str(other.ca)})

        with pytest.raises(CertificateRefusedError, match="was refused"):
            remote.start(request(tmp_path, TLS))
    finally:
        server.stop()


def test_client_certificates_are_asked_for_when_the_run_wants_them(tmp_path: Path) -> None:
    """With the option a device without a certificate stays out; one with the run's certificate gets in."""
    server = Mosquitto({"client_certificates": 1})
    server.start(request(tmp_path, TLS))
    try:
        endpoint = server.endpoints()["tls"]
        tls = endpoint.tls
        url = f"mqtts://127.0.0.1:{endpoint.port}"
        known = {"ca": tls.ca, "certificate": tls.certificate, "key": tls.key, "server_name": "localhost"}
        registry.make(url, known).start(request(tmp_path, TLS))

        with pytest.raises(ServerError):
            registry.make(url, {"ca": tls.ca, "server_name": "localhost"}).start(request(tmp_path, TLS))
    finally:
        server.stop()
