"""One contract, every server: what an adapter promises is tried on the real program.

The servers of the reports are tried always, the others with TELEMARK_TEST_SERVERS=all (or their names). A server that
is not installed here is skipped with the way to get it; on CI that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from telemark.model.plan import Endpoint, Profile
from telemark.servers import registry
from telemark.servers.contract import CAPABILITIES, Listener, ServerAdapter, StartRequest
from telemark.store.health_metrics import COUNTER_METRICS
from tests.support.paho_device import PahoDevice
from tests.support.requirements import require, require_program
from tests.support.waiting import PATIENCE_S, eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(240)]

CORE = ("loopback", "mosquitto", "rabbitmq", "activemq", "artemis")  # those of the reports; the others on request
ALSO = os.environ.get("TELEMARK_TEST_SERVERS", "")  # names separated by commas, or "all"
SERVERS = [name for name in registry.names() if name in CORE or name in ALSO.split(",") or ALSO == "all"]
SERVERS = [name for name in SERVERS if name != "remote"]
COUNTERS = set(COUNTER_METRICS)


def small(name: str) -> dict[str, str]:
    """A small Java heap where there is one: the machine is shared."""
    return registry.share_options([name, "activemq"], {"heap": "512m"})[name]  # type: ignore[return-value]


@dataclass
class Running:
    """A started server and what it was asked for."""

    adapter: ServerAdapter
    request: StartRequest

    def offers(self, capability: str) -> bool:
        return capability in self.adapter.capabilities()

    def endpoint(self, name: str = "plain") -> Endpoint:
        return self.adapter.endpoints()[name]


def start(name: str, folder: Path, *, durable: bool, secure: bool) -> Running:
    """Start a server with every kind of listener it offers, or with a plain one only."""
    adapter = registry.make(name, small(name))
    found = adapter.availability()
    require(found.available, f"{name} is not installed: {found.how_to_get}")
    kinds = ["none"]
    if secure:
        kinds += [kind for kind, need in (("tls", "tls-1.2"), ("psk", "psk")) if need in adapter.capabilities()]
    listeners = tuple(Listener("plain" if kind == "none" else kind, kind) for kind in kinds)
    request = StartRequest(folder, strongest_profile(adapter) if durable else "memory", listeners, devices=20)
    adapter.start(request)
    return Running(adapter, request)


def strongest_profile(adapter: ServerAdapter) -> Profile:
    """The profile that promises most of those the server has."""
    if "fsync" in adapter.capabilities():
        return "fsync"
    return "durable" if "persistent" in adapter.capabilities() else "memory"


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One durable server for the whole module; the tests below use it in their order."""
    running = start(request.param, tmp_path_factory.mktemp(request.param), durable=True, secure=True)
    yield running
    running.adapter.stop()


def gone(pids: list[int]) -> bool:
    """None of the processes runs any more; a zombie of another parent counts as gone."""
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                return False
        except psutil.NoSuchProcess:
            continue
    return True


def test_it_says_what_it_is(server: Running) -> None:
    """Capabilities are known words, the version is known, and each profile has a sentence."""
    assert server.adapter.capabilities() <= CAPABILITIES.keys()
    assert server.adapter.availability().version
    assert all(server.adapter.profile_note(profile) for profile in ("memory", "durable", "fsync"))


def test_its_processes_run_and_its_configuration_is_kept(server: Running) -> None:
    """Process ids are those of running processes, and something was written into the run's folder."""
    assert server.adapter.alive()
    assert server.adapter.pids()
    assert all(psutil.pid_exists(pid) for pid in server.adapter.pids())
    assert any(each.is_file() for each in server.request.directory.rglob("*"))


@pytest.mark.parametrize("listener", ["plain", "tls"])
def test_a_listener_takes_a_qos_1_message_and_delivers_it(server: Running, listener: str) -> None:
    """What is published with QoS 1 through a listener reaches a subscriber of the same listener."""
    if listener not in server.adapter.endpoints():
        pytest.skip(f"{server.adapter.name} offers no {listener}")
    endpoint = server.endpoint(listener)

    with PahoDevice(endpoint, f"sub-{listener}") as subscriber, PahoDevice(endpoint, f"pub-{listener}") as publisher:
        assert subscriber.subscribe(f"round/{listener}", 1) == 1
        publisher.publish(f"round/{listener}", b"there and back", 1)

        assert subscriber.wait_for(1) == [b"there and back"]


def test_a_psk_listener_takes_a_message(server: Running) -> None:
    """A device with a pre-shared key of the run's key file can publish."""
    if "psk" not in server.adapter.endpoints():
        pytest.skip(f"{server.adapter.name} offers no PSK")
    require_program("mosquitto_pub")  # Python 3.11 cannot do PSK
    endpoint = server.endpoint("psk")
    identity, key = Path(endpoint.tls.psk_file).read_text().splitlines()[3].split(":")
    with PahoDevice(server.endpoint(), "sub-psk") as subscriber:
        subscriber.subscribe("round/psk", 1)
        address = ["-h", endpoint.host, "-p", str(endpoint.port), "--psk", key, "--psk-identity", identity]
        subprocess.run(
            ["mosquitto_pub", *address, "--tls-version", "tlsv1.2", "-t", "round/psk", "-m", "psk", "-q", "1"],
            check=True,
            timeout=PATIENCE_S,
        )

        assert subscriber.wait_for(1) == [b"psk"]


