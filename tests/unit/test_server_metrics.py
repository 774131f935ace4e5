"""A server on another host, known by its Prometheus pages: samples, and what they become."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pyarrow as pa
import pytest

from telemark.errors import ConfigError, RequirementError
from telemark.host.ports import free_ports
from telemark.model.plan import Endpoint
from telemark.pipeline.tables import health
from telemark.pipeline.tables.cores import core_rows
from telemark.runner.health.host import HostChanges
from telemark.runner.health.pages import PageSource, host_reading
from telemark.runner.health.roles import LOAD_ROLES, is_here, page_sources, role_of_this_host
from telemark.servers import registry
from telemark.servers.counter_pages import CounterPage, fetch_text, read_pages
from telemark.servers.prometheus import by_labels
from telemark.servers.terms import Term
from telemark.verdicts import judge
from tests.support.metrics_pages import BUSY, CORES, RESIDENT_BYTES, SERVER_CORES, metrics_pages, node_page
from tests.support.requirements import require_program
from tests.support.waiting import eventually

SECOND = 1_000_000_000


def test_a_page_of_node_exporter_gives_what_this_hosts_own_files_give() -> None:
    """Shares of cores, increments of disks and networks, memory; loop devices are left out here as there."""
    changes = HostChanges()
    changes.samples(SECOND, host_reading(by_labels(node_page(0))))

    found = changes.samples(3 * SECOND, host_reading(by_labels(node_page(2))))
    values = {(sample.instance, sample.metric): sample.value for sample in found}

    assert [pytest.approx(BUSY)] * CORES == [values[f"cpu{core}", "cpu_busy"] for core in range(CORES)]
    assert (2e6, pytest.approx(0.25)) == (values["sda", "disk_write_bytes"], values["sda", "disk_busy"])
    assert (1000.0, 0.0) == (values["eth0", "network_bytes"], values["", "tcp_retransmits"])
    assert (2e9, 6e9) == (values["", "memory_used_bytes"], values["", "memory_available_bytes"])
    assert not any(instance == "loop0" for instance, _ in values)


def test_a_servers_own_page_gives_its_process() -> None:
    """Cores from CPU seconds, memory and files as they are."""
    with metrics_pages() as url:
        source = PageSource(f"{url}/server")
        source.check()
        source.sample(0)
        cores: list[float] = []
        eventually(lambda: cores.extend(s.value for s in source.sample(0) if s.metric == "cpu_cores") or len(cores) > 3)
        last = {sample.metric: sample.value for sample in source.sample(0)}

    assert SERVER_CORES == pytest.approx(sum(cores) / len(cores), rel=0.5)
    assert (RESIDENT_BYTES, 321) == (last["rss_bytes"], last["open_files"])


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("ftp://host/metrics", ConfigError, "expected http://host:port/metrics"),
        ("http://me:secret@host/metrics", ConfigError, "password"),
        ("http://127.0.0.1:9/metrics", RequirementError, "no answer"),
    ],
)
def test_a_page_that_cannot_be_used_is_refused_before_the_run(url: str, error: type[Exception], words: str) -> None:
    """With the value found, but never with a password."""
    with pytest.raises(error, match=words) as caught:
        page_sources(registry.make("mqtt://10.1.2.3:1883"), [url])

    assert "secret" not in str(caught.value)


@contextmanager
def _page(*parts: bytes) -> Iterator[str]:
    """URL of a page that answers with these bytes, one part each 50 ms."""
    ended = threading.Event()

    def say(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.recv(4096)
            for part in parts:
                client.sendall(part)
                if ended.wait(0.05 if len(parts) > 1 else 0):
                    break

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=say, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/metrics"
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)


GOOD = b"HTTP/1.0 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        (b"SSH-2.0-x\r\n",),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n",),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nprocess_threads 7",),
        (GOOD + b"process_threads 1\n" * 500_000,),
        (GOOD, *[b"x 1\n"] * 1000),
        (b"HTTP/1.1 200 OK\r\n", *[b"a"] * 1000),
    ],
    ids=["no HTTP", "headers", "chunks", "cut", "large", "dripping", "dripping headers"],
)
def test_a_hostile_page_is_no_page(parts: tuple[bytes, ...]) -> None:
    """It is given up in time, and half of it is not taken for all."""
    with _page(*parts) as url:
        assert fetch_text(url, 1.0 if len(parts) > 1 else 10.0) is None


def test_numbers_that_are_none_make_no_rows() -> None:
    """Infinite, not a number, finite only one by one, beyond any float, and nested without end."""
    infinite = "".join(
        f'node_cpu_seconds_total{{cpu="0",mode="{mode}"}} 1e308\n' for mode in ("user", "system", "idle")
    )
    text = f"{infinite}node_memory_MemTotal_bytes inf\nnode_memory_MemAvailable_bytes nan\n"
    with _page(GOOD + text.encode()) as url:
        source = PageSource(url)
        source.check()
        assert [] == [sample for _ in range(2) for sample in source.sample(0)]
    counters = {"connections": (Term("c"),)}
    for document in (b'{"c": 1' + b"0" * 400 + b"}", b"[" * 100_000, b'{"c": NaN}', b'{"c": {}}'):
        with _page(GOOD + document) as url:
            assert {} == read_pages([CounterPage(url, "json", counters)])


def test_pages_are_not_taken_for_a_server_that_the_run_starts() -> None:
    """Its host is this one, and sampled already."""
    with pytest.raises(ConfigError, match="sampled directly"):
        page_sources(registry.make("loopback"), ["http://127.0.0.1:9100/metrics"])


@pytest.mark.parametrize(("address", "here"), [("127.0.0.1", True), ("192.0.2.7", False), ("no.such.host.", False)])
def test_a_server_at_an_address_of_this_host_is_on_this_host(address: str, here: bool) -> None:
    """Only then are this host's cores the server's."""
    adapter = registry.make(f"mqtt://{address}:1883")
    adapter.endpoints = lambda: {"devices": Endpoint("devices", address, 1883)}  # type: ignore[method-assign]

    assert here is is_here(adapter)
    assert here is role_of_this_host(adapter, ()).startswith("server")
    assert LOAD_ROLES == role_of_this_host(adapter, ["http://there:9100/metrics"])


def samples(*rows: tuple[str, str, str, str, float]) -> pa.Table:
    """(host, role, source, instance, value) in the measure phase; of cores when the source is host."""
    return pa.Table.from_pylist([
        {
            "time_ns": SECOND, "second": 1, "phase": "measure", "host": host, "role": role, "source": source,
            "instance": instance, "metric": "cpu_busy" if source == "host" else "cpu_cores", "value": value,
        }
        for host, role, source, instance, value in rows
    ])  # fmt: skip


BED = samples(
    ("s", "server", "host", "cpu0", 0.5), ("s", "server", "host", "cpu1", 0.7), ("s", "server", "server", "42", 1.1),
    ("a", "publishers", "host", "cpu0", 0.99), ("a", "publishers", "engine", "42", 0.6),
    ("b", "subscribers,consumers", "host", "cpu0", 0.2), ("b", "subscribers,consumers", "engine", "42", 0.1),
)  # fmt: skip


def test_cpu_of_a_bed_is_that_of_the_servers_host() -> None:
    """A busy load host is no busy server; equal process ids on two hosts are two processes."""
    server = health.of_server(BED)
    rows = {(row["source"], row["metric"]): row for row in health.phase_rows(server, health.by_second(server))}

    assert (0.7, 0.6) == (rows["host", "cpu_busy"]["busiest"], pytest.approx(rows["host", "cpu_busy"]["mean_each"]))
    assert pytest.approx(0.7) == rows["engine", "cpu_cores"]["mean_all"]
    assert [(0, 0.5), (1, 0.7)] == [(row["core"], row["busy"]) for row in core_rows(server)]
    assert "s" == health.server_host(BED)


def test_every_load_host_is_looked_at_on_its_own() -> None:
    """With what our own processes used there."""
    found = {host.name: (host.cores, host.busy, host.ours) for host in health.load_hosts(BED, "measure")}

    assert {"a": (1, 0.99, pytest.approx(0.6)), "b": (1, 0.2, pytest.approx(0.1))} == found


def test_host_rules_of_a_server_that_nobody_sampled_get_no_verdict() -> None:
    """Today's cores are the load generator's: they must not be judged."""
    elsewhere = samples(("here", LOAD_ROLES, "host", "cpu0", 0.2))
    point = {"state": "complete", "host_core_busy_max": None, "server_host": health.server_host(elsewhere)}

    verdict = judge(point, ["host_core_busy_max <= 85 %"])[0]

    assert "no verdict" == verdict.outcome
    assert "the server's host was not sampled" in verdict.reason


@contextmanager
def node_exporter() -> Iterator[str]:
    """URL of the page of Debian's node_exporter."""
    program = require_program("prometheus-node-exporter")
    port = free_ports(1)[0]
    command = [program, f"--web.listen-address=127.0.0.1:{port}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}/metrics"
        assert eventually(lambda: fetch_text(url, 1.0) is not None)
        yield url
        process.terminate()


def test_the_pages_of_debians_node_exporter_are_read() -> None:
    """The real program, not what we think it writes."""
    with node_exporter() as url:
        source = PageSource(url)
        source.check()
        metrics: set[str] = set()
        wanted = {"cpu_busy", "network_bytes"}
        eventually(lambda: metrics.update(sample.metric for sample in source.sample(0)) or wanted <= metrics)

    assert {"cpu_busy", "cpu_steal", "memory_used_bytes", "network_bytes", "tcp_retransmits"} <= metrics
