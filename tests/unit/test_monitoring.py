"""Monitoring: from progress and samples to Prometheus' page and Graphite's lines."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.cli.monitoring import read_address
from telemark.errors import ConfigError, ExitCode
from telemark.model.plan import Group, Idle, Phases, Publish, RunPlan, Subscription
from telemark.runner.health.samples import Sample
from telemark.runner.monitor import Monitor, MonitorOptions, metrics
from telemark.runner.monitor.dashboards import BOARDS, render
from telemark.runner.monitor.feeding import LoadFeed, feed_health, received_qos, sent_qos
from telemark.runner.monitor.readings import MOST_INSTANCES, Readings
from telemark.runner.monitor.text import exposition, plaintext
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress, RunOutcome, Silence
from telemark.runner.totals import Totals
from telemark.store.health_metrics import METRICS
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
GROUPS = (
    Group("publishers", 1, publish=Publish(topic="t", qos=1)),
    Group("subscribers", 1, subscriptions=(Subscription("t", qos=0),)),
)
PLAN = RunPlan("suite", "case", "", "quick", 1, {}, GROUPS, Idle(), Phases())
LOOK = Progress("r", Phase.MEASURE, 2.0, 3.0, Totals(devices=2, ready=2, p50_us=250.0), 4, 100.0, 99.0)
ENDED = RunOutcome("r", Path("r"), "complete", None, None, ExitCode.PASSED)


def values(readings: Readings) -> dict[str, float]:
    """Every line of the page."""
    lines = [line for line in exposition(readings.snapshot()).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def seen(sent: int, received: int) -> Progress:
    return replace(LOOK, totals=replace(LOOK.totals, sent=sent, received=received))


def test_counters_go_on_from_run_to_run_and_gauges_go_with_their_run() -> None:
    """A reader that misses the end of a run still sees its messages counted."""
    readings = Readings()
    feed = LoadFeed(readings, Silence())
    for count in (10, 25):
        feed.run_started("r", "mosquitto", PLAN, 1, 2)
        feed.progress(seen(5, 4))
        feed.progress(seen(count, count - 1))
        during = values(readings)
        feed.run_ended(ENDED)
    after = values(readings)

    assert 0.00025 == during['telemark_latency_seconds{quantile="0.5"}']
    assert 1.0 == during['telemark_phase{phase="measure"}']
    assert 1.0 == during['telemark_run_info{suite="suite",scenario="case",size="quick",server="mosquitto"}']
    assert (35.0, 33.0) == (
        after['telemark_messages_sent_total{qos="1"}'], after['telemark_messages_received_total{qos="0"}'],
    )  # fmt: skip
    assert 2.0 == after['telemark_runs_ended_total{state="complete"}']
    assert 1.0 == after['telemark_phase{phase="none"}']
    assert not [
        name for name in after if name.startswith(("telemark_latency", "telemark_devices", "telemark_run_info"))
    ]


def test_the_qos_of_a_rate_is_told_where_all_devices_share_one() -> None:
    mixed = replace(PLAN, groups=(*GROUPS, Group("others", 1, publish=Publish(topic="t", qos=2))))

    assert ("1", "0") == (sent_qos(PLAN), received_qos(PLAN))
    assert ("mixed", "0") == (sent_qos(mixed), received_qos(mixed))
    assert ("none", "none") == (sent_qos(replace(PLAN, groups=())), received_qos(replace(PLAN, groups=())))


def test_processes_are_added_up_and_increments_become_counters() -> None:
    """Process ids are no labels: they never end."""
    readings = Readings()
    for _ in range(2):
        feed_health(
            readings,
            "box",
            [
                Sample("server", "11", "cpu_cores", 0.5),
                Sample("server", "12", "cpu_cores", 0.25),
                Sample("host", "eth0", "network_bytes", 100.0),
                Sample("counters", "", "messages_in", 7.0),
                Sample("counters", "", "unknown_to_the_registry", 7.0),
            ],
        )

    assert {
        'telemark_server_cpu_cores{host="box"}': 0.75,
        'telemark_host_network_bytes_total{host="box",interface="eth0"}': 200.0,
        'telemark_server_messages_in_total{host="box"}': 7.0,
    } == values(readings)


def test_label_values_are_bounded_and_escaped() -> None:
    """A host that makes new interfaces all day must not grow the page for ever."""
    readings = Readings()
    hostile = 'a"b\\c\nd'
    for name in (hostile, *(f"veth{number}" for number in range(1000))):
        feed_health(readings, "box", [Sample("host", name, "network_bytes", 1.0)])
    page, lines = exposition(readings.snapshot()), plaintext(readings.snapshot(), 1700000000)

    assert MOST_INSTANCES == len(lines.splitlines()) == len(page.splitlines()) - 2
    assert r'interface="a\"b\\c\nd"} 1.0' in page
    assert "telemark.host_network_bytes_total.box.a_b_c_d 1.0 1700000000" == lines.splitlines()[0]


def test_every_health_metric_has_a_name_of_its_own() -> None:
    """What is sampled is shown."""
    sampled = {(source, name) for source, names in METRICS.items() for name in names if name != "thread_cores"}

    assert sampled == set(metrics.HEALTH)
    assert len(metrics.LOAD) + len(metrics.HEALTH) == len(metrics.ALL)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_dashboard_query_uses_documented_names_and_labels(board: object) -> None:
    """The files are what the code makes, and the code knows only names of the registry."""
    path = ROOT / "docs" / "monitoring" / "grafana" / "dashboards" / f"{board.name}.json"  # type: ignore[attr-defined]
    document = json.loads(path.read_text())
    documented = (ROOT / "docs" / "reference" / "monitoring.md").read_text()
    targets = [target for panel in document["panels"] for target in panel["targets"]]

    assert render(board) + "\n" == path.read_text()  # type: ignore[arg-type]
    for target in targets:
        names = re.findall(r"telemark_\w+", target["expr"])
        assert names
        for name in names:
            assert f"`{name}`" in documented
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= set(metrics.ALL[name].labels)


def get(port: int, path: str, host: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_the_page_is_read_only_answers_to_its_own_name_and_stays_until_it_was_read() -> None:
    """The last values wait for one reader."""
    told: list[str] = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ConfigError, match="--prometheus"):
            Monitor(MonitorOptions(prometheus=taken.getsockname()), told.append)
    monitor = Monitor(MonitorOptions(prometheus=("127.0.0.1", 0)), told.append)
    port = int(told[0].rpartition(":")[2].removesuffix("/metrics"))
    own = f"127.0.0.1:{port}"
    early = get(port, "/metrics", own)
    monitor.health("box", [Sample("host", "", "memory_used_bytes", 5.0)])
    closing = threading.Thread(target=monitor.close)
    closing.start()

    assert (200, "") == (early[0], early[1].strip())
    assert 421 == get(port, "/metrics", f"evil.example:{port}")[0]
    assert 421 == get(port, "/metrics", "127.0.0.1")[0]
    assert 404 == get(port, "/", own)[0]
    assert 501 == get(port, "/metrics", own, "POST")[0]
    assert closing.is_alive()
    assert 'telemark_host_memory_used_bytes{host="box"} 5.0' in get(port, "/metrics", own)[1]
    closing.join(PATIENCE_S)
    assert not closing.is_alive()


def test_graphite_that_does_not_answer_is_told_before_anything_starts() -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        with pytest.raises(ConfigError, match="no carbon daemon"):
            Monitor(MonitorOptions(graphite=unheard.getsockname()), print)


def test_graphite_that_goes_away_costs_a_note_and_nothing_else() -> None:
    """The last values still try to get there."""
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        monitor = Monitor(MonitorOptions(graphite=daemon.getsockname()), told.append)
        daemon.accept()[0].close()
    monitor.health("box", [Sample("host", "", "memory_used_bytes", 5.0)] * 3)
    monitor.close()

    assert all(line.startswith("graphite: ") for line in told)


@pytest.mark.parametrize(
    ("text", "found"),
    [("9464", ("127.0.0.1", 9464)), ("10.0.0.1:80", ("10.0.0.1", 80)), ("[::1]:80", ("::1", 80))],
)
def test_an_address_is_a_port_alone_or_with_a_host(text: str, found: tuple[str, int]) -> None:
    assert found == read_address("--prometheus", text)


@pytest.mark.parametrize("text", ["", "x", "0", "70000", "host:", "1.5", "²"])
def test_a_port_that_is_none_is_refused_with_its_option(text: str) -> None:
    with pytest.raises(ConfigError, match="--graphite is"):
        read_address("--graphite", text)