def test_mqtt_5_is_spoken_exactly_when_it_is_claimed(server: Running) -> None:
    """A server that claims MQTT 5 lets such a device in, another refuses it."""

    def connects() -> bool:
        try:
            with PahoDevice(server.endpoint(), "five", version="5"):
                return True
        except Exception:
            return False

    if server.offers("mqtt-5"):
        assert connects()
    else:
        require_program("mosquitto_pub")
        refused = subprocess.run(
            ["mosquitto_pub", "-V", "mqttv5", "-t", "five", "-m", "x", "-q", "1", "-p", str(server.endpoint().port)],
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert refused.returncode != 0


def test_qos_2_is_granted_exactly_when_it_is_claimed(server: Running) -> None:
    """A server that claims QoS 2 delivers with QoS 2 to a session that is kept; another grants less."""
    where = server.endpoint()
    with PahoDevice(where, "two-sub", clean=False) as subscriber, PahoDevice(where, "two-pub") as publisher:
        granted = subscriber.subscribe("two", 2)
        if not server.offers("qos-2"):
            assert granted < 2
            return
        publisher.publish("two", b"exactly once", 2)
        subscriber.wait_for(1)

        assert [(b"exactly once", 2)] == [(each.payload, each.qos) for each in subscriber.received]


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_shared_subscriptions_deliver_each_message_once(server: Running, version: str) -> None:
    """Two members of a share group get every message once between them, where that is claimed."""
    if not server.offers("shared" if version == "5" else "shared-3.1.1"):
        pytest.skip(f"{server.adapter.name} offers no shared subscriptions for MQTT {version}")
    where, topic = server.endpoint(), f"shared/{version}"
    with (
        PahoDevice(where, f"share-a-{version}", version=version) as first,
        PahoDevice(where, f"share-b-{version}", version=version) as second,
        PahoDevice(where, f"share-p-{version}", version=version) as publisher,
    ):
        assert [member.subscribe(f"$share/team/{topic}", 1) for member in (first, second)] == [1, 1]
        wanted = [f"{number}".encode() for number in range(10)]
        for payload in wanted:
            publisher.publish(topic, payload, 1)

        assert eventually(lambda: len(first.received) + len(second.received) >= 10)
        got = [each.payload for member in (first, second) for each in member.received]
        assert sorted(wanted) == sorted(got)


def settled(server: Running) -> bool:
    """The devices of the tests before have left: a server that counts per queue forgets what theirs had counted."""
    before = server.adapter.counters()
    time.sleep(1)
    return dict(server.adapter.counters()) == dict(before)


def test_its_counters_are_plausible_and_never_made_up(server: Running) -> None:
    """Counters have contract names, are not negative, and grow by what passed through where they exist."""
    assert eventually(lambda: settled(server))
    before = dict(server.adapter.counters())
    with (
        PahoDevice(server.endpoint(), "count-sub") as subscriber,
        PahoDevice(server.endpoint(), "count-pub") as publisher,
    ):
        subscriber.subscribe("counted", 1)
        for number in range(30):
            publisher.publish("counted", b"%d" % number, 1)
        subscriber.wait_for(30)

        def grown() -> bool:
            now = server.adapter.counters()
            return all(
                now.get(name, 0) - before.get(name, 0) >= 30
                for name in ("messages_in", "messages_out")
                if name in before or name in now
            )

        assert eventually(grown), f"before {before}, now {server.adapter.counters()}"
        now = server.adapter.counters()
        assert now.keys() <= COUNTERS
        assert all(value >= 0 for value in now.values())
        if "connections" in now:
            assert eventually(lambda: server.adapter.counters().get("connections", 0) >= 2)


@pytest.mark.parametrize("name", ["rabbitmq", "activemq", "artemis"])
def test_the_fullest_queue_is_told(name: str, tmp_path: Path) -> None:
    """Of two absent devices one is owed more: the largest queue is its, and what is buffered is the sum."""
    server = start(name, tmp_path, durable=True, secure=False)
    try:
        for owed in (7, 3):
            with PahoDevice(server.endpoint(), f"owed-{owed}", clean=False) as absent:
                absent.subscribe(f"owed/{owed}", 1)
        with PahoDevice(server.endpoint(), "owing") as publisher:
            for owed in (7, 3):
                for number in range(owed):
                    publisher.publish(f"owed/{owed}", b"%d" % number, 1)

        def told() -> bool:
            now = server.adapter.counters()
            return (now.get("largest_queue"), now.get("buffered_messages")) == (7, 10)

        assert eventually(told), server.adapter.counters()
    finally:
        server.adapter.stop()


@pytest.mark.parametrize("name", ["loopback", "mosquitto", "rabbitmq", "artemis"])
def test_a_queue_keeps_no_more_than_it_may(name: str, tmp_path: Path) -> None:
    """With max_queued_messages an absent device gets so many messages, and the others were dropped."""
    adapter = registry.make(name, small(name) | {"max_queued_messages": 5})
    require(adapter.availability().available, f"{name} is not installed")
    adapter.start(StartRequest(tmp_path, strongest_profile(adapter), (Listener("plain"),), devices=20))
    try:
        endpoint = adapter.endpoints()["plain"]
        with PahoDevice(endpoint, "limited", clean=False) as absent:
            absent.subscribe("limited", 1)
        with PahoDevice(endpoint, "flood") as publisher:
            for number in range(40):
                publisher.publish("limited", b"%d" % number, 1)
            with PahoDevice(endpoint, "limited", clean=False) as back:
                back.wait_for(5)
                back.subscribe("last", 1)
                publisher.publish("last", b"last", 1)
                assert eventually(lambda: back.received and back.received[-1].payload == b"last")
                assert len(back.received) == 6
    finally:
        adapter.stop()


def test_two_instances_run_side_by_side_and_one_may_crash(server: Running, tmp_path: Path) -> None:
    """A second server of the same kind, without persistence, works while the first one runs.

    After its crash nobody of it is left, its adapter says so at once and counts nothing; the first one goes on.
    """
    other = start(server.adapter.name, tmp_path, durable=False, secure=False)
    try:
        assert other.endpoint().port != server.endpoint().port
        with (
            PahoDevice(other.endpoint(), "side-sub") as subscriber,
            PahoDevice(server.endpoint(), "side-pub") as publisher,
        ):
            subscriber.subscribe("side", 0)
            publisher.publish("side", b"for the other server only", 1)
            with PahoDevice(other.endpoint(), "side-own") as own:
                own.publish("side", b"own", 1)

            assert [b"own"] == subscriber.wait_for(1)
        pids = list(other.adapter.pids())
        other.adapter.kill()

        assert not other.adapter.alive()
        assert gone(pids)
        assert list(other.adapter.pids()) == []
        assert dict(other.adapter.counters()) == {}
        assert server.adapter.alive()
    finally:
        other.adapter.stop()


def test_acknowledged_means_synchronised_where_fsync_is_claimed(server: Running, tmp_path: Path) -> None:
    """Seen from the kernel: at least one fsync or fdatasync for each message acknowledged on its own."""
    if not server.offers("fsync"):
        pytest.skip(f"{server.adapter.name} does not claim fsync")
    if shutil.which("strace") is None or os.geteuid() != 0:
        pytest.skip("strace and the right to use it are needed")
    with PahoDevice(server.endpoint(), "synced", clean=False) as absent:
        absent.subscribe("synced", 1)
    with PahoDevice(server.endpoint(), "sync-pub") as publisher:
        publisher.publish("synced", b"first", 1)  # files are opened now
        with traced_syncs(server.adapter.pids(), tmp_path / "calls") as synchronised:
            before = synchronised()
            for number in range(5):
                publisher.publish("synced", b"%d" % number, 1)
            assert eventually(lambda: synchronised() - before >= 5), synchronised()


@contextmanager
def traced_syncs(pids: Sequence[int], log: Path) -> Iterator[Callable[[], int]]:
    """Gives a function that counts the calls that bring data to the disk since tracing began."""
    calls = "trace=fsync,fdatasync,msync"
    targets = [word for pid in pids for word in ("-p", str(pid))]
    tracer = subprocess.Popen(
        ["strace", "-f", "-e", calls, "-o", str(log), *targets], stderr=subprocess.PIPE, text=True
    )
    try:
        attached = [tracer.stderr.readline() for _ in pids]
        assert all("attached" in line for line in attached), attached
        yield lambda: sum("sync(" in line for line in log.read_text().splitlines())
    finally:
        tracer.terminate()
        tracer.communicate(timeout=PATIENCE_S)


def test_a_session_survives_a_restart_where_that_is_claimed(server: Running) -> None:
    """An acknowledged message for an absent device is delivered after the restart.

    A server that claims fsync is killed, one that only claims persistence is stopped in order.
    """
    if not server.offers("persistent"):
        pytest.skip(f"{server.adapter.name} does not claim to keep sessions over a restart")
    with PahoDevice(server.endpoint(), "absent", clean=False) as absent:
        absent.subscribe("kept", 1)
    with PahoDevice(server.endpoint(), "kept-pub") as publisher:
        publisher.publish("kept", b"survivor", 1)
    port = server.endpoint().port

    if server.offers("fsync"):
        server.adapter.kill()
    server.adapter.restart()

    assert server.endpoint().port == port
    with PahoDevice(server.endpoint(), "absent", clean=False) as absent:
        assert [b"survivor"] == absent.wait_for(1)


def test_stopping_leaves_no_process(server: Running) -> None:
    """After an orderly stop every process of the server is gone; stopping again does no harm."""
    pids = list(server.adapter.pids())

    server.adapter.stop()

    assert gone(pids)
    assert not server.adapter.alive()
    server.adapter.stop()
