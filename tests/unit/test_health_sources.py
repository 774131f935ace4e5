"""Health sources against made-up kernel files and against this very process."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from telemark.runner.health import HealthSampler
from telemark.runner.health.counters import CounterSource
from telemark.runner.health.host import HostSource
from telemark.runner.health.process import ProcessSource, process_cpu_ns
from telemark.runner.health.samples import Sample, Throttle
from telemark.runner.health.sockets import SocketSource, queue_samples
from telemark.store import health_metrics
from tests.support.waiting import eventually

SECOND = 1_000_000_000


def write_host(proc: Path, *, busy: int, idle: int, sectors: int, retransmits: int) -> None:
    """The kernel's files with the numbers that matter to a test."""
    (proc / "net").mkdir(parents=True, exist_ok=True)
    (proc / "stat").write_text(f"cpu  1 1 1 1 0 0 0 0 0 0\ncpu0 {busy} 0 10 {idle} 0 0 0 5 0 0\nintr 1\n")
    (proc / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n")
    (proc / "diskstats").write_text(f" 8 0 sda 1 0 2 0 3 0 {sectors} 0 0 500 0\n 8 1 sda1 1 0 2 0 3 0 9 0 0 9 0\n")
    (proc / "net/dev").write_text("Inter-| Receive\n face |bytes\n lo: 100 2 0 0 0 0 0 0 50 3 0 0 0 0 0 0\n")
    (proc / "net/snmp").write_text(f"Tcp: RtoAlgorithm RetransSegs\nTcp: 1 {retransmits}\n")


def test_host_increments_are_differences_of_two_looks(tmp_path: Path) -> None:
    """Shares of a core, bytes written and retransmits belong to the time between two samples."""
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    (sys / "block" / "sda").mkdir(parents=True)
    write_host(proc, busy=100, idle=100, sectors=10, retransmits=7)
    source = HostSource(proc, sys)
    first = {sample.metric for sample in source.sample(SECOND)}
    write_host(proc, busy=130, idle=170, sectors=14, retransmits=9)

    second = {(sample.instance, sample.metric): sample.value for sample in source.sample(2 * SECOND)}

    assert first == {"memory_used_bytes", "memory_available_bytes"}
    assert second["cpu0", "cpu_user"] == pytest.approx(0.3)
    assert second["cpu0", "cpu_busy"] == pytest.approx(0.3)
    assert second["sda", "disk_write_bytes"] == 4 * 512
    assert second["", "tcp_retransmits"] == 2
    assert ("sda1", "disk_write_bytes") not in second
    assert ("", "listen_overflows") not in second  # this host does not tell: no row, not zero


def test_every_host_and_process_metric_is_in_the_one_table() -> None:
    """The sampler uses no name that the pipeline does not know."""
    sources = [HostSource(), ProcessSource("server", lambda: [os.getpid()])]
    samples = [sample for source in sources for _ in range(2) for sample in source.sample(time.monotonic_ns())]

    unknown = {(s.source, s.metric) for s in samples if s.metric not in health_metrics.METRICS[s.source]}

    assert unknown == set()


def test_process_cpu_counts_the_work_of_all_its_threads() -> None:
    """A thread that computes shows in the process's CPU and as its busiest thread."""
    source = ProcessSource("engine", lambda: [os.getpid()])
    # Shared memory is read at the first look, and later rarely where that takes long: as in a large process like this.
    first = {sample.metric: sample.value for sample in source.sample(time.monotonic_ns())}
    started = time.thread_time()

    def burn() -> None:
        while time.thread_time() < 0.1:
            pass

    thread = threading.Thread(target=burn)
    thread.start()
    while time.thread_time() - started < 0.1:
        pass
    values = {sample.metric: sample.value for sample in source.sample(time.monotonic_ns())}
    thread.join()

    assert values["cpu_cores"] > 0
    assert 0 < values["busiest_thread_cores"] <= 1.1
    assert first["rss_bytes"] >= first["pss_bytes"] > 0
    assert values["open_files"] >= 3


def test_a_process_that_has_gone_gives_no_rows() -> None:
    """Missing is missing: no zero CPU, no zero memory."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    source = ProcessSource("server", lambda: [pid])

    assert source.sample(SECOND) == []
    assert process_cpu_ns(pid) is None


def test_unread_bytes_show_at_the_end_that_does_not_read() -> None:
    """Bytes a device has not read are in the engine's receive queue, not in the server's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as device, listener.accept()[0] as accepted:
            accepted.sendall(b"x" * 1000)
            device.setblocking(True)
            device.recv(1, socket.MSG_PEEK)
            rows = SocketSource(lambda: [port]).sample(SECOND)
    values = {(row.source, row.metric): row.value for row in rows}

    assert values["engine", "receive_queue_bytes"] == 1000
    assert values["engine", "connections_open"] == 1
    assert values["server", "receive_queue_bytes"] == 0
    assert values["server", "accept_queue"] == 0


def test_sockets_of_other_programs_are_left_out() -> None:
    """Only the run's listeners count, in both address families."""
    row = b"   1: 0100007F:%s 0100007F:%s 01 00000010:00000020 00:00000000 00000000     0        0 1\n"
    listening = b"   0: 00000000:075B 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 1\n"
    table = listening + row % (b"075B", b"C000") + row % (b"1F90", b"C001")

    rows = {(row.source, row.metric): row.value for row in queue_samples([table, b""], frozenset({1883}))}

    assert rows["server", "receive_queue_bytes"] == 0x20
    assert rows["server", "accept_queue"] == 3
    assert {source for source, _ in rows} == {"server"}


def test_a_slow_sample_is_taken_less_often() -> None:
    """A sample that took 30 ms of CPU at one percent is next due three seconds after it began; at most five."""
    now, cpu = [100.0], [0.0]
    throttle = Throttle(0.01, 5.0, lambda: now[0], lambda: cpu[0])

    def due_after(cost_s: float, seconds: float) -> bool:
        now[0] += 1000
        throttle.due()
        cpu[0] += cost_s
        throttle.spent()
        now[0] += seconds
        return throttle.due()

    assert not due_after(0.03, 2.9)
    assert due_after(0.03, 3.1)
    assert not due_after(1.0, 4.9)
    assert due_after(1.0, 5.1)


def test_a_server_that_does_not_answer_leaves_a_gap() -> None:
    """An exception of the adapter is no row, and the sampling goes on."""
    delivered: list[list[Sample]] = []
    answers = iter([OSError("refused"), {"messages_in": 3.0}])

    def ask() -> dict[str, float]:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    source = CounterSource(ask, lambda _time, samples: delivered.append(samples))
    for _ in range(2):
        source.sample(SECOND)
        source.wait(5)

    assert delivered == [[Sample("counters", "", "messages_in", 3.0)]]


def test_a_sink_that_fails_ends_the_sampling_with_its_reason() -> None:
    """A full disk must be heard by the run."""

    def full(_time: int, _samples: list[Sample]) -> None:
        raise OSError(28, "No space left on device")

    sampler = HealthSampler([HostSource()], full)
    sampler.start()
    assert eventually(lambda: sampler.failure is not None)
    sampler.stop()

    assert isinstance(sampler.failure, OSError)


def test_a_source_that_raises_ends_the_sampling_with_its_reason() -> None:
    """Rows that are missing without a word would look like a host that was not sampled: the run must hear of it."""

    class Broken:
        def sample(self, _now_ns: int) -> list[Sample]:
            raise ValueError("a line of /proc that nobody has seen before")

    sampler = HealthSampler([Broken()], lambda _time, _samples: None)
    sampler.start()
    assert eventually(lambda: sampler.failure is not None)
    sampler.stop()

    assert isinstance(sampler.failure, ValueError)


def test_the_reference_page_is_the_table() -> None:
    """docs/reference/health.md is generated and up to date."""
    page = Path(__file__).parents[2] / "docs/reference/health.md"

    assert page.read_text() == health_metrics.reference_page()
