"""How the engine connects: phases, security, refusals, reconnects. Every failure is a row with its reason."""

from __future__ import annotations

import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from telemark.model.plan import Group, Publish, Reconnect, Secret, Subscription, Tls
from telemark.model.plan.shapes.batched import Batched
from telemark.model.plan.shapes.every import Every
from telemark.model.plan.shapes.paced import Paced
from telemark.servers.certificates import Certificates, make_certificates, make_psk_file
from tests.support.engine import (
    Played,
    engine_plan,
    free_port,
    limited,
    mosquitto,
    play,
    publisher,
    subscriber,
)
from tests.support.loopback import Running, running


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """A CA, a server certificate and certificates of three devices."""
    return make_certificates(tmp_path_factory.mktemp("certificates"), clients=3)


@pytest.fixture(scope="module")
def psk(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """Pre-shared keys of three devices."""
    return make_psk_file(tmp_path_factory.mktemp("psk") / "keys", 3)


def listeners(certificates: Certificates, psk: Tls) -> list[dict[str, Any]]:
    tls = {"security": "tls", "certificate": str(certificates.server), "key": str(certificates.server_key)}
    return [
        {"name": "plain"},
        {"name": "tls", **tls},
        {"name": "mutual", **tls, "client_ca": str(certificates.ca)},
        {"name": "psk", "security": "psk", "psk_file": psk.psk_file},
    ]


@pytest.fixture(scope="module")
def server(certificates: Certificates, psk: Tls) -> Iterator[Running]:
    """The built-in server with every kind of listener."""
    with running(listeners=listeners(certificates, psk)) as found:
        yield found


def devices(count: int = 3, **more: Any) -> Group:
    """Devices that do nothing but connect."""
    return Group("devices", count, client_id="d{index}", **more)


def attempts(port: int, group: Group, tls: Tls | None = None, **more: Any) -> Played:
    """Connect, whatever comes of it, and finish."""
    played = Played(engine_plan(port, group, tls=tls, **more))
    played.connect()
    return played.finish()


def results(played: Played) -> Counter[str]:
    return Counter(row["result"] for row in played.rows("connections"))


def test_every_phase_of_a_connection_has_its_time(server: Running) -> None:
    """SYN, TCP, CONNACK, SUBACK in this order; no TLS, so no TLS time."""
    rows = attempts(server.port, subscriber(count=5)).rows("connections")
    assert len(rows) == 5
    for row in rows:
        assert row["started_ns"] <= row["tcp_ns"] <= row["connack_ns"] <= row["suback_ns"]
        assert (row["result"], row["attempt"], row["tls_ns"], row["tls_resumed"]) == ("ok", 0, None, None)
        assert row["session_present"] is False


@pytest.mark.parametrize(
    ("version", "cipher"),
    [
        ("1.2", "AES256-GCM-SHA384"),
        ("1.2", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("1.3", "TLS_AES_256_GCM_SHA384"),
        (None, None),
    ],
)
def test_messages_flow_over_every_kind_of_tls(
    server: Running, certificates: Certificates, version: Any, cipher: str | None
) -> None:
    """The server's certificate is verified, and the handshake has its time."""
    tls = Tls(version, cipher, str(certificates.ca))
    groups = subscriber("t/#", 1), publisher(3, 1, size=3_000)
    played = play(engine_plan(server.ports["tls"], *groups, tls=tls, load=limited(60)))
    assert len(set(played.messages())) == 60
    for row in played.rows("connections"):
        assert row["tcp_ns"] <= row["tls_ns"] <= row["connack_ns"]
        assert row["tls_resumed"] is False


def test_a_server_of_another_ca_is_not_trusted(server: Running, tmp_path: Path) -> None:
    """Verification is on by default: the wrong CA fails in the handshake, with words."""
    other = make_certificates(tmp_path)
    played = attempts(server.ports["tls"], devices(), Tls(ca=str(other.ca)))
    assert results(played) == {"tls_failed": 3}
    assert all("certificate" in row["detail"] for row in played.rows("events"))
    unverified = attempts(server.ports["tls"], devices(), Tls(ca=str(other.ca), verify=False))
    assert results(unverified) == {"ok": 3}


def test_a_server_of_another_name_is_not_trusted(server: Running, certificates: Certificates) -> None:
    """The certificate must carry the name that was asked for."""
    played = attempts(server.ports["tls"], devices(1), Tls(ca=str(certificates.ca), server_name="elsewhere.example"))
    assert results(played) == {"tls_failed": 1}
    assert "hostname mismatch" in played.rows("events")[0]["detail"]


def test_devices_show_their_own_certificates(server: Running, certificates: Certificates) -> None:
    """One certificate per device, by pattern; without one the server refuses."""
    assert results(attempts(server.ports["mutual"], devices(), certificates.tls(clients=3))) == {"ok": 3}
    without = attempts(server.ports["mutual"], devices(), Tls("1.2", ca=str(certificates.ca)))
    assert results(without) == {"tls_failed": 3}


def test_devices_use_their_own_pre_shared_keys(server: Running, psk: Tls) -> None:
    """Identity by pattern; an identity that is not in the file fails by itself."""
    secured = replace(psk, cipher="PSK-AES256-CBC-SHA")
    assert results(attempts(server.ports["psk"], devices(), secured)) == {"ok": 3}
    unknown = attempts(server.ports["psk"], devices(4), secured)
    assert results(unknown) == {"ok": 3, "tls_failed": 1}
    assert "not in the key file" in unknown.rows("events")[0]["detail"]


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_reconnect_resumes_the_tls_session(server: Running, certificates: Certificates, version: Any) -> None:
    """The second handshake of a device is a resumed one when the plan wants it."""
    server.post("/faults", {"disconnect": [{"client": "p0", "after": 3}]})
    tls = Tls(version, ca=str(certificates.ca), resume=True)
    group = publisher(1, reconnect=Reconnect("after", 0.05))
    played = Played(engine_plan(server.ports["tls"], group, tls=tls, load=limited(20, rate=200.0)))
    played.connect()
    played.begin()
    played.until(lambda status: status["disconnects"] == 1)
    played.until(lambda status: status["ready"] == 1)
    rows = played.finish().rows("connections")
    server.post("/faults", {})
    assert [(row["attempt"], row["tls_resumed"]) for row in rows] == [(0, False), (1, True)]


def test_a_port_nobody_listens_at_is_a_failed_connect() -> None:
    """The event carries the errno and says what was tried."""
    port = free_port()
    played = attempts(port, devices(2))
    assert results(played) == {"tcp_failed": 2}
    for row in played.rows("events"):
        assert (row["kind"], row["code"]) == ("connect_failed", 111)
        assert str(port) in row["detail"]


@contextmanager
def silent_server() -> Iterator[int]:
    """Accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_server_that_never_answers_is_a_timeout() -> None:
    """The attempt ends after connect_timeout_s, and says which phase took too long."""
    with silent_server() as port:
        played = attempts(port, devices(2), connect_timeout_s=0.2)
    assert results(played) == {"timeout": 2}
    assert all("CONNACK" in row["detail"] for row in played.rows("events"))


@pytest.mark.parametrize(("version", "code"), [("3.1.1", 3), ("5", 136)])
def test_a_refused_connect_is_a_row_with_the_servers_reason(server: Running, version: Any, code: int) -> None:
    """Every second CONNECT is refused; the others are not touched by it."""
    server.post("/faults", {"refuse_connect": {"every": 2, "code": code}})
    played = attempts(server.port, devices(10, version=version))
    server.post("/faults", {})
    assert results(played) == {"ok": 5, "refused": 5}
    assert {(row["kind"], row["code"]) for row in played.rows("events")} == {("connect_refused", code)}


def test_a_refused_subscribe_is_a_failed_device(server: Running) -> None:
    """A device without its subscription must not count as ready."""
    server.post("/faults", {"refuse_subscribe": {"every": 1}})
    played = Played(engine_plan(server.port, subscriber(count=2)))
    status = played.connect()
    server.post("/faults", {})
    assert (status["ready"], status["failed"]) == (0, 2)
    assert results(played.finish()) == {"subscribe_refused": 2}
    assert {row["kind"] for row in played.rows("events")} == {"subscribe_refused"}


def test_devices_leave_from_their_source_addresses(server: Running) -> None:
    """Many devices need more ports than one address has."""
    group = devices(4, source_addresses=("127.0.0.7", "127.0.0.8"))
    assert results(attempts(server.port, group)) == {"ok": 4}


@pytest.mark.parametrize("kind", ["loopback", "mosquitto"])
@pytest.mark.parametrize("qos", [1, 2])
def test_a_resumed_session_loses_nothing(kind: str, qos: int, tmp_path: Path, server: Running) -> None:
    """Publisher and subscriber are cut in the middle; both come back to their sessions and every message arrives."""
    version: Any = "5"
    keeping: dict[str, Any] = {"session_expiry_s": 60, "clean_start": False, "version": version}
    keeping["reconnect"] = Reconnect("after", 0.05, 100)
    groups = (
        replace(subscriber("resume/#", qos, **keeping), client_id=f"resume-s-{qos}"),
        replace(publisher(1, qos, "resume/{index}", **keeping), client_id=f"resume-p-{qos}"),
    )
    load = Paced(rate=1_000.0, limit=1_000, max_lateness_s=60.0)
    with cutting_server(kind, qos, tmp_path, server) as port:
        played = play(engine_plan(port, *groups, load=load), received=1_000)
    messages = Counter(played.messages())
    assert set(messages) == {(0, number) for number in range(1_000)}
    if qos == 2:
        assert max(messages.values()) == 1
    if kind == "loopback":
        kinds = Counter(row["kind"] for row in played.rows("events"))
        assert kinds["disconnected"] == kinds["reconnected"] == 2
        again = [row for row in played.rows("connections") if row["attempt"] == 1]
        assert [row["session_present"] for row in again] == [True, True]
        assert [row["until_ns"] for row in played.rows("subscribed")] == [None]


@contextmanager
def cutting_server(kind: str, qos: int, folder: Path, server: Running) -> Iterator[int]:
    """A server that cuts both devices once (the built-in one) or stands for interoperability (Mosquitto)."""
    if kind == "loopback":
        cut = [{"client": f"resume-{name}-{qos}", "after": 300} for name in "sp"]
        server.post("/faults", {"disconnect": cut})
        yield server.port
        server.post("/faults", {})
    else:
        with mosquitto(folder) as port:
            yield port


def test_a_lost_connection_without_a_policy_is_final(server: Running) -> None:
    """Its due messages are counted as dropped, the others go on."""
    server.post("/faults", {"disconnect": [{"client": "p0", "after": 5}]})
    load = Paced(rate=500.0, limit=100, max_lateness_s=3.0)
    played = Played(engine_plan(server.port, subscriber(), publisher(2), load=load))
    played.connect()
    played.begin()
    played.until(lambda status: status["intended"] == 100 and not status["sending"])
    played.finish()
    server.post("/faults", {})
    senders = {row["stream"]: row for row in played.rows("senders")}
    assert senders[1]["sent"] == 50
    assert senders[0]["sent"] + senders[0]["dropped"] == 50
    assert senders[0]["dropped"] > 0
    assert [row["kind"] for row in played.rows("events")] == ["disconnected"]
    assert sum(row["disconnects"] for row in played.rows("counters")) == 1


def test_mosquitto_over_tls_and_with_pre_shared_keys(certificates: Certificates, psk: Tls, tmp_path: Path) -> None:
    """The same security against another implementation."""
    tls_port, psk_port = free_port(), free_port()
    lines = [
        f"listener {tls_port} 127.0.0.1",
        f"certfile {certificates.server}",
        f"keyfile {certificates.server_key}",
        f"listener {psk_port} 127.0.0.1",
        "psk_hint test",
        f"psk_file {psk.psk_file}",
    ]
    with mosquitto(tmp_path, *lines):
        tls = Tls(ca=str(certificates.ca))
        groups = subscriber("t/#", 1), publisher(2, 1)
        assert len(play(engine_plan(tls_port, *groups, tls=tls, load=limited(50))).messages()) == 50
        wrong = make_certificates(tmp_path / "other")
        assert results(attempts(tls_port, devices(), Tls(ca=str(wrong.ca)))) == {"tls_failed": 3}
        assert results(attempts(psk_port, devices(), psk)) == {"ok": 3}


def test_mosquitto_refuses_a_wrong_password(tmp_path: Path) -> None:
    """Credentials by pattern; the refusal carries the server's reason and never the password."""
    passwords = tmp_path / "passwords"
    passwords.touch()
    subprocess.run(["mosquitto_passwd", "-b", str(passwords), "user0", "right"], check=True, capture_output=True)
    passwords.chmod(0o644)
    group = publisher(1, username="user{index}")
    with mosquitto(tmp_path, "allow_anonymous false", f"password_file {passwords}") as port:
        for secret, expected in (("right", "ok"), ("wrong", "refused")):
            plan = engine_plan(port, replace(group, password=Secret(env="X")), load=Paced(rate=1.0))
            played = Played(plan, {"publishers": secret})
            played.connect()
            played.finish()
            assert results(played) == {expected: 1}
            assert all(secret not in row["detail"] for row in played.rows("events"))


def test_receive_maximum_of_the_server_is_honoured() -> None:
    """The built-in server disconnects whoever exceeds it; nobody is disconnected."""
    groups = subscriber("t/#", 1, version="5"), publisher(2, 1, version="5")
    load = Batched(batch=200, period_ms=1_000, limit=400, max_lateness_s=15)
    with running(receive_maximum=3) as server:
        played = play(engine_plan(server.port, *groups, load=load))
    assert len(set(played.messages())) == 400
    assert played.rows("events") == []


def test_keep_alive_pings_hold_an_idle_connection() -> None:
    """The server drops a device that is silent for one and a half times its keep-alive; this one is not."""
    idle = Group("idle", 3, client_id="k{index}", keep_alive_s=1, subscriptions=(Subscription("k"),))
    beat = Group("beat", 1, client_id="beat", publish=Publish("k"))
    with running() as server:
        played = play(engine_plan(server.port, idle, beat, load=Every(every_s=2.5, limit=2)), received=6)
    assert played.rows("events") == []
